"""Files of recorded runs: which ones are meant, and their bytes, decompressed within a limit."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from contextlib import contextmanager
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from accord.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accord.limits import Limits

__all__ = ["STDIN", "SUFFIXES", "DamagedFileError", "begun", "files_of", "open_file"]

STDIN = "-"
SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv", ".parquet")
"""What files of runs are called; in a folder, others are passed over."""

_COMPRESSED = (".gz", ".zst")
_GZIP, _ZSTANDARD = b"\x1f\x8b", b"\x28\xb5"


class DamagedFileError(Exception):
    """The bytes of a file cannot be had: it ends in the middle, is damaged, or unfolds to more than is allowed."""


def files_of(paths: Iterable[str]) -> list[str]:
    """The files that paths, folders and patterns mean, in order and each once; `-` is standard input.

    Raises `UsageError` for what is not there.
    """
    found: dict[str, None] = {}
    for path in paths:
        for file in _files_of(path):
            found.setdefault(file)
    return list(found)


def _files_of(path: str) -> list[str]:
    if path == STDIN:
        return [path]
    try:
        here = Path(path)
        if here.is_dir():
            inside = _inside(here)
            if not inside:
                raise UsageError(f"{path}: no file of runs in this folder; they end in {', '.join(SUFFIXES)}")
            return inside
        if here.exists():
            return [path]
        matching = sorted(file for file in glob(path, recursive=True) if Path(file).is_file())  # noqa: PTH207 - any root
    except (OSError, ValueError) as error:  # a path with a NUL in it, or a folder that may not be looked into
        raise UsageError(f"cannot read {path!r}: {error}") from None
    if not matching:
        raise UsageError(f"{path}: no file matches" if has_magic(path) else f"{path}: no such file")
    return matching


def _inside(folder: Path) -> list[str]:
    """The files of runs in a folder and the folders in it.

    What cannot be looked into is among them, and so is a link that leads nowhere: whoever reads it says why it cannot.
    """
    found: list[str] = []
    for here, _, names in os.walk(folder, onerror=lambda error: found.append(str(error.filename))):
        for name in filter(_is_of_runs, names):
            file = Path(here, name)
            if file.is_file() or (file.is_symlink() and not file.exists()):
                found.append(str(file))
    return sorted(found)


def _is_of_runs(name: str) -> bool:
    for suffix in _COMPRESSED:
        name = name.removesuffix(suffix)
    return name.endswith(SUFFIXES) and not name.startswith(".")


@contextmanager
def open_file(path: str, limits: Limits) -> Iterator[io.BufferedReader]:
    """The bytes of a file, decompressed if they are compressed, whatever the file is called.

    Raises `UsageError` if it cannot be opened. Reading raises `DamagedFileError` and `OSError`.
    """
    try:
        file = cast("io.BufferedReader", sys.stdin.buffer) if path == STDIN else Path(path).open("rb")  # noqa: SIM115
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    try:
        yield _decompressed(file, path, limits)
    finally:
        if path != STDIN:
            file.close()


def _decompressed(file: io.BufferedReader, path: str, limits: Limits) -> io.BufferedReader:
    stream, start = begun(file, 2)
    if start == _GZIP:
        inner: gzip.GzipFile | _Frames = gzip.GzipFile(fileobj=stream)
    elif start == _ZSTANDARD:
        inner = _zstandard(stream, path)
    else:
        return stream
    return io.BufferedReader(_Bounded(inner, limits.decompressed_bytes), 1 << 20)


def begun(file: io.BufferedReader, size: int) -> tuple[io.BufferedReader, bytes]:
    """A stream from its beginning, and what it begins with; a pipe cannot go back, so it is put together again."""
    head = file.read(size)
    if isinstance(file.raw, io.FileIO) and file.seekable():
        file.seek(0)
        return file, head
    return io.BufferedReader(_Joined(head, file), 1 << 20), head


class _Joined(io.RawIOBase):
    """Bytes that were read already, and the stream they came from."""

    def __init__(self, head: bytes, rest: io.BufferedReader) -> None:
        self._head = memoryview(head)
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast("bytearray", buffer))
        if self._head:
            piece, self._head = self._head[: len(view)], self._head[len(view) :]
        else:
            piece = memoryview(self._rest.read1(len(view)))
        view[: len(piece)] = piece
        return len(piece)


def _zstandard(file: BinaryIO, path: str) -> _Frames:
    try:
        import zstandard  # noqa: PLC0415 - the extra `audit`
    except ImportError:
        raise UsageError(f"{path}: reading .zst needs zstandard: pip install 'accord-contracts[audit]'") from None
    return _Frames(file, zstandard.ZstdDecompressor())


class _Frames:
    """What the frames of a zstandard file unfold to. The library's own stream takes what is cut off for whole."""

    # A block of four bytes may unfold to 128 KB, so this is what 32 MB can be made of.
    _PIECE = 1 << 10

    def __init__(self, file: BinaryIO, decompressor: Any) -> None:  # noqa: ANN401 - zstandard may not be installed
        self._file = file
        self._decompressor = decompressor
        self._frame: Any = None
        self._rest = b""
        self._ready = memoryview(b"")

    def read1(self, size: int) -> memoryview:
        """Some bytes, none at the end. Raises `EOFError` if that comes too early."""
        while not self._ready:
            piece = self._rest or self._file.read(self._PIECE)
            self._rest = b""
            if not piece:
                if self._frame is not None:
                    raise EOFError("a frame is not complete")
                break
            if self._frame is None:
                self._frame = self._decompressor.decompressobj()
            self._ready = memoryview(self._frame.decompress(piece))
            if self._frame.eof:
                self._rest, self._frame = self._frame.unused_data, None
        data, self._ready = self._ready[:size], self._ready[size:]
        return data


class _Bounded(io.RawIOBase):
    """Decompressed bytes, up to a limit."""

    def __init__(self, inner: gzip.GzipFile | _Frames, most: int) -> None:
        self._inner = inner
        self._most = most
        self._read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast("bytearray", buffer))
        try:
            data = self._inner.read1(len(view))  # what stands before damage is read
        except Exception as error:
            # zstandard's error has no base of its own, and its class is known only where it is installed.
            if not isinstance(error, OSError | EOFError | zlib.error) and type(error).__name__ != "ZstdError":
                raise
            raise DamagedFileError(f"the compressed file is damaged or ends too early: {error}") from None
        self._read += len(data)
        if self._read > self._most:
            raise DamagedFileError(
                f"it unfolds to more than {self._most} bytes; `Limits(decompressed_bytes=…)` allows more"
            )
        view[: len(data)] = data
        return len(data)
