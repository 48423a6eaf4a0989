"""How an agent's part in a conversation ends: it is done, or the agent leaves, or a partner is gone.

INVARIANT: others are told before the transport forgets the conversation. Whoever is killed in between is followed by a
life that tells them again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.agents.failures import PartnerCrashedError
from accord.agents.runtime.telling import tell

if TYPE_CHECKING:
    from accord.agents.runtime.conversation import Conversation
    from accord.agents.runtime.life import Life

__all__ = ["bereaved", "finish", "leave", "lose"]


async def finish(life: Life, conversation: Conversation) -> None:
    """Nothing more can happen in it."""
    conversation.session.close()
    await life.unbroken(lambda: _end(life, conversation, broken=False))


async def leave(life: Life, conversation: Conversation, why: str) -> None:
    """Take no further part in a conversation, and tell all others."""
    conversation.over = True
    life.hub.note(conversation.as_begun, life.name, "left", {"why": why, **conversation.standing})
    await tell(life.hub, conversation.as_begun, "lost")
    await _end(life, conversation, broken=True)


async def bereaved(life: Life, conversation: Conversation) -> PartnerCrashedError:
    """A partner has crashed, and there is nothing to do about it."""
    if not conversation.over:
        await lose(life, conversation)
    role = conversation.lost or ""
    message = (
        f"`{role}` of protocol `{conversation.following.protocol}`, agent `{conversation.cast.get(role)}`, has "
        f"crashed, and the protocol does not say what comes then: the conversation {conversation.id} is over"
    )
    return PartnerCrashedError(message, role=role, conversation=conversation.id)


async def lose(life: Life, conversation: Conversation) -> None:
    """It is over; all others know it, unless we are the first to see it."""
    conversation.over = True
    if conversation.lost is None:
        conversation.lost = conversation.vain
        await tell(life.hub, conversation.as_begun, "lost")
    why = f"`{conversation.lost}` has crashed"
    life.hub.note(conversation.as_begun, life.name, "left", {"why": why, **conversation.standing})
    await _end(life, conversation, broken=True)


async def _end(life: Life, conversation: Conversation, *, broken: bool) -> None:
    conversation.over = True
    key = (conversation.id, conversation.following.part)
    life.conversations.pop(key, None)
    life.over.add(key)
    left = conversation.unsettled + conversation.notices + conversation.waiting
    await life.save()
    await life.hub.transport.end(life.name, conversation.as_begun, left, broken=broken)
