"""Files cut into records: the elements of a JSON array, the lines of a JSONL file, or the one value that a file is.

A record that cannot be decoded is a `Broken` that says where; the others are read all the same. An array is decoded in
one go, which is what makes reading fast, and element by element only if that fails. What fails as one document is still
a file of lines if one of its lines is a record: a log may begin in the middle of a line, or with a line that is none.
"""

from __future__ import annotations

import io
import json
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO, Generic, NamedTuple, TypeVar

import msgspec

from accord.sources.model import Broken
from accord.sources.sketch import BOM

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Keys", "Record", "Shape", "lines_in", "whole", "why_broken"]

T = TypeVar("T")

_UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError)
_RAW = msgspec.json.Decoder(msgspec.Raw)
_RAWS = msgspec.json.Decoder(list[msgspec.Raw])


class Record(NamedTuple, Generic[T]):
    """A decoded record and where it was found: its line in a file of lines, and its place among all, from 0."""

    value: T
    line: int | None = None
    place: int = 0


class Shape(Generic[T]):
    """How the records of a format are decoded: as one kind of struct, or where they do not fit it, as another.

    A record that is a bare list is one that has nothing but that list, in the field `listed`.
    """

    def __init__(self, kind: type[T], otherwise: type[T] | None = None, listed: str | None = None) -> None:
        self._listed = None if listed is None else f'{{"{listed}":'.encode()
        self._quick: msgspec.json.Decoder[T] = msgspec.json.Decoder(kind)
        self._many: msgspec.json.Decoder[list[T]] = msgspec.json.Decoder(list[kind])  # type: ignore[valid-type] # a type
        self._slow: msgspec.json.Decoder[T] | None = None if otherwise is None else msgspec.json.Decoder(otherwise)

    def _one(self, data: bytes | msgspec.Raw) -> T:
        if self._listed is not None and bytes(memoryview(data)[:64]).lstrip().startswith(b"["):
            data = b"%b%b}" % (self._listed, bytes(data))
        try:
            return self._quick.decode(data)
        except msgspec.ValidationError:
            if self._slow is None:
                raise
        return self._slow.decode(data)

    def records(self, stream: BinaryIO, file: str) -> Iterator[Record[T] | Broken]:
        """All records of a stream."""
        if _is_array(stream):  # which is mostly one long line, and lines are put together from pieces
            yield from self._document(whole(stream), file)
            return
        lines = lines_in(stream)
        first = next(lines, None)
        if first is None:
            return
        if not _is_line(first[1]):
            yield from self._document(whole(stream, first[1]), file)
            return
        yield from self._lines(chain([first], lines), file)

    def _lines(self, lines: Iterable[tuple[int, bytes]], file: str) -> Iterator[Record[T] | Broken]:
        for place, (number, line) in enumerate(lines):
            try:
                yield Record(self._one(line), number, place)
            except _UNREADABLE as error:
                yield Broken(file, number, why_broken(error))

    def _document(self, data: bytes, file: str) -> Iterator[Record[T] | Broken]:
        is_array = data.lstrip()[:1] == b"["
        try:
            many = self._many.decode(data) if is_array else [self._one(data)]
        except _UNREADABLE as error:
            if _holds_lines(data):
                yield from self._lines(lines_in(io.BytesIO(data)), file)
            elif is_array:
                yield from self._elements(data, file)
            else:
                yield Broken(file, _line_of(data, error), why_broken(error))
            return
        for place, value in enumerate(many):
            yield Record(value, None, place)

    def _elements(self, data: bytes, file: str) -> Iterator[Record[T] | Broken]:
        """An array of which something cannot be decoded, element by element up to where it is no JSON any more."""
        try:
            raws: Iterable[msgspec.Raw | Broken] = _RAWS.decode(data)
        except _UNREADABLE as error:
            raws = _before_damage(data, Broken(file, _line_of(data, error), why_broken(error)))
        for place, raw in enumerate(raws):
            if isinstance(raw, Broken):
                yield raw
                continue
            try:
                yield Record(self._one(raw), None, place)
            except _UNREADABLE as error:
                yield Broken(file, None, f"record {place}: {why_broken(error)}")


_SPACE = " \t\r\n"


def _before_damage(data: bytes, damage: Broken) -> Iterator[msgspec.Raw | Broken]:
    """The elements of an array that is malformed somewhere, or ends too early, and then what is wrong with it."""
    text = data.decode("utf-8", "replace")
    decode = json.JSONDecoder().raw_decode
    at = text.index("[") + 1
    try:
        while True:
            while at < len(text) and text[at] in _SPACE:
                at += 1
            _, end = decode(text, at)
            yield msgspec.Raw(text[at:end].encode())
            at = end
            while at < len(text) and text[at] in _SPACE:
                at += 1
            if text[at : at + 1] != ",":
                break
            at += 1
    except (ValueError, RecursionError):
        pass
    yield damage


def whole(stream: BinaryIO, read: bytes = b"") -> bytes:
    """All bytes of a stream of which `read` is what was read already."""
    raw = getattr(stream, "raw", None)
    if isinstance(raw, io.FileIO) and raw.seekable():
        # To begin again is much cheaper than to put pieces together.
        raw.seek(0)
        return raw.readall().removeprefix(BOM)
    return read + stream.read()


def lines_in(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines of a stream that are not empty, with their numbers from 1."""
    for number, line in enumerate(stream, 1):
        text = line.removeprefix(BOM) if number == 1 else line
        if not text.isspace() and text:
            yield number, text


def _is_array(stream: BinaryIO) -> bool:
    """Whether a stream that can be looked into begins with an array."""
    peek = getattr(stream, "peek", None)
    return peek is not None and peek(64).removeprefix(BOM).lstrip()[:1] == b"["


def _is_line(line: bytes) -> bool:
    """Whether the first line of a file is a record of its own: an object that begins and ends in it."""
    # Cut before it is stripped: the line may be a whole file.
    return line[:64].lstrip().startswith(b"{") and line[-64:].rstrip().endswith(b"}")


def _holds_lines(data: bytes) -> bool:
    """Whether one of the lines behind the first is a record: a whole value that begins where the line begins.

    An array may have its elements on such lines too, behind a comma or its bracket.
    """
    try:
        _RAW.decode(data)
    except _UNREADABLE:
        pass
    else:
        return False  # one value
    before, start = 0, data.find(b"\n") + 1
    while start:
        end = data.find(b"\n", start)
        ahead = data[before:start].strip()
        if data.startswith((b"{", b"["), start) and not ahead.endswith(b",") and ahead != b"[":
            try:
                _RAW.decode(data[start : None if end < 0 else end])
            except _UNREADABLE:
                pass
            else:
                return True
        before, start = start, end + 1
    return False


def why_broken(error: Exception) -> str:
    """What is wrong with a record, in a few words."""
    if isinstance(error, RecursionError):
        return "it is nested too deep"
    if isinstance(error, UnicodeError):
        return "it is not UTF-8"
    text = str(error)
    return (
        text if isinstance(error, msgspec.ValidationError) else f"no JSON: {text.removeprefix('JSON is malformed: ')}"
    )


def _line_of(data: bytes, error: Exception) -> int | None:
    """The line on which a document is malformed, where the decoder tells the byte."""
    head, _, byte = str(error).rpartition("(byte ")
    if not head or not byte.rstrip(")").isdecimal():
        return None
    return data.count(b"\n", 0, int(byte.rstrip(")"))) + 1


class Keys:
    """Makes the keys of runs unique within their file: what comes again gets a number behind it."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def unique(self, key: str) -> str:
        """The key, or the key with a number."""
        times = self._seen.get(key, 0) + 1
        self._seen[key] = times
        while times > 1:  # what is made may have been there too
            key = f"{key}#{times}"
            times = self._seen.get(key, 0) + 1
            self._seen[key] = times
        return key
