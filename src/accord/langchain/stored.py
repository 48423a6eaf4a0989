"""Sessions in a store of ours, each under the id of its thread.

The store says where a session stands; many graphs and programs may share it, and no checkpoint can take it back. What
the checkpoint keeps beside that is a copy, for rehearsals: whom to ask must not depend on what others do while a person
is being asked.

A session that version 0.1 has kept under another key is given its own when its thread goes on, if it can be no other
thread's; else nothing runs, and a person says whose it is.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from accord.errors import StoreError, UsageError
from accord.integrations.guard.homes import StoreHome
from accord.langchain.homes import Opened, ThreadHome
from accord.langchain.law_session import LawSession
from accord.langchain.naming import Named, is_plain, old_name, owner_of, rivals, session_name
from accord.langchain.sessions import CheckpointKeeping, Keeping, Sitting
from accord.ledger.entries import FRAMED, OPENING, NoteEntry, read_entry
from accord.monitor.step import is_over
from accord.stores.record import EXPIRED, check_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accord.langchain.law import Law
    from accord.langchain.sealing import Returned, Where
    from accord.langchain.sessions import Settings
    from accord.machine.clocks import Time
    from accord.stores.store import Store

__all__ = ["StoreKeeping"]

_SIGNED = "session of thread"
"""The first note of a session whose key an earlier version may have given to another one."""


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
        self._find(where, 1 if seen is None else seen.number, seen)
        if seen is None and not beginning:
            seen = Opened(1, self.session(where, 1).state())
        return StoreSitting(self, where, seen)

    def name(self, where: Where, number: int) -> str:
        """The key of a session."""
        if self._key is not None:
            name = self._key(where.thread, where.agent)
            return check_name(name if number == 1 else f"{name}#{number}")
        if not where.thread:
            raise UsageError("a session in a store is known by its thread; invoke the agent with a thread_id")
        return check_name(session_name(where, number))

    def has(self, where: Where, number: int) -> bool:
        """Whether the store has a session of that number."""
        self._find(where, number, None)
        return self._store.row(self.name(where, number)) is not None

    def _find(self, where: Where, number: int, seen: Opened | None) -> None:
        """Give a session that is kept under a key of version 0.1 the one that it has today.

        INVARIANT: a session goes on in one place. Where it cannot be told whose it is, nothing begins anew.
        """
        if self._key is not None:
            return
        named = Named(where.thread, where.agent, number)
        name, old = self.name(where, number), old_name(named)
        if name == old or self._store.row(name) is not None or self._store.row(old) is None:
            return
        if _is_signed(self._store, old):  # a version that escapes has begun it, so it is another one's
            return
        others = " or ".join(str(each) for each in self._others(named))
        if others and not self._is_copy(old, seen):
            move = f"accord sessions move STORE {shlex.quote(old)} {shlex.quote(name)}"
            raise StoreError(
                f"an earlier version has kept a session `{old}`, which may be that of {named}, or of {others}; "
                f"if it is that of {named}, `{move}` gives it a key of its own; if not, this one needs another id"
            )
        self._store.move(old, name)

    def _is_copy(self, key: str, seen: Opened | None) -> bool:
        """Whether a session stands where the checkpoint of the thread says, but for what people were asked since."""
        there = None if seen is None else self._store.session(key)
        if seen is None or there is None or there.status == EXPIRED:
            return False
        if there.contract != self.law.policy.contract.digest:
            return False
        state, before = self._at(key).state(), seen.state.desk
        reviews = tuple([review for review in state.desk.reviews if review.number <= before.numbered])
        return (
            state._replace(desk=state.desk._replace(reviews=reviews, numbered=before.numbered, now=before.now))
            == seen.state
        )

    def _others(self, named: Named) -> list[Named]:
        """The other sessions that may have the name. A second one was begun only where there was a first one."""
        name = old_name(named)
        others = [each for each in rivals(named) if each.number == 1 or self._has_first(each)]
        owner = owner_of(name)
        return others if owner is None or owner == named or owner in rivals(named) else [*others, owner]

    def _has_first(self, named: Named) -> bool:
        return self._store.row(old_name(named._replace(number=named.number - 1))) is not None

    def session(self, where: Where, number: int) -> LawSession:
        """A session of a thread, by its number."""
        return self._at(self.name(where, number))

    def _at(self, name: str) -> LawSession:
        settings, policy = self.settings, self.law.policy
        at = None if settings.clock is None else settings.clock()
        home = StoreHome(self._store, name, policy.contract, policy.protocol, at, self._lasts)
        return LawSession(self.law, home, name, settings.clock, settings.on_violation, settings.observers)

    def sign(self, where: Where, session: LawSession) -> None:
        """Let a session that has just begun say whose it is, if it is not told by its key for every version."""
        if self._key is None and not is_plain(where) and self._store.row(str(where)) is None:
            session.remark(_SIGNED, {"thread": where.thread, "agent": where.agent})


def _is_signed(store: Store, key: str) -> bool:
    """Whether the first thing that a session's ledger has says whose it is."""
    lines = store.lines(key, 1, 1)
    try:
        entry = read_entry(lines[0][len(OPENING) : -FRAMED]) if lines else None
    except ValueError:  # its ledger is bad, which is found when it is to be moved
        return False
    return isinstance(entry, NoteEntry) and entry.what == _SIGNED


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
            keeping.sign(where, self.session)

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
