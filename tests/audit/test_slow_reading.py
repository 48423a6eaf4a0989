"""Audits against a reading that is slow and obvious: `json.loads`, one `if` after the other, and a monitor.

Runs are random and then changed at random places, as JSON values, so that both read the same bytes. Where the obvious
reading meets something that is no chat, the audit has to call the run broken.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections import Counter

from accord import Monitor, Ok, compile
from tests.audit.recorded import CONFIRM, chat
from tests.census import Census
from tests.sources.corpus import folder

_CONTRACT = compile(CONFIRM)
_TURNS = (
    "user: yes please",
    "user: no",
    "agent: sure?",
    "agent: thanks",
    "call pay",
    'call look {"id": 1}',
    "result: ok",
)
_LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 30)
_VALUES = (None, "", "yes", "user", "assistant", "tool", "pay", 0, 1.5, True, [], {}, ["yes"], {"text": "yes"})


class NoChat(Exception):  # noqa: N818 - not a failure
    """The obvious reading does not know what this is."""


def must(fits: bool) -> None:
    if not fits:
        raise NoChat


def text_of(content):
    """What a content says, as the sources are documented: a string, texts of parts in lines, else its JSON."""
    if content is None or isinstance(content, str):
        return content or ""
    return json.dumps(content) if isinstance(content, int | float) else None  # others are for the tests of bodies


def obvious(messages):
    """The words of a run with the place of each: what the events of the contract say, in Python."""
    must(isinstance(messages, list))
    for place, message in enumerate(messages):
        must(isinstance(message, dict) and message.get("role") in ("user", "assistant", "tool", "system"))
        role, content = message["role"], message.get("content")
        said = text_of(content)
        if role == "user" and said is not None and re.search("(?i)yes", said):
            yield place, "?", "Yes"
        calls = message.get("tool_calls") if role == "assistant" else None
        must(calls is None or isinstance(calls, list))
        for call in calls or ():
            must(isinstance(call, dict))
            function = call.get("function")
            must(function is None or isinstance(function, dict))
            must(call.get("id") is None or isinstance(call["id"], str))
            name = (function or {}).get("name")
            must(name is None or isinstance(name, str))
            if name == "pay":
                yield place, "!", "Pay"
        if role == "tool":
            must(all(message.get(key) is None or isinstance(message[key], str) for key in ("tool_call_id", "name")))


def slow_verdict(messages):
    """`None` if it is no chat, else the place of the first refusal (-1 if there is none) and how many there are."""
    monitor, first, refused = Monitor(_CONTRACT, mode="refuse"), -1, 0
    try:
        words = list(obvious(messages))
    except NoChat:
        return None
    for place, direction, label in words:
        answer = monitor.send(label) if direction == "!" else monitor.receive(label)
        if not isinstance(answer, Ok):
            first, refused = (place if first < 0 else first), refused + 1
    return first, refused


def is_odd(messages):
    """Whether a user says something that is no plain text."""
    return isinstance(messages, list) and any(
        isinstance(m, dict) and m.get("role") == "user" and isinstance(m.get("content"), list | dict) for m in messages
    )


def places_in(value, path=()):
    yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places_in(inner, (*path, key))


WHERE = (
    "run", "message", "role", "content", "tool_calls", "call", "id", "type", "function", "name", "arguments",
    "tool_call_id",
)  # fmt: skip
WHAT = ("replaced", "removed", "doubled", "in the first", "further on", "in the last", "in a run of 9+")
NEVER = {
    **{
        (where, "doubled"): "only what stands in a list has a place for another"
        for where in WHERE
        if where not in {"message", "call"}
    },
    **{("run", what): "it is replaced as a whole" for what in WHAT[1:]},
}


def table():
    return Census("changed in a recorded run", WHERE, WHAT, NEVER)


def cells(way, last, what, length):
    """What was changed, and in which message."""
    where = last if isinstance(last, str) else ("run", "message", "", "call")[min(len(way), 3)]
    if where not in WHERE or (where == "call" and way[2:] != ["tool_calls"]):
        return  # in a value that was put there before
    yield where, what
    if len(way) + (last is not None) > 1:
        place = way[1] if len(way) > 1 else last
        yield where, "in the first" if place == 0 else "in the last" if place == length - 1 else "further on"
        if length > 8:
            yield where, "in a run of 9+"


def changed(rng, messages, changes):
    """A run with a few values in it replaced, removed or doubled; what was done is added to the list of changes."""
    made = [copy.deepcopy(messages)]
    for _ in range(rng.choice((0, 1, 1, 2))):
        length = len(made[0]) if isinstance(made[0], list) else 0
        *way, last = rng.choice([path for path in places_in(made) if path])
        here = made
        for key in way:
            here = here[key]
        what = rng.random()
        if what < 0.5:
            here[last] = copy.deepcopy(rng.choice(_VALUES))
            changes.extend(cells(way, last, "replaced", length))
        elif what < 0.8 and way:
            del here[last]
            changes.extend(cells(way, last, "removed", length))
        elif isinstance(here, list) and way:
            here.insert(last, copy.deepcopy(here[last]))
            changes.extend(cells(way, last, "doubled", length))
    return made[0]


def check(audited, path, runs):
    """Write runs as lines and compare what both say of each."""
    runs = [run for run in runs if not is_odd(run)]
    path.write_text("".join(json.dumps({"messages": run}) + "\n" for run in runs))
    found = audited([path])
    told = {v.line: (-1 if v.breach is None else v.breach.index, v.refused) for v in found.verdicts()}
    seen: Counter[str] = Counter()
    for line, run in enumerate(runs, 1):
        expected = slow_verdict(run)
        assert told.get(line) == expected, (line, run)
        seen["broken" if expected is None else "violating" if expected[1] else "fine"] += 1
    assert found.tally.broken == seen["broken"]
    return seen


def test_random_runs_changed_at_random(audited, tmp_path, soak, health):
    rng, times = random.Random(8), 20_000 if soak else 1_500
    changes, made = table(), []
    runs = [changed(rng, chat(*rng.choices(_TURNS, k=rng.choice(_LENGTHS))), made) for _ in range(times)]
    seen = check(audited, tmp_path / "runs.jsonl", runs)
    changes.add(made)
    health(changes.table())
    changes.check(3)
    health(f"audit against a slow reading: {sum(seen.values()):,} random runs, {dict(seen)}")
    assert min(seen["broken"], seen["violating"], seen["fine"]) > times // 20


def test_runs_of_others_changed_at_random(audited, tmp_path, soak):
    rng = random.Random(9)
    recorded = json.loads(next((folder() / "tau1").glob("*.json")).read_bytes())
    tools = {"book_reservation", "cancel_reservation", "get_user_details"}
    text = json.dumps([run["traj"] for run in recorded[: 200 if soak else 40]])
    for tool in tools:
        text = text.replace(f'"name": "{tool}"', '"name": "pay"')
    seen = check(audited, tmp_path / "runs.jsonl", [changed(rng, run, []) for run in json.loads(text)])
    assert seen["violating"] > 0
    assert seen["fine"] > 0
