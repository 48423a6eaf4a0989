"""The release gate over time and slices: the product agrees with the reference, and a wrong one would be noticed."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from accord.language.rules import After, Within
from accord.language.tree import Choice, Deadline, Document, End, Interleaving, Recursion, Sequence, sequence
from tests.properties.differential_time import Mirror, Product, campaign

SOAK = bool(os.environ.get("ACCORD_SOAK"))
PAIRS = 5_000 if SOAK else 2_000
CHUNKS = 20 if SOAK else 2
FLAVOURS = ("time", "slices", "slices time")


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("seed", range(CHUNKS))
def test_machine_agrees_with_reference(flavour, seed, health, tally):
    make = Product()
    seen, difference = campaign(seed, PAIRS, make, flavour, fill=True)
    assert difference is None
    tally(f"pairs of a contract and a trace over time, {flavour}", seen.pairs)
    assert seen.pairs >= PAIRS
    seen.check_floors()
    health(seen.sentence())
    if not seed:
        health("\n".join(census.table() for census in seen.tables()))


# -- planted bugs ------------------------------------------------------------------------------------------------------


def rebuilt(node, change):
    """The tree with `change` applied to every node, bottom up."""
    if isinstance(node, Sequence):
        node = sequence([rebuilt(step, change) for step in node.steps])
    elif isinstance(node, Choice):
        node = Choice(tuple(rebuilt(branch, change) for branch in node.branches))
    elif isinstance(node, Interleaving):
        node = Interleaving(tuple(rebuilt(part, change) for part in node.parts))
    elif isinstance(node, Recursion):
        node = Recursion(node.variable, rebuilt(node.body, change))
    elif isinstance(node, Deadline):
        node = Deadline(rebuilt(node.body, change), node.milliseconds, rebuilt(node.otherwise, change))
    return change(node)


def with_bodies(document: Document, change) -> Document:
    items = [replace(d, body=rebuilt(d.body, change)) for d in document.declarations]
    return replace(document, items=(*items, *document.rules))


def deadlines_are_a_quarter_longer(document):
    def change(node):
        return replace(node, milliseconds=node.milliseconds + 250) if isinstance(node, Deadline) else node

    return with_bodies(document, change)


def deadlines_never_pass(document):
    return with_bodies(document, lambda node: node.body if isinstance(node, Deadline) else node)


def what_is_late_ends(document):
    return with_bodies(document, lambda node: replace(node, otherwise=End()) if isinstance(node, Deadline) else node)


def rules_are_never_late(document):
    def change(rule):
        late = isinstance(rule.body, Within)
        return replace(rule, body=After(rule.body.trigger, rule.body.condition)) if late else rule

    return replace(document, items=(*document.declarations, *map(change, document.rules)))


def protocols_are_not_sliced(document):
    return replace(document, items=(*(replace(d, each=None) for d in document.declarations), *document.rules))


def rules_are_not_sliced(document):
    return replace(document, items=(*document.declarations, *(replace(rule, each=None) for rule in document.rules)))


@pytest.mark.parametrize(
    ("plant", "flavour"),
    [
        (deadlines_are_a_quarter_longer, "time"),
        (deadlines_never_pass, "time"),
        (what_is_late_ends, "time"),
        (rules_are_never_late, "time"),
        (protocols_are_not_sliced, "slices"),
        (rules_are_not_sliced, "slices"),
    ],
)
def test_planted_miscompilation_is_caught(plant, flavour):
    def make(document, mode, at):
        return Mirror(plant(document), mode, at)

    seen, difference = campaign(7, 2_000, make, flavour)
    assert difference is not None, seen.sentence()


class LateAtTheMomentItIsDue(Mirror):
    def tick(self, at):
        return self.session.tick(at + 0.001)


class HearsOnlyTicks(Mirror):
    """Events let no time pass."""

    def send(self, *event, **more):
        return self.session.send(*event, **{**more, "at": self.session._clock})


class ForgetsFinishedInstances(Mirror):
    def receive(self, *event, **more):
        course = self.session._course
        if course is not None and course.each is not None:
            self.session._course = replace(
                course, states={k: s for k, s in course.states.items() if any(p for p, _ in s)}
            )
        return self.session.receive(*event, **more)


class PeekingLetsTimePass(Mirror):
    def peek_send(self, *event, **more):
        return self.session.send(*event, **more)


@pytest.mark.parametrize(
    "make", [LateAtTheMomentItIsDue, HearsOnlyTicks, PeekingLetsTimePass, ForgetsFinishedInstances]
)
def test_planted_bug_is_caught(make):
    flavour = "slices" if make is ForgetsFinishedInstances else "time"
    seen, difference = campaign(11, 2_000, make, flavour)
    assert difference is not None, seen.sentence()
