"""Traces read from JSON lines, in pieces of bounded size.

The usual line is decoded by msgspec, many at a time. A line that it does not take is looked at again by itself: lone
surrogates and payloads that are no objects are read as they are, and everything else is an error that names the file
and the line.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

import msgspec

from accord.errors import UsageError
from accord.trace.events import TraceEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from accord.trace.events import RunId

__all__ = [
    "LONGEST_LINE",
    "Line",
    "TraceFile",
    "decode_line",
    "open_trace",
    "pieces",
    "read_lines",
    "read_pieces",
    "read_trace",
]

LONGEST_LINE = 1 << 26
_PIECE = 1 << 15  # larger ones make msgspec and the garbage collector slower
_MOST_DIGITS = 4000  # Python reads 4,300 and no more
_BOM = b"\xef\xbb\xbf"

TraceFile = str | os.PathLike[str] | BinaryIO


class Line(msgspec.Struct, gc=False):
    """An event as it stands in a line, with its payload, whatever that is."""

    seq: int
    kind: str
    payload: Any = None
    run_id: str | int | None = None
    example_id: str | int | None = None


_LINES = msgspec.json.Decoder(Line)
_ANY = msgspec.json.Decoder()


@contextmanager
def open_trace(file: TraceFile) -> Iterator[tuple[BinaryIO, str]]:
    """The bytes of a trace and the name to call it by; a file that was opened by somebody else stays open."""
    if not isinstance(file, str | os.PathLike):
        yield file, str(getattr(file, "name", "<trace>"))
        return
    try:
        opened = Path(file).open("rb")  # noqa: SIM115 - closed below
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {os.fspath(file)}: {getattr(error, 'strerror', None) or error}") from None
    with opened:
        yield opened, os.fspath(file)


def pieces(file: BinaryIO, name: str = "<trace>") -> Iterator[bytes]:
    """Whole lines, many at a time."""
    kept: list[bytes] = []
    at = size = 0
    first = True
    while data := _read(file, name):
        if first:
            data, first = data.removeprefix(_BOM), False
        end = data.rfind(b"\n") + 1
        if not end:
            kept.append(data)
            size += len(data)
            if size > LONGEST_LINE:
                raise UsageError(f"{name}: the line at byte {at} is longer than {LONGEST_LINE >> 20} MiB")
            continue
        piece = b"".join((*kept, data[:end]))
        yield piece
        at += len(piece)
        kept, size = [data[end:]], len(data) - end
    if any(kept):
        yield b"".join(kept)


def _read(file: BinaryIO, name: str) -> bytes:
    try:
        return file.read(_PIECE)
    except Exception as error:
        # A file that somebody else opened may be anything: a broken archive, a text, a connection.
        raise UsageError(f"cannot read {name}: {getattr(error, 'strerror', None) or error}") from error


def read_lines(file: BinaryIO, name: str = "<trace>") -> Iterator[Line]:
    """Every event of a trace, unchecked but for the form of its line."""
    for lines in read_pieces(file, name):
        yield from lines


def read_pieces(file: BinaryIO, name: str = "<trace>") -> Iterator[Iterable[Line]]:
    """The same, many at a time.

    Lines are counted when one of them is bad: counting takes a tenth of the time that reading does.
    """
    start = file.tell() if file.seekable() else None
    before = 0
    for piece in pieces(file, name):
        try:
            _check_text(piece)
            lines = _LINES.decode_lines(piece)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            yield _one_by_one(piece, before, lambda at: _place(file, start, at, name))
        else:
            yield lines
        before += len(piece)


def _check_text(data: bytes) -> None:
    """`UnicodeDecodeError` for what is no UTF-8: msgspec does not look at what it passes over."""
    if not data.isascii():
        data.decode("utf-8")


def _one_by_one(piece: bytes, at: int, place: Callable[[int], str]) -> Iterator[Line]:
    for line in piece.split(b"\n"):
        if line.strip():
            try:
                _check_text(line)
                event = _LINES.decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                try:
                    event = decode_line(line)
                except UsageError as error:
                    raise UsageError(f"{place(at)}: {error}") from None
            yield event
        at += len(line) + 1


def _place(file: BinaryIO, start: int | None, at: int, name: str) -> str:
    """What to call the line that begins so many bytes behind the start: its number, where a file can be read again."""
    if start is None:
        return f"{name}: byte {at}"
    here = file.tell()
    file.seek(start)
    if file.read(len(_BOM)) != _BOM:
        file.seek(start)
    number = 1
    while at > 0 and (data := file.read(min(at, _PIECE))):
        number += data.count(b"\n")
        at -= len(data)
    file.seek(here)
    return f"{name}:{number}"


def decode_line(line: bytes) -> Line:
    """One event, from a line that may hold what msgspec does not take; `UsageError` says what is wrong with it."""
    value = _decode(line)
    if not isinstance(value, dict):
        raise UsageError("expected an event, an object with `seq`, `kind` and `payload`")
    seq, kind = value.get("seq"), value.get("kind")
    if type(seq) is not int:
        raise UsageError(f"`seq` is {_shown(seq)}; expected a whole number")
    if not isinstance(kind, str):
        raise UsageError(f"`kind` is {_shown(kind)}; expected a text")
    return Line(seq, kind, value.get("payload"), _id(value, "run_id"), _id(value, "example_id"))


def decode_json(data: bytes, where: str) -> Any:  # noqa: ANN401 - any JSON value
    """Any JSON value, lone surrogates included, numbers that are none excluded."""
    try:
        return _decode(data)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None


def _decode(data: bytes) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return _ANY.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return json.loads(data.decode("utf-8"), parse_constant=_no_number, parse_float=_finite, parse_int=_whole)
    except UnicodeDecodeError:
        raise UsageError("it is not UTF-8") from None
    except RecursionError:
        raise UsageError("it is nested too deep") from None
    except ValueError as error:
        raise UsageError(f"it is no JSON: {error}") from None


def read_trace(file: TraceFile) -> Iterator[TraceEvent]:
    """The events of a trace, one by one."""
    with open_trace(file) as (opened, name):
        for line in read_lines(opened, name):
            yield TraceEvent(line.seq, line.kind, _object(line, name), line.run_id, line.example_id)


def _object(line: Line, name: str) -> dict[str, Any]:
    if line.payload is None:
        return {}
    if not isinstance(line.payload, dict):
        raise UsageError(f"{name}: the payload of event {line.seq} is no object")
    return line.payload


def _id(value: dict[str, Any], name: str) -> RunId:
    found = value.get(name)
    if found is None or type(found) in {str, int}:
        return found
    raise UsageError(f"`{name}` is {_shown(found)}; expected a text or a whole number")


def _shown(value: object) -> str:
    return "missing" if value is None else f"a `{type(value).__name__}`"


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON number")


def _whole(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"an integer has {len(text)} digits")
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{text[:40]} is out of range")
    return number
