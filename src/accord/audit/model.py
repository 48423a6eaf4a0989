"""What an audit says of a run: one status, and the first thing in it that the contract refuses.

A recorded run has happened. It is judged in the mode `refuse`: what the contract refuses changes nothing, and the run
goes on from where it stood, as it would have under a guard. So a run that violates has one *first* violation and a
number of refused events. Statuses, in the order in which they are decided:

- `violating`: something was refused;
- `unrecognised`: nothing was refused, and the last word could not be recognised, so nobody can tell;
- `incomplete`: nothing was refused, and at its end something was still owed;
- `conforming`: nothing was refused and nothing owed.

What could not be read, or could not be judged (the contract needs a time that nobody recorded), is no run with a
status: it is a `Broken`, counted apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import msgspec

if TYPE_CHECKING:
    from accord.canonical import Json
    from accord.monitor.verdicts import Violation

__all__ = ["STATUSES", "Breach", "Refused", "Status", "Verdict", "refused_by"]

Status: TypeAlias = Literal["conforming", "violating", "incomplete", "unrecognised"]
STATUSES: tuple[Status, ...] = get_args(Status)


class Refused(msgspec.Struct, frozen=True):
    """What was refused and why, wherever it happened: many runs share one."""

    clause: str
    """The rule or protocol that refused."""
    state: str
    """Where the run stood, as `accord show` numbers it."""
    arrived: str
    """What came: a word, or `end` where the run ended too early."""
    allowed: tuple[str, ...]
    """The words that were legal."""
    sentence: str
    """What a guard would have answered."""


class Breach(msgspec.Struct, frozen=True):
    """The first refusal of a run, and where in the run it was."""

    what: Refused
    index: int | None
    """The message of the recorded run, from 0; `None` for its end."""
    position: int
    """How many events came before it."""

    def to_json(self) -> dict[str, Json]:
        """As reports print it."""
        what = self.what
        return {
            "clause": what.clause,
            "state": what.state,
            "arrived": what.arrived,
            "allowed": list(what.allowed),
            "index": self.index,
            "position": self.position,
            "sentence": what.sentence,
        }


class Verdict(msgspec.Struct, frozen=True):
    """What an audit says of one run."""

    run: str
    file: str
    status: Status
    breach: Breach | None = None
    line: int | None = None
    events: int = 0
    """How many events the contract looked at."""
    refused: int = 0
    """How many of them it refused: the first, and what may follow from it."""
    metadata: dict[str, Json] = {}

    @property
    def followed(self) -> int:
        """How many were refused after the first: perhaps only because of it."""
        return max(self.refused - 1, 0)

    def to_json(self) -> dict[str, Json]:
        """As reports print it."""
        return {
            "run": self.run,
            "file": self.file,
            "line": self.line,
            "status": self.status,
            "violation": None if self.breach is None else self.breach.to_json(),
            "events": self.events,
            "refused": self.refused,
            "followed": self.followed,
            "metadata": self.metadata,
        }


def refused_by(violation: Violation) -> Refused:
    """What a monitor's violation says, as plain data."""
    return Refused(
        violation.clause, str(violation.state), violation.got, tuple(violation.expected), violation.explain()
    )
