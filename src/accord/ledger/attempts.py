"""An attempt as its caller gave it, and what a ledger keeps of it and of its answer.

Whoever records attempts goes through here, so that all of them are recorded in the same words.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from accord.errors import UsageError
from accord.ledger.entries import Attempt
from accord.ledger.represent import is_plain_number, own_copy, plain_copy
from accord.monitor import Blocked, Unrecognized, Violation
from accord.monitor.events import make_event, make_time

if TYPE_CHECKING:
    from accord.ledger.entries import Answer
    from accord.machine.clocks import Time
    from accord.machine.contract import Contract
    from accord.machine.events import Event
    from accord.monitor import Verdict

__all__ = ["Given", "Moment", "Payload", "check", "describe", "event_of", "gather", "own", "seconds", "why"]

Moment: TypeAlias = "Time | datetime"
Payload: TypeAlias = "Mapping[str, object] | None"


class Given(NamedTuple):
    """An attempt as the caller gave it; `direction` is that of an event, or what else was tried."""

    direction: str
    label: object = None
    payload: object = None
    partner: object = None
    by: object = None
    at: object = None
    meta: object = None
    plain: bool = False
    """Whether everything about it is known to be plain: see `represent.plain_copy`."""


def gather(
    direction: str, label: object, payload: object, partner: object, by: object, at: object, meta: object
) -> Given:
    """An attempt with a payload of its own, so that what is judged is what is recorded, whatever others do to it."""
    if partner is None and by is None and meta is None and type(label) is str and label.isascii():
        copy = None if payload is None else plain_copy(payload)
        if (payload is None or copy is not None) and (at is None or is_plain_number(at)):
            return Given(direction, label, copy, None, None, at, None, plain=True)
    return Given(direction, label, own(payload), partner, by, at, meta)  # type: ignore[arg-type] # judged later


def own(payload: Payload) -> Payload:
    """The payload with containers of its own, so that what is judged is what is recorded."""
    try:
        return own_copy(payload)  # type: ignore[return-value] # a mapping stays one
    except Exception:  # noqa: BLE001 - it cannot be copied; the monitor judges it as it is
        return payload


def seconds(at: Any) -> Any:  # noqa: ANN401 - what is no time the monitor refuses
    """A time as the monitor takes it."""
    if not isinstance(at, datetime):
        return at
    if at.tzinfo is None:
        raise UsageError("`at` is a `datetime` without a time zone, so it is no certain time")
    return at.timestamp()


def check(given: Given) -> None:
    """`UsageError` if what stands beside an event is not what it should be."""
    if given.meta is not None and not isinstance(given.meta, Mapping):
        raise UsageError(f"`meta` is a mapping (such as a `dict`), got `{type(given.meta).__name__}`")
    make_time(seconds(given.at))


def describe(
    given: Given, answer: Verdict | UsageError, session: str, contract: Contract, protocol: str | None
) -> Attempt:
    """The attempt with its answer, as a ledger takes it."""
    kind, clause, expected, explanation = _parts(answer)
    if kind == "misuse":
        return Attempt(
            session=session,
            contract=contract.digest,
            protocol=protocol,
            event=given.direction,
            verdict=kind,
            explanation=explanation,
            given=_arguments(given),
        )
    return Attempt(
        session=session,
        contract=contract.digest,
        protocol=protocol,
        event=_word(given),
        payload=given.payload,
        by=given.by,  # type: ignore[arg-type] # the monitor has taken it
        at=given.at.isoformat() if isinstance(given.at, datetime) else given.at,
        meta=given.meta,
        verdict=kind,
        clause=clause,
        expected=expected,
        explanation=explanation,
    )


def event_of(given: Given) -> Event | None:
    """The event that an attempt was, if it was one and no call of a tool, nor the end of one."""
    of_call = isinstance(given.meta, Mapping) and "call" in given.meta and given.by is None
    if given.direction not in {"!", "?"} or of_call:
        return None
    return make_event(given.direction, given.label, given.payload, given.partner, given.by, given.at)  # type: ignore[arg-type] # as above


def _word(given: Given) -> str:
    if given.direction not in {"!", "?"}:
        return given.direction
    return make_event(given.direction, given.label, None, given.partner, given.by).word  # type: ignore[arg-type] # `!` or `?`


def _arguments(given: Given) -> dict[str, object]:
    arguments = {
        "label": given.label,
        "payload": given.payload,
        "to" if given.direction == "!" else "sender": given.partner,
        "by": given.by,
        "at": given.at,
        "meta": given.meta,
    }
    return {name: value for name, value in arguments.items() if value is not None}


def _parts(answer: Verdict | UsageError) -> tuple[Answer, str | None, list[str] | None, str | None]:
    """Kind, clause, expected words and explanation of an answer."""
    if isinstance(answer, UsageError):
        return "misuse", None, None, str(answer)
    if isinstance(answer, Violation):
        return "violation", answer.clause or None, answer.expected, answer.explain()
    if isinstance(answer, Blocked):
        return "blocked", None, None, answer.reason
    if isinstance(answer, Unrecognized):
        return "unrecognized", None, answer.expected, answer.explain()
    return "ok", None, None, None


def why(error: BaseException) -> str:
    """An error in a few words."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
