"""Every change that the picture offers, at every kind of place of random contracts.

A change is made or refused, never anything else. If it is made, the contract is still one, everything beside the
protocol keeps every byte, and the steps are those that were there with what the change adds, takes away or renames.
What was put in and is taken out again leaves the text as it was.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from accord import compile
from accord.diagnostics import Source
from accord.language import examine
from accord.language.formatting import formatted
from accord.language.printer import print_document
from accord.language.tree import Action, Choice, Deadline, Interleaving, Recursion, Sequence
from accord.studio import loop_edits, step_edits
from accord.studio.step_edits import STEP_CHANGES
from accord.studio.trees import exchanged, spots_in
from tests.census import Census
from tests.properties.differential import random_contract
from tests.properties.generate_time import random_contract_over_time
from tests.properties.places import NAMES
from tests.properties.test_studio import Asked

FLAVOURS = ("plain", "data rules", "time", "slices time")
ADDING = {"before", "after", "beside", "parallel"}
KEEPING = {"may end", "repeat", "back"}
NEW = {"sign": "!", "label": "brand_new"}
PLACES = (
    *NAMES.values(), "several steps", "branch head", "loop head", "part", "late", "in a loop", "last", "made",
    "refused",
)  # fmt: skip
NEVER = {("before", "refused"): "a step can stand in front of anything"}


def places(spot):
    """What is changed, and where it stands."""
    yield "several steps" if isinstance(spot.node, Sequence) else NAMES[type(spot.node)]
    parent = spot.parent
    if isinstance(parent.node if parent else None, Sequence):
        if spot.index == len(parent.node.steps) - 1:
            yield "last"
        if spot.index == 0:
            spot, parent = parent, parent.parent
    match parent.node if parent else None:
        case Choice():
            yield "branch head"
        case Recursion():
            yield "loop head"
        case Interleaving():
            yield "part"
        case Deadline() if spot.index:
            yield "late"
    while parent is not None and not isinstance(parent.node, Recursion):
        parent = parent.parent
    if parent is not None:
        yield "in a loop"


def random_text(rng):
    flavour = rng.choice(FLAVOURS)
    make = random_contract_over_time if "time" in flavour else random_contract
    while True:
        document, _ = make(rng, flavour)
        if document.declarations:
            return print_document(document)


def random_change(rng, change, spots):
    """What a page asks with a change."""
    kind = rng.choice(sorted({type(spot.node).__name__ for spot in spots}))  # seldom ones as often as others
    more = {"at": rng.choice([spot for spot in spots if type(spot.node).__name__ == kind]).number}
    if change in ADDING:
        more["put"] = dict(NEW, sign=rng.choice("!?"))
    if change == "details":
        more["put"] = {**NEW, "guards": rng.choice(("", "x > 1")), "within": rng.choice(("", "", "5s"))}
    if change == "rename":
        more["what"] = "brand_new"
    if change == "back":
        more["to"] = rng.choice(spots).number
    return more


def labels(text):
    document = examine(Source(text))[0]
    return Counter(spot.node.label for spot in spots_in(document) if isinstance(spot.node, Action)), document


def wrong(ask, text, change, more):
    """What is wrong with a change that was made; `None` if nothing is, `refused` if it was not made."""
    status, answer = ask.answer("edit", text=text, change=change, **more)
    if status != 200:
        return "refused" if status in {400, 422} else f"{status}: {answer}"
    changed = answer["text"]
    before, document = labels(text)
    after, made = labels(changed)
    if any(finding.severity == "error" for finding in examine(Source(changed))[1]):
        return f"no contract any more:\n{changed}"
    if formatted(Source(changed)) != changed or made.rules != document.rules:
        return f"not formatted, or with other rules:\n{changed}"
    node = spots_in(document)[more["at"]].node
    expected = dict.fromkeys(ADDING, before + Counter(["brand_new"])) | dict.fromkeys(KEEPING, before)
    expected["rename"] = before - Counter([getattr(node, "label", "")]) + Counter(["brand_new"])
    if change in expected and after != expected[change]:
        return f"{expected[change]} became {after}:\n{changed}"
    # With a step, what follows it is written twice; with a deadline, what would come instead is gone.
    fits = before <= after and {*before} == {*after} if change == "optional" else after <= before
    if change not in expected and not fits:
        return f"{before} became {after}:\n{changed}"
    return undone(ask, text, changed) if change in {"before", "after"} else None


def undone(ask, text, changed):
    """Whether taking out what was put in gives what was there; a choice of one branch may become that branch."""
    new = next(s for s in spots_in(labels(changed)[1]) if getattr(s.node, "label", "") == "brand_new")
    if new.branch is not None:
        return None  # the branch would go with it
    status, back = ask.answer("edit", text=changed, change="remove", at=new.number)
    if (status, back.get("text")) == (200, text) or (status == 200 and same_machine(back["text"], text)):
        return None
    return f"taken out again: {status} {back}"


def same_machine(one, two):
    return {*compile(one).machines.values()} == {*compile(two).machines.values()}


def campaign(seed, texts):
    rng, ask = Random(f"edits {seed}"), Asked()
    seen = Census("change of a protocol", tuple(STEP_CHANGES), PLACES, NEVER)
    done = 0
    while done < texts or (done < 4 * texts and seen.lacking(1)):
        done += 1
        text = random_text(rng)
        spots = spots_in(examine(Source(text))[0])
        for change in STEP_CHANGES:
            more = random_change(rng, change, spots)
            found = wrong(ask, text, change, more)
            seen.add((change, place) for place in places(spots[more["at"]]))
            seen.add([(change, "refused" if found == "refused" else "made")])
            if found not in {None, "refused"}:
                return seen, f"{change} {more} of\n{text}\n{found}"
    return seen, None


def test_changes_are_what_they_are_said_to_be(soak, health):
    seen, difference = campaign(1, 5_000 if soak else 90)
    assert difference is None, difference
    health(seen.table())
    seen.check(1)


def forgets_the_rest(monkeypatch):
    monkeypatch.setitem(STEP_CHANGES, "parallel", lambda place: place.new())


def renames_another(monkeypatch):
    def rename(place):
        first = next(spot for spot in place.spots if isinstance(spot.node, Action))
        return exchanged(first, Action(first.node.direction, place.edit.what))

    monkeypatch.setitem(STEP_CHANGES, "rename", rename)


def puts_it_twice(monkeypatch):
    real = step_edits.sequence
    monkeypatch.setattr(step_edits, "sequence", lambda steps: real([*steps, steps[-1]]))


def repeats_without_the_step(monkeypatch):
    monkeypatch.setattr(loop_edits, "sequence", lambda steps: steps[-1])


@pytest.mark.parametrize("plant", [forgets_the_rest, renames_another, puts_it_twice, repeats_without_the_step])
def test_planted_bug_is_caught(plant, monkeypatch):
    plant(monkeypatch)
    assert campaign(2, 60)[1] is not None
