"""E073: a reply where no message was received that it could answer."""

from __future__ import annotations

from accord.agents.check.missteps import Misstep
from accord.diagnostics.agent_codes import REPLY_OUTSIDE

__all__ = ["reply_outside"]


def reply_outside() -> Misstep:
    """`reply` in `on_start`, or in a method that it calls."""
    what = "`reply` outside a handler: there is no message to reply to"
    return Misstep(REPLY_OUTSIDE, what, "use `send` with the role it is for", "nobody to reply to")
