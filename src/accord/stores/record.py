"""A session at rest: one sealed record, and the row of a store that holds it.

A record is `{"record":BODY,"seal":"H"}`. H is the SHA-256 of exactly the bytes of BODY, or their HMAC-SHA256 in a store
with a secret. BODY says all there is to say: whose record it is, under which contract, where the session stands, how
many entries its ledger has and the hash of the last. So its size does not depend on how long the session has run, and
two records of one session are never equal, because each step has a hash of its own.

A row repeats two things that a store looks for, the version and the time at which the session expires. INVARIANT: they
are compared with the record whenever it is read, so nothing in a row can be changed without being found.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import msgspec

from accord.diagnostics.visible import clip
from accord.errors import CorruptSessionError, UsageError
from accord.ledger.entries import seal
from accord.monitor.step import Mode, Status
from accord.monitor.wording import quote_value

if TYPE_CHECKING:
    from accord.machine.clocks import Time

__all__ = [
    "EXPIRED",
    "FORMAT",
    "LONGEST_KEY",
    "NOTHING",
    "VERSION",
    "KeptStatus",
    "Record",
    "Row",
    "check_name",
    "read",
    "write",
]

FORMAT = "accord.session"
VERSION = 1

LONGEST_KEY = 200
"""Characters of a session's key."""

KeptStatus = Status | Literal["stopped", "expired"]
"""A session that nothing runs in any more, because its guard has stopped it, is `stopped`."""
EXPIRED: Literal["expired"] = "expired"

NOTHING = msgspec.Raw(b"null")
"""What is kept of where an expired session stood."""


class Row(NamedTuple):
    """What a store keeps of a session beside its ledger.

    `version` is the number of the last entry of its ledger; each attempt adds one.
    """

    version: int
    expires: Time | None
    sealed: bytes


_Hash = Annotated[str, msgspec.Meta(min_length=64, max_length=64)]
_Count = Annotated[int, msgspec.Meta(ge=0)]


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is sealed: `session` is what the monitor describes, `head` the hash of the ledger's last entry.

    `guard` is what a guard keeps beside its session, `null` if there is none.
    """

    format: str = FORMAT
    form: int = VERSION
    key: str
    version: _Count
    head: _Hash
    contract: str
    protocol: str | None
    mode: Mode
    status: KeptStatus
    events: _Count
    expires: int | float | None
    session: msgspec.Raw
    guard: msgspec.Raw = NOTHING


# Made once, while the module is imported: making them is not safe when several threads do it at the same time.
_DECODER = msgspec.json.Decoder(Record)
_ENCODER = msgspec.json.Encoder()

_OPENING = b'{"record":'
_BEFORE_SEAL = b',"seal":"'
_FRAMED = len(_BEFORE_SEAL) + 64 + len(b'"}')


def check_name(key: object, what: str = "the key of a session") -> str:
    """The key of a session, or what else is named like one; `UsageError` if it cannot be one."""
    if type(key) is not str or not key:
        raise UsageError(f"{what} is a non-empty `str`, got {quote_value(key)}")
    if len(key) > LONGEST_KEY:
        raise UsageError(f"{what} has {LONGEST_KEY} characters at the most, got {len(key):,}")
    if not key.isprintable():
        raise UsageError(f"{what} has printable characters only, got {quote_value(key)}")
    return key


def write(record: Record, secret: bytes | None) -> Row:
    """The row that holds a record."""
    body = _ENCODER.encode(record)
    sealed = b"".join((_OPENING, body, _BEFORE_SEAL, seal(body, secret).encode("ascii"), b'"}'))
    return Row(record.version, record.expires, sealed)


def read(key: str, row: Row, secret: bytes | None) -> Record:
    """The record in a row; `CorruptSessionError` if anything about it is wrong."""
    sealed = row.sealed
    body = sealed[len(_OPENING) : -_FRAMED]
    framed = sealed.startswith(_OPENING) and sealed.endswith(b'"}') and sealed[-_FRAMED:].startswith(_BEFORE_SEAL)
    if not framed:
        raise _corrupt(key, "what is kept is no record")
    if not hmac.compare_digest(sealed[len(_BEFORE_SEAL) - _FRAMED : -2], seal(body, secret).encode("ascii")):
        other = ", or the secret is another one" if secret is not None else ", or it was written with a secret"
        raise _corrupt(key, f"its content does not match its checksum: it was changed{other}")
    try:
        record = _DECODER.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise _corrupt(key, f"this is no record of this version: {clip(str(error), 100)}") from None
    if (record.format, record.form) != (FORMAT, VERSION):
        raise _corrupt(key, f"expected {FORMAT} version {VERSION}, found another format or version")
    if record.key != key:
        raise _corrupt(key, f"the record of another session, `{clip(record.key, 40)}`, stands in its place")
    if record.version != row.version or record.expires != row.expires:
        raise _corrupt(key, "the columns beside the record do not say the same as the record")
    return record


def _corrupt(key: str, what: str) -> CorruptSessionError:
    return CorruptSessionError(f"session `{clip(key, 60)}` is corrupted: {what}")
