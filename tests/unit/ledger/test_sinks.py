from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.ledgers import check, fill, honest

from accord import FileSink, Ledger, MemorySink, UsageError
from accord.ledger import file_sink

OPEN = Path("/proc/self/fd")


@pytest.fixture(params=["memory", "file"])
def sink(request, tmp_path):
    if request.param == "memory":
        yield MemorySink()
    else:
        made = FileSink(tmp_path / "ledger")
        yield made
        made.close()


def test_a_sink_grows_at_its_end(sink):
    assert (sink.size, sink.read(0, 10)) == (0, b"")
    sink.write(0, b"abc")
    sink.write(3, b"def")
    assert (sink.size, sink.read(0, 10), sink.read(2, 2), sink.read(6, 1)) == (6, b"abcdef", b"cd", b"")


def test_what_was_left_of_an_interrupted_write_goes(sink):
    sink.write(0, b"abc")
    sink.write(3, b"longer line")
    sink.write(3, b"def")
    assert sink.read(0, 100) == b"abcdef"


def test_memory_continues_given_bytes():
    data = b"".join(honest(3))
    sink = MemorySink(data)
    ledger = fill(Ledger(sink), 3)
    assert sink.data.startswith(data)
    assert len(ledger) == 7
    assert check(sink.data).ok


def test_a_file_is_for_its_owner(tmp_path):
    with Ledger(FileSink(tmp_path / "ledger")):
        assert stat.S_IMODE((tmp_path / "ledger").stat().st_mode) == 0o600


def test_one_writer_at_a_time(tmp_path):
    path = tmp_path / "ledger"
    with Ledger(FileSink(path)):
        with pytest.raises(UsageError, match="open for writing elsewhere"):
            FileSink(path)
        program = f"from accord import FileSink\ntry: FileSink({str(path)!r})\nexcept Exception as e: print(e)"
        other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert "open for writing elsewhere" in other.stdout
    with Ledger(FileSink(path)):
        pass


def test_a_sink_that_is_forgotten_gives_its_lock_back(tmp_path):
    sink = FileSink(tmp_path / "ledger")
    del sink
    FileSink(tmp_path / "ledger").close()


def test_a_ledger_that_cannot_be_opened_gives_the_lock_back(tmp_path):
    path = tmp_path / "ledger"
    path.write_bytes(b"".join(honest(3)))
    with pytest.raises(UsageError, match="without a key"):
        Ledger(FileSink(path), key=b"secret")
    with Ledger(FileSink(path)) as ledger:
        assert len(ledger) == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_may_not_write(tmp_path):
    path = tmp_path / "ledger"
    program = f"""
import os
from accord import FileSink, Ledger, Monitor, RecordedMonitor
ledger = Ledger(FileSink({str(path)!r}))
session = RecordedMonitor(Monitor("rec X.!a.X"), ledger)
if os.fork() == 0:
    print(session.send("a").explain(), flush=True)
    ledger.close()
    os._exit(0)
os.wait()
print(session.send("a"))
try: FileSink({str(path)!r})
except Exception as error: print(error)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    child, parent, lock = run.stdout.splitlines()
    assert "opened by another process" in child
    assert parent == "Ok()"
    assert "open for writing elsewhere" in lock
    assert check(path.read_bytes()).entries == 2


def test_what_cannot_be_opened(tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for path, reason in [("folder", "directory"), ("no/such", "No such file"), ("pipe", "no regular file"), ("\0", "")]:
        with pytest.raises(UsageError, match=f"cannot open the ledger.*{reason}"):
            FileSink(tmp_path / path)
    with pytest.raises(UsageError, match="`always` or `never`"):
        FileSink(tmp_path / "ledger", fsync="sometimes")


def test_a_closed_ledger_takes_nothing(tmp_path):
    ledger = Ledger(FileSink(tmp_path / "ledger"))
    ledger.close()
    ledger.close()
    with pytest.raises(UsageError, match="the ledger is closed"):
        ledger.verify()


@pytest.mark.parametrize(("fsync", "flushed"), [("always", 3), ("never", 0)])
def test_each_line_is_flushed(tmp_path, monkeypatch, fsync, flushed):
    calls = []
    monkeypatch.setattr(file_sink, "_sync", lambda _: calls.append(1))
    monkeypatch.setattr(file_sink, "_sync_folder", lambda _: calls.append("folder"))
    with Ledger(FileSink(tmp_path / "ledger", fsync=fsync)) as ledger:
        fill(ledger, 2)
    assert calls.count(1) == flushed
    assert calls.count("folder") == (fsync == "always"), "a new file has its name on disk"


def test_the_default_is_to_flush(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(file_sink, "_sync", calls.append)
    with Ledger(FileSink(tmp_path / "ledger")):
        assert len(calls) == 1


@pytest.mark.parametrize("change", ["append", "truncate", "delete"])
def test_changes_by_others_are_not_buried(tmp_path, change):
    path = tmp_path / "ledger"
    with Ledger(FileSink(path)) as ledger:
        fill(ledger, 3)
        before = path.read_bytes()
        if change == "append":
            path.write_bytes(before + b"garbage")
        elif change == "truncate":
            path.write_bytes(before[:-5])
        else:
            path.unlink()
        with pytest.raises(OSError, match=r"changed the file|was deleted"):
            ledger._write({"act": "mend", "bytes": 0, "sha256": "0" * 64})
        if change != "delete":
            assert path.read_bytes() in {before + b"garbage", before[:-5]}


@pytest.mark.skipif(not OPEN.is_dir(), reason="needs /proc")
@pytest.mark.parametrize("fails", [False, True])
def test_nothing_stays_open_of_what_was_opened_to_flush(tmp_path, monkeypatch, fails):
    def sync(descriptor):
        raise OSError(errno.EIO, "broken")

    open_before = len(list(OPEN.iterdir()))
    if fails:
        monkeypatch.setattr(file_sink.os, "fsync", sync)
    for number in range(3):
        try:
            FileSink(tmp_path / f"ledger{number}").close()
        except UsageError:
            assert fails
    assert len(list(OPEN.iterdir())) == open_before
