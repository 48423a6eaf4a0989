"""Where the constructs of a local protocol stand, for the tables of what generators made."""

from __future__ import annotations

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


def cells(body: Protocol) -> Iterator[Cell]:
    """Each construct of a protocol with each of the places at which it stands."""
    yield from _block(body, "protocol", frozenset())


def _block(body: Protocol, owner: str, inside: frozenset[str]) -> Iterator[Cell]:
    steps = body.steps if isinstance(body, Sequence) else (body,)
    before = None
    for step in steps:
        name = NAMES[type(step)]
        yield name, f"{owner} head" if before is None else f"behind {before}"
        for around in inside:
            yield name, f"in {around}"
        if step is steps[-1]:
            yield name, "last"
        yield from _inner(step, inside)
        before = name


def _inner(step: Protocol, inside: frozenset[str]) -> Iterator[Cell]:
    match step:
        case Choice(branches):
            for branch in branches:
                yield from _block(branch, "branch", inside)
        case Recursion():
            yield from _block(step.body, "loop", inside | {"a loop"})
        case Interleaving(parts):
            for part in parts:
                yield from _block(part, "part", inside | {"parts"})
        case Deadline():
            yield from _inner(step.body, inside)  # around a message or a choice: it stands where they do
            yield from _block(step.otherwise, "late", inside)


__all__ = ["NAMES", "PLACES", "cells"]
