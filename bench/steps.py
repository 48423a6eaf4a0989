"""What one event costs.

A session of 2,000 events is one round. The sessions of accord and of the dict machine are fresh each round, on a shared
contract; the peer has no shared contract, so it is compiled once and `reset()`, which it offers for that use. All of
this is off the clock. Everyone is called through bound methods in the same loop and has to write the same trace, which
is checked before the clock starts.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import accord
from bench.contestants import FLOOR, ONE_ARGUMENT, PEER, DictMachine, Nothing, deep_stack
from bench.loops import empty_row, in_a_row_locked, in_pairs, in_pairs_empty, row
from bench.measure import Entry, own_copy, race
from bench.scripts import CHOICE, EVENTS, INTERLEAVING, LINEAR, LOOP

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.contestants import Session
    from bench.measure import Timing
    from bench.scripts import Script

__all__ = ["LOCK", "measure_steps"]

LOCK = "bare lock"

_ROUNDS = 1_500
_SLOW_ROUNDS = 200
_WARM_UP = 20


def _session(script: Script, fresh: Callable[[], Session]) -> Entry:
    """One session after the other; the first of them is checked word by word."""
    _check(script, fresh())
    if script is LINEAR:
        return row(lambda: fresh().send, script.labels)
    loop, pairs = own_copy(in_pairs), script.pairs

    def run() -> float:
        session = fresh()
        return loop(session.send, session.receive, pairs) / 1e9 / EVENTS

    return Entry(run)


def _check(script: Script, session: Session) -> None:
    for word in script.words:
        verdict = session.send(word[1:]) if word[0] == "!" else session.receive(word[1:])
        if verdict is not True and type(verdict).__name__ != "Ok":
            raise RuntimeError(f"{type(session)} answers {verdict!r} to {word} of {script.name}")
    if session.trace != list(script.words):
        raise RuntimeError(f"{type(session)} does not keep the trace of {script.name}")


# -- the cases ---------------------------------------------------------------------------------------------------------


def _empty(script: Script) -> dict[str, Entry]:
    nothing = Nothing()
    if script is LINEAR:
        return empty_row(script.labels)
    bare, one, pairs = own_copy(in_pairs_empty), own_copy(in_pairs), script.pairs
    return {
        FLOOR: Entry(lambda: bare(nothing.nothing, nothing.nothing, pairs) / 1e9 / EVENTS),
        ONE_ARGUMENT: Entry(lambda: one(nothing.one, nothing.one, pairs) / 1e9 / EVENTS),
    }


def _peer_session(peer: Any, text: str) -> Callable[[], Any]:  # noqa: ANN401 - it has no types
    with deep_stack():
        monitor = peer.Monitor(text)

    def fresh() -> Any:  # noqa: ANN401
        monitor.reset()
        return monitor

    return fresh


def _stepping(script: Script, peer: Any) -> dict[str, Entry]:  # noqa: ANN401
    contract = accord.compile(script.text)
    entries = {"accord": _session(script, lambda: accord.Monitor(contract))}
    if script is not INTERLEAVING:  # the peer has none, and by hand nobody writes one
        if peer is not None:
            entries[PEER] = _session(script, _peer_session(peer, script.text))
        entries["dict machine"] = _session(script, lambda: DictMachine(script.sends, script.receives))
    if script is LINEAR:
        locked, lock, labels = own_copy(in_a_row_locked), threading.Lock(), script.labels
        entries[LOCK] = Entry(lambda: locked(lock, labels) / 1e9 / EVENTS)
    return entries | _empty(script)


def _peeking(peer: Any, label: str) -> dict[str, Entry]:  # noqa: ANN401
    contract = accord.compile(CHOICE.text)
    labels = [label] * EVENTS
    entries = {"accord": row(lambda: accord.Monitor(contract).peek_send, labels)}
    if peer is not None:
        fresh = _peer_session(peer, CHOICE.text)
        entries[PEER] = row(lambda: fresh().peek_send, labels)
    entries["dict machine"] = row(lambda: DictMachine(CHOICE.sends, CHOICE.receives).peek_send, labels)
    return entries | empty_row(labels)


def _refusing() -> dict[str, Entry]:
    """The peer takes no part: it cannot refuse and go on. `peek, illegal` compares what both can do."""
    contract = accord.compile(CHOICE.text)
    labels = ["Wrong"] * EVENTS
    entries = {
        "accord": row(lambda: accord.Monitor(contract, mode="refuse").send, labels),
        "dict machine": row(lambda: DictMachine(CHOICE.sends, CHOICE.receives).send, labels),
    }
    return entries | empty_row(labels)


def _blocking(peer: Any) -> dict[str, Entry]:  # noqa: ANN401
    contract = accord.compile(CHOICE.text)
    labels = ["Ask"] * EVENTS

    def halted(session: Session) -> Callable[[str], object]:
        session.send("Wrong")
        return session.send

    entries = {"accord": row(lambda: halted(accord.Monitor(contract)), labels)}
    if peer is not None:
        fresh = _peer_session(peer, CHOICE.text)
        entries[PEER] = row(lambda: halted(fresh()), labels)
    return entries | empty_row(labels)


def measure_steps(peer: Any) -> dict[str, dict[str, Timing]]:  # noqa: ANN401
    """For each case and contestant, the time for one event."""
    stepping = {script.name: _stepping(script, peer) for script in (LINEAR, LOOP, CHOICE, INTERLEAVING)}
    asking = {
        "peek, legal": _peeking(peer, "Ask"),
        "peek, illegal": _peeking(peer, "Wrong"),
        "refused": _refusing(),
        "blocked": _blocking(peer),
    }
    return {
        **{name: race(entries, rounds=_ROUNDS, warm_up=_WARM_UP) for name, entries in stepping.items()},
        **{name: race(entries, rounds=_SLOW_ROUNDS, warm_up=_WARM_UP) for name, entries in asking.items()},
    }
