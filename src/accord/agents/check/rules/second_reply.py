"""E075: a reply to a message that was replied to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.agents.check.missteps import Misstep
from accord.diagnostics.agent_codes import SECOND_REPLY
from accord.language.labels import print_label

if TYPE_CHECKING:
    from accord.agents.check.scripts import Script

__all__ = ["second_reply"]


def second_reply(script: Script, label: str, sender: str) -> Misstep:
    """One more reply than the protocol has."""
    what = f"`{print_label(label)}` is a second reply: `{script.protocol}` has no further message for `{sender}` here"
    return Misstep(SECOND_REPLY, what, "reply on each path once", "once more")
