"""`Supervisor`: runs agents, and starts them again when they crash.

Inside its `async with` block the agents live; when the block ends, every task of theirs has ended too. An agent that
crashes is started again, alone or with others, as the strategy says; if that happens too often, the supervisor gives
up: the block is cancelled and raises `GaveUpError`.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from accord.agents.agent import Agent
from accord.agents.declaring import declaration_of
from accord.agents.failures import GaveUpError
from accord.agents.persistence import persistent_fields
from accord.agents.references import AgentRef
from accord.agents.runtime.activity import Activity
from accord.agents.runtime.estates import will_of
from accord.agents.runtime.hub import Hub
from accord.agents.runtime.in_process import InProcess
from accord.agents.runtime.keeping import Keeper
from accord.agents.runtime.life import Life
from accord.agents.runtime.memory import Memory
from accord.agents.runtime.strategies import check_strategy, recent, to_restart
from accord.agents.runtime.telling import tell
from accord.diagnostics.agent_codes import UNCLEAR
from accord.errors import StoreError, UsageError
from accord.ledger.attempts import why
from accord.stores.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from accord.agents.declaring import Declaration
    from accord.agents.runtime.activity import Schedule
    from accord.agents.runtime.estates import Left, Will
    from accord.agents.runtime.strategies import Strategy
    from accord.agents.runtime.transport import Transport
    from accord.ledger import Ledger
    from accord.stores.store import Store

__all__ = ["Supervisor", "Unfinished"]

_LOG = logging.getLogger("accord.agents")


class Unfinished(NamedTuple):
    """A conversation that goes on, as one agent in it sees it; `next` is what may happen for it now."""

    agent: str
    conversation: str
    protocol: str
    role: str
    next: list[str]


@dataclass
class _Child:
    name: str
    agent_class: type[Agent]
    declaration: Declaration
    wills: tuple[Will, ...]
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    life: Life | None = None
    is_open: bool = False
    """Whether its mailbox is."""


class Supervisor:
    """Runs agents.

    `strategy` says who is started again when one crashes: `one_for_one` that one, `one_for_all` all, `rest_for_one`
    that one and those added after it. More than `max_restarts` crashes `within` so many seconds, and it gives up.

    `mailbox` is how many unhandled messages of one kind an agent's mailbox takes before senders wait. Persistent fields
    are kept in `store`, or in memory, every attempt and every crash in `ledger`; crashes are logged too. `clock` tells
    the time in seconds, `schedule` who moves next, for tests.
    """

    def __init__(  # noqa: PLR0913 - each is something else
        self,
        *,
        strategy: Strategy = "one_for_one",
        max_restarts: int = 3,
        within: float = 5.0,
        mailbox: int = 100,
        transport: Transport | None = None,
        store: Store | None = None,
        ledger: Ledger | None = None,
        clock: Callable[[], float] = time.monotonic,
        schedule: Schedule | None = None,
    ) -> None:
        if max_restarts < 0 or mailbox < 1 or not within > 0:
            raise UsageError("`max_restarts` is 0 or more, `mailbox` 1 or more, `within` a number of seconds")
        self._strategy: Strategy = check_strategy(strategy)
        self._max_restarts, self._within, self._mailbox = max_restarts, within, mailbox
        self._transport: Transport = InProcess() if transport is None else transport
        self._store: Store = MemoryStore() if store is None else store
        self._clock = clock
        self._activity = Activity(self._transport, schedule)
        self._hub = Hub(self._transport, self._activity, ledger, self._name_of)
        self._children: dict[str, _Child] = {}
        self._crashes: tuple[float, ...] = ()
        self._reports: asyncio.Queue[tuple[_Child, Life | None, BaseException]] = asyncio.Queue()
        self._watching: asyncio.Task[None] | None = None
        self._keeper = Keeper(self._hub, lambda error: self._give_up(f"nobody knows who lives ({why(error)})", error))
        self._body: asyncio.Task[Any] | None = None
        self._failure: GaveUpError | None = None

    # -- before --------------------------------------------------------------------------------------------------------

    def add(self, agent_class: type[Agent], *arguments: Any, name: str | None = None, **options: Any) -> AgentRef:  # noqa: ANN401 - what the agent is made with
        """An agent to run, made with these arguments whenever it starts; without `name` it is called like its class.

        Raises `UsageError` with everything that is wrong with its declaration.
        """
        if not (isinstance(agent_class, type) and issubclass(agent_class, Agent)):
            code = UNCLEAR if isinstance(agent_class, type) else None
            raise UsageError(f"an agent is given as a class derived from `Agent`, got {agent_class!r}", code=code)
        if self._body is not None:
            raise UsageError("agents are added before the supervisor's block begins")
        declaration = declaration_of(agent_class)
        reference = AgentRef(agent_class.__name__ if name is None else name)
        if reference.name in self._children:
            raise UsageError(f"there is an agent `{reference.name}` already; give this one another `name=`")
        try:
            inspect.signature(agent_class).bind(*arguments, **options)
        except TypeError as error:
            raise UsageError(f"`{agent_class.__name__}` cannot be made with these arguments: {error}") from None
        wills = tuple([will_of(following) for following in declaration.roles])
        child = _Child(reference.name, agent_class, declaration, wills, arguments, options)
        self._children[reference.name] = child
        return reference

    # -- while agents live ---------------------------------------------------------------------------------------------

    async def settled(self) -> None:
        """Wait until nothing moves: every message is handled, and every agent waits for another one or for nothing.

        An agent that waits for anything outside, such as a model or a timer, still moves.
        """
        await self._activity.settled()

    async def run(self) -> None:
        """Stay in the block until it is cancelled, or the supervisor gives up."""
        await asyncio.get_running_loop().create_future()

    def __getitem__(self, agent: AgentRef) -> Agent:
        """The agent as it lives now; `UsageError` if it does not."""
        child = self._children.get(agent.name)
        if child is None or child.life is None:
            raise UsageError(f"there is no agent `{agent.name}` that lives")
        return child.life.agent

    def unfinished(self) -> list[Unfinished]:
        """The conversations that are not over, once for each agent in them."""
        found = []
        for child in self._children.values():
            for c in child.life.conversations.values() if child.life is not None else ():
                if not c.may_stop:
                    part = c.following.part
                    found.append(Unfinished(child.name, c.id, part.protocol, part.role, c.session.allowed()))
        return found

    async def __aenter__(self) -> Self:
        if self._body is not None:
            raise UsageError("a supervisor runs its agents once; make another one")
        self._body = asyncio.current_task()
        self._activity.begin()
        try:
            self._keeper.start()
            # All mailboxes are there before the first agent starts: it may send at once.
            left = {child.name: await self._open(child) for child in self._children.values()}
            for child in self._children.values():
                await self._live(child, left[child.name])
            self._watching = asyncio.get_running_loop().create_task(self._watch())
        except BaseException:
            await self._shut_down()
            raise
        finally:
            self._activity.finish()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._shut_down()
        if self._failure is not None and (error is None or kind is asyncio.CancelledError):
            if self._body is not None and kind is asyncio.CancelledError:
                self._body.uncancel()
            raise self._failure from self._failure.__cause__

    async def _shut_down(self) -> None:
        """Stop everything. Whoever is in a hurry, and cancels this too, waits all the same: nothing is left behind."""
        work = asyncio.get_running_loop().create_task(self._end_everything())
        cancelled = None
        while not work.done():
            try:
                await asyncio.wait([work])
            except asyncio.CancelledError as error:
                cancelled = error
        work.result()
        if cancelled is not None:
            raise cancelled

    async def _end_everything(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
        try:
            lives = [child.life for child in self._children.values() if child.life is not None]
            for life in lives:
                await life.stop()
            # Who cannot be told now is told when this process has been silent for long enough.
            with suppress(StoreError):
                for life in lives:
                    await life.say_farewell(but=self._children)
        finally:
            await self._stop(list(self._children.values()))
            await self._keeper.stop()

    # -- crashes -------------------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Deal with crashes, one after the other."""
        while True:
            child, life, error = await self._reports.get()
            try:
                if child.life is life:
                    await self._recover(child, error)
            except Exception as broken:  # noqa: BLE001 - who cannot start agents again has to say so
                self._give_up(f"agent `{child.name}` crashed and cannot be started again ({why(broken)})", error)
            finally:
                self._activity.finish()

    def _report(self, child: _Child, life: Life | None, error: BaseException) -> None:
        self._activity.begin()  # until it is dealt with
        self._reports.put_nowait((child, life, error))

    async def _recover(self, crashed: _Child, error: BaseException) -> None:
        _LOG.error("agent `%s` has crashed", crashed.name, exc_info=error)
        for conversation in crashed.life.conversations.values() if crashed.life is not None else ():
            detail = {"error": f"{type(error).__name__}: {error}", **conversation.standing}
            self._hub.note(conversation.as_begun, crashed.name, "crashed", detail)
        self._crashes = recent(self._crashes, self._clock(), self._within)
        if len(self._crashes) > self._max_restarts:
            times = f"{len(self._crashes)} crashes within {self._within:g} s"
            self._give_up(f"agent `{crashed.name}` crashed ({why(error)}): {times}", error)
            return
        # If this process was given up for dead all its agents have lost their mailboxes, by one and the same crash.
        lost = [name for name in self._children if self._transport.loss(name) is not None]
        restarted = {*to_restart(self._strategy, list(self._children), crashed.name), *lost}
        children = [child for child in self._children.values() if child.name in restarted]
        await self._stop(children)
        left = {child.name: await self._open(child) for child in children}
        for child in children:
            await self._live(child, left[child.name])

    def _give_up(self, message: str, error: BaseException) -> None:
        if self._failure is None:
            self._failure = GaveUpError(message)
            self._failure.__cause__ = error
            if self._body is not None:
                self._body.cancel()

    # -- lives ---------------------------------------------------------------------------------------------------------

    async def _open(self, child: _Child) -> Left:
        left = await self._transport.open(child.name, child.wills, self._mailbox)
        child.is_open = True
        return left

    async def _live(self, child: _Child, left: Left) -> None:
        """Begin a life; conversations of the life before are over, and those in them are told."""
        over = self._hub.over[child.name]
        for key in left.over:
            over.add(key)
        for conversation in left.begun:
            self._hub.note(
                conversation, child.name, "restarted", {"why": "the agent's life has ended in the middle of it"}
            )
            over.add((conversation.conversation, conversation.part))
            await tell(self._hub, conversation, "crashed" if conversation.noticed_by else "lost")
            await self._transport.end(child.name, conversation, (), broken=True)
        try:
            loss = partial(self._transport.loss, child.name)
            fields = persistent_fields(child.agent_class)
            memory = Memory(self._store, child.name, child.declaration, loss) if fields else None
            agent = child.agent_class(*child.arguments, **child.options)
            if memory is not None:
                memory.recall(agent)
        except Exception as error:  # noqa: BLE001 - an agent that cannot even be made has crashed
            self._report(child, None, error)
            return
        child.life = Life(
            self._hub,
            child.name,
            agent,
            child.declaration,
            memory,
            lambda life, error: self._report(child, life, error),
        )
        child.life.start()

    async def _stop(self, children: list[_Child]) -> None:
        for child in reversed(children):
            if child.life is not None:
                await child.life.stop()
                child.life = None
            if child.is_open:
                child.is_open = False
                await self._transport.close(child.name)

    def _name_of(self, agent: object) -> str | None:
        if isinstance(agent, Agent):
            lives = (child for child in self._children.values() if child.life is not None)
            return next((child.name for child in lives if child.life is not None and child.life.agent is agent), None)
        if not (isinstance(agent, type) and issubclass(agent, Agent)):
            return None
        names = [child.name for child in self._children.values() if issubclass(child.agent_class, agent)]
        if len(names) > 1:
            raise UsageError(f"several agents are of class `{agent.__name__}`: {', '.join(names)}; say which one")
        return names[0] if names else None
