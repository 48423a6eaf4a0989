"""A supervisor at work: its children in their order, and what it does when one of them fails.

Children are agents and other branches, so that supervisors are a tree. A branch that has had to start children again
too often gives up: it fails itself, and the branch above deals with that by a strategy and a limit of its own, in which
everything below is ended first, the last that was started before the others. So a failure is dealt with as near to it
as can be, and by more and more of the program as long as that does not help. A branch that is started again begins to
count anew.

Each branch deals with its failures in a task of its own, one after the other; what takes long to end holds up nobody
in another branch. INVARIANT: a branch is stopped by the one above it alone, and only when that task has ended, so two
never start or stop the same agent at the same time. A report of a life, or of a branch, that has been ended meanwhile
says nothing any more.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from accord.agents.failures import GaveUpError
from accord.agents.runtime.strategies import recent, to_restart
from accord.ledger.attempts import why

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from accord.agents.runtime.child import Child
    from accord.agents.runtime.estates import Left
    from accord.agents.runtime.hub import Hub
    from accord.agents.runtime.strategies import Strategy

__all__ = ["Branch"]

_LOG = logging.getLogger("accord.agents")


class Branch:
    """Children that are supervised together. `name` is what it is called where something is said about it."""

    def __init__(self, strategy: Strategy, max_restarts: int, within: float) -> None:
        self.name = ""
        self.above: Branch | None = None
        self.children: dict[str, Child | Branch] = {}
        self.is_sealed = False
        """Whether it runs, or has run: then it is too late to give it children."""
        self.crashes: tuple[float, ...] = ()
        """When children have failed that still count."""
        self._strategy, self._max_restarts, self._within = strategy, max_restarts, within
        self._reports: asyncio.Queue[tuple[Child | Branch, object, BaseException]] = asyncio.Queue()
        self._watching: asyncio.Task[None] | None = None

    def agents(self) -> Iterator[Child]:
        """All agents below it, in the order in which they are started."""
        for child in self.children.values():
            yield from child.agents()

    @property
    def root(self) -> Branch:
        """The outermost branch."""
        return self if self.above is None else self.above.root

    @property
    def current(self) -> object:
        """What a report of its failure is about."""
        return self._watching

    # -- its course ----------------------------------------------------------------------------------------------------

    async def start(self, hub: Hub, left: Mapping[str, Left], failed: Callable[[GaveUpError], None]) -> None:
        """Begin the lives of all agents below it, whose mailboxes are open. `failed` is called if it gives up."""
        self.crashes = ()
        for child in self.children.values():
            await self._begin(hub, child, left)
        self._watching = asyncio.get_running_loop().create_task(self._watch(hub, failed))

    async def rest(self) -> None:
        """Deal with no more failures, here or below; nothing is started any more."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
        for child in self.children.values():
            if isinstance(child, Branch):
                await child.rest()

    async def halt(self) -> None:
        """End what all agents below it do, the last first; their mailboxes stay open."""
        await self.rest()
        for child in reversed(self.children.values()):
            await child.halt()

    async def stop(self, hub: Hub) -> None:
        """End all lives below it, the last that was started first."""
        await self.rest()
        await self._stop(hub, list(self.children.values()))
        while not self._reports.empty():
            self._reports.get_nowait()
            hub.activity.finish()
        self._watching = None

    @staticmethod
    async def _stop(hub: Hub, children: Sequence[Child | Branch]) -> None:
        for child in reversed(children):
            await child.stop(hub)

    async def _begin(self, hub: Hub, child: Child | Branch, left: Mapping[str, Left]) -> None:
        def failed(of: object, error: BaseException) -> None:
            hub.activity.begin()  # until it is dealt with
            self._reports.put_nowait((child, of, error))

        if isinstance(child, Branch):
            await child.start(hub, left, lambda error: failed(child.current, error))
        else:
            await child.live(hub, left[child.name], failed)

    # -- failures ------------------------------------------------------------------------------------------------------

    async def _watch(self, hub: Hub, failed: Callable[[GaveUpError], None]) -> None:
        """Deal with failures, one after the other, until there are too many."""
        while True:
            child, of, error = await self._reports.get()
            try:
                failure = await self._deal_with(hub, child, error) if child.current is of else None
                if failure is not None:
                    failed(failure)
                    return
            finally:
                hub.activity.finish()

    async def _deal_with(self, hub: Hub, child: Child | Branch, error: BaseException) -> GaveUpError | None:
        """Start again what has to be; why that cannot be done, if it cannot."""
        what = f"supervisor `{child.name}` gave up" if isinstance(child, Branch) else f"agent `{child.name}` crashed"
        try:
            self._tell(hub, child, error)
            self.crashes = recent(self.crashes, hub.clock(), self._within)
            if len(self.crashes) > self._max_restarts:
                times = f"{len(self.crashes)} crashes within {self._within:g} s"
                return _failure(f"{what} ({why(error)}): {times}", error)
            await self._start_again(hub, child)
        except Exception as broken:  # noqa: BLE001 - who cannot start agents again has to say so
            return _failure(f"{what} and cannot be started again ({why(broken)})", error)
        return None

    def _tell(self, hub: Hub, child: Child | Branch, error: BaseException) -> None:
        """Log what has failed, and write down in what agents were."""
        if isinstance(child, Branch):
            _LOG.error("supervisor `%s` has given up: %s", child.name, error)
            return
        _LOG.error("agent `%s` has crashed", child.name, exc_info=error)
        for conversation in child.life.conversations.values() if child.life is not None else ():
            detail = {"error": f"{type(error).__name__}: {error}", **conversation.standing}
            hub.note(conversation.as_begun, child.name, "crashed", detail)

    async def _start_again(self, hub: Hub, failed: Child | Branch) -> None:
        # If this process was given up for dead all its agents have lost their mailboxes, by one and the same crash.
        agents = [name for name, child in self.children.items() if not isinstance(child, Branch)]
        lost = [name for name in agents if hub.transport.loss(name) is not None]
        restarted = {*to_restart(self._strategy, list(self.children), failed.name), *lost}
        children = [child for name, child in self.children.items() if name in restarted]
        await self._stop(hub, children)
        left = {agent.name: await agent.open(hub) for child in children for agent in child.agents()}
        for child in children:
            await self._begin(hub, child, left)


def _failure(message: str, error: BaseException) -> GaveUpError:
    failure = GaveUpError(message)
    failure.__cause__ = error
    return failure
