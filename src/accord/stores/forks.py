"""What becomes of open stores when their process forks.

A child has a copy of everything: of locks that are held by threads it does not have, and of connections that its parent
goes on using. Some stores can begin anew there. A file of SQLite must not even be open meanwhile: SQLite's book of the
locks it holds is copied and the locks are not, so a child would write without any, and whoever closes the file last
would throw away what it has written. So stores are told before a fork, and afterwards on both sides.
"""

from __future__ import annotations

import os
from threading import RLock
from typing import TYPE_CHECKING
from weakref import ref

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["OPENING", "Forking"]

# INVARIANT: nothing but forks looks at these. A process forks as a whole, so its stores have to be found from here.
_STORES: dict[ref[Forking], None] = {}

OPENING = RLock()
"""Held while files are opened, and during a fork: no file is half open then."""


class Forking:
    """Something that is told of forks, from `watch_forks` on."""

    def watch_forks(self) -> None:
        """Be told from now on, until nobody holds this any more."""
        _STORES[ref(self, _STORES.__delitem__)] = None

    def before_fork(self) -> None:
        """In the parent, by the thread that forks; other threads still run."""

    def after_fork_here(self) -> None:
        """In the parent, by the same thread."""

    def after_fork_there(self) -> None:
        """In the child, which has no other threads."""


def _all() -> Iterator[Forking]:
    """In the order in which they came, so that two threads that fork never wait for each other."""
    return (store for reference in list(_STORES) if (store := reference()) is not None)


def _before() -> None:
    OPENING.acquire()
    for store in _all():
        store.before_fork()


def _here() -> None:
    for store in _all():
        store.after_fork_here()
    OPENING.release()


def _there() -> None:
    for store in _all():
        store.after_fork_there()
    OPENING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_here, after_in_child=_there)
