"""One attempt at a stored session, as a pure function: from the row that is there to the row and the lines to keep.

It may be asked several times about one attempt, whenever somebody else was quicker, so it changes nothing and remembers
nothing. What a session stands for is read from its row once: `Known` goes with the row it was read from, and while a
store shows the same row again, there is nothing to decode.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from accord.errors import CorruptSessionError, UsageError
from accord.ledger.attempts import check, describe, seconds
from accord.ledger.entries import BEFORE_FIRST, begin_fields, fields_of, frame, seal
from accord.ledger.linking import link
from accord.machine.stages import Stage
from accord.monitor import snapshot as snapshots
from accord.monitor.step import Situation, begin, status
from accord.monitor.verdicts import OK, Blocked
from accord.stores.record import EXPIRED, NOTHING, Record, read, write
from accord.stores.store import Change

if TYPE_CHECKING:
    from accord.canonical import Json
    from accord.ledger.attempts import Given
    from accord.machine.clocks import Time
    from accord.machine.contract import Contract
    from accord.monitor import Verdict
    from accord.monitor.step import Mode, Status
    from accord.stores.record import Row

__all__ = ["EXPIRED_FOR_GOOD", "Identity", "Known", "Move", "Outcome", "judge", "recognise"]

EXPIRED_FOR_GOOD = Blocked("the session has expired")

Move = Callable[["Situation", int], "tuple[Situation, Verdict]"]
"""The pure step: given where a session is and how many events it has seen, where it is afterwards and the verdict."""

_ENCODER = msgspec.json.Encoder()
_SORTING = msgspec.json.Encoder(order="deterministic")
_MOST_REMEMBERED = 64


class Identity(NamedTuple):
    """Which session it is, and what it must be: the key, the contract, and how it is watched.

    `began` is when it begins, if it has not yet; `lasts` is how long it lives after each attempt. `remembered` holds
    what some places look like as JSON.
    """

    key: str
    contract: Contract
    protocol: str | None
    mode: Mode
    secret: bytes | None
    began: Time | None
    lasts: Time | None
    remembered: dict[Stage, tuple[msgspec.Raw, Status]]


class Known(NamedTuple):
    """A session and the row it was read from; it has no row if it has not begun, and no situation if it has expired."""

    row: Row | None
    record: Record | None
    situation: Situation | None


class Outcome(NamedTuple):
    """What an attempt comes to: what to keep, what to answer, and what is known once it is kept."""

    change: Change | None
    answer: Verdict | UsageError
    known: Known


def recognise(identity: Identity, row: Row | None) -> Known:
    """The session in a row.

    Raises `CorruptSessionError` if the row is not as it was written, and `UsageError` if it is of another contract,
    protocol or mode.
    """
    if row is None:
        return Known(None, None, begin(identity.contract, identity.protocol, identity.began))
    record = read(identity.key, row, identity.secret)
    _check_same(identity, record)
    if record.status == EXPIRED:
        return Known(row, record, None)
    try:
        situation, protocol, mode, events = snapshots.read_described(bytes(record.session), identity.contract)
    except UsageError as error:
        raise CorruptSessionError(f"session `{identity.key}` is corrupted: {error}") from None
    if (protocol, mode, events) != (record.protocol, record.mode, 0):
        raise CorruptSessionError(f"session `{identity.key}` is corrupted: its record contradicts itself")
    return Known(row, record, situation)


def _check_same(identity: Identity, record: Record) -> None:
    if record.contract != identity.contract.digest:
        raise UsageError(
            f"session `{identity.key}` belongs to another contract: it was begun under {record.contract[:19]}…, "
            f"this one is {identity.contract.digest[:19]}…"
        )
    if record.guard != NOTHING:
        raise UsageError(f"session `{identity.key}` is under a guard, which knows more of it; use `Guard`")
    for what, kept, wanted in (
        ("protocol", record.protocol, identity.protocol),
        ("mode", record.mode, identity.mode),
    ):
        if kept != wanted:
            raise UsageError(f"session `{identity.key}` was begun with the {what} `{kept}`, not `{wanted}`")


def judge(identity: Identity, known: Known, given: Given, move: Move) -> Outcome:
    """The outcome of an attempt at the session as it is known."""
    situation, record = known.situation, known.record
    if given.plain and record is not None:
        outcome = _quick(identity, known, given)
        if outcome is not None:
            return outcome
    if situation is None:
        return Outcome(None, EXPIRED_FOR_GOOD, known)  # its ledger is gone, so this cannot be recorded in it
    events = 0 if record is None else record.events
    expires = None if record is None else record.expires
    answer: Verdict | UsageError
    try:
        check(given)
        at = seconds(given.at)
        if _is_late(expires, at):
            answer = EXPIRED_FOR_GOOD
        else:
            expires = _prolonged(expires, at, identity.lasts)
            situation, answer = move(situation, events)
    except UsageError as error:
        answer = error
    except Exception as error:  # noqa: BLE001 - whatever broke inside, the answer is no
        answer = Blocked(f"accord failed inside ({error!r})")
    else:
        events += given.direction in {"!", "?"}
    if isinstance(answer, UsageError):
        expires = None if record is None else record.expires
    return Outcome(*_kept(identity, known, (given, answer), situation, events, expires))


def _quick(identity: Identity, known: Known, given: Given) -> Outcome | None:
    """The outcome of a plain attempt that sessions have made before from the same place, which most are.

    It is what all that follows comes to for such an attempt, and nothing is called that can be left out: a test holds
    that both ways keep the same bytes.
    """
    situation, before = known.situation, known.record
    if situation is None or situation.holding or before is None or before.expires is not None:
        return None
    place = situation.place
    # INVARIANT: a link leads to the same stage as a step would, and leaves what is held alone.
    link_to = (place.sends if given.direction == "!" else place.receives).get(given.label)  # type: ignore[call-overload]
    if link_to is None or identity.lasts is not None:
        return None
    (word,), after = link_to
    remembered = identity.remembered.get(after)
    if remembered is None:
        return None
    fields: dict[str, Json] = {
        "act": "attempt",
        "contract": before.contract,
        "event": word,
        "session": before.key,
        "verdict": "ok",
    }
    if given.payload is not None:
        fields["payload"] = given.payload  # type: ignore[assignment] # it is plain
    if given.at is not None:
        fields["at"] = given.at  # type: ignore[assignment] # it is plain
    if before.protocol is not None:
        fields["protocol"] = before.protocol
    fields["seq"] = number = before.version + 1
    fields["prev"] = before.head
    body = _SORTING.encode(fields)
    head = seal(body, identity.secret)
    line = frame(body, head)
    described, standing = remembered
    record = Record(
        key=before.key,
        version=number,
        head=head,
        contract=before.contract,
        protocol=before.protocol,
        mode=before.mode,
        status=standing,
        events=before.events + 1,
        expires=None,
        session=described,
    )
    row = write(record, identity.secret)
    return Outcome(Change(row, number, (line,)), OK, Known(row, record, Situation(after, situation.holding)))


def _kept(
    identity: Identity,
    known: Known,
    attempt: tuple[Given, Verdict | UsageError],
    situation: Situation,
    events: int,
    expires: float | None,
) -> tuple[Change, Verdict | UsageError, Known]:
    """The change that records an attempt and takes the session there."""
    secret, before = identity.secret, known.record
    fields = fields_of(describe(*attempt, identity.key, identity.contract, identity.protocol))
    lines: tuple[bytes, ...] = ()
    first, last = (0, BEFORE_FIRST) if before is None else (before.version + 1, before.head)
    if before is None:
        line, last = link(begin_fields(secrets.token_hex(16), keyed=secret is not None), 0, last, secret)
        lines = (line,)
    number = first + len(lines)
    line, head = link(fields, number, last, secret)
    described, standing = _described(identity, situation)
    record = Record(
        key=identity.key,
        version=number,
        head=head,
        contract=identity.contract.digest,
        protocol=identity.protocol,
        mode=identity.mode,
        status=standing,
        events=events,
        expires=expires,
        session=described,
    )
    row = write(record, secret)
    return Change(row, first, (*lines, line)), attempt[1], Known(row, record, situation)


def _described(identity: Identity, situation: Situation) -> tuple[msgspec.Raw, Status]:
    """Where a session stands, as JSON, and its status.

    Its events are counted in the record and not here, so that equal places look equal and can be remembered.
    """
    described = snapshots.describe(situation, identity.contract, identity.protocol, identity.mode, 0)
    result = msgspec.Raw(_ENCODER.encode(described)), status(situation)
    place, remembered = situation.place, identity.remembered
    if not situation.holding and isinstance(place, Stage) and len(remembered) < _MOST_REMEMBERED:
        remembered[place] = result
    return result


def _is_late(expires: float | None, at: Time | None) -> bool:
    if expires is None:
        return False
    if at is None:
        raise UsageError("the session expires, so every attempt needs `at=`")
    return at >= expires


def _prolonged(expires: float | None, at: Time | None, lasts: Time | None) -> float | None:
    """When the session expires after an attempt; that never moves back, whatever the clock does."""
    if lasts is None:
        return expires
    if at is None:
        raise UsageError("the session is to expire, so every attempt needs `at=`")
    later = float(at) + float(lasts)
    if not isfinite(later):
        raise UsageError("`at` and `expires_after` are so large that the session would expire at no finite time")
    return later if expires is None else max(expires, later)
