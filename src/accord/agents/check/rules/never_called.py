"""E083: a handler for a message that never arrives, or never when a handler could take it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.agents.check.missteps import Misstep, labelled, listed
from accord.diagnostics import did_you_mean
from accord.diagnostics.agent_codes import NEVER_CALLED
from accord.language.labels import print_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accord.agents.check.scripts import Script

__all__ = ["never_called"]


def never_called(scripts: Sequence[Script], label: str, method: str) -> Misstep:
    """A handler without work."""
    shown = print_label(label)
    received = [word for script in scripts for word, _ in sorted(script.received)]
    if label in received:
        message = (
            f"`{method}` is never called: whenever `{shown}` comes, a `receive` takes it or nobody has asked for it"
        )
        return Misstep(NEVER_CALLED, message, "remove the handler, or what keeps the message from it", "never called")
    roles = listed([script.role for script in scripts]) or "this agent"
    meant = did_you_mean(label, received)
    help_ = f"did you mean `{meant}`?" if meant else f"it receives {labelled(received)}" if received else ""
    return Misstep(
        NEVER_CALLED, f"`{method}` is never called: no protocol sends `{shown}` to {roles}", help_, "never called"
    )
