"""E076: a path on which a required message is not sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.agents.check.missteps import Misstep, labelled
from accord.diagnostics.agent_codes import NOT_SENT

if TYPE_CHECKING:
    from accord.agents.check.scripts import Script

__all__ = ["not_sent"]


def not_sent(script: Script, state: int, method: str, raised: str | None) -> Misstep:
    """A handler, or `on_start`, ends while everybody waits for this role."""
    sends = list(script.sends[state])
    before = script.received_before(state)
    after = f" after receiving {labelled(before)}" if before else ""
    how = "returns" if raised is None else f"raises `{raised}`"
    role, words = script.role, labelled(label for label, _ in sends)
    message = f"protocol `{script.protocol}` requires `{role}` to send {words}{after}; `{method}` {how} without it"
    help_ = f"the step is {script.step(*sends[0], sending=True)}"
    if raised is not None:
        help_ += f"; send it before, or let the protocol say what follows on `crash {role}`"
    return Misstep(NOT_SENT, message, help_, "ends here without it")
