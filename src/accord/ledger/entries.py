"""One entry, and the line it is kept on.

A line is `{"entry":BODY,"hash":"H"}` and a line feed. BODY is canonical JSON; H is the SHA-256 of exactly the bytes of
BODY (its HMAC-SHA256 in a ledger with a key), in lower-case hexadecimal. BODY names its number, `seq`, and the hash of
the entry before it, `prev`. So every byte of a file is either hashed or fixed.

Four acts are recorded: `begin` is the first entry of each ledger and says what it is; `attempt` is what somebody tried
and what was answered; `note` is what else happened to a session; `mend` says that a piece of a line, left by a crash,
was cut off before it.

A field that has nothing to say is left out. INVARIANT: the fields of each act stand in canonical order, so that what
msgspec writes of them is canonical as far as these fields go.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from accord.canonical import encode
from accord.errors import UsageError
from accord.ledger.represent import MARK, represent

if TYPE_CHECKING:
    from accord.canonical import Json

__all__ = [
    "BEFORE_FIRST",
    "FORMAT",
    "FRAMED",
    "LONGEST",
    "OPENING",
    "VERSION",
    "Answer",
    "Attempt",
    "AttemptEntry",
    "BeginEntry",
    "Entry",
    "MendEntry",
    "NoteEntry",
    "begin_fields",
    "check_key",
    "ending",
    "fields_of",
    "frame",
    "is_canonical",
    "mend_fields",
    "note_fields",
    "read_entry",
    "seal",
    "show_entry",
]

FORMAT = "accord.ledger"
VERSION = 1

BEFORE_FIRST = "0" * 64
"""What the first entry names as the hash of the one before it."""

LONGEST = 1 << 24
"""Bytes of one line. All fields together cannot reach it: see `represent.KEPT`."""

OPENING = b'{"entry":'
FRAMED = len(b',"hash":""}\n') + 64
"""Bytes of a line behind the entry."""

Answer = Literal["ok", "violation", "blocked", "unrecognized", "misuse"]

_Hash = Annotated[str, msgspec.Meta(min_length=64, max_length=64)]
_Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]
_Marked = dict[str, object]
_Text = str | _Marked


class _Act(msgspec.Struct, tag_field="act", forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """What all acts have in common: nothing is passed over, nothing is written that says nothing."""


class BeginEntry(_Act, tag="begin", frozen=True, kw_only=True):
    """The first entry: which ledger this is, and whether its hashes need a key."""

    format: str
    id: str
    keyed: bool
    prev: _Hash
    seq: _Count
    version: int


class AttemptEntry(_Act, tag="attempt", frozen=True, kw_only=True):
    """An attempt and its answer.

    Wherever a text or a value stands, a mark may stand for it: see `represent`.
    """

    at: object = None
    by: _Text | None = None
    clause: _Text | None = None
    contract: Annotated[str, msgspec.Meta(min_length=71, max_length=71)]
    event: _Text
    expected: list[_Text] | _Marked | None = None
    explanation: _Text | None = None
    given: _Marked | None = None
    meta: _Marked | None = None
    payload: object = None
    prev: _Hash
    protocol: _Text | None = None
    seq: _Count
    session: _Text
    verdict: Answer


class MendEntry(_Act, tag="mend", frozen=True, kw_only=True):
    """A crash had left so many bytes of a line, with this digest; they were cut off here."""

    bytes: _Count
    prev: _Hash
    seq: _Count
    sha256: _Hash


class NoteEntry(_Act, tag="note", frozen=True, kw_only=True):
    """Something that happened to a session beside attempts: a call failed and was taken back, a person decided."""

    contract: Annotated[str, msgspec.Meta(min_length=71, max_length=71)]
    detail: _Marked
    prev: _Hash
    protocol: _Text | None = None
    seq: _Count
    session: _Text
    what: str


Entry = BeginEntry | AttemptEntry | MendEntry | NoteEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What somebody tried and what was answered, as Python values: what `Ledger.append` takes.

    `event` is the word of the trace (`!Search`, `?Approval by ana`, `end` for closing), `contract` a contract's digest.
    `explanation` is what the answer said beyond its kind. `given` holds the arguments of an attempt that could not be
    made an event. `meta` is whatever the caller wants to keep: what was shown, and to whom.
    """

    session: str
    contract: str
    event: str
    verdict: Answer
    protocol: str | None = None
    payload: object = None
    by: str | None = None
    at: object = None
    clause: str | None = None
    expected: list[str] | None = None
    explanation: str | None = None
    given: dict[str, object] | None = None
    meta: object = None


def begin_fields(identity: str, *, keyed: bool) -> dict[str, Json]:
    """The first entry of a ledger, without its place in the chain."""
    return {"act": "begin", "format": FORMAT, "id": identity, "keyed": keyed, "version": VERSION}


def mend_fields(piece: bytes) -> dict[str, Json]:
    """The entry that says that a piece was cut off, without its place in the chain."""
    return {"act": "mend", "bytes": len(piece), "sha256": hashlib.sha256(piece).hexdigest()}


def note_fields(
    session: str, contract: str, protocol: str | None, what: str, detail: dict[str, object]
) -> dict[str, Json]:
    """What else happened to a session, without its place in the chain."""
    fields: dict[str, Json] = {"act": "note", "contract": contract, "what": what, "detail": represent(detail)}
    fields["session"] = represent(session)
    if protocol is not None:
        fields["protocol"] = represent(protocol)
    return fields


_FIELDS = tuple(name for name in Attempt.__slots__ if name not in {"contract", "verdict"})


def fields_of(attempt: Attempt) -> dict[str, Json]:
    """An attempt as JSON, without its place in the chain."""
    fields: dict[str, Json] = {"act": "attempt", "contract": attempt.contract, "verdict": attempt.verdict}
    for name in _FIELDS:
        value = getattr(attempt, name)
        if value is not None:
            fields[name] = represent(value)
    return fields


# -- bytes -------------------------------------------------------------------------------------------------------------


def check_key(key: bytes | None) -> None:
    """`UsageError` if it is no key."""
    if key is not None and (not isinstance(key, bytes) or not key):
        raise UsageError("a key is a non-empty `bytes` value")


def seal(body: bytes, key: bytes | None) -> str:
    """The hash of an entry."""
    if key is None:
        return hashlib.sha256(body).hexdigest()
    return hmac.digest(key, body, "sha256").hex()


def frame(body: bytes, sealed: str) -> bytes:
    """The line that holds an entry."""
    return b"".join((OPENING, body, b',"hash":"', sealed.encode("ascii"), b'"}\n'))


def ending(sealed: str) -> bytes:
    """How a line ends behind the entry."""
    return b"".join((b',"hash":"', sealed.encode("ascii"), b'"}\n'))


# Made once, while the module is imported: making them is not safe when several threads do it at the same time.


def _canonical_float(text: str) -> msgspec.Raw:
    """A float that stands as its canonical text, or none at all: msgspec prints some of them otherwise."""
    # Most are written as Python writes them, and where Python uses no exponent the canonical form is the same.
    number = float(text)
    as_python = repr(number) == text and "e" not in text and not text.endswith(".0")
    if not as_python and (not isfinite(number) or encode(number) != text.encode("ascii")):
        raise ValueError(f"`{text}` is not how canonical JSON writes this number")
    return msgspec.Raw(text.encode("ascii"))


_CHECKING: msgspec.json.Decoder[Entry] = msgspec.json.Decoder(Entry, float_hook=_canonical_float)
_SHOWING: msgspec.json.Decoder[Entry] = msgspec.json.Decoder(Entry)
_VALUES = msgspec.json.Decoder()
_ENCODER = msgspec.json.Encoder(order="deterministic")

# The first bytes of characters beyond U+FFFF. Only if a key has such a character does canonical order, which is that of
# UTF-16, differ from msgspec's.
_BEYOND = re.compile(b"[\xf0-\xf4]")


def read_entry(body: bytes) -> Entry:
    """The entry in canonical bytes; for checking: floats in it are raw text.

    Raises `ValueError` or `RecursionError` if it is no entry, or not in canonical form.
    """
    entry = _CHECKING.decode(body)
    # What comes back as the same bytes has no spaces, no key twice, no other order and no other escapes.
    if _ENCODER.encode(entry) != body or not (body.isascii() or _BEYOND.search(body) is None):
        if not is_canonical(body):
            raise ValueError("it is not canonical JSON")
        _check_defaults(entry, body)
    if type(entry) is AttemptEntry:
        _check_marks(entry)
    if type(entry) is NoteEntry:
        _check_texts(entry.protocol, entry.session)
    return entry


def show_entry(body: bytes) -> Entry:
    """The entry in bytes that have been checked, with all values as Python has them."""
    return _SHOWING.decode(body)


def is_canonical(data: bytes) -> bool:
    """Whether bytes are the canonical form of a JSON value, slowly and surely."""
    try:
        return encode(_VALUES.decode(data)) == data
    except TypeError:  # a number so large that it is none, such as 1e999
        return False


def _check_defaults(entry: Entry, body: bytes) -> None:
    """A field without anything to say is left out, not null."""
    names = _VALUES.decode(body).keys() - {"act"}
    empty = sorted(name for name in names if getattr(entry, name) is None)
    if empty:
        raise ValueError(f"the field `{empty[0]}` is null and should be left out")


def _check_marks(entry: AttemptEntry) -> None:
    """What is no text where a text belongs is a mark."""
    if entry.at is not None and type(entry.at) not in {int, str, dict, msgspec.Raw}:
        raise ValueError("`at` is neither a number nor a text")
    e = entry
    listed = e.expected if type(e.expected) is list else ()
    _check_texts(e.at, e.by, e.clause, e.event, e.expected, e.explanation, e.protocol, e.session, *listed)


def _check_texts(*values: object) -> None:
    for value in values:
        if type(value) is dict and type(value.get(MARK)) is not str:
            raise ValueError(f"an object stands where a text belongs, and it is no mark with `{MARK}`")
