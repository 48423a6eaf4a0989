"""Sessions in a store of ours, each under the id of its thread.

The store says where a session stands; many graphs and programs may share it, and no checkpoint can take it back. What
the checkpoint keeps beside that is a copy, for rehearsals: whom to ask must not depend on what others do while a person
is being asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accord.errors import UsageError
from accord.integrations.guard.homes import StoreHome
from accord.langchain.homes import Opened, ThreadHome
from accord.langchain.law_session import LawSession
from accord.langchain.sessions import CheckpointKeeping, Keeping, Sitting
from accord.monitor.step import is_over
from accord.stores.record import check_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accord.langchain.law import Law
    from accord.langchain.sealing import Returned, Where
    from accord.langchain.sessions import Settings
    from accord.machine.clocks import Time
    from accord.stores.store import Store

__all__ = ["StoreKeeping"]


class StoreKeeping(Keeping):
    """Sessions in a store."""

    def __init__(
        self,
        law: Law,
        settings: Settings,
        store: Store,
        key: Callable[[str, str], str] | None,
        lasts: Time | None,
    ) -> None:
        self.law = law
        self.settings = settings
        self._store = store
        self._key = key
        self._lasts = lasts
        self.copies = CheckpointKeeping(law, settings)

    def sit(self, state: Mapping[str, Any], where: Where, *, beginning: bool = False) -> StoreSitting:
        """The session that the store has for the thread."""
        text = state.get(self.settings.keys.session)
        seen = None if text is None else self.copies.open(text, where)
        if seen is None and not beginning:
            seen = Opened(1, self.session(where, 1).state())
        return StoreSitting(self, where, seen)

    def name(self, where: Where, number: int) -> str:
        """The key of a session."""
        if self._key is not None:
            name = self._key(where.thread, where.agent)
        elif where.thread:
            name = str(where)
        else:
            raise UsageError("a session in a store is known by its thread; invoke the agent with a thread_id")
        return check_name(name if number == 1 else f"{name}#{number}")

    def has(self, where: Where, number: int) -> bool:
        """Whether the store has a session of that number."""
        return self._store.row(self.name(where, number)) is not None

    def session(self, where: Where, number: int) -> LawSession:
        """A session of a thread, by its number."""
        settings, policy = self.settings, self.law.policy
        name = self.name(where, number)
        at = None if settings.clock is None else settings.clock()
        home = StoreHome(self._store, name, policy.contract, policy.protocol, at, self._lasts)
        return LawSession(self.law, home, name, settings.clock, settings.on_violation, settings.observers)


class StoreSitting(Sitting):
    """With a session that stands in a store."""

    def __init__(self, keeping: StoreKeeping, where: Where, seen: Opened | None) -> None:
        self._keeping = keeping
        self._where = where
        self._seen = seen
        self.returns: list[Returned] = []
        self.number = 1 if seen is None else seen.number
        self._sit()
        if seen is None:
            self._look_further()

    def rehearse(self) -> LawSession:
        """On the copy in the checkpoint."""
        opened = self._seen
        if opened is None:
            opened = Opened(self.number, self.session.state())
        law, at = self._keeping.law, opened.state.desk.now
        home = ThreadHome(opened, law, self.name, rehearsal=True)
        return LawSession(law, home, self.name, None if at is None else lambda: at)

    def update(self) -> dict[str, Any]:
        """A copy of the session as it is now."""
        opened = self.opened
        if opened == self._seen:
            return {}
        keys = self._keeping.settings.keys
        return {keys.session: self._keeping.copies.seal(opened, self._where)}

    def _sit(self) -> None:
        self.session = self._keeping.session(self._where, self.number)
        self.name = self._keeping.name(self._where, self.number)

    def _look_further(self) -> None:
        """The checkpoint knows nothing. Threads of version 0.1 closed a session that was over and began another one.

        The last of those is the session of the thread.
        """
        while is_over(self.session.state().settled.place) and self._keeping.has(self._where, self.number + 1):
            self.number += 1
            self._sit()
