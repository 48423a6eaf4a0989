"""What is to become of the conversations of an agent that is dead, and that nobody has started again.

An agent that is started again deals with that itself. Until somebody does, its partners would wait; so a process that
lives opens the mailbox in its stead, for as long as it takes to tell them. Conversations that the agent had begun are
dealt with as its next life would. In one that it has only got letters of, it is as if it had taken them and crashed
then: who notices that depends on the protocol, and the process that inherits may follow quite another one. So each
agent leaves a *will* with its mailbox, made from its own machine.

Letters for a role that never sends anything stay where they are: nobody waits for an answer, and they were accepted.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from accord.agents.following import Part  # noqa: TC001 - msgspec reads annotations
from accord.agents.runtime.letters import Begun
from accord.agents.runtime.telling import tell
from accord.language.global_tree import CRASH
from accord.language.labels import print_word

if TYPE_CHECKING:
    from accord.agents.following import Following
    from accord.agents.runtime.hub import Hub
    from accord.agents.runtime.letters import Delivery, Key, Letter

__all__ = ["Estate", "Left", "Will", "settle_estate", "will_of"]


class Waiting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A state of a role that has sent nothing yet: what can come, where that leads, and who would notice a crash."""

    after: dict[str, int]
    noticed_by: tuple[str, ...]


class Will(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a role's death means in a conversation that it has not begun. `answers`: whether anybody may wait for it."""

    part: Part
    answers: bool
    states: tuple[Waiting, ...]


class Left(NamedTuple):
    """What the life before has left: conversations it had begun, and some that are over for the agent, for good."""

    begun: list[Begun]
    over: list[Key]


class Estate(NamedTuple):
    """What is in the mailbox of an agent that is dead."""

    name: str
    wills: list[Will]
    left: Left
    letters: list[Delivery]


def will_of(following: Following) -> Will:
    """The will of a role: the part of its machine that is reached by receiving alone."""
    places = {0: 0}
    todo, states = [0], []
    while todo:
        state = todo.pop(0)
        after, noticing = {}, []
        for symbol in following.edges(state):
            if (symbol.direction, symbol.label) == ("!", CRASH):
                noticing.append(symbol.partner or "")
            elif symbol.direction == "?" and symbol.label != CRASH:
                target = following.after(state, symbol)
                if target not in places:
                    places[target] = len(places)
                    todo.append(target)
                after[print_word("?", symbol.label, symbol.partner)] = places[target]
        states.append(Waiting(after, tuple(dict.fromkeys(noticing))))
    return Will(following.part, bool(following.sends), tuple(states))


def _noticed_by(will: Will, letters: list[Letter]) -> tuple[str, ...] | None:
    """Who notices that a role has crashed after it has taken these letters; `None` if it could take none of them."""
    state, left = 0, list(letters)
    while True:
        heads = {letter.sender: letter for letter in reversed(left)}
        for letter in heads.values():
            target = will.states[state].after.get(print_word("?", letter.label, letter.sender))
            if target is not None:
                state = target
                left.remove(letter)
                break
        else:
            return will.states[state].noticed_by if len(left) < len(letters) else None


async def settle_estate(hub: Hub, estate: Estate) -> None:
    """Tell the partners of one that is dead.

    INVARIANT: each conversation is ended in the transport after its partners were told; whoever is killed in between is
    followed by somebody who tells them again.
    """
    wills = {will.part: will for will in estate.wills}
    over = set(estate.left.over)
    for begun in estate.left.begun:
        await _announce(hub, estate.name, begun, ())
        over.add((begun.conversation, begun.part))
    pending: defaultdict[Key, list[Delivery]] = defaultdict(list)
    for delivery in estate.letters:
        pending[delivery.letter.conversation, delivery.letter.part].append(delivery)
    for key, deliveries in pending.items():
        will = wills.get(key[1])
        if will is None:  # nobody can have meant it, and what it says of itself may be anything
            await hub.transport.settle(estate.name, [delivery.number for delivery in deliveries])
            continue
        if key in over:
            await _discard(hub, estate.name, deliveries)
            continue
        letters = [delivery.letter for delivery in deliveries if not delivery.letter.gone]
        noticed_by = _noticed_by(will, letters)
        if will.answers and noticed_by is not None:
            begun = Begun(
                conversation=key[0],
                part=key[1],
                cast={**letters[0].cast, key[1].role: estate.name},
                noticed_by=noticed_by,
            )
            await _announce(hub, estate.name, begun, deliveries)


async def _announce(hub: Hub, name: str, begun: Begun, deliveries: list[Delivery] | tuple[()]) -> None:
    why = "the process of the agent has not been heard of, and nobody has started it again"
    lost = [delivery.letter.label for delivery in deliveries if not delivery.letter.gone]
    hub.note(begun, name, "given up for dead", {"why": why, **({"not taken": lost} if lost else {})})
    await tell(hub, begun, "crashed" if begun.noticed_by else "lost")
    await hub.transport.end(name, begun, [delivery.number for delivery in deliveries], broken=True)


async def _discard(hub: Hub, name: str, deliveries: list[Delivery]) -> None:
    for delivery in deliveries:
        if not delivery.letter.gone:
            detail: dict[str, object] = {"label": delivery.letter.label, "why": "its conversation is over"}
            hub.note(delivery.letter, name, "not delivered", detail)
    await hub.transport.settle(name, [delivery.number for delivery in deliveries])
