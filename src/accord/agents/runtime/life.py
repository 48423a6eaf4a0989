"""A life of an agent: from its start until it is stopped or crashes. A supervisor starts the next one.

A life has one task that takes letters, and one for each strand. INVARIANT: all of them are in `tasks`, and when `stop`
returns none is left.

What others know of its conversations outlives it in the transport; what its monitors know does not: the next life
starts its protocols afresh.
"""

from __future__ import annotations

import asyncio
from itertools import count
from typing import TYPE_CHECKING

from accord.agents.failures import PartnerCrashedError
from accord.agents.runtime.activity import Presence
from accord.agents.runtime.casting import cast_roles
from accord.agents.runtime.conversation import Conversation, watch
from accord.agents.runtime.partings import finish, leave, lose
from accord.agents.runtime.sorting import sort_letter
from accord.agents.runtime.strand import Strand
from accord.agents.runtime.telling import tell
from accord.diagnostics.agent_codes import MISFIT, NOT_SENT, UNTAKEN
from accord.errors import UsageError, ViolationError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence

    from accord.agents.agent import Agent
    from accord.agents.declaring import Declaration
    from accord.agents.following import Following, Part
    from accord.agents.references import AgentRef
    from accord.agents.runtime.activity import Pause
    from accord.agents.runtime.addressing import Addressee
    from accord.agents.runtime.conversation import Arrival
    from accord.agents.runtime.hub import Hub
    from accord.agents.runtime.letters import Letter
    from accord.agents.runtime.memory import Memory
    from accord.ledger import RecordedMonitor
    from accord.monitor import Monitor

__all__ = ["Life"]


class Life:
    """One life of the agent of a name. `failed` is called with what it crashed with, once."""

    def __init__(
        self,
        hub: Hub,
        name: str,
        agent: Agent,
        declaration: Declaration,
        memory: Memory | None,
        failed: Callable[[Life, BaseException], None],
    ) -> None:
        self.hub = hub
        self.name = name
        self.agent = agent
        self.declaration = declaration
        self.conversations: dict[tuple[str, Part], Conversation] = {}
        self._memory = memory
        self._failed = failed
        self.over = hub.over[name]
        self._checked: set[type] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._orders = count()
        self._stopping = False

    # -- its course ----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Take letters, and run `on_start`."""
        self._run(self._pump(), None)
        strand = Strand(self, f"{self.name}.on_start", handles=False)
        self._run(self._strand(strand, self.agent.on_start), strand.presence)

    async def stop(self) -> None:
        """End every task of it, and wait until they are gone."""
        self._stopping = True
        here = asyncio.current_task()
        tasks = {task for task in self._tasks if task is not here}
        for task in tasks:
            task.cancel()
        cancelled = None
        while tasks:
            try:
                _, tasks = await asyncio.wait(tasks)
            except (
                asyncio.CancelledError
            ) as error:  # whoever stops us is in a hurry; nothing is left behind all the same
                cancelled = error
        if cancelled is not None:
            raise cancelled

    async def say_farewell(self, but: Collection[str]) -> None:
        """Tell those that go on, elsewhere, that conversations with this agent are over; `but` are those that stop."""
        for conversation in list(self.conversations.values()):
            begun = conversation.begun
            if begun is not None and any(name not in but for name in begun.cast.values()):
                await tell(self.hub, begun, "lost", but)
                left = conversation.unsettled + conversation.waiting
                await self.hub.transport.end(self.name, begun, left, broken=True)

    def _run(self, work: Coroutine[object, object, None], presence: Presence | None) -> None:
        if presence is not None:
            self.hub.activity.begin()
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)

        def done(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            # Cancelled by nobody here: something that it waited for was. Whatever it owes will not come.
            error = asyncio.CancelledError("cancelled from inside") if task.cancelled() else task.exception()
            if error is not None:
                self._crash(error)
            if presence is not None:
                presence.end()

        task.add_done_callback(done)

    def _crash(self, error: BaseException) -> None:
        if not self._stopping:
            self._stopping = True
            self._failed(self, error)

    async def _pump(self) -> None:
        while True:
            delivery = await self.hub.transport.take(self.name)
            self.hub.activity.begin()
            try:
                await sort_letter(self, delivery)
            except Exception as error:  # noqa: BLE001 - whatever it is, the agent has crashed by it
                self._crash(error)
                return
            finally:
                self.hub.activity.finish()

    def advance(self, conversation: Conversation) -> None:
        """Let whoever works on a conversation look again; if nobody does, begin the handler of what is next."""
        if conversation.over:
            return
        if conversation.strand is not None:
            conversation.strand.wake()
            return
        arrival = conversation.next()
        if arrival is not None:
            handler = self.declaration.handlers.get(arrival.label)
            if handler is None:
                following = conversation.following
                come = f"`{arrival.label}` from `{arrival.sender}` has arrived"
                raise ViolationError(
                    f"protocol `{following.protocol}`, role `{following.role}`: {come}, and "
                    f"`{self.declaration.name}` has no handler for it",
                    code=UNTAKEN,
                )
            strand = Strand(self, f"{self.name}.{handler.method}", handles=True)
            strand.own(conversation)
            handling = self._strand(strand, lambda: self._handle(strand, conversation, arrival))
            self._run(handling, strand.presence)
        elif conversation.vain is not None:
            self._run(lose(self, conversation), Presence(self.hub.activity))

    async def _handle(self, strand: Strand, conversation: Conversation, arrival: Arrival) -> None:
        handler = self.declaration.handlers[arrival.label]
        message = await strand.take(conversation, arrival, handler.message_class)
        await getattr(self.agent, handler.method)(message)

    async def _strand(self, strand: Strand, work: Callable[[], Coroutine[object, object, None]]) -> None:
        strand.enter()
        bereaved = False
        await strand.turn("starts")
        try:
            await work()
        except PartnerCrashedError:
            bereaved = True
        except Exception:
            await self.save()
            raise
        finally:
            strand.ended = True
        await self.save()
        for conversation in strand.conversations:
            if not conversation.over:
                await self._let_go(strand, conversation, bereaved)
            else:
                conversation.check_whole()

    async def _let_go(self, strand: Strand, conversation: Conversation, bereaved: bool) -> None:
        """A strand has ended: what does that mean for a conversation of it?"""
        if conversation.vain is not None:
            await lose(self, conversation)
            return
        owed = conversation.owes
        if owed and bereaved:
            await leave(self, conversation, f"`{strand.what}` ended because a partner of another conversation crashed")
            return
        if owed:
            following = conversation.following
            verdict = conversation.session.close()
            listed = " or ".join(f"`{word}`" for word in owed)
            raise ViolationError(
                f"protocol `{following.protocol}` requires `{following.role}` to send {listed}, and "
                f"`{strand.what}` has ended without it",
                verdict,
                code=NOT_SENT,
            )
        if conversation.finished:
            await finish(self, conversation)
            return
        conversation.strand = None
        handled, conversation.unsettled = conversation.unsettled, []
        if handled:
            await self.begin(conversation)
        await self.settle(handled)
        self.advance(conversation)

    # -- what strands need ---------------------------------------------------------------------------------------------

    async def check_alive(self) -> None:
        """`StoreError` if others may take this agent for dead, or it runs elsewhere by now.

        A handler that was cancelled, because its life is over, and goes on all the same is cancelled again here.
        """
        if self._stopping:
            await asyncio.sleep(0)  # it may try for ever, but others have their turn
            raise asyncio.CancelledError
        loss = self.hub.transport.loss(self.name)
        if loss is not None:
            raise loss

    def check_class(self, message_class: type) -> None:
        """`UsageError` if a class is not what the protocols say of a message of that name."""
        if message_class in self._checked:
            return
        problems = [p for f in self.declaration.roles for p in f.unfit(message_class, {})]
        if problems:
            raise UsageError("\n".join(problems), code=MISFIT)
        self._checked.add(message_class)

    def outside(self, following: Following) -> Monitor | RecordedMonitor:
        """A monitor for what is tried in no conversation."""
        return watch(following, f"{self.name}/{following.role}", self.hub.ledger)

    async def open(
        self, following: Following, role: str, addressee: Addressee, cast: Mapping[str, AgentRef] | None
    ) -> Conversation:
        """Open a conversation."""
        return self.add(self.hub.new_id(), following, await cast_roles(self, following, role, addressee, cast))

    async def post(self, conversation: Conversation, letter: Letter, pause: Pause) -> None:
        """Put a letter into its receiver's mailbox; what is for somebody who is gone is only noted."""
        if conversation.lost is not None:
            why = f"`{conversation.lost}` has crashed"
            self.hub.note(letter, self.name, "not delivered", {"label": letter.label, "why": why})
            return
        try:
            await self.hub.transport.post(conversation.cast[letter.receiver], letter, pause)
        except BaseException:
            # Nobody knows whether it is there. The monitor says that it was sent, so the conversation cannot go on.
            conversation.tear()
            raise

    async def unbroken(self, work: Callable[[], Coroutine[object, object, None]]) -> None:
        """Do what follows from a message that the monitor has seen already.

        A time limit that runs out in the middle comes too late: the message is there. So it is done again, which does
        no harm, and the verb goes on as if the limit had not run out; only the end of this life ends it.
        """
        while True:
            try:
                await work()
            except asyncio.CancelledError:
                if self._stopping:
                    raise
            else:
                return

    async def own_up(self, conversation: Conversation, handled: Sequence[str], *, begins: bool) -> None:
        """Let the transport know of a conversation, if it begins here, and of the letters in it that are handled."""
        if begins:
            await self.begin(conversation)
        await self.settle(handled)

    async def begin(self, conversation: Conversation) -> None:
        """Others know of it from now on, or something else of it."""
        begun = conversation.as_begun
        if conversation.begun != begun:
            await self.hub.transport.begin(self.name, begun)
            conversation.begun = begun
        notices = list(conversation.notices)
        await self.settle(notices)
        del conversation.notices[: len(notices)]

    async def settle(self, numbers: Sequence[str]) -> None:
        """These letters are handled; what they have changed is kept before."""
        if numbers:
            await self.save()
            await self.hub.transport.settle(self.name, numbers)

    async def save(self) -> None:
        """Keep the persistent fields."""
        if self._memory is not None:
            self._memory.save(self.agent)

    def forget(self, conversation: Conversation) -> None:
        """It has not been opened after all."""
        del self.conversations[conversation.id, conversation.following.part]

    def next_order(self) -> int:
        """The number of one more letter, in the order in which they arrive."""
        return next(self._orders)

    def add(self, identity: str, following: Following, cast: dict[str, str]) -> Conversation:
        """Be in a conversation from now on."""
        conversation = Conversation(identity, following, cast, self.hub.ledger)
        conversation.crashed |= self.over.buried((identity, following.part))
        self.conversations[identity, following.part] = conversation
        return conversation
