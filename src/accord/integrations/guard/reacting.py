"""What a function of the user's own wants to be done about a violation that it is told of.

It returns what the model is told instead of our words, or `LET_RUN`: then the call runs all the same, or the result is
passed on. Whatever else it returns changes nothing, and what it raises goes on.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Final

from accord.integrations.guard.decisions import Change
from accord.integrations.guard.reserving import admit_unjudged
from accord.monitor.verdicts import Blocked, Violation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accord.integrations.batch import Claim
    from accord.integrations.guard.decisions import Decision
    from accord.integrations.guard.policy import Policy
    from accord.integrations.guard.state import State
    from accord.machine.clocks import Time

__all__ = ["LET_RUN", "Reaction", "let_run", "may_be_let_run"]


class Reaction(Enum):
    """What is done beside telling the model something."""

    LET_RUN = "let it run"

    def __repr__(self) -> str:
        return self.name


LET_RUN: Final = Reaction.LET_RUN


def may_be_let_run(claim: Claim, decision: Decision) -> bool:
    """Whether a call is refused by the contract alone: not because it is no call, ran before, or a person said no."""
    judged = isinstance(decision.verdict, Violation | Blocked) and decision.review is None
    return judged and claim.fault is None and claim.arguments is not None


def let_run(
    policy: Policy,
    state: State,
    refused: Sequence[tuple[Claim, Decision]],
    at: Time | None,
    *,
    started: bool,
) -> Change[list[Decision]]:
    """Admit refused calls all the same. They are no events, so that nothing rests on them, and run once as any other.

    One that may not run for another reason stays refused, such as all calls of a session that is stopped.
    """
    change = admit_unjudged(policy, state, [claim for claim, _ in refused], at, started=started)
    answers = [
        decision if admitted is None else replace(admitted, verdict=decision.verdict)
        for admitted, (_, decision) in zip(change.answer, refused, strict=True)
    ]
    return Change(change.state, change.notes, answers)
