"""Sessions and their ledgers at rest, so that a session outlives its process and many workers share it.

`record` says what is kept of a session, `store` what a store must do, `judging` what becomes of one attempt;
`StoredSession` is the session as a program uses it. Each kind of store is a file of its own, and loads its driver when
it is opened.
"""

from __future__ import annotations

from accord.stores.memory import MemoryStore
from accord.stores.opening import open_store
from accord.stores.postgres import PostgresStore
from accord.stores.record import Row
from accord.stores.redis import RedisStore
from accord.stores.session import StoredSession
from accord.stores.sqlite import SQLiteStore
from accord.stores.store import Change, SessionInfo, Store

__all__ = [
    "Change",
    "MemoryStore",
    "PostgresStore",
    "RedisStore",
    "Row",
    "SQLiteStore",
    "SessionInfo",
    "Store",
    "StoredSession",
    "open_store",
]
