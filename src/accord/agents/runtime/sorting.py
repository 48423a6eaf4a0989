"""What becomes of a letter that was taken from a mailbox: which conversation it is for, or why nobody can have it.

Whoever can write to a transport can put anything there. So what a letter says is believed only as far as it can be
true, and a letter that cannot be stops nobody: it is noted, and settled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.agents.runtime.letters import Begun
from accord.agents.runtime.partings import leave
from accord.agents.runtime.telling import tell
from accord.diagnostics.visible import clip
from accord.errors import UsageError
from accord.stores.record import check_name

if TYPE_CHECKING:
    from accord.agents.following import Following
    from accord.agents.runtime.letters import Delivery, Letter
    from accord.agents.runtime.life import Life

__all__ = ["sort_letter"]


async def sort_letter(life: Life, delivery: Delivery) -> None:
    """Give a letter to its conversation, which may be a new one."""
    letter = delivery.letter
    key = (letter.conversation, letter.part)
    conversation = life.conversations.get(key)
    if conversation is None:
        following = next((f for f in life.declaration.roles if f.part == letter.part), None)
        if following is None or not _is_possible(letter, following, life.name):
            await _put_away(life, delivery)
            return
        if (objection := _objection(life, letter, following)) is not None:
            await _discard(life, delivery, objection)
            return
        conversation = life.add(letter.conversation, following, dict(letter.cast))
    elif conversation.has_come(letter):
        await _discard(life, delivery, "it has come before")
        return
    verdict = conversation.arrive(delivery, life.next_order())
    noticing = letter.gone == "crashed" and letter.receiver in letter.noticed_by
    if noticing and conversation.misses(letter.sender):
        conversation.lost = letter.sender
        await tell(life.hub, conversation.as_begun, "lost")
    if verdict is not None:
        conversation.unsettled.append(delivery.number)
        await leave(life, conversation, f"`{letter.sender}` has sent what is not allowed")
        return
    life.advance(conversation)


def _is_possible(letter: Letter, following: Following, name: str) -> bool:
    """Whether a letter is of a conversation that could be: it has an id, and it says who plays what, us among them."""
    try:
        check_name(letter.conversation)
    except UsageError:
        return False
    roles = set(following.choreography.roles)
    return letter.cast.keys() == roles and letter.cast[letter.receiver] == name and letter.sender in roles


def _objection(life: Life, letter: Letter, following: Following) -> str | None:
    """Why the agent cannot enter a conversation by a letter."""
    if (letter.conversation, letter.part) in life.over or letter.gone == "lost":
        return "its conversation is over"
    if letter.gone and letter.receiver not in letter.noticed_by:
        return "it is of no concern to the agent"
    # Whoever opens conversations knows its own; of any other it can hear nothing that it could go on with.
    return "the agent has not opened its conversation" if following.opening else None


async def _discard(life: Life, delivery: Delivery, why: str) -> None:
    """A letter of a conversation that the agent is not in, or not any more."""
    letter = delivery.letter
    key = (letter.conversation, letter.part)
    if letter.gone == "lost":
        life.over.add(key)  # what others had sent in it before may come after this
    elif letter.gone:
        life.over.bury(key, letter.sender)
    else:
        life.hub.note(letter, life.name, "not delivered", {"label": clip(letter.label), "why": why})
    await life.settle([delivery.number])


async def _put_away(life: Life, delivery: Delivery) -> None:
    """A letter that cannot be meant. It is noted under the agent's own name: what it says of itself may be anything."""
    letter = delivery.letter
    why = "the agent does not follow this protocol, or the letter does not say who does"
    told = {"label": clip(letter.label), "conversation": clip(letter.conversation), "why": why}
    about = Begun(conversation=life.name, part=life.declaration.roles[0].part, cast={})
    life.hub.note(about, life.name, "not delivered", {**told, "protocol": clip(letter.protocol)})
    await life.settle([delivery.number])
