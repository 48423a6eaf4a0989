"""What really took place, before a contract looks at it, and what a surface says of it: the two ends of every driver.

A run is a tuple of happenings. Calls that a model asked for in one message share its number. The end of a call has the
call's id; the same id may be used again once the call has ended, and then means the new attempt.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["ENDS", "Finding", "Happening", "Kind", "Outcome", "Run", "call_of", "in_order", "shown"]

Kind: TypeAlias = Literal["call", "result", "error", "user", "agent", "event"]
ENDS = ("result", "error")


@dataclass(frozen=True)
class Happening:
    """One thing that took place. `body` is arguments, value, reason, text or payload, whatever the kind has."""

    kind: Kind
    name: str = ""
    body: object = None
    id: str = ""
    message: int = 0
    at: float = 0.0
    by: str | None = None
    """Who made an event happen, if it was a person."""
    answers: str = ""
    """Of an event: the id of the call about which this person was asked. A recording has the event alone."""
    asked: object = None
    """Of a call: the arguments that the model gave, where a person has put others in their place."""
    denied: tuple[str, object] | None = None
    """Of a call: the tool and arguments that were asked for just before and that a person has denied."""


Run: TypeAlias = tuple[Happening, ...]


@dataclass(frozen=True)
class Finding:
    """Something that the contract refused: which happening (`None`: the end of the run), who refused, and the sentence.

    A surface that has no sentence of its own for it leaves it out; the reference has none at all.
    """

    index: int | frozenset[int] | None
    """A surface that cannot tell the happenings of one message apart gives all of them."""
    clause: str
    """`*` where a surface does not say who refused."""
    sentence: str | None = None

    def is_like(self, other: Finding) -> bool:
        """Whether two surfaces mean the same."""
        mine, theirs = _several(self.index), _several(other.index)
        return bool(mine & theirs) and (self.clause == other.clause or "*" in {self.clause, other.clause})


def _several(index: int | frozenset[int] | None) -> frozenset[int | None]:
    return index if isinstance(index, frozenset) else frozenset({index})


@dataclass(frozen=True)
class Outcome:
    """What a surface says of a run.

    `findings` are in the order of the run, whenever they were judged: a call that waits is judged late, and on some
    surfaces later than on others. A surface that tells only the first has `only_first`.
    `complete` tells whether the run may stop where it does; `None` if the surface does not say.
    """

    findings: tuple[Finding, ...]
    complete: bool | None
    waited: int | None = None
    only_first: bool = False
    count: int | None = None
    """How many there are, where only the first is told."""

    @property
    def first(self) -> Finding | None:
        """The first violation."""
        return self.findings[0] if self.findings else None

    @property
    def status(self) -> str:
        """As audits have it."""
        if self.findings:
            return "violating"
        return "conforming" if self.complete else "incomplete"


def in_order(findings) -> tuple[Finding, ...]:
    """Findings in the order of the run."""
    return tuple(sorted(findings, key=lambda finding: min(_several(finding.index))))


def call_of(run: Run, place: int) -> int | None:
    """The place of the call that the end at a place answers: the last one with that id."""
    return next(
        (at for at in range(place - 1, -1, -1) if run[at].kind == "call" and run[at].id == run[place].id),
        None,
    )


def shown(contract: str, run: Run) -> str:
    """A pair as a person reads it, in as few lines as it can be."""
    lines = [contract.strip()]
    for place, one in enumerate(run):
        about = {
            "call": lambda one: f"message {one.message}: {one.id} = {one.name}({json.dumps(one.body)})",
            "result": lambda one: f"{one.id} returns {json.dumps(one.body)}",
            "error": lambda one: f"{one.id} fails: {one.body}",
            "user": lambda one: f"the user says {one.body!r}",
            "agent": lambda one: f"the agent says {one.body!r}",
            "event": lambda one: f"event {one.name} {json.dumps(one.body)}" + (f" by {one.by}" if one.by else ""),
        }[one.kind](one)
        about += f", who was asked about {one.answers}" if one.answers else ""
        about += f", instead of {json.dumps(one.asked)}" if one.asked is not None else ""
        about += f", after {one.denied} was denied" if one.denied is not None else ""
        lines.append(f"  {place:2} " + (f"at {one.at:g}s " if one.at else "") + about)
    return "\n".join(lines)
