"""Disks that are full, slow, broken or lying: the file ends with a whole entry, and the answer is no."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys

import pytest

from accord import Blocked, FileSink, Ledger, Monitor, Ok, RecordedMonitor, UsageError
from accord.ledger import Attempt, file_sink
from tests.ledgers import check, fill, honest

ATTEMPT = Attempt(session="s", contract="sha256:" + "ab" * 32, event="!a", verdict="ok")


@pytest.fixture
def ledger(tmp_path):
    with Ledger(FileSink(tmp_path / "ledger")) as opened:
        yield fill(opened, 3)


@pytest.fixture
def content(tmp_path):
    return (tmp_path / "ledger").read_bytes


def failing_write(taken, error):
    """A `pwrite` that takes so many bytes and then fails."""
    plain = os.pwrite
    calls = iter([taken] if taken else [])

    def run(descriptor, data, start):
        for now in calls:
            return plain(descriptor, bytes(data)[:now], start)
        raise error

    return run


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG])
@pytest.mark.parametrize("taken", [0, 1, 10, 200])
def test_a_failing_write_leaves_whole_entries(ledger, content, monkeypatch, code, taken):
    before, head = content(), ledger.head
    with monkeypatch.context() as patch:
        patch.setattr(file_sink.os, "pwrite", failing_write(taken, OSError(code, os.strerror(code))))
        with pytest.raises(OSError, match=os.strerror(code)):
            ledger.append(ATTEMPT)
    assert content() == before
    assert ledger.head == head
    ledger.append(ATTEMPT)
    assert check(content()).entries == 5


def test_short_writes_are_continued(ledger, content, monkeypatch):
    plain = os.pwrite
    with monkeypatch.context() as patch:
        patch.setattr(file_sink.os, "pwrite", lambda d, data, start: plain(d, bytes(data)[:7], start))
        ledger.append(ATTEMPT)
    assert check(content()).entries == 5


def test_a_write_that_takes_nothing_is_an_error(ledger, content, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(file_sink.os, "pwrite", lambda *_: 0)
        with pytest.raises(OSError, match="nothing more is taken"):
            ledger.append(ATTEMPT)
    assert check(content()).entries == 4


def broken_sync(_):
    raise OSError(errno.EIO, "Input/output error")


def test_a_failed_flush_is_not_tried_again(ledger, content, monkeypatch, tmp_path):
    """What is on the device is unknown then, and a second flush would say yes to pages that were dropped."""
    before = content()
    with monkeypatch.context() as patch:
        patch.setattr(file_sink, "_sync", broken_sync)
        with pytest.raises(OSError, match="Input/output error"):
            ledger.append(ATTEMPT)
    assert content() == before
    with pytest.raises(OSError, match="could not be flushed"):
        ledger.append(ATTEMPT)
    ledger.close()
    with Ledger(FileSink(tmp_path / "ledger")) as again:
        again.append(ATTEMPT)
    assert check(content()).entries == 5


def test_a_piece_that_cannot_be_cut_off_is_mended_later(ledger, content, monkeypatch, tmp_path):
    before = content()

    def stuck(*_):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(file_sink.os, "pwrite", failing_write(20, OSError(errno.ENOSPC, "full")))
        patch.setattr(file_sink, "_truncate", stuck)
        with pytest.raises(OSError, match="full"):
            ledger.append(ATTEMPT)
    assert len(content()) == len(before) + 20
    with pytest.raises(OSError, match="could not be cut off"):
        ledger.append(ATTEMPT)
    ledger.close()
    with Ledger(FileSink(tmp_path / "ledger")) as again:
        assert again.mended == 20
        assert again.verify().entries == 5


def test_a_file_torn_at_every_byte_is_mended(tmp_path):
    *lines, last = honest(4)
    whole = b"".join(lines)
    path = tmp_path / "ledger"
    for size in range(len(last)):
        path.write_bytes(whole + last[:size])
        with Ledger(FileSink(path, fsync="never")) as ledger:
            assert ledger.mended == size
            ledger.append(ATTEMPT)
        data = path.read_bytes()
        assert data.startswith(whole)
        assert check(data).entries == len(lines) + bool(size) + 1


def test_a_folder_that_cannot_be_flushed(tmp_path, monkeypatch):
    plain = os.fsync

    def fail(code):
        def fsync(descriptor):
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                raise OSError(code, os.strerror(code))
            plain(descriptor)

        return fsync

    monkeypatch.setattr(file_sink.os, "fsync", fail(errno.EIO))
    with pytest.raises(UsageError, match="cannot flush the folder"):
        FileSink(tmp_path / "ledger")
    monkeypatch.setattr(file_sink.os, "fsync", fail(errno.EINVAL))
    with Ledger(FileSink(tmp_path / "ledger")) as ledger:
        assert ledger.verify().ok


@pytest.mark.parametrize("where", ["pwrite", "_sync"])
def test_an_interrupt_while_writing(ledger, content, monkeypatch, where):
    def interrupt(*_):
        raise KeyboardInterrupt

    before = content()
    with monkeypatch.context() as patch:
        patch.setattr(file_sink.os if where == "pwrite" else file_sink, where, interrupt)
        with pytest.raises(KeyboardInterrupt):
            ledger.append(ATTEMPT)
    assert content() == before
    ledger.append(ATTEMPT)
    assert check(content()).entries == 5


def test_a_session_does_not_move_on_a_full_disk(tmp_path, monkeypatch):
    with Ledger(FileSink(tmp_path / "ledger")) as ledger:
        session = RecordedMonitor(Monitor("!a.?b.end"), ledger)
        full = OSError(errno.ENOSPC, "No space left on device")
        with monkeypatch.context() as patch:
            patch.setattr(file_sink.os, "pwrite", failing_write(30, full))
            assert session.send("a") == Blocked("the ledger cannot be written (No space left on device)")
        assert session.trace == []
        assert session.send("a") == Ok()


LIMITED = """
import resource, sys
from accord import FileSink, Ledger, Monitor, RecordedMonitor
path, limit = sys.argv[1], int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
ledger = Ledger(FileSink(path))
session = RecordedMonitor(Monitor("rec X.!a.X"), ledger)
answers = [session.send("a", {"n": n}) for n in range(30)]
print(ledger.head, sum(str(a) == "Ok()" for a in answers), answers[-1].explain())
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(session.send("a"))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits of the operating system")
@pytest.mark.parametrize("limit", [2_000, 2_345, 4_096, 5_001])
def test_a_file_that_may_not_grow(tmp_path, limit):
    """The operating system itself takes a part of a line and then says no."""
    path = tmp_path / "ledger"
    run = subprocess.run([sys.executable, "-c", LIMITED, path, str(limit)], capture_output=True, text=True, check=True)
    told, after = run.stdout.splitlines()
    head, accepted, answer = told.split(" ", 2)
    assert answer == "Nothing more is accepted: the ledger cannot be written (File too large)."
    assert 0 < int(accepted) < 30
    assert after == "Ok()"
    result = check(path.read_bytes(), head=head)
    assert result.ok
    assert result.entries == int(accepted) + 2


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
def test_devices_are_no_ledgers():
    with pytest.raises(UsageError, match="no regular file"):
        FileSink("/dev/full")
