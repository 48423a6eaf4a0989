"""E078: the two agents share no protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.agents.check.missteps import Misstep, listed
from accord.diagnostics.agent_codes import NO_SHARED_PROTOCOL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accord.agents.check.scripts import Script

__all__ = ["no_shared_protocol"]


def no_shared_protocol(scripts: Sequence[Script], to: str) -> Misstep:
    """A message for an agent that has no part in any protocol of this one."""
    followed = listed([script.protocol for script in scripts], "and")
    which = f"which follows {followed}" if followed else "which follows none"
    help_ = "let both follow the protocol of this message, each in its role"
    return Misstep(NO_SHARED_PROTOCOL, f"{to} shares no protocol with this agent, {which}", help_, "not a partner")
