"""What sending, replying and receiving do to the conversations of a strand, as the run time would decide.

- A message goes into the conversation in which it is due, the last one first. If it is due in none and a protocol
  begins with it, it opens one.
- A reply goes to the sender of the last message, in its conversation.
- A message is received in any conversation that takes it now.

After something wrong the strand goes on as if it had done what was certainly meant, or not at all, so that one mistake
is one finding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from accord.agents.check.rules.after_the_end import after_the_end
from accord.agents.check.rules.never_received import never_here, never_received, never_without_conversation
from accord.agents.check.rules.no_shared_protocol import no_shared_protocol
from accord.agents.check.rules.out_of_order import not_a_beginning, out_of_order
from accord.agents.check.rules.reply_outside import reply_outside
from accord.agents.check.rules.second_reply import second_reply
from accord.agents.check.rules.unclear import (
    not_followed,
    several_conversations,
    several_protocols,
    several_roles,
    wrong_protocol,
)
from accord.agents.check.rules.untaken import received_by_half
from accord.agents.check.rules.wrong_role import reply_to_another, wrong_role
from accord.agents.check.rules.wrong_type import wrong_type
from accord.agents.check.worlds import GONE, RESULT, Conversation, Known, World

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accord.agents.check.missteps import Misstep
    from accord.agents.check.scripts import Script

__all__ = ["Addressee", "Outcome", "receive", "reply", "send"]


@dataclass(frozen=True)
class Addressee:
    """Whom a message is for: a role by name, or an agent that plays these roles; if neither is known, anybody."""

    role: str | None = None
    plays: frozenset[tuple[object, str]] | None = None
    words: str = ""

    def is_role(self, script: Script, role: str) -> bool:
        """Whether it is, or can be, that role."""
        if self.role is not None:
            return self.role == role
        return self.plays is None or (script.identity, role) in self.plays

    def shares(self, script: Script) -> bool:
        """Whether it has any part in a protocol."""
        return any(self.is_role(script, role) for role in script.roles if role != script.role)

    def __str__(self) -> str:
        return f"role `{self.role}`" if self.role is not None else self.words or "this agent"


class Outcome(NamedTuple):
    """The worlds after a step, what is wrong with it, if anything is, and who was sent something, in which part."""

    worlds: list[World]
    misstep: Misstep | None = None
    partner: tuple[int, str] | None = None


class _Place(NamedTuple):
    """Where a message could be sent: a conversation, or a new one if there is none, and what it leads to."""

    conversation: Conversation | None
    is_last: bool
    part: int
    label: str
    role: str
    target: int

    def take(self, scripts: Sequence[Script], world: World) -> list[World]:
        """The worlds after it was sent there."""
        after = Conversation(self.part, self.target)
        if self.conversation is None:
            worlds = [world.with_other(after)]
        elif self.is_last:
            worlds = [world._replace(last=after)]
        else:
            worlds = [rest.with_other(after) for rest in world.without_other(self.conversation)]
        return _settled(scripts, worlds)


def _settled(scripts: Sequence[Script], worlds: list[World]) -> list[World]:
    """Without conversations that are over and that nobody can refer to any more."""
    return [
        world._replace(others=tuple([(c, n) for c, n in world.others if not scripts[c.part].is_over(c.state)]))
        for world in worlds
    ]


def _due(scripts: Sequence[Script], conversations: list[tuple[Conversation, bool]]) -> list[_Place]:
    """Everything that can be sent in some conversations."""
    return [
        _Place(conversation, is_last, conversation.part, label, role, target)
        for conversation, is_last in conversations
        for (label, role), target in scripts[conversation.part].sends[conversation.state].items()
    ]


def _openings(scripts: Sequence[Script], parts: list[int]) -> list[_Place]:
    """Everything that a conversation can be opened with."""
    return [
        _Place(None, False, part, label, role, target)  # noqa: FBT003 - as the field says
        for part in parts
        for (label, role), target in scripts[part].sends[0].items()
    ]


def send(scripts: Sequence[Script], world: World, label: str, to: Addressee, protocol: str | None) -> Outcome:
    """`await self.send(to, message)`."""
    parts = [part for part, script in enumerate(scripts) if protocol in (None, script.protocol)]
    if not parts:
        return Outcome([], not_followed(protocol or "", scripts))
    if to.plays is not None and not any(to.shares(scripts[part]) for part in parts):
        return Outcome([world], no_shared_protocol(scripts, str(to)))
    mine = [(c, is_last) for c, is_last in world.conversations() if c.part in parts]
    due, openings = _due(scripts, mine), _openings(scripts, parts)
    fitting = [p for p in due if p.label == label and to.is_role(scripts[p.part], p.role)]
    preferred = [p for p in fitting if p.is_last]
    fitting = preferred or fitting
    if fitting:
        counts = dict(world.others)
        in_several = not preferred and (len(fitting) > 1 or counts.get(fitting[0].conversation, 1) > 1)  # type: ignore[arg-type]
        misstep = _unclear(scripts, fitting) if in_several or len(preferred) > 1 else None
        place = fitting[0]
        return Outcome(place.take(scripts, world), misstep, (place.part, place.role))
    opening = [p for p in openings if p.label == label and to.is_role(scripts[p.part], p.role)]
    if opening:
        place = opening[0]
        misstep = _unclear(scripts, opening) if len(opening) > 1 else None
        return Outcome(place.take(scripts, world), misstep, (place.part, place.role))
    return _misplaced(scripts, world, label, to, mine)


def _unclear(scripts: Sequence[Script], places: list[_Place]) -> Misstep:
    """Why it cannot be told which of several places is meant."""
    label = places[0].label
    protocols = {scripts[place.part].protocol for place in places}
    if len(protocols) > 1:
        return several_protocols(label, protocols)
    if len({place.role for place in places}) > 1:
        return several_roles(label, [place.role for place in places])
    return several_conversations(label, protocols.pop())


def _as_meant(scripts: Sequence[Script], world: World, places: list[_Place]) -> list[World]:
    """The worlds after what was certainly meant; none if that is not certain."""
    return places[0].take(scripts, world) if len(places) == 1 else []


def _misplaced(
    scripts: Sequence[Script], world: World, label: str, to: Addressee, mine: list[tuple[Conversation, bool]]
) -> Outcome:
    """Why a message can be sent in no conversation, and how to go on."""
    parts = list(range(len(scripts)))
    due, openings = _due(scripts, mine), _openings(scripts, parts)
    known = [part for part in parts if any(word == label for word, _ in scripts[part].sent)]
    if to.role is not None and not any(to.role in scripts[p].roles and to.role != scripts[p].role for p in parts):
        same = [place for place in due or openings if place.label == label]
        return Outcome(_as_meant(scripts, world, same), wrong_role(scripts, label, to.role, str(to)))
    if not known:
        expected = due or openings
        script = scripts[expected[0].part] if expected else scripts[0] if scripts else None
        misstep = wrong_type(script, label, [(place.label, place.role) for place in expected])
        return Outcome(_as_meant(scripts, world, due), misstep)
    same = [place for place in due if place.label == label] or [
        place for place in openings if place.label == label and not mine
    ]
    of_label = [(scripts[p], role) for p in known for word, role in scripts[p].sent if word == label]
    if same or not any(to.is_role(script, role) for script, role in of_label):
        return Outcome(_as_meant(scripts, world, same), wrong_role(scripts, label, to.role, str(to)))
    live = [c for c, _ in mine if c.part in known and not scripts[c.part].is_over(c.state)]
    if live:
        return Outcome([], out_of_order(scripts[live[0].part], live[0].state, label))
    if world.last is not None and world.last.part in known:
        return Outcome([world], after_the_end(scripts[world.last.part], label))
    return Outcome([], not_a_beginning(scripts[known[0]], label))


def reply(scripts: Sequence[Script], world: World, label: str, protocol: str | None, *, handles: bool) -> Outcome:
    """`await self.reply(message)`."""
    if not handles or world.last is None:
        return Outcome([], reply_outside())
    part, state = world.last
    script = scripts[part]
    if protocol not in (None, script.protocol):
        return Outcome([], wrong_protocol(protocol or "", script))
    due = [] if state == GONE else _due(scripts, [(world.last, True)])
    same = [place for place in due if place.label == label]
    for place in same:
        if place.role == world.sender:
            moved = [after._replace(replied=True) for after in place.take(scripts, world)]
            return Outcome(moved, None, (part, world.sender))
    if world.replied and not due:
        return Outcome([world], second_reply(script, label, world.sender))
    if not any(word == label for word, _ in script.sent):
        misstep = wrong_type(script, label, [(place.label, place.role) for place in due])
        return Outcome([after._replace(replied=True) for after in _as_meant(scripts, world, due)], misstep)
    if state == GONE or script.is_over(state):
        return Outcome([world], after_the_end(script, label))
    if same:
        misstep = reply_to_another(label, [place.role for place in same], world.sender)
        return Outcome(_as_meant(scripts, world, same), misstep)
    return Outcome([], out_of_order(script, state, label))


def receive(scripts: Sequence[Script], world: World, labels: tuple[str, ...], protocol: str | None) -> Outcome:
    """`await self.receive(Type)`."""
    if protocol is not None and all(protocol != script.protocol for script in scripts):
        return Outcome([], not_followed(protocol, scripts))
    mine = [(c, is_last) for c, is_last in world.conversations() if protocol in (None, scripts[c.part].protocol)]
    places = [
        (conversation, is_last, label, sender, target)
        for conversation, is_last in mine
        for (label, sender), target in scripts[conversation.part].receives[conversation.state].items()
        if label in labels
    ]
    if not places:
        return Outcome([], _never(scripts, world, [c for c, _ in mine], labels))
    misstep = None
    if not any(scripts[c.part].is_taken(c.state, labels) for c, _ in mine):
        conversation = places[0][0]
        misstep = received_by_half(scripts[conversation.part], conversation.state, labels)
    worlds = []
    for conversation, is_last, label, sender, target in places:
        after = Conversation(conversation.part, target)
        for rest in [world] if is_last else world.without_other(conversation):
            kept = rest
            if not is_last and rest.last is not None and rest.last.state != GONE:
                kept = rest.with_other(rest.last)
            moved = kept._replace(last=after, sender=sender, replied=False)
            worlds.append(moved.bind(RESULT, Known("message", label)))
    return Outcome(_settled(scripts, worlds), misstep)


def _never(scripts: Sequence[Script], world: World, mine: list[Conversation], labels: tuple[str, ...]) -> Misstep:
    """Why none of these messages can come."""
    known = [script for script in scripts if any(label in labels for label, _ in script.received)]
    if not known:
        return never_received(scripts, labels)
    live = [c for c in mine if not scripts[c.part].is_over(c.state)]
    if not live:
        return never_without_conversation(known[0], labels, is_over=world.last is not None or bool(mine))
    return never_here(scripts[live[0].part], live[0].state, labels)
