"""`Supervisor`: runs agents, and starts them again when they crash.

Inside its `async with` block the agents live; when the block ends, every task of theirs has ended too. An agent that
crashes is started again, alone or with others, as the strategy says; if that happens too often, the supervisor gives
up: the block is cancelled and raises `GaveUpError`.

A supervisor that was added to another one is run by it, and when it gives up, that is for the other one to deal with.
What happens then stands in `branch`; here is what the outermost one alone does.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Self, overload

from accord.agents.agent import Agent
from accord.agents.declaring import declaration_of
from accord.agents.failures import GaveUpError
from accord.agents.references import AgentRef
from accord.agents.runtime.activity import Activity
from accord.agents.runtime.branch import Branch
from accord.agents.runtime.child import Child
from accord.agents.runtime.estates import will_of
from accord.agents.runtime.hub import Hub
from accord.agents.runtime.in_process import InProcess
from accord.agents.runtime.keeping import Keeper
from accord.agents.runtime.strategies import check_strategy
from accord.diagnostics.agent_codes import UNCLEAR
from accord.errors import StoreError, UsageError
from accord.ledger.attempts import why
from accord.stores.memory import MemoryStore
from accord.stores.record import check_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from accord.agents.runtime.activity import Schedule
    from accord.agents.runtime.strategies import Strategy
    from accord.agents.runtime.transport import Transport
    from accord.ledger import Ledger
    from accord.stores.store import Store

__all__ = ["Supervisor", "Unfinished"]


class Unfinished(NamedTuple):
    """A conversation that goes on, as one agent in it sees it; `next` is what may happen for it now."""

    agent: str
    conversation: str
    protocol: str
    role: str
    next: list[str]


_OUTERMOST = ("transport", "store", "ledger", "clock", "schedule")
"""What is said once for a whole tree."""


class Supervisor:
    """Runs agents.

    `strategy` says who is started again when one crashes: `one_for_one` that one, `one_for_all` all, `rest_for_one`
    that one and those added after it. More than `max_restarts` crashes `within` so many seconds, and it gives up.

    `mailbox` is how many unhandled messages of one kind an agent's mailbox takes before senders wait. Persistent fields
    are kept in `store`, or in memory, every attempt and every crash in `ledger`; crashes are logged too. `clock` tells
    the time in seconds, `schedule` who moves next, for tests. These, and the transport, are said to the outermost
    supervisor of a tree, for all.
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
        given = (transport, store, ledger, None if clock is time.monotonic else clock, schedule)
        self._for_all = [name for name, value in zip(_OUTERMOST, given, strict=True) if value is not None]
        self._mailbox = mailbox
        self._branch = Branch(check_strategy(strategy), max_restarts, within)
        self._above: Supervisor | None = None
        """The supervisor that it was added to."""
        transport = InProcess() if transport is None else transport
        self._activity = Activity(transport, schedule)
        kept = MemoryStore() if store is None else store
        self._hub = Hub(transport, kept, self._activity, ledger, clock, self._name_of)
        self._keeper = Keeper(self._hub, self._nobody_knows)
        self._body: asyncio.Task[Any] | None = None
        self._failure: GaveUpError | None = None

    # -- before --------------------------------------------------------------------------------------------------------

    @overload
    def add(self, child: type[Agent], *arguments: Any, name: str | None = None, **options: Any) -> AgentRef: ...  # noqa: ANN401 - what the agent is made with

    @overload
    def add(self, child: Supervisor, *, name: str | None = None) -> None: ...

    def add(
        self,
        child: type[Agent] | Supervisor,
        *arguments: Any,
        name: str | None = None,
        **options: Any,
    ) -> AgentRef | None:
        """An agent to run, made with these arguments whenever it starts; without `name` it is called like its class.

        Or another supervisor, which is run by this one from then on, as one of its children; `name` is what it is
        called in logs and errors.

        Raises `UsageError` with everything that is wrong with its declaration.
        """
        if self._branch.root.is_sealed:
            raise UsageError("what is supervised is added before the supervisor's block begins")
        if isinstance(child, Supervisor):
            self._add_supervisor(child, name, arguments or options)
            return None
        return self._add_agent(child, arguments, options, name)

    def _add_supervisor(self, inner: Supervisor, name: str | None, given: object) -> None:
        branch = inner._branch
        if given:
            raise UsageError("a supervisor is added as it is; what it runs is added to it")
        if branch is self._branch.root:
            raise UsageError("a supervisor cannot be run by itself, nor by one that it runs")
        if branch.above is not None or branch.is_sealed:
            raise UsageError("this supervisor is run already; make another one")
        if inner._for_all:
            listed = " and ".join(f"`{each}`" for each in inner._for_all)
            raise UsageError(f"{listed} of the outermost supervisor is that of all below it; this one is given its own")
        for agent in branch.agents():
            self._check_new(agent.name)
        own = f"supervisor {len(self._branch.children) + 1}" if name is None else name
        if check_name(own, "the name of a supervisor") in self._branch.children:
            raise UsageError(f"there is a child `{own}` already; give this one another `name=`")
        branch.name, branch.above, inner._above = own, self._branch, self
        self._branch.children[own] = branch

    def _check_new(self, name: str) -> None:
        if name in self._branch.children or any(name == agent.name for agent in self._branch.root.agents()):
            raise UsageError(f"there is an agent `{name}` already; give this one another `name=`")

    def _add_agent(
        self, agent_class: type[Agent], arguments: tuple[Any, ...], options: dict[str, Any], name: str | None
    ) -> AgentRef:
        if not (isinstance(agent_class, type) and issubclass(agent_class, Agent)):
            code = UNCLEAR if isinstance(agent_class, type) else None
            raise UsageError(f"an agent is given as a class derived from `Agent`, got {agent_class!r}", code=code)
        declaration = declaration_of(agent_class)
        reference = AgentRef(agent_class.__name__ if name is None else name)
        self._check_new(reference.name)
        try:
            inspect.signature(agent_class).bind(*arguments, **options)
        except TypeError as error:
            raise UsageError(f"`{agent_class.__name__}` cannot be made with these arguments: {error}") from None
        wills = tuple([will_of(following) for following in declaration.roles])
        child = Child(reference.name, agent_class, declaration, wills, arguments, options, self._mailbox)
        self._branch.children[reference.name] = child
        return reference

    # -- while agents live ---------------------------------------------------------------------------------------------

    async def settled(self) -> None:
        """Wait until nothing moves: every message is handled, and every agent waits for another one or for nothing.

        An agent that waits for anything outside, such as a model or a timer, still moves.
        """
        await (self._activity.settled() if self._above is None else self._above.settled())

    async def run(self) -> None:
        """Stay in the block until it is cancelled, or the supervisor gives up."""
        await asyncio.get_running_loop().create_future()

    def __getitem__(self, agent: AgentRef) -> Agent:
        """The agent as it lives now; `UsageError` if it does not."""
        child = next((child for child in self._branch.agents() if child.name == agent.name), None)
        if child is None or child.life is None:
            raise UsageError(f"there is no agent `{agent.name}` that lives")
        return child.life.agent

    def unfinished(self) -> list[Unfinished]:
        """The conversations that are not over, once for each agent in them."""
        found = []
        for child in self._branch.agents():
            for c in child.life.conversations.values() if child.life is not None else ():
                if not c.may_stop:
                    part = c.following.part
                    found.append(Unfinished(child.name, c.id, part.protocol, part.role, c.session.allowed()))
        return found

    async def __aenter__(self) -> Self:
        if self._above is not None:
            raise UsageError("this supervisor is run by the one that it was added to")
        if self._body is not None:
            raise UsageError("a supervisor runs its agents once; make another one")
        self._body, self._branch.is_sealed = asyncio.current_task(), True
        self._activity.begin()
        try:
            self._keeper.start()
            # All mailboxes are there before the first agent starts: it may send at once.
            left = {agent.name: await agent.open(self._hub) for agent in self._branch.agents()}
            await self._branch.start(self._hub, left, self._give_up)
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
        try:
            await self._branch.halt()
            agents = list(self._branch.agents())
            names = {agent.name for agent in agents}
            # Who cannot be told now is told when this process has been silent for long enough.
            with suppress(StoreError):
                for agent in agents:
                    if agent.life is not None:
                        await agent.life.say_farewell(but=names)
        finally:
            await self._branch.stop(self._hub)
            await self._keeper.stop()

    def _give_up(self, failure: GaveUpError) -> None:
        if self._failure is None:
            self._failure = failure
            if self._body is not None:
                self._body.cancel()

    def _nobody_knows(self, error: Exception) -> None:
        failure = GaveUpError(f"nobody knows who lives ({why(error)})")
        failure.__cause__ = error
        self._give_up(failure)

    def _name_of(self, agent: object) -> str | None:
        if isinstance(agent, Agent):
            lives = ((child.name, child.life) for child in self._branch.agents() if child.life is not None)
            return next((name for name, life in lives if life.agent is agent), None)
        if not (isinstance(agent, type) and issubclass(agent, Agent)):
            return None
        names = [child.name for child in self._branch.agents() if issubclass(child.agent_class, agent)]
        if len(names) > 1:
            raise UsageError(f"several agents are of class `{agent.__name__}`: {', '.join(names)}; say which one")
        return names[0] if names else None
