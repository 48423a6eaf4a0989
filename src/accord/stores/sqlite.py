"""`SQLiteStore`: sessions in one file that many processes share.

The file is in WAL mode, so that readers and the writer do not wait for each other. A step takes the file's write lock
before it reads (`BEGIN IMMEDIATE`), so what it has read stays true until it has written: no race can be lost. Whoever
waits for the lock longer than `timeout` seconds gives up, and the answer is no.

What is asked about a guess is judged before the lock is taken, so that a long explanation keeps nobody waiting.

The file is closed before the process forks, and opened again when it is next needed: see `forks`.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from time import sleep, time_ns
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from accord.errors import StoreError, UsageError
from accord.stores.forks import OPENING, Forking
from accord.stores.record import Row
from accord.stores.store import Store
from accord.turns import check_turn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from accord.machine.clocks import Time
    from accord.stores.store import Change, Judge

__all__ = ["MIGRATIONS", "SQLiteStore"]

APPLICATION = 0x61636364  # `accd`, where `file` and others look for what a database is

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE sessions (
            key TEXT PRIMARY KEY, version INTEGER NOT NULL, expires REAL, sealed BLOB NOT NULL
        ) WITHOUT ROWID""",
        """CREATE TABLE entries (
            key TEXT NOT NULL, number INTEGER NOT NULL, line BLOB NOT NULL, PRIMARY KEY (key, number)
        ) WITHOUT ROWID""",
        "CREATE INDEX sessions_expires ON sessions (expires) WHERE expires IS NOT NULL",
    ),
)
"""The statements that lead from each version of the schema to the next; the first from an empty file."""

_STEP = """
UPDATE sessions SET version = ?, expires = ?, sealed = ? WHERE key = ? AND version = ? AND expires IS ? AND sealed = ?
"""
_PAGE = 256
_PAUSE = 0.01
_GRACE = 5.0
_A_WHILE = 1_000_000_000


class SQLiteStore(Store, Forking):
    """Sessions in a file, which is made if it is not there; any number of threads and processes may share it.

    With `fsync="always"` an attempt is on the device before it is answered. `fsync="never"` leaves that to the
    operating system: a crash of the program still loses nothing, a crash of the machine may. The file must be on a disk
    of this machine: locks of network file systems do not hold.

    Example:
        >>> from accord import SQLiteStore, StoredSession
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder, SQLiteStore(folder + "/sessions.db") as store:
        ...     StoredSession(store, "!Ask.?Answer.end", "s1").send("Ask")
        ...     StoredSession(store, "!Ask.?Answer.end", "s1").allowed()
        Ok()
        ['?Answer']
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        secret: bytes | None = None,
        timeout: float = 10,
        fsync: Literal["always", "never"] = "always",
    ) -> None:
        super().__init__(secret=secret)
        if fsync not in {"always", "never"}:
            raise UsageError(f"`fsync` is `always` or `never`, got {fsync!r}")
        self._path = Path(path).absolute()
        self._file = str(self._path)
        self._real = os.path.realpath(self._path)
        self._folder = os.path.dirname(self._real)  # noqa: PTH120 - asked for before each step
        self._calm: tuple[int, int] | None = None
        self._timeout = timeout
        self._fsync = fsync
        self._lock = RLock()
        self._process = os.getpid()
        self._closed = False
        self._opened: tuple[int, int] | None = None
        self._beside: tuple[tuple[int, int] | None, tuple[int, int] | None] | None = None
        self._db: sqlite3.Connection | None = None
        self._resting = False
        self._stranded: sqlite3.Connection | None = None
        try:
            with _told():
                self._create()
                self._migrate()
        except BaseException:
            self.close()
            raise
        self.watch_forks()

    # -- what a kind of store does -------------------------------------------------------------------------------------

    def exchange(self, key: str, guess: Row | None, judge: Judge) -> None:
        """One compare-and-step, in one transaction."""
        change = None if guess is None else judge(guess)
        check_turn(self._lock)
        with self._lock:
            db = self._connection()
            try:
                # As in `_transaction`, which would take as long as the rest of a step.
                self._begin(db)
                if guess is None or change is None or not _step(db, key, guess, change):
                    row = _select(db, key)
                    change = judge(row)
                    if change is not None:
                        _keep(db, key, row, change)
                db.execute("COMMIT")
            except sqlite3.Error as error:
                raise _told_of(error) from error
            finally:
                self._end(db)

    def row(self, key: str) -> Row | None:
        """What is kept for a key."""
        with self._using() as db:
            return _select(db, key)

    def rows(self) -> Iterator[tuple[str, Row]]:
        """What is kept, for every key."""
        # Others may have written keys that are no text or no good one, so each is taken as bytes and as what it is.
        query = """
            SELECT CAST(key AS BLOB), typeof(key), version, expires, sealed FROM sessions
            WHERE key {} ORDER BY key LIMIT ?
        """
        kind, last, more = "text", b"", ">= CAST(? AS TEXT)"
        while True:
            with self._using() as db:
                found = db.execute(query.format(more), (last, _PAGE)).fetchall()
            for last, kind, *columns in found:
                yield _text(last) if kind == "text" else repr(last), _row(*columns)
            if not found:
                return
            more = "> CAST(? AS TEXT)" if kind == "text" else "> ?"

    def due(self, at: Time) -> Iterator[str]:
        """The keys of sessions that expire at that time or before it."""
        with self._using() as db:
            found = db.execute("SELECT key FROM sessions WHERE expires <= ? ORDER BY expires", (at,)).fetchall()
        return iter([key for (key,) in found])

    def lines(self, key: str, start: int, count: int) -> list[bytes]:
        """Lines of a session's ledger."""
        with self._using() as db:
            query = "SELECT line FROM entries WHERE key = ? AND number >= ? ORDER BY number LIMIT ?"
            return [_bytes(line) for (line,) in db.execute(query, (key, start, count))]

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._closed = True
            self._let_go()

    # -- the file ------------------------------------------------------------------------------------------------------

    def _create(self) -> None:
        """Make the file, readable by its owner alone: payloads may hold anything."""
        # INVARIANT: nobody in this process has opened a file that is closed here. That would lose all of its locks.
        with OPENING:
            self._make()

    def _make(self) -> None:
        try:
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:
            pass
        except OSError as error:
            raise UsageError(f"cannot make the store {self._path}: {error.strerror}") from None

    def _connect(self) -> sqlite3.Connection:
        # INVARIANT: the file is never made here. If somebody deletes it, that is an error, not an empty store.
        uri = f"file:{quote(os.fsencode(self._path))}?mode=rw"
        with OPENING:
            db = sqlite3.connect(uri, uri=True, timeout=self._timeout, isolation_level=None, check_same_thread=False)
            db.text_factory = _text
            try:
                self._check_owner(db)
                self._check_same()
                self._use_wal(db)
                db.execute(f"PRAGMA synchronous = {'FULL' if self._fsync == 'always' else 'NORMAL'}")
            except BaseException:
                db.close()
                raise
            self._beside = self._calm = None
            return db

    def _check_same(self) -> None:
        """The file that was opened must be the one that was opened the first time."""
        found = self._identity(self._file)
        if self._opened is None:
            self._opened = found
        if found is None or found != self._opened:
            raise StoreError(f"the file {self._path} was deleted or replaced")

    def _identity(self, file: str) -> tuple[int, int] | None:
        """Which file stands at a path now."""
        try:
            found = os.stat(file)  # noqa: PTH116 - as above
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _check_owner(self, db: sqlite3.Connection) -> None:
        # In this order: both come to be in one transaction, and it may happen just now.
        tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        found = db.execute("PRAGMA application_id").fetchone()[0]
        if found != APPLICATION and (found or tables):
            raise UsageError(f"{self._path} is a database of something else; it is left as it is")

    def _use_wal(self, db: sqlite3.Connection) -> None:
        """Switch to WAL mode; SQLite does not wait for others here, so we do."""
        waited = 0.0
        while True:
            try:
                if db.execute("PRAGMA journal_mode = WAL").fetchone()[0] == "wal":
                    return
            except sqlite3.OperationalError:
                if waited >= self._timeout:
                    raise
            else:
                raise StoreError(f"{self._path} is on a file system on which SQLite cannot share files")
            sleep(_PAUSE)
            waited += _PAUSE

    def _migrate(self) -> None:
        """Bring the schema up to date, in one transaction; many processes may try at the same time."""
        with self._using() as db:
            if self._schema(db) == len(MIGRATIONS):
                return
        with self._transaction() as db:
            version = self._schema(db)
            for statements in MIGRATIONS[version:]:
                for statement in statements:
                    db.execute(statement)
            db.execute(f"PRAGMA application_id = {APPLICATION}")
            db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")

    def _schema(self, db: sqlite3.Connection) -> int:
        version: int = db.execute("PRAGMA user_version").fetchone()[0]
        if version > len(MIGRATIONS):
            said = f"{self._path} has version {version} of the schema"
            raise UsageError(f"{said}, and this accord knows {len(MIGRATIONS)}: a newer one has written it")
        return version

    # -- forks ---------------------------------------------------------------------------------------------------------

    def before_fork(self) -> None:
        """Close the file, when the step that somebody may be taking is over; nobody takes another one meanwhile."""
        self._resting = self._lock.acquire(timeout=self._timeout + _GRACE)
        if self._resting:
            self._let_go()

    def after_fork_here(self) -> None:
        """Let others go on."""
        if self._resting:
            self._resting = False
            self._lock.release()

    def after_fork_there(self) -> None:
        """Begin with a lock that nobody holds. If the file could not be closed before, it is lost to this process."""
        self._lock = RLock()
        self._process = os.getpid()
        self._resting = False
        if self._db is not None:
            self._stranded, self._db = self._db, None  # it must not even be closed here

    # -- transactions --------------------------------------------------------------------------------------------------

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        """The connection, for one thread at a time."""
        with self._lock, _told():
            yield self._connection()

    def _connection(self) -> sqlite3.Connection:
        """The connection; the lock is held."""
        if self._closed:
            raise StoreError("the store is closed")
        if self._process != os.getpid():
            raise StoreError("the process was forked in a way that nobody was told of; open the store again")
        if self._db is None:
            if self._stranded is not None:
                raise StoreError("the process was forked in the middle of a step; open the store again")
            with _told():
                self._db = self._connect()
        return self._db

    def _let_go(self) -> None:
        db, self._db = self._db, None
        if db is not None and self._process == os.getpid():
            db.close()

    def _begin(self, db: sqlite3.Connection) -> None:
        """Take the write lock of the file, if it is still the file that was opened."""
        db.execute("BEGIN IMMEDIATE")
        # Others would begin with new files, and everything could happen once here and once there.
        try:
            folder = os.stat(self._folder)  # noqa: PTH116 - asked before each step, and quicker so
        except OSError as error:
            raise StoreError(f"the folder of {self._path} is gone: {error.strerror}") from None
        if (folder.st_ino, folder.st_mtime_ns) != self._calm:
            self._check_files(folder)

    def _check_files(self, folder: os.stat_result) -> None:
        """`StoreError` if the file or one of those beside it is not the one that was opened.

        Where all is well, it stays so until something happens in the folder, which changes its time. INVARIANT: that is
        relied upon only if the time is some while ago: two changes may have the same.
        """
        self._calm = None
        beside = self._identity(self._real + "-wal"), self._identity(self._real + "-shm")
        if self._beside is None:
            self._beside = beside
        if beside != self._beside or None in beside or self._identity(self._file) != self._opened:
            raise StoreError(f"the file {self._path}, or its `-wal` or `-shm`, was deleted or replaced")
        if self._real == self._file and time_ns() - folder.st_mtime_ns > _A_WHILE:
            self._calm = folder.st_ino, folder.st_mtime_ns

    def _end(self, db: sqlite3.Connection) -> None:
        """Whatever happened, an interrupt included, nobody is left waiting for us."""
        if db is self._db and db.in_transaction:
            db.rollback()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._using() as db:
            try:
                self._begin(db)
                yield db
                db.execute("COMMIT")
            finally:
                self._end(db)


def _select(db: sqlite3.Connection, key: str) -> Row | None:
    found = db.execute("SELECT version, expires, sealed FROM sessions WHERE key = ?", (key,)).fetchone()
    return None if found is None else _row(*found)


def _row(version: int, expires: float | None, sealed: object) -> Row:
    return Row(version, expires, _bytes(sealed))


def _text(value: bytes) -> str:
    """Text in a column; in one that was changed by others it may be anything."""
    return value.decode("utf-8", "backslashreplace")


def _bytes(value: object) -> bytes:
    """What stands in a column of bytes; in one that was changed by others it may be anything."""
    return value if isinstance(value, bytes) else repr(value).encode("utf-8", "backslashreplace")


def _step(db: sqlite3.Connection, key: str, guess: Row, change: Change) -> bool:
    """Change the row and add the entry if the row is the one that was guessed; whether it was."""
    if change.row is None or change.drop or len(change.lines) != 1:
        return False
    if db.execute(_STEP, (*change.row, key, *guess)).rowcount != 1:
        return False
    db.execute("INSERT INTO entries VALUES (?, ?, ?)", (key, change.first, change.lines[0]))
    return True


def _keep(db: sqlite3.Connection, key: str, row: Row | None, change: Change) -> None:
    after = change.row
    if after is None or change.drop:
        db.execute("DELETE FROM entries WHERE key = ?", (key,))
    if after is None:
        db.execute("DELETE FROM sessions WHERE key = ?", (key,))
        return
    if row is None:
        db.execute("INSERT INTO sessions VALUES (?, ?, ?, ?)", (key, *after))
    else:
        db.execute("UPDATE sessions SET version = ?, expires = ?, sealed = ? WHERE key = ?", (*after, key))
    for number, line in enumerate(change.lines, change.first):
        db.execute("INSERT INTO entries VALUES (?, ?, ?)", (key, number, line))


@contextmanager
def _told() -> Iterator[None]:
    """Errors of the database as errors of a store."""
    try:
        yield
    except sqlite3.Error as error:
        raise _told_of(error) from error


def _told_of(error: sqlite3.Error) -> StoreError:
    if isinstance(error, sqlite3.IntegrityError):
        return StoreError(f"the store holds an entry that nobody has acknowledged: {error}")
    return StoreError(f"SQLite says: {error}")
