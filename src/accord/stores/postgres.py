"""`PostgresStore`: sessions in PostgreSQL, for workers on many machines.

A step is one statement: the session's row is changed if it is still the one that was judged, and the ledger's entry is
inserted if it was. Whoever loses that race, or has no guess, locks the row (`SELECT … FOR UPDATE`), judges what is
there, and writes: nobody can come between, so a second race cannot be lost. Only two workers that begin a session at
the same moment have no row to lock; one of them begins again.
"""

from __future__ import annotations

import os
import select
from contextlib import contextmanager
from itertools import count
from threading import RLock, local
from time import monotonic
from typing import TYPE_CHECKING, Any

from accord.errors import StoreError, UsageError
from accord.stores.forks import Forking
from accord.stores.record import Row
from accord.stores.store import Store
from accord.turns import check_turn

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from types import ModuleType

    from psycopg import Connection

    from accord.machine.clocks import Time
    from accord.stores.store import Change, Judge

__all__ = ["MIGRATIONS", "PostgresStore"]

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE accord_sessions (
            key text COLLATE "C" PRIMARY KEY, version bigint NOT NULL, expires double precision, sealed bytea NOT NULL
        )""",
        """CREATE TABLE accord_entries (
            key text COLLATE "C" NOT NULL, number bigint NOT NULL, line bytea NOT NULL, PRIMARY KEY (key, number)
        )""",
        "CREATE INDEX accord_sessions_expires ON accord_sessions (expires) WHERE expires IS NOT NULL",
    ),
)
"""The statements that lead from each version of the schema to the next; the first from an empty database."""

_LOCK = 0x6163636F7264  # the advisory lock that migrations are done under
_TRIES = 8
_PAGE = 256
_GRACE = 1.0  # seconds for the server to say itself that it has given up

# What is answered is kept: a server that acknowledges before it has written is told not to. And whoever has waited for
# a row sees what became of it.
_SETTINGS = """
SET statement_timeout = {milliseconds};
SET default_transaction_isolation = 'read committed';
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'
"""

_TABLE = "SELECT to_regclass(format('%I.accord_schema', current_schema()))"

_STEP = """
WITH moved AS (
    UPDATE accord_sessions SET version = %b, expires = %b, sealed = %b
    WHERE key = %b AND version = %b AND expires IS NOT DISTINCT FROM %b::float8 AND sealed = %b
    RETURNING key
)
INSERT INTO accord_entries SELECT key, %b, %b FROM moved
"""


class PostgresStore(Store, Forking):
    """Sessions in the database that `conninfo` names, in the first schema of its search path.

    The tables are made if they are not there. `timeout` bounds connecting and every statement, in seconds;
    `connections` is how many are open at the same time.
    """

    def __init__(
        self, conninfo: str, *, secret: bytes | None = None, timeout: float = 10, connections: int = 8
    ) -> None:
        super().__init__(secret=secret)
        self._driver = _load()
        self._check_address(conninfo)
        self._fine = self._driver.pq.ConnStatus.OK
        self._idle = self._driver.pq.TransactionStatus.IDLE
        self._bounded = _bounded(self._driver, timeout + _GRACE)
        self._conninfo = conninfo
        self._timeout = timeout
        self._connections = connections
        self._closed = False
        self._lanes: list[_Lane] = []
        self.after_fork_there()
        try:
            with self._using() as db:
                self._migrate(db)
        except BaseException:
            self.close()
            raise
        self.watch_forks()

    # -- what a kind of store does -------------------------------------------------------------------------------------

    def exchange(self, key: str, guess: Row | None, judge: Judge) -> None:
        """One compare-and-step: one statement if the guess was right, else one transaction."""
        change = None if guess is None else judge(guess)
        with self._using() as db:
            if guess is not None and change is not None and _step(db, key, guess, change):
                return
            for _ in range(_TRIES):
                with db.transaction():
                    if _locked_step(db, key, judge):
                        return
        raise StoreError(f"somebody else was quicker {_TRIES} times")

    def row(self, key: str) -> Row | None:
        """What is kept for a key."""
        with self._using() as db:
            return _select(db, key)

    def rows(self) -> Iterator[tuple[str, Row]]:
        """What is kept, for every key."""
        last, more = "", ">="
        while True:
            with self._using() as db:
                query = (
                    "SELECT key, version, expires, sealed FROM accord_sessions "  # noqa: S608 - ours
                    f"WHERE key {more} %b ORDER BY key LIMIT %b"
                )
                found = db.execute(query, (last, _PAGE), binary=True).fetchall()
            for key, *columns in found:
                yield key, _row(columns)
            if not found:
                return
            last, more = found[-1][0], ">"

    def due(self, at: Time) -> Iterator[str]:
        """The keys of sessions that expire at that time or before it."""
        with self._using() as db:
            query = "SELECT key FROM accord_sessions WHERE expires <= %b ORDER BY expires"
            return iter([key for (key,) in db.execute(query, (float(at),))])

    def lines(self, key: str, start: int, count: int) -> list[bytes]:
        """Lines of a session's ledger."""
        with self._using() as db:
            query = "SELECT line FROM accord_entries WHERE key = %b AND number >= %b ORDER BY number LIMIT %b"
            return [line for (line,) in db.execute(query, (key, start, count), binary=True)]

    def close(self) -> None:
        """Close all connections."""
        self._closed = True
        if self._process == os.getpid():
            for lane in self._lanes:
                with lane.lock:
                    lane.drop()

    # -- connections ---------------------------------------------------------------------------------------------------

    def after_fork_there(self) -> None:
        """Begin without any; those of another process must not even be closed here."""
        self._process = os.getpid()
        self._inherited = self._lanes
        self._lanes = [_Lane() for _ in range(self._connections)]
        self._numbers = count()
        self._own = local()

    @contextmanager
    def _using(self) -> Iterator[Connection[Any]]:
        """A connection that nobody else uses meanwhile.

        Each thread has its lane, and each lane a connection. INVARIANT: whatever interrupts us and wherever, the lane
        knows its connection, and one that is in the middle of something is closed.
        """
        if self._process != os.getpid():
            raise StoreError("the process was forked in a way that nobody was told of; open the store again")
        lane: _Lane | None = getattr(self._own, "lane", None)
        if lane is None:
            lane = self._own.lane = self._lanes[next(self._numbers) % self._connections]
        check_turn(lane.lock)
        with lane.lock, self._told():
            if self._closed:
                raise StoreError("the store is closed")
            try:
                if lane.db is None or not self._is_ready(lane.db):
                    lane.drop()
                    lane.db = self._connect()
                yield lane.db
            finally:
                if lane.db is not None and not self._is_idle(lane.db):
                    lane.drop()

    def _is_idle(self, db: Connection[Any]) -> bool:
        connection = db.pgconn
        return bool(connection.status == self._fine and connection.transaction_status == self._idle)

    def _is_ready(self, db: Connection[Any]) -> bool:
        """Whether a connection can be used again.

        A server that was restarted has hung up. That is seen before anything is sent: afterwards nobody could say
        whether it was done.
        """
        return self._is_idle(db) and not _has_something_to_say(db)

    def _connect(self) -> Connection[Any]:
        db: Connection[Any] = self._bounded.connect(
            self._conninfo,
            autocommit=True,
            connect_timeout=max(int(self._timeout), 2),
            application_name="accord",
            client_encoding="utf8",
        )
        try:
            db.execute(_SETTINGS.format(milliseconds=max(int(self._timeout * 1000), 1)))
        except BaseException:
            db.close()
            raise
        return db

    def _check_address(self, conninfo: str) -> None:
        """`UsageError` if it cannot be read. Not a word of why: it may quote the password."""
        try:
            parts = self._driver.conninfo.conninfo_to_dict(conninfo)
        except self._driver.Error:
            parts = {"port": "none"}
        if not str(parts.get("port", 0)).replace(",", "").isdecimal():
            said = "`postgresql://USER:PASSWORD@HOST:PORT/DATABASE`, where special characters are written as %XX"
            raise UsageError(f"this is no address of a PostgreSQL database; one is {said}") from None

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of the database as errors of a store."""
        try:
            yield
        except self._driver.errors.UniqueViolation as error:
            raise StoreError(f"the store holds an entry that nobody has acknowledged: {error}") from error
        except self._driver.Error as error:
            what = " ".join(str(error).split()) or type(error).__name__
            raise StoreError(f"PostgreSQL says: {what}") from error

    # -- schema --------------------------------------------------------------------------------------------------------

    def _migrate(self, db: Connection[Any]) -> None:
        """Bring the schema up to date, in one transaction; many workers may try at the same time.

        Where it is up to date nothing is asked for that a worker may not do who may only use it, or only look.
        """
        if db.execute(_TABLE).fetchone() != (None,) and self._schema(db) == len(MIGRATIONS):
            return
        with db.transaction():
            db.execute("SELECT pg_advisory_xact_lock(%b)", (_LOCK,))
            db.execute("CREATE TABLE IF NOT EXISTS accord_schema (version integer NOT NULL)")
            version = self._schema(db)
            for statements in MIGRATIONS[version or 0 :]:
                for statement in statements:
                    db.execute(statement)
            if version is None:
                db.execute("INSERT INTO accord_schema VALUES (%b)", (len(MIGRATIONS),))
            elif version < len(MIGRATIONS):
                db.execute("UPDATE accord_schema SET version = %b", (len(MIGRATIONS),))

    def _schema(self, db: Connection[Any]) -> int | None:
        found = db.execute("SELECT version FROM accord_schema").fetchone()
        if found is None:
            return None
        version: int = found[0]
        if version > len(MIGRATIONS):
            said = f"the database has version {version} of the schema"
            raise UsageError(f"{said}, and this accord knows {len(MIGRATIONS)}: a newer one has written it")
        return version


class _Lane:
    """A connection, if there is one, and the lock of whoever uses it."""

    __slots__ = ("db", "lock")

    def __init__(self) -> None:
        self.db: Connection[Any] | None = None
        self.lock = RLock()

    def drop(self) -> None:
        db, self.db = self.db, None
        if db is not None:
            db.close()


def _load() -> ModuleType:
    try:
        import psycopg  # noqa: PLC0415 - an extra
    except ImportError:
        raise UsageError("a PostgresStore needs psycopg: pip install 'accord-contracts[postgres]'") from None
    return psycopg


def _bounded(driver: ModuleType, patience: float) -> type[Connection[Any]]:
    """Connections that wait for an answer so long and no longer.

    A server bounds the time of its own statements. One that has stopped does not, nor does a network that swallows all.
    """

    def timed(waiting: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        end = monotonic() + patience
        ready = None
        try:
            while True:
                ready = yield waiting.send(ready)
                if not ready and monotonic() > end:
                    raise driver.OperationalError(f"no answer within {patience:g} seconds")
        except StopIteration as stop:
            return stop.value

    class Bounded(driver.Connection):  # type: ignore[misc, name-defined] # known when it is loaded
        def wait(self, gen: Generator[Any, Any, Any], *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
            return super().wait(timed(gen), *arguments, **options)

    return Bounded


def _has_something_to_say(db: Connection[Any]) -> bool:
    """Whether the server has sent something that nobody has asked for: that it hangs up, most likely."""
    poll = select.poll()
    poll.register(db.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def _select(db: Connection[Any], key: str, lock: str = "") -> Row | None:
    query = f"SELECT version, expires, sealed FROM accord_sessions WHERE key = %b{lock}"  # noqa: S608 - ours
    found = db.execute(query, (key,), binary=True).fetchone()
    return None if found is None else _row(found)


def _row(columns: Any) -> Row:  # noqa: ANN401 - what the driver gives
    version, expires, sealed = columns
    return Row(version, expires, bytes(sealed))


def _step(db: Connection[Any], key: str, guess: Row, change: Change) -> bool:
    """Change the row and add the entry if the row is the one that was guessed; whether it was."""
    if change.row is None or change.drop or len(change.lines) != 1:
        return False
    return db.execute(_STEP, (*change.row, key, *guess, change.first, change.lines[0])).rowcount == 1


def _locked_step(db: Connection[Any], key: str, judge: Judge) -> bool:
    """Judge what is there and write, with the row locked; whether it was done."""
    row = _select(db, key, " FOR UPDATE")
    change = judge(row)
    if change is None:
        return True
    after = change.row
    if after is None or change.drop:
        db.execute("DELETE FROM accord_entries WHERE key = %b", (key,))
    if after is None:
        db.execute("DELETE FROM accord_sessions WHERE key = %b", (key,))
    elif row is None:
        added = "INSERT INTO accord_sessions VALUES (%b, %b, %b, %b) ON CONFLICT (key) DO NOTHING"
        if db.execute(added, (key, *after)).rowcount != 1:
            return False
    else:
        moved = "UPDATE accord_sessions SET version = %b, expires = %b, sealed = %b WHERE key = %b"
        db.execute(moved, (*after, key))
    for number, line in enumerate(change.lines, change.first):
        db.execute("INSERT INTO accord_entries VALUES (%b, %b, %b)", (key, number, line))
    return True
