"""Telling the others of a conversation that somebody takes no further part in it.

What they are told is a letter like any other, behind everything that was sent before it, and it never waits for room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.agents.runtime.activity import Pause, Presence
from accord.agents.runtime.letters import Letter
from accord.language.global_tree import CRASH

if TYPE_CHECKING:
    from collections.abc import Collection

    from accord.agents.runtime.hub import Hub
    from accord.agents.runtime.letters import Begun, Gone

__all__ = ["tell"]


async def tell(hub: Hub, begun: Begun, gone: Gone, but: Collection[str] = ()) -> None:
    """Tell others in a conversation that a role takes no further part in it, unless their names are among `but`."""
    for role, name in begun.cast.items():
        if role == begun.part.role or name in but:
            continue
        letter = Letter(
            conversation=begun.conversation,
            contract=begun.part.contract,
            protocol=begun.part.protocol,
            sender=begun.part.role,
            receiver=role,
            label=CRASH,
            payload={},
            cast=begun.cast,
            gone=gone,
            noticed_by=begun.noticed_by,
        )
        await hub.transport.post(name, letter, Pause(Presence(hub.activity)))
