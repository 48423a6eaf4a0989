"""What a guard keeps beside its session, as JSON and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import astuple

from accord.calls.entries import End, Failure, Firm, Out, Passing, Restart
from accord.calls.footprint import located_behind
from accord.errors import UsageError
from accord.integrations.guard.state import Desk, Done, Review, ReviewState, State
from accord.machine.events import Event

if TYPE_CHECKING:
    from accord.calls.entries import Logged, Step
    from accord.monitor.step import Situation

__all__ = ["read", "read_beside", "write"]


_Time = int | float | None
_Event = tuple[Literal["!", "?"], str, str | None, dict[str, Any], str | None, _Time]
_ForRules = tuple[Literal["!", "?"], str, str | None, dict[str, Any], str | None, _Time, bool]


class _Review(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A `Review`, field by field."""

    number: int
    name: str
    label: str
    payload: dict[str, Any]
    digest: str
    gate: str | None
    opened: _Time
    expires: _Time
    state: ReviewState
    by: str | None
    reason: str | None
    decided: _Time
    modified: dict[str, Any] | None
    call: str | None = None


class _Out(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    ticket: str
    name: str
    digest: str
    events: list[_Event]
    started: bool
    kept: bool | None = None  # what version 0.1 knew of failures
    reviews: tuple[int, ...] = ()
    failure: Failure = "undone"
    arguments: dict[str, Any] | None = None
    lost: str | None = None
    ends: tuple[tuple[str, bool], ...] = ()


class _Kept(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """`log` has a list for a step that is firm and an object for a call that is out."""

    log: tuple[list[Any] | _Out, ...] = ()
    done: tuple[tuple[str, str], ...] = ()
    refusals: tuple[tuple[str, int], ...] = ()
    reviews: tuple[_Review, ...] = ()
    stopped: str | None = None
    numbered: int = 0
    now: _Time = None
    heard: tuple[str, ...] = ()
    ahead: int | float = 0
    idle: int = 0
    seen: str | None = None


# Made once, while the module is imported: making them is not safe when several threads do it at the same time.
_DECODER = msgspec.json.Decoder(_Kept)
_ENCODER = msgspec.json.Encoder()


def write(state: State) -> msgspec.Raw:
    """Everything but the session itself."""
    desk = state.desk
    kept = _Kept(
        tuple([_write_logged(logged) for logged in state.log]),
        desk.done,
        desk.refusals,
        tuple([_Review(*review) for review in desk.reviews]),  # type: ignore[arg-type] # they hold dictionaries
        desk.stopped,
        desk.numbered,
        desk.now,
        desk.heard,
        desk.ahead,
        desk.idle,
        desk.seen,
    )
    return msgspec.Raw(_ENCODER.encode(kept))


def read(data: bytes, settled: Situation) -> State:
    """The state of a guard whose session stands there; `UsageError` if that is none."""
    log, desk = read_beside(data)
    known: tuple[Logged, ...] = ()
    for logged in log:
        known = (*known, located_behind(settled, known, logged))
    return State(settled, known, desk)


def read_beside(data: bytes) -> tuple[tuple[Logged, ...], Desk]:
    """What a guard keeps beside its session, which can be read without the contract; `UsageError` as above."""
    try:
        kept = _DECODER.decode(data)
        log = tuple([_read_logged(logged) for logged in kept.log])
    except (msgspec.MsgspecError, RecursionError, UnicodeError, ValueError, TypeError) as error:
        raise UsageError(f"what the guard has kept is damaged: {error}") from None
    done = tuple([Done(*pair) for pair in kept.done])
    reviews = tuple([Review(*astuple(review)) for review in kept.reviews])
    return log, Desk(
        done,
        kept.refusals,
        reviews,
        kept.stopped,
        kept.numbered,
        kept.now,
        kept.heard,
        kept.ahead,
        kept.idle,
        kept.seen,
    )


def _write_logged(logged: Logged) -> list[Any] | _Out:
    if isinstance(logged, Firm):
        return _write_step(logged.step)
    return _Out(
        ticket=logged.ticket,
        name=logged.name,
        digest=logged.digest,
        events=[_write_event(event) for event in logged.events],
        started=logged.started,
        reviews=logged.reviews,
        failure=logged.failure,
        arguments=None if logged.events else dict(logged.arguments),  # else they are the payload of the last event
        lost=logged.lost,
        ends=logged.ends,
    )


def _write_step(step: Step) -> list[Any]:
    if isinstance(step, Passing):
        return [step.at]
    if isinstance(step, Restart):
        return ["restart", step.at]
    return list(_write_event(step))


def _write_event(event: Event) -> Any:  # noqa: ANN401 - one of two tuples
    plain = event.direction, event.label, event.partner, dict(event.payload), event.by, event.at
    return (*plain, True) if event.to_rules else plain


def _read_logged(logged: list[Any] | _Out) -> Logged:
    if isinstance(logged, list):
        return Firm(_read_step(logged))
    events = tuple([Event(*event) for event in logged.events])
    if not events and logged.arguments is None:
        raise ValueError("a call without an event")
    return Out(
        logged.ticket,
        logged.name,
        events[-1].payload if events else logged.arguments,  # type: ignore[arg-type] # one of them is there
        logged.digest,
        events,
        logged.started,
        "done" if logged.kept else logged.failure,
        logged.reviews,
        logged.lost,
        tuple([End(*end) for end in logged.ends]),
    )


def _read_step(values: list[Any]) -> Step:
    if len(values) == 1 and isinstance(values[0], int | float):
        return Passing(values[0])
    if len(values) == 2 and values[0] == "restart":
        return Restart(msgspec.convert(values[1], _Time))
    if len(values) == 7:
        return Event(*msgspec.convert(values, _ForRules))
    return Event(*msgspec.convert(values, _Event))
