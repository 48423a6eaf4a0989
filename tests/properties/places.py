"""Where the constructs of a local protocol stand, for the tables of what generators made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from accord.language.tree import (
    Action,
    Choice,
    Deadline,
    End,
    Interleaving,
    Protocol,
    Recursion,
    Sequence,
    Variable,
    first_step,
)
from tests.census import Cell

NAMES = {
    Action: "message",
    Choice: "choice",
    Recursion: "loop",
    Variable: "jump",
    Interleaving: "parts",
    Deadline: "deadline",
    End: "end",
}
PLACES = (
    "protocol head",
    "branch head",
    "loop head",
    "part head",
    "late head",
    "behind message",
    "behind choice",
    "behind loop",
    "behind parts",
    "behind deadline",
    "in a loop",
    "in parts",
    "last",
)
# Where messages may stand besides: what a deadline is about, and a branch that has its label in common with another.
TIMED, DOUBLED = "timed", "doubled branch"


def cells(body: Protocol) -> Iterator[Cell]:
    """Each construct of a protocol with each of the places at which it stands."""
    for step, place in walk(body):
        if place in PLACES:
            yield NAMES[type(step)], place


def walk(body: Protocol) -> Iterator[tuple[Protocol, str]]:
    """Each step of a protocol, as often as there are places to name for it."""
    yield from _block(body, "protocol", frozenset())


def _block(body: Protocol, owner: str, inside: frozenset[str]) -> Iterator[tuple[Protocol, str]]:
    steps = body.steps if isinstance(body, Sequence) else (body,)
    before = None
    for step in steps:
        yield step, f"{owner} head" if before is None else f"behind {before}"
        for around in inside:
            yield step, f"in {around}"
        if step is steps[-1]:
            yield step, "last"
        yield from _inner(step, inside)
        before = NAMES[type(step)]


def _inner(step: Protocol, inside: frozenset[str]) -> Iterator[tuple[Protocol, str]]:
    match step:
        case Choice(branches):
            yield from _doubled(branches)
            for branch in branches:
                yield from _block(branch, "branch", inside)
        case Recursion():
            yield from _block(step.body, "loop", inside | {"a loop"})
        case Interleaving(parts):
            for part in parts:
                yield from _block(part, "part", inside | {"parts"})
        case Deadline():
            yield step.body, TIMED
            yield from _inner(step.body, inside)  # around a message or a choice: it stands where they do
            yield from _block(step.otherwise, "late", inside)


def _doubled(branches: tuple[Protocol, ...]) -> Iterator[tuple[Protocol, str]]:
    heads = [head for branch in branches if isinstance(head := first_step(branch), Action)]
    alike = Counter((head.direction, head.label) for head in heads)
    yield from ((head, DOUBLED) for head in heads if alike[head.direction, head.label] > 1)


__all__ = ["DOUBLED", "NAMES", "PLACES", "TIMED", "cells", "walk"]
