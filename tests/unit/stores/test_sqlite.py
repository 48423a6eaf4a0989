"""What only the SQLite store does: its file, its schema, its locks."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import suppress

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


@pytest.mark.parametrize("ending", ["-wal", "-shm"])
@pytest.mark.parametrize("calm", [False, True])
def test_a_file_beside_it_that_is_deleted(path, ending, calm):
    """What is written to a log that nobody else can find would be lost with us."""
    with SQLiteStore(path) as store:
        session = StoredSession(store, ONCE, "s1")
        session.send("note")
        if calm:
            os.utime(path.parent, (1, 1))
            session.send("note")
            assert store._calm
        path.with_name(path.name + ending).unlink()
        assert "deleted or replaced" in session.send("pay").reason
        with suppress(StoreError), SQLiteStore(path) as other:
            StoredSession(other, ONCE, "s1").send("note")
        assert "deleted or replaced" in session.send("pay").reason


def test_a_file_that_is_reached_by_a_link(path, tmp_path):
    (tmp_path / "real").mkdir()
    path.symlink_to(tmp_path / "real" / "sessions.db")
    SQLiteStore(tmp_path / "real" / "sessions.db").close()
    os.utime(tmp_path / "real", (1, 1))
    with SQLiteStore(path) as store:
        session = StoredSession(store, ONCE, "s1")
        assert (session.send("note"), session.send("note")) == (Ok(), Ok())
        path.unlink()
        path.symlink_to(tmp_path / "other.db")
        assert "deleted or replaced" in session.send("pay").reason


def test_a_folder_that_is_replaced(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    with SQLiteStore(folder / "sessions.db") as store:
        session = StoredSession(store, ONCE, "s1")
        session.send("note")
        os.utime(folder, (1, 1))
        session.send("note")
        folder.rename(tmp_path / "away")
        assert isinstance(session.send("pay"), Blocked)
        folder.mkdir()
        os.utime(folder, (1, 1))
        assert "deleted or replaced" in session.send("pay").reason


def test_a_file_that_is_put_back_is_the_same_store(path):
    with SQLiteStore(path) as store:
        session = StoredSession(store, ONCE, "s1")
        session.send("note")
        path.rename(path.with_name("away"))
        assert isinstance(session.send("pay"), Blocked)
        path.with_name("away").rename(path)
        assert session.send("pay") == Ok()


ODD = [
    "INSERT INTO sessions SELECT x'00ff', version, expires, sealed FROM sessions WHERE key = 's1'",
    "INSERT INTO sessions SELECT x'', version, expires, sealed FROM sessions WHERE key = 's1'",
    "INSERT INTO sessions SELECT '', version, expires, sealed FROM sessions WHERE key = 's1'",
    "INSERT INTO sessions SELECT CAST(x'73ff' AS TEXT), version, expires, sealed FROM sessions WHERE key = 's1'",
    "INSERT INTO sessions SELECT char(27, 10, 0), version, expires, sealed FROM sessions WHERE key = 's1'",
    "INSERT INTO sessions SELECT 's9', version, 'soon', sealed FROM sessions WHERE key = 's1'",
    "INSERT INTO sessions SELECT 's9', CAST(x'ff' AS TEXT), x'00', sealed FROM sessions WHERE key = 's1'",
    "INSERT INTO sessions SELECT 's9', version, expires, CAST(x'ff' AS TEXT) FROM sessions WHERE key = 's1'",
    "INSERT INTO sessions SELECT 's9', version, expires, CAST(sealed AS TEXT) FROM sessions WHERE key = 's1'",
]


@pytest.mark.parametrize("statement", ODD)
@pytest.mark.parametrize("page", [1, 256])
def test_rows_that_no_store_has_written_hide_no_other(path, statement, page, monkeypatch):
    monkeypatch.setattr(sqlite, "_PAGE", page)
    with SQLiteStore(path) as store:
        for key in ("s1", "s2", "t"):
            StoredSession(store, ONCE, key).send("note")
        with store._using() as db:
            db.execute(statement)
        infos = list(store.sessions())
        assert [info.key for info in infos if info.fault is None] == ["s1", "s2", "t"]
        assert len(infos) == 4
        assert all(type(info.key) is str for info in infos)
        assert store.sweep(10**9) == []


def test_a_line_that_is_no_bytes(path):
    with SQLiteStore(path) as store:
        StoredSession(store, ONCE, "s1").send("note")
        with store._using() as db:
            db.execute("UPDATE entries SET line = CAST(x'ff' AS TEXT) WHERE number = 1")
        assert store.verify("s1").finding.entry == 1


@pytest.mark.skipif(os.name != "posix", reason="names are bytes on POSIX only")
@pytest.mark.parametrize("name", ["50%?.db", "a#b&mode=memory", "ä", os.fsdecode(b"\xff.db"), "file:x?mode=memory"])
def test_odd_names_of_files(tmp_path, name):
    with SQLiteStore(tmp_path / name) as store:
        assert StoredSession(store, ONCE, "s1").send("pay") == Ok()
    assert (tmp_path / name).stat().st_size > 0
    with SQLiteStore(tmp_path / name) as store:
        assert isinstance(StoredSession(store, ONCE, "s1").send("pay"), Violation)


def test_a_fork_that_python_was_not_told_of(path):
    """Whatever forks in C: nothing is kept, rather than without locks."""
    with SQLiteStore(path) as store:
        session = StoredSession(store, ONCE, "s1")
        session.send("note")
        store._process += 1
        assert "open the store again" in session.send("pay").reason
        store._process -= 1
        assert session.send("pay") == Ok()


def test_a_fork_while_somebody_does_not_let_go(path, monkeypatch):
    """The file could not be closed before, so a child has lost it; its parent has not."""
    monkeypatch.setattr(sqlite, "_GRACE", 0)
    with SQLiteStore(path, timeout=0.1) as store:
        session = StoredSession(store, ONCE, "s1")
        session.send("note")
        inside, over = threading.Event(), threading.Event()

        def hold():
            with store._transaction():
                inside.set()
                over.wait(30)

        thread = threading.Thread(target=hold)
        thread.start()
        inside.wait(30)
        child = os.fork()
        if child == 0:
            answer = session.send("pay")
            os._exit(0 if "open the store again" in getattr(answer, "reason", "") else 1)
        over.set()
        thread.join()
        assert os.waitpid(child, 0)[1] == 0
        assert session.send("pay") == Ok()
        assert store.verify("s1").ok


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs to mount a file system")
class TestRealDisks:
    """File systems of their own: one that is full, one that may only be read."""

    @pytest.fixture
    def disk(self, tmp_path):
        folder = tmp_path / "disk"
        folder.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", folder], check=False)
        if mounted.returncode:
            pytest.skip("nothing can be mounted here")
        yield folder
        subprocess.run(["umount", "-l", folder], check=True)

    def test_a_full_disk(self, disk):
        with SQLiteStore(disk / "sessions.db") as store:
            session = StoredSession(store, ONCE, "s1")
            answers = [session.send("note", {"fill": "x" * 20_000}) for _ in range(40)]
            kept = answers.count(Ok())
            assert 0 < kept < 40
            assert all(isinstance(answer, Blocked) for answer in answers if answer != Ok())
            assert store.verify("s1").ok
            assert session.version == kept
            subprocess.run(["mount", "-o", "remount,size=4m", disk], check=True)
            assert session.send("pay") == Ok()
        with SQLiteStore(disk / "sessions.db") as store:
            assert store.verify("s1").entries == kept + 2

    def test_a_disk_that_is_full_from_the_beginning(self, disk):
        (disk / "fill").write_bytes(bytes(512 << 10))
        with pytest.raises(StoreError):
            SQLiteStore(disk / "sessions.db", timeout=0.5)  # SQLite waits for so long, in case it is only busy
        (disk / "fill").unlink()
        with SQLiteStore(disk / "sessions.db") as store:
            assert StoredSession(store, ONCE, "s1").send("pay") == Ok()

    def test_a_disk_that_becomes_read_only(self, disk):
        with SQLiteStore(disk / "sessions.db") as store:
            StoredSession(store, ONCE, "s1").send("note")
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        with pytest.raises(StoreError):
            SQLiteStore(disk / "sessions.db")
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        with SQLiteStore(disk / "sessions.db") as store:
            assert StoredSession(store, ONCE, "s1").send("pay") == Ok()


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


@pytest.mark.parametrize(("fsync", "level"), [("always", 2), ("never", 1)])
def test_what_is_answered_is_flushed(path, fsync, level):
    """FULL flushes the log at each commit, NORMAL before it is moved to the file; also after a fork."""
    with SQLiteStore(path, fsync=fsync) as store:
        for _ in range(2):
            with store._using() as db:
                assert db.execute("PRAGMA synchronous").fetchone() == (level,)
                assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            store.before_fork()
            store.after_fork_here()


@pytest.mark.parametrize("fsync", ["sometimes", True, None])
def test_what_is_no_way_to_flush(path, fsync):
    with pytest.raises(UsageError, match="`fsync` is `always` or `never`"):
        SQLiteStore(path, fsync=fsync)
