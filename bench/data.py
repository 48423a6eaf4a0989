"""What an event costs that carries data.

`one binding` and `one literal guard` are texts that both accord and the peer read. Every event carries its payload.
Before the clock starts, both have to accept the whole session, to write the same trace, and to refuse a payload that
does not fit. What the peer has no words for, accord does alone: membership in a set of a hundred values, five clauses
in each step with nested fields and orderings, and contracts of thirty rules, by how many of them look at the event and
whether they look at its data. Rounds are sessions of 2,000 events on a shared contract; the peer's monitor is
`reset()`, as in `steps`.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, TypeAlias

import accord
from bench.contestants import FLOOR, PEER, Nothing
from bench.measure import Entry, own_copy, race
from bench.scripts import EVENTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.measure import Timing

__all__ = ["BINDING", "measure_data"]

BINDING = "one binding"

_ROUNDS = 400
_WARM_UP = 10

_Payload = dict[str, object]
_Message = tuple[str, _Payload]
_Call: TypeAlias = "Callable[[str, _Payload], object]"


@dataclass(frozen=True, slots=True)
class _Case:
    """A contract, what happens before the clock starts, and what is received and sent in turns (or only sent)."""

    text: str
    sent: list[_Message]
    received: list[_Message] | None = None
    opening: _Message | None = None
    wrong: _Message | None = None
    """What must be refused as the first thing sent."""
    peer_reads_it: bool = False


def _rules(*bodies: str) -> str:
    """Those rules, and others that nothing in the session concerns, thirty in all."""
    others = [f"before Never{number} require Always{number}" for number in range(30 - len(bodies))]
    return "\n".join(f'rule "{number}" {{ {body} }}' for number, body in enumerate((*bodies, *others)))


_FILES = [f"/repository/src/module_{number}.py" for number in range(100)]
_ORDER: _Payload = {"id": "o-17", "lines": 3}
_HALF = EVENTS // 2
_PAY: _Message = ("pay", {"amount": 3, "currency": "EUR"})

_CASES = {
    BINDING: _Case(
        "rec X.?read(path as p).!write(path == p).X",
        [("write", {"path": "/a/b"})] * _HALF,
        [("read", {"path": "/a/b"})] * _HALF,
        wrong=("write", {"path": "/a/c"}),
        peer_reads_it=True,
    ),
    "one literal guard": _Case(
        'rec X.!pay(currency == "EUR").X',
        [_PAY] * EVENTS,
        wrong=("pay", {"amount": 3, "currency": "USD"}),
        peer_reads_it=True,
    ),
    "member of a set of 100": _Case(
        "?list(files into seen).rec X.!open(path in seen).X",
        [("open", {"path": _FILES[number % 100]}) for number in range(EVENTS)],
        opening=("list", {"files": _FILES}),
        wrong=("open", {"path": "/etc/passwd"}),
    ),
    "five clauses": _Case(
        "rec X.?quote(total as t, currency as c, order.id as o, total > 0, valid == true)"
        '.!pay(amount <= t, currency == c, order.id == o, reason != null, region in ["EU", "UK"]).X',
        [("pay", {"amount": 90, "currency": "EUR", "order": _ORDER, "reason": "quoted", "region": "EU"})] * _HALF,
        [("quote", {"total": 99.5, "currency": "EUR", "order": _ORDER, "valid": True})] * _HALF,
        wrong=("pay", {"amount": 100, "currency": "EUR", "order": _ORDER, "reason": "quoted", "region": "EU"}),
    ),
    "30 rules, none looks": _Case(
        _rules("at most 0 refund"), [_PAY] * EVENTS, opening=("approval", {}), wrong=("refund", {})
    ),
    "30 rules, 3 look": _Case(
        _rules("before pay require approval", "at most 1000000 pay", "after close forbid pay", "at most 0 refund"),
        [_PAY] * EVENTS,
        opening=("approval", {}),
        wrong=("refund", {}),
    ),
    "30 rules, 3 look at data": _Case(
        _rules(
            "before pay(amount > 2) require approval",
            'at most 1000000 pay(currency == "EUR")',
            "after close forbid pay(amount > 1000)",
        ),
        [_PAY] * EVENTS,
        opening=("approval", {}),
        wrong=("pay", {"amount": "3", "currency": "EUR"}),
    ),
}


# -- the loops, as those of `loops`, with payloads ---------------------------------------------------------------------


def _in_a_row(send: _Call, messages: list[_Message]) -> int:
    start = perf_counter_ns()
    for label, payload in messages:
        send(label, payload)
    return perf_counter_ns() - start


def _in_a_row_empty(call: Callable[[], object], messages: list[_Message]) -> int:
    start = perf_counter_ns()
    for _label, _payload in messages:
        call()
    return perf_counter_ns() - start


def _in_pairs(receive: _Call, send: _Call, pairs: list[tuple[str, _Payload, str, _Payload]]) -> int:
    start = perf_counter_ns()
    for received, held, sent, carried in pairs:
        receive(received, held)
        send(sent, carried)
    return perf_counter_ns() - start


def _in_pairs_empty(
    receive: Callable[[], object], send: Callable[[], object], pairs: list[tuple[str, _Payload, str, _Payload]]
) -> int:
    start = perf_counter_ns()
    for _received, _held, _sent, _carried in pairs:
        receive()
        send()
    return perf_counter_ns() - start


# -- the cases ---------------------------------------------------------------------------------------------------------


def _pairs(case: _Case) -> list[tuple[str, _Payload, str, _Payload]]:
    return [(*first, *second) for first, second in zip(case.received or [], case.sent, strict=True)]


def _opened(case: _Case, session: Any) -> Any:  # noqa: ANN401 - the peer has no types
    if case.opening is not None:
        session.receive(*case.opening)
    return session


def _entry(case: _Case, fresh: Callable[[], Any]) -> Entry:
    _check(case, fresh)
    if case.received is None:
        row, messages = own_copy(_in_a_row), case.sent
        return Entry(lambda: row(_opened(case, fresh()).send, messages) / 1e9 / EVENTS)
    loop, pairs = own_copy(_in_pairs), _pairs(case)

    def run() -> float:
        session = _opened(case, fresh())
        return loop(session.receive, session.send, pairs) / 1e9 / EVENTS

    return Entry(run)


def _empty(case: _Case) -> Entry:
    nothing = Nothing().nothing
    if case.received is None:
        row, messages = own_copy(_in_a_row_empty), case.sent
        return Entry(lambda: row(nothing, messages) / 1e9 / EVENTS)
    loop, pairs = own_copy(_in_pairs_empty), _pairs(case)
    return Entry(lambda: loop(nothing, nothing, pairs) / 1e9 / EVENTS)


def _check(case: _Case, fresh: Callable[[], Any]) -> None:
    session, words = fresh(), []
    expected = [("?", case.opening)] if case.opening else []
    for number, message in enumerate(case.sent):
        expected += [("?", case.received[number])] if case.received else []
        expected.append(("!", message))
    for sign, (label, payload) in expected:
        verdict = (session.send if sign == "!" else session.receive)(label, payload)
        if type(verdict).__name__ != "Ok":
            raise RuntimeError(f"{type(session)} answers {verdict!r} to {sign}{label} of {case.text}")
        words.append(sign + label)
    if session.trace != words:
        raise RuntimeError(f"{type(session)} does not keep the trace of {case.text}")
    session = _opened(case, fresh())
    if case.received:
        session.receive(*case.received[0])
    if case.wrong and type(session.send(*case.wrong)).__name__ != "Violation":
        raise RuntimeError(f"{type(session)} does not refuse {case.wrong} of {case.text}")


def _monitors(case: _Case) -> Callable[[], accord.Monitor]:
    contract = accord.compile(case.text)
    return lambda: accord.Monitor(contract)


def _peer_monitors(peer: Any, case: _Case) -> Callable[[], Any]:  # noqa: ANN401
    monitor = peer.Monitor(case.text)

    def fresh() -> Any:  # noqa: ANN401
        monitor.reset()
        return monitor

    return fresh


def measure_data(peer: Any) -> dict[str, dict[str, Timing]]:  # noqa: ANN401
    """For each case and contestant, the time for one event."""
    results = {}
    for name, case in _CASES.items():
        entries = {"accord": _entry(case, _monitors(case)), FLOOR: _empty(case)}
        if peer is not None and case.peer_reads_it:
            entries[PEER] = _entry(case, _peer_monitors(peer, case))
        results[name] = race(entries, rounds=_ROUNDS, warm_up=_WARM_UP)
    return results
