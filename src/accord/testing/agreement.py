"""Whether a stored session and its ledger say the same.

The ledger is verified, and every attempt in it is made again on a fresh monitor: each must get the same answer, and in
the end the monitor must stand where the session stands. Nothing that was kept by halves survives this.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeVar

from accord.ledger.entries import FRAMED, OPENING, AttemptEntry, show_entry
from accord.monitor import Blocked, Monitor, Ok, Unrecognized, Violation
from accord.monitor.events import read_event
from accord.monitor.verdicts import CLOSING, TICKING
from accord.stores.session import StoredSession

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.machine.contract import Contract
    from accord.monitor import Verdict
    from accord.monitor.step import Mode
    from accord.stores.store import Store

__all__ = ["attempts_of", "check_session", "identified"]

_Looked = TypeVar("_Looked")

_KINDS = {Ok: "ok", Violation: "violation", Blocked: "blocked", Unrecognized: "unrecognized"}


def attempts_of(store: Store, key: str) -> list[AttemptEntry]:
    """Every attempt in a session's ledger."""
    entries = [show_entry(line[len(OPENING) : -FRAMED]) for line in store.ledger(key)]
    return [entry for entry in entries if isinstance(entry, AttemptEntry)]


def identified(attempts: list[AttemptEntry]) -> Counter[tuple[str, str, str]]:
    """How often each attempt stands there: its event, the `id` in its payload, and the answer."""
    found = Counter[tuple[str, str, str]]()
    for attempt in attempts:
        payload = attempt.payload if isinstance(attempt.payload, dict) else {}
        found[str(attempt.event), str(payload.get("id", "")), attempt.verdict] += 1
    return found


def _at_one_moment(store: Store, key: str, look: Callable[[], _Looked]) -> _Looked:
    """What `look` sees of a session while nobody changes it.

    Whoever was killed may have asked a server for a step that it takes a little later. What is read in several
    questions is of one moment only if the session stands where it stood before the first.
    """
    while True:
        before = store.session(key)
        seen = look()
        if store.session(key) == before:
            return seen


def check_session(store: Store, contract: Contract, key: str, *, mode: Mode = "refuse") -> list[AttemptEntry]:
    """Assert that a session's ledger is whole and that the session stands where the ledger leads; its attempts."""
    session = StoredSession(store, contract, key, mode=mode)
    result, attempts, version, snapshot = _at_one_moment(
        store, key, lambda: (store.verify(key), attempts_of(store, key), session.version, session.snapshot())
    )
    assert result.ok, f"{key}: {result.finding}"
    monitor = Monitor(contract, mode=mode)
    for number, attempt in enumerate(attempts, 1):
        if attempt.verdict == "misuse":
            continue
        answer = _again(monitor, attempt)
        assert _KINDS[type(answer)] == attempt.verdict, f"{key}: entry {number} is {attempt.verdict}, not {answer}"
    assert version == len(attempts), key
    assert snapshot == monitor.snapshot(), key
    return attempts


def _again(monitor: Monitor, attempt: AttemptEntry) -> Verdict:
    at = attempt.at if isinstance(attempt.at, int | float) else None
    if attempt.event == CLOSING:
        return monitor.close(at)
    if attempt.event == TICKING and at is not None:
        return monitor.tick(at)
    event = read_event(str(attempt.event))
    payload = attempt.payload if isinstance(attempt.payload, dict) else None
    if event.direction == "!":
        return monitor.send(event.label, payload, event.partner, at)
    return monitor.receive(event.label, payload, event.partner, event.by, at)
