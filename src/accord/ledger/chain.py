"""The chain: whether lines are a ledger, and which is the first that is not part of it.

Verification is a walk: it knows how many entries it has passed and the hash of the last one, nothing else, so a ledger
of any size is verified in the memory of one line. It takes nothing on trust: frame, hash, form, number and link of each
line are checked, in this order, and the first line that fails is named.

What a walk cannot see is an end that was cut off at a line: a shorter ledger is a ledger too. That is what a *head* is
for, the number and hash of an entry, kept where whoever can write the ledger cannot.
"""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from accord.errors import UsageError
from accord.ledger.complaints import about_content, about_frame
from accord.ledger.entries import (
    BEFORE_FIRST,
    FORMAT,
    FRAMED,
    LONGEST,
    OPENING,
    VERSION,
    BeginEntry,
    check_key,
    ending,
    read_entry,
    seal,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accord.ledger.entries import Entry

__all__ = ["BadEntryError", "Fault", "Finding", "Head", "Sound", "Verification", "Walk", "verify", "walk"]

Fault = Literal["cut off", "not a line", "changed", "malformed", "out of order", "key", "missing", "other history"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The first bad entry: its number, counted from 0 for the entry that begins the ledger, and what is wrong."""

    entry: int
    fault: Fault
    reason: str

    @property
    def line(self) -> int:
        """The line of the file, counted from 1."""
        return self.entry + 1

    def __str__(self) -> str:
        return f"entry {self.entry} (line {self.line}): {self.reason}"


class BadEntryError(Exception):
    """A line that does not belong there."""

    def __init__(self, finding: Finding) -> None:
        self.finding = finding
        super().__init__(str(finding))


class Head(NamedTuple):
    """An entry by its number and its hash, written `12:9f86d0…`; whoever keeps it can tell if the end was cut off."""

    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"

    @classmethod
    def read(cls, text: str) -> Head:
        """The head that was written so; `UsageError` if it is none.

        Example:
            >>> Head.read("3:" + "0f" * 32).seq
            3
        """
        if not isinstance(text, str) or _HEAD.fullmatch(text) is None:
            raise UsageError("a head is written `NUMBER:HASH` with 64 hexadecimal digits, as `accord verify` prints it")
        number, _, sealed = text.partition(":")
        return cls(int(number), sealed)


_HEAD = re.compile(r"(?:0|[1-9][0-9]{0,17}):[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Verification:
    """What verifying found: how many entries are sound, the head of these, and the first bad one if there is one."""

    entries: int
    head: str | None
    finding: Finding | None

    @property
    def ok(self) -> bool:
        """Whether the ledger is whole and unchanged, as far as can be told."""
        return self.finding is None


class Sound(NamedTuple):
    """An entry that was verified. `body` holds its bytes; floats in `entry` are raw text."""

    entry: Entry
    body: bytes
    hash: str


class Walk:
    """How far a verification has come; `head` is what `Ledger.head` was at some earlier time.

    With `just_looking`, a ledger with a key is walked without it too; then everything but its hashes is checked, and
    `checks_hashes` says so.
    """

    __slots__ = ("_just_looking", "_key", "_wanted", "checks_hashes", "count", "last")

    def __init__(self, key: bytes | None = None, head: str | None = None, *, just_looking: bool = False) -> None:
        check_key(key)
        self._key = key
        self._wanted = None if head is None else Head.read(head)
        self._just_looking = just_looking and key is None
        self.checks_hashes = True
        self.count = 0
        self.last = BEFORE_FIRST

    @property
    def head(self) -> str | None:
        """The head of what was passed; `None` before the first entry."""
        return str(Head(self.count - 1, self.last)) if self.count else None

    def take(self, line: bytes) -> Sound:
        """Pass one line, with its line feed; `BadEntryError` if it does not belong here."""
        body = line[len(OPENING) : -FRAMED]
        if len(line) > LONGEST or not _framed(line):
            raise self._bad(*about_frame(line, first=not self.count))
        if self._just_looking and not self.count:
            self.checks_hashes = _KEYED not in body
        if self.checks_hashes:
            sealed = seal(body, self._key)
            if not hmac.compare_digest(line[-FRAMED:], ending(sealed)):
                raise self._wrong_hash(body)
        else:
            sealed = line[-FRAMED:].decode("latin-1")[9:-3]
        try:
            entry = read_entry(body)
        except (ValueError, RecursionError, OverflowError) as error:
            raise self._bad("malformed", about_content(body, error)) from None
        self._check_place(entry)
        if self._wanted is not None and self._wanted.seq == self.count and self._wanted.hash != sealed:
            raise self._bad("other history", "the head names another entry of this number: history was written anew")
        self.count += 1
        self.last = sealed
        return Sound(entry, body, sealed)

    def end(self) -> None:
        """There is no more line; `BadEntryError` if there should be."""
        if not self.count:
            raise self._bad("missing", "there is no entry at all; a ledger begins with one")
        if self._wanted is not None and self.count <= self._wanted.seq:
            raise self._bad(
                "missing", f"the ledger ends here, but the head names entry {self._wanted.seq}: its end is gone"
            )

    def _check_place(self, entry: Entry) -> None:
        if entry.seq != self.count:
            raise self._bad("out of order", f"entry {entry.seq} stands here: one was removed, added or moved")
        if entry.prev != self.last:
            raise self._bad("out of order", "it does not follow the entry before it: that one is not the one it names")
        if isinstance(entry, BeginEntry) is not (self.count == 0):
            raise self._bad("out of order", "a ledger begins once, with an entry that says so")
        if isinstance(entry, BeginEntry):
            self._check_beginning(entry)

    def _check_beginning(self, entry: BeginEntry) -> None:
        if (entry.format, entry.version) != (FORMAT, VERSION):
            raise self._bad("malformed", f"expected {FORMAT} version {VERSION}, found another format or version")
        if self.checks_hashes and entry.keyed is not (self._key is not None):
            raise self._bad("key", _NEEDS_KEY if entry.keyed else _HAS_NO_KEY)

    def _wrong_hash(self, body: bytes) -> BadEntryError:
        if self.count == 0 and self._key is None and _KEYED in body:
            return self._bad("key", _NEEDS_KEY)
        if self.count == 0 and self._key is not None:
            if b'"keyed":false' in body:
                return self._bad("key", _HAS_NO_KEY)
            return self._bad(
                "changed", "its content does not match its hash: it was changed, or the key is another one"
            )
        return self._bad("changed", "its content does not match its hash: one of them was changed")

    def _bad(self, fault: Fault, reason: str) -> BadEntryError:
        return BadEntryError(Finding(self.count, fault, reason))


_KEYED = b'"keyed":true'
_NEEDS_KEY = "the ledger was written with a key and does not verify without it"
_HAS_NO_KEY = "the ledger was written without a key, so it could be forged; it is not accepted where a key is given"


def _framed(line: bytes) -> bool:
    """Whether a line begins and ends as every line does; what lies between is hashed."""
    return line.startswith(OPENING) and line.endswith(b'"}\n') and line[-FRAMED : 9 - FRAMED] == b',"hash":"'


def walk(lines: Iterable[bytes], walking: Walk) -> Iterator[Sound]:
    """Each sound entry, one after the other; `BadEntryError` at the first that is not, or if the end is missing."""
    for line in lines:
        yield walking.take(line)
    walking.end()


def verify(lines: Iterable[bytes], *, key: bytes | None = None, head: str | None = None) -> Verification:
    """Whether lines are a whole ledger.

    `lines` are bytes with their line feeds, as an open binary file gives them; `reading.bounded_lines` keeps the memory
    small whatever is in the file. `head` is what `Ledger.head` was at some earlier time.
    """
    walking = Walk(key, head)
    finding = None
    try:
        for _ in walk(lines, walking):
            pass
    except BadEntryError as error:
        finding = error.finding
    return Verification(walking.count, walking.head, finding)
