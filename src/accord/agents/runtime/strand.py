"""A strand: one task of an agent, and the conversations it works on.

A handler's strand begins with the conversation of its message; every conversation that it opens becomes its own too.
While it runs, what arrives in its conversations is for its `receive`. When it ends, they are let go, and what arrives
next finds a handler.

A message counts as handled when its strand takes the next step in the conversation, or ends. From its first step that
others can see, a conversation has *begun*: if the agent crashes later, it is over, and the others are told. Before that
nothing has happened as far as others know, and the next life of the agent takes the message again.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from accord.agents.messages import Crash, classes_in, label_of, make_message, payload_of
from accord.agents.runtime.activity import Pause, Presence
from accord.agents.runtime.addressing import address
from accord.agents.runtime.letters import Letter
from accord.agents.runtime.partings import bereaved, finish, leave
from accord.agents.runtime.placing import check_hope, check_protocol, code_of, find_place, violation
from accord.diagnostics.agent_codes import MISFIT, OUT_OF_ORDER, REPLY_OUTSIDE, UNCLEAR, WRONG_TYPE
from accord.errors import UsageError, ViolationError
from accord.monitor import Ok

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.agents.references import AgentRef
    from accord.agents.runtime.conversation import Arrival, Conversation
    from accord.agents.runtime.life import Life

__all__ = ["Strand", "current_strand"]

_CURRENT: ContextVar[Strand] = ContextVar("accord_strand")


def current_strand(agent: object) -> Strand:
    """The strand that calls; `UsageError` if the agent is used from anywhere else."""
    strand = _CURRENT.get(None)
    if strand is None or strand.life.agent is not agent or strand.ended:
        raise UsageError(
            f"`{type(agent).__name__}` sends and receives in its own handlers and `on_start`, while they run; "
            "a `Supervisor` runs it"
        )
    return strand


class Strand:
    """One task of an agent."""

    def __init__(self, life: Life, what: str, *, handles: bool) -> None:
        self.life = life
        self.what = what
        self.handles = handles
        """Whether it is a handler; in `on_start` there is nobody to reply to."""
        self.conversations: list[Conversation] = []
        self.last: tuple[Conversation, str] | None = None
        """The conversation of the last message that was received, and the role that sent it."""
        self._replied = False
        """Whether that message was replied to."""
        self.presence = Presence(life.hub.activity)
        self.ended = False
        self._pauses: set[Pause] = set()
        self._tasks: set[asyncio.Task[Any] | None] = set()

    def enter(self) -> None:
        """From now on, calls of this task are those of this strand."""
        _CURRENT.set(self)
        self._tasks.add(asyncio.current_task())

    def wake(self) -> None:
        """Something has arrived: let those that wait look again."""
        for pause in list(self._pauses):
            pause.wake()

    async def turn(self, what: str) -> None:
        """Wait for one's turn, if there is a schedule; called by every verb."""
        await self.life.check_alive()
        task = asyncio.current_task()
        if task is not None and task not in self._tasks:  # one that the handler has started
            self._tasks.add(task)
            task.add_done_callback(lambda _: self.presence.look())
        await self.life.hub.activity.turn(f"{self.what} {what}", self.presence)

    def own(self, conversation: Conversation) -> None:
        """Work on a conversation."""
        conversation.strand = self
        self.conversations.append(conversation)

    # -- verbs ---------------------------------------------------------------------------------------------------------

    async def send(
        self, to: object, message: object, protocol: str | None, cast: Mapping[str, AgentRef] | None
    ) -> None:
        """Send to a role or an agent, in the conversation in which it is due, or in a new one."""
        check_protocol(self, protocol)
        label, payload = self._read(message)
        await self._tidy()
        await self.turn(f"sends {label}")
        addressee = await address(self.life, to)
        conversation, role = await find_place(self, label, payload, addressee, protocol, cast)
        try:
            await self._send(conversation, role, label, payload)
        except ViolationError:
            if conversation.is_new:  # what was to open it was refused, so it is not open
                self.conversations.remove(conversation)
                self.life.forget(conversation)
            raise

    async def reply(self, message: object, protocol: str | None) -> None:
        """Send to whoever sent the last message, in its conversation."""
        if not self.handles:
            raise UsageError(
                "`reply` outside a handler: there is no message to reply to; use `send`", code=REPLY_OUTSIDE
            )
        check_protocol(self, protocol)
        label, payload = self._read(message)
        await self._tidy()
        await self.turn(f"replies {label}")
        last = self.last
        if protocol is not None:
            last = next(((c, c.last_sender) for c in reversed(self.of(protocol)) if c.last_sender), None)
        if last is None:
            raise UsageError(f"this handler has received nothing in protocol {protocol!r} to reply to", code=UNCLEAR)
        await self._send(*last, label, payload, replies=True)
        self._replied = True

    async def receive(self, annotation: object, protocol: str | None) -> object:
        """Wait for a message in the conversations of this strand."""
        check_protocol(self, protocol)
        classes = classes_in(annotation)
        if classes is None:
            raise UsageError(f"`receive` is given the class of a message, or `A | B`, got {annotation!r}")
        wanted = {label_of(message_class): message_class for message_class in classes}
        for message_class in classes:
            self.life.check_class(message_class)
        await self.life.check_alive()
        await self._tidy()
        pause = Pause(self.presence)
        self._pauses.add(pause)
        try:
            return await self._wait_for(wanted, protocol, pause)
        finally:
            self._pauses.discard(pause)

    async def _wait_for(self, wanted: dict[str, type], protocol: str | None, pause: Pause) -> object:
        while True:
            if self._first(self.of(protocol), wanted) is not None:
                await self.turn(f"receives {' or '.join(wanted)}")
            # Looked up again: another task of this handler may have had its turn.
            mine = self.of(protocol)
            found = self._first(mine, wanted)
            if found is not None:
                conversation, arrival = found
                return await self.take(conversation, arrival, wanted[arrival.label])
            await check_hope(self, mine, wanted, protocol)
            for conversation in mine:
                # Whoever waits has handled what it had: else a full mailbox would keep out what it waits for.
                await self._handled(conversation)
            await pause.wait()

    def of(self, protocol: str | None) -> list[Conversation]:
        """Its conversations of a protocol, or all."""
        return [c for c in self.conversations if protocol in (None, c.following.protocol)]

    @staticmethod
    def _first(mine: list[Conversation], wanted: dict[str, type]) -> tuple[Conversation, Arrival] | None:
        """What arrived first of what is wanted."""
        found = [(c, arrival) for c in mine if not c.over and (arrival := c.next(wanted)) is not None]
        return min(found, key=lambda item: item[1].order, default=None)

    # -- steps ---------------------------------------------------------------------------------------------------------

    async def take(self, conversation: Conversation, arrival: Arrival, message_class: type) -> Any:  # noqa: ANN401 - of that class
        """Receive what has arrived."""
        # INVARIANT: nothing is awaited before the monitor has seen it, so that two that wait cannot change places.
        conversation.pop(arrival)
        delivery = arrival.delivery
        verdict = conversation.take_crash(arrival.sender) if delivery is None else conversation.take(delivery.letter)
        is_first, conversation.last_sender = not conversation.last_sender, arrival.sender
        handled, conversation.unsettled = conversation.unsettled, [] if delivery is None else [delivery.number]
        if not isinstance(verdict, Ok):
            await leave(self.life, conversation, f"`{arrival.sender}` has sent what is not allowed")
            raise violation(conversation.following, verdict, arrival.sender, OUT_OF_ORDER)
        self.last, self._replied = (conversation, arrival.sender), False
        begins = not is_first or conversation.following.crash_is_handled
        await self.life.unbroken(lambda: self.life.own_up(conversation, handled, begins=begins))
        return Crash(arrival.sender) if delivery is None else make_message(message_class, delivery.letter.payload)

    async def _tidy(self) -> None:
        """Let go of conversations that are over, whose last message this strand has handled by now.

        One that has not begun stays: its only message is what this handler is about, and is handled when it ends.
        """
        for conversation in list(self.conversations):
            if not conversation.over and conversation.finished and conversation.begun is not None:
                await finish(self.life, conversation)
            if conversation.over and conversation.lost is None and not conversation.torn:
                self.conversations.remove(conversation)

    async def _handled(self, conversation: Conversation) -> None:
        if conversation.unsettled and not conversation.over:
            handled, conversation.unsettled = conversation.unsettled, []
            await self.life.begin(conversation)
            await self.life.settle(handled)

    async def _send(
        self, conversation: Conversation, role: str, label: str, payload: dict[str, Any], *, replies: bool = False
    ) -> None:
        life, following = self.life, conversation.following
        if conversation.over and conversation.lost is not None:
            raise await bereaved(life, conversation)
        conversation.check_whole()
        async with conversation.sending:
            is_second = replies and self._replied
            wrong = following.payload_problem(label, payload)
            if conversation.over:
                wrong = f"protocol `{following.protocol}` is over for `{following.role}` in this conversation"
            if wrong is not None:
                refused = conversation.refuse("!", label, payload, role, wrong)
                code = code_of(conversation, label, is_second=is_second) if conversation.over else MISFIT
                raise violation(following, refused, following.role, code)
            verdict = conversation.send(label, payload, role)
            if not isinstance(verdict, Ok):
                raise violation(following, verdict, following.role, code_of(conversation, label, is_second=is_second))
            letter = Letter(
                conversation=conversation.id,
                contract=following.contract.digest,
                protocol=following.protocol,
                sender=following.role,
                receiver=role,
                label=label,
                payload=payload,
                cast=conversation.cast,
                nth=conversation.sent[role] + 1,
                opens=conversation.is_new,
            )
            conversation.sent[role] += 1
            handled, conversation.unsettled = conversation.unsettled, []
            await life.unbroken(lambda: life.own_up(conversation, (), begins=True))
            await life.unbroken(life.save)
            await life.post(conversation, letter, Pause(self.presence))
            await life.unbroken(lambda: life.settle(handled))
            if conversation.finished:
                # Its part is done, whatever becomes of the handler: if it crashes now, nobody else is concerned.
                await finish(life, conversation)

    def _read(self, message: object) -> tuple[str, dict[str, Any]]:
        if isinstance(message, Crash):
            what = "`Crash` is nothing to send: the run time tells who has crashed"
            raise UsageError(what, code=WRONG_TYPE)
        label = label_of(type(message))
        try:
            payload = payload_of(message)
        except UsageError as error:
            code = MISFIT if any(label in following.sends for following in self.life.declaration.roles) else WRONG_TYPE
            raise UsageError(str(error), code=code) from error.__cause__
        self.life.check_class(type(message))
        return label, payload
