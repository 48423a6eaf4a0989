"""What only the SQLite store does: its file, its schema, its locks."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import stat
import subprocess
import sys

import pytest

from accord import Blocked, Ok, SQLiteStore, StoredSession, StoreError, UsageError, Violation
from accord.stores import sqlite

ONCE = "rec X.{!note.X, !pay.end}"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "sessions.db"


def test_a_new_file_is_for_its_owner_alone(path):
    with SQLiteStore(path) as store:
        StoredSession(store, ONCE, "s1").send("note")
        for file in path.parent.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match="cannot make the store"):
        SQLiteStore(tmp_path / "nowhere" / "sessions.db")


def test_a_database_of_something_else_is_left_alone(path):
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE mine (x)")
    db.close()
    before = path.read_bytes()
    with pytest.raises(UsageError, match="a database of something else"):
        SQLiteStore(path)
    assert path.read_bytes() == before


def test_a_file_that_is_no_database(path):
    path.write_text("not a database at all, but long enough to be looked at " * 50)
    with pytest.raises(StoreError, match="file is not a database"):
        SQLiteStore(path)


def test_a_damaged_file(path):
    with SQLiteStore(path) as store:
        session = StoredSession(store, ONCE, "s1")
        for _ in range(50):
            session.send("note", {"fill": "x" * 3000})
    data = bytearray(path.read_bytes())
    for place in range(4096, len(data), 1024):
        data[place : place + 64] = os.urandom(64)
    path.write_bytes(data)
    try:
        with SQLiteStore(path) as store:
            assert isinstance(StoredSession(store, ONCE, "s1").send("pay"), Blocked)
    except StoreError:
        pass  # it could not even be opened


def test_a_file_that_is_deleted_is_no_empty_store(path):
    with SQLiteStore(path) as store:
        session = StoredSession(store, ONCE, "s1")
        session.send("note")
        path.unlink()
        assert "was deleted or replaced" in session.send("pay").reason
        with SQLiteStore(path) as other:
            assert StoredSession(other, ONCE, "s1").send("pay") == Ok()
        assert "was deleted or replaced" in session.send("pay").reason


def test_a_migration_leads_from_one_version_to_the_next(path, monkeypatch):
    with SQLiteStore(path) as store:
        StoredSession(store, ONCE, "s1").send("pay")
    more = (*sqlite.MIGRATIONS, ("ALTER TABLE sessions ADD COLUMN note TEXT", "CREATE TABLE third (x)"))
    monkeypatch.setattr(sqlite, "MIGRATIONS", more)
    with SQLiteStore(path) as store:
        assert store._db.execute("PRAGMA user_version").fetchone() == (2,)
        assert isinstance(StoredSession(store, ONCE, "s1").send("pay"), Violation)


def test_a_migration_that_fails_leaves_everything_as_it_was(path, monkeypatch):
    with SQLiteStore(path) as store:
        StoredSession(store, ONCE, "s1").send("pay")
    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "MIGRATIONS", (*sqlite.MIGRATIONS, ("CREATE TABLE third (x)", "nonsense")))
        with pytest.raises(StoreError, match="syntax error"):
            SQLiteStore(path)
    with SQLiteStore(path) as store:
        assert store._db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'third'").fetchone() == (0,)
        assert isinstance(StoredSession(store, ONCE, "s1").send("pay"), Violation)


def test_an_entry_that_nobody_acknowledged(path):
    """A row put back by hand, with the ledger of later: there is no going on from it."""
    with SQLiteStore(path) as store:
        session = StoredSession(store, ONCE, "s1")
        session.send("note")
        store._db.execute("INSERT INTO entries VALUES ('s1', 2, x'00')")
        answer = session.send("note")
        assert isinstance(answer, Blocked)
        assert "an entry that nobody has acknowledged" in answer.reason
        assert session.version == 1


def send_after_fork(store, answers):
    answers.put(repr([StoredSession(store, ONCE, "s1").send("pay"), StoredSession(store, ONCE, "s2").send("pay")]))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_store_that_is_inherited(path):
    with SQLiteStore(path) as store:
        StoredSession(store, ONCE, "s1").send("pay")
        context = multiprocessing.get_context("fork")
        answers = context.Queue()
        child = context.Process(target=send_after_fork, args=(store, answers))
        child.start()
        assert answers.get(timeout=30) == "[Violation(expected=[], got='!pay'), Ok()]"
        child.join(30)
        assert isinstance(StoredSession(store, ONCE, "s2").send("pay"), Violation)
        assert StoredSession(store, ONCE, "s3").send("pay") == Ok()


LIMITED = """
import resource, sys
from accord import SQLiteStore, StoredSession, Ok
store = SQLiteStore(sys.argv[1])
session = StoredSession(store, "rec X.!a.X", "s1")
session.send("a")
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
answers = [session.send("a", {"fill": "x" * 20_000}) for n in range(40)]
print(sum(answer == Ok() for answer in answers), answers[-1])
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(session.send("a"), session.version, store.verify("s1").ok)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits of the operating system")
@pytest.mark.parametrize("limit", [150_000, 200_001, 300_000])
def test_a_file_that_may_not_grow(path, limit):
    """The operating system itself takes a part and then says no."""
    code = f"import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN){LIMITED}"
    run = subprocess.run([sys.executable, "-c", code, path, str(limit)], capture_output=True, text=True, check=True)
    told, after = run.stdout.splitlines()
    accepted, answer = told.split(" ", 1)
    assert 0 < int(accepted) < 40
    assert answer.startswith("Blocked('the session cannot be kept (SQLite says: ")
    assert after == f"Ok() {int(accepted) + 2} True"


@pytest.mark.parametrize("fsync", ["sometimes", True, None])
def test_what_is_no_way_to_flush(path, fsync):
    with pytest.raises(UsageError, match="`fsync` is `always` or `never`"):
        SQLiteStore(path, fsync=fsync)
