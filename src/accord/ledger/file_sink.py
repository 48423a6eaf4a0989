"""`FileSink`: a ledger in a file.

Acknowledged means on disk: with `fsync="always"` a line is flushed to the device before `write` returns. With
`fsync="never"` that is left to the operating system: a crash of the program loses nothing, a crash of the machine may.

What can go wrong, and what is done:

- Two writers would fork the chain. The file is locked for as long as it is open, and a process that was forked off
  may not write.
- The disk is full, or takes a part only. The file is cut back to the last whole entry and the error is raised.
- Flushing fails. Nobody knows then what is on the device, and trying again would only seem to work. The file is cut
  back and the sink takes nothing more until it is opened again.
- Somebody else changes the length of the file, or deletes it. The sink refuses to write: whatever that is, it must not
  be buried.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Literal

from accord.errors import UsageError

try:
    import fcntl
except ImportError:  # pragma: no cover - no such lock on this system
    fcntl = None  # type: ignore[assignment]

__all__ = ["FileSink"]

FsyncPolicy = Literal["always", "never"]


class FileSink:
    """A file, made if it is not there, readable by its owner alone, and locked until `close`."""

    __slots__ = ("_broken", "_descriptor", "_fsync", "_loose", "_path", "_process")

    def __init__(self, path: str | os.PathLike[str], *, fsync: FsyncPolicy = "always") -> None:
        if fsync not in ("always", "never"):
            raise UsageError(f"fsync is `always` or `never`, got {fsync!r}")
        self._path = Path(path)
        self._fsync = fsync
        self._process = os.getpid()
        self._broken = ""
        self._descriptor: int | None = None
        descriptor = _open_locked(self._path)
        try:
            size = os.fstat(descriptor).st_size
            if not size and fsync == "always":
                _sync_folder(self._path.parent)
        except BaseException:
            os.close(descriptor)
            raise
        # Bytes between these two places may be cut off: a crash, or a write of ours that was interrupted, left them.
        self._loose = (0, size)
        self._descriptor = descriptor

    @property
    def path(self) -> Path:
        """Where it is."""
        return self._path

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return os.fstat(self._open()).st_size

    def read(self, start: int, count: int) -> bytes:
        """Bytes from `start`, at most `count` of them."""
        return os.pread(self._open(), count, start)

    def write(self, start: int, line: bytes) -> None:
        """Make `line` the end of the file, from `start` on."""
        descriptor = self._open()
        if os.getpid() != self._process:
            raise UsageError("the ledger was opened by another process; open one file per process")
        if self._broken:
            raise OSError(errno.EIO, self._broken)
        self._make_room(descriptor, start)
        self._loose = (start, start + len(line))
        try:
            _write_all(descriptor, line, start)
        except BaseException:
            self._cut(descriptor, start)
            raise
        if self._fsync == "always":
            try:
                _sync(descriptor)
            except OSError as error:
                self._broken = f"the file could not be flushed to its device ({error.strerror}); open the ledger again"
                self._cut(descriptor, start)
                raise
            except BaseException:
                self._cut(descriptor, start)
                raise

    def close(self) -> None:
        """Close the file and give the lock back."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            if os.getpid() == self._process:  # else it would be the lock of the process this one was forked from
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def __del__(self) -> None:
        if getattr(self, "_descriptor", None) is not None:
            self.close()

    def __repr__(self) -> str:
        return f"<FileSink {self._path}>"

    def _open(self) -> int:
        if self._descriptor is None:
            raise UsageError("the ledger is closed")
        return self._descriptor

    def _make_room(self, descriptor: int, start: int) -> None:
        found = os.fstat(descriptor)
        if not found.st_nlink:
            raise OSError(errno.ENOENT, "the file of the ledger was deleted", str(self._path))
        if found.st_size != start:
            first, last = self._loose
            if not first <= start < found.st_size <= last:
                raise OSError(errno.EIO, "somebody else changed the file of the ledger", str(self._path))
            _truncate(descriptor, start)

    def _cut(self, descriptor: int, size: int) -> None:
        try:
            _truncate(descriptor, size)
        except OSError as error:
            self._broken = f"a piece of a line could not be cut off ({error.strerror}); open the ledger again"


def _open_locked(path: Path) -> int:
    if fcntl is None:  # pragma: no cover - no such lock on this system
        raise UsageError("this system has no file locks; write a sink of your own")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot open the ledger {path}: {getattr(error, 'strerror', None) or error}") from None
    try:
        _lock(descriptor, path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _lock(descriptor: int, path: Path) -> None:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise UsageError(f"cannot open the ledger {path}: it is no regular file")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UsageError(f"the ledger {path} is open for writing elsewhere; share one `Ledger` instead") from None
    except OSError as error:
        raise UsageError(f"the ledger {path} cannot be locked: {error.strerror}") from None


# -- the operating system, by small names that tests can make fail -----------------------------------------------------


def _write_all(descriptor: int, line: bytes, start: int) -> None:
    rest = memoryview(line)
    while rest:
        written = os.pwrite(descriptor, rest, start)
        if not written:
            raise OSError(errno.EIO, "nothing more is taken")
        rest = rest[written:]
        start += written


def _truncate(descriptor: int, size: int) -> None:
    os.ftruncate(descriptor, size)


def _sync(descriptor: int) -> None:
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is None:
        os.fsync(descriptor)
    else:  # pragma: no cover - where fsync stops at the device's own cache
        fcntl.fcntl(descriptor, full)


def _sync_folder(folder: Path) -> None:
    """A new file is only safe once its name is on disk too."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:  # where folders cannot be flushed there is nothing to do
            raise UsageError(f"cannot flush the folder {folder} to its device: {error.strerror}") from None
