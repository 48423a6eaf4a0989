"""Sessions that are written down and read again: what is not written down is gone."""

from __future__ import annotations

from typing import Any

from accord import Guard
from accord.calls.entries import Passing, Restart, Step
from accord.calls.worlds import take
from accord.integrations.guard import codec
from accord.integrations.guard.homes import MemoryHome
from accord.machine.contract import Contract
from accord.machine.events import Event
from accord.monitor import snapshot as snapshots
from accord.monitor.events import read_event
from accord.monitor.step import begin
from accord.projection import projection_of
from tests.lives.tables import encoded


def written(guard: Guard) -> tuple[bytes, bytes]:
    """What is kept of a session: where it stands, and what the guard knows beside."""
    state = guard._session.state()
    described = snapshots.describe(state.settled, guard.contract, guard.protocol, "refuse", 0)
    return encoded(described), bytes(codec.write(state))


def revived(guard: Guard, other: Guard) -> Guard:
    """Another guard, in memory, that goes on from what is kept of the first."""
    session, beside = written(guard)
    situation, *_ = snapshots.read_described(session, guard.contract)
    home = other._session.home
    assert isinstance(home, MemoryHome)
    home._take_over()
    home._here = codec.read(beside, situation)
    home.fast.open(home._here)
    return other


class Replayed:
    """What a ledger says has happened, gone through again from the beginning.

    A call that failed has not happened; one that was lost and is found has ended where it was made.
    """

    def __init__(self, contract: Contract, entries: list[dict[str, Any]]) -> None:
        self.steps: list[tuple[str | None, Step]] = []  # each with the ticket of its call, as long as that is out
        self.lost: set[str] = set()
        first = next((entry["at"] for entry in entries if "at" in entry), None)
        self.situation = begin(contract, None, 0.0 if first is not None else None)
        self.ends_for_rules = {
            label: event.to_rules
            for name in {entry["event"][1:].split(" by ")[0] for entry in entries if entry["act"] == "attempt"}
            for event in projection_of(contract).ends(name, "undone")
            for label in (event.label,)
        }
        for entry in entries:
            self.read(entry)
            certain = next((n for n, (of, _) in enumerate(self.steps) if of is not None), len(self.steps))
            for _, what in self.steps[:certain]:
                self.situation = take(self.situation, what)[0]
            del self.steps[:certain]

    def read(self, entry: dict[str, Any]) -> None:
        if entry["act"] == "note":
            self.note(entry["what"], entry["detail"])
        elif entry["act"] == "attempt" and entry["event"] == "tick":
            self.steps.append((None, Passing(entry["at"])))
        elif entry["act"] == "attempt" and entry["event"][0] in "!?":
            self.attempt(entry)

    def attempt(self, entry: dict[str, Any]) -> None:
        said = read_event(entry["event"].split(" by ")[0])
        at, ticket = entry.get("at"), entry.get("meta", {}).get("call")
        made = [n for n, (of, what) in enumerate(self.steps) if of == ticket is not None and type(what) is Event]
        is_end = bool(made) and said.direction == "?" and not entry.get("by")
        if is_end:
            self.steps = [(None if of == ticket else of, what) for of, what in self.steps]
        if entry["verdict"] != "ok":
            if at is not None:  # time has passed all the same
                self.steps.append((None, Passing(at)))
        elif is_end:
            end = Event(
                "?", said.label, None, entry.get("payload", {}), None, at, self.ends_for_rules.get(said.label, False)
            )
            if ticket in self.lost:
                self.steps.insert(made[-1] + 1, (None, end._replace(at=self.steps[made[-1]][1].at)))
            else:
                self.steps.append((None, end))
        else:
            to_rules = said.direction == "?" and entry.get("by") == "user" and said.label in self.ends_for_rules
            event = Event(said.direction, said.label, None, entry.get("payload", {}), entry.get("by"), at, to_rules)
            self.steps.append((ticket, event))
        if is_end:
            self.lost.discard(ticket)

    def note(self, what: str, detail: dict[str, Any]) -> None:
        if what == "call renamed":
            old, new = detail["call"], detail["now"]
            self.steps = [(new if of == old else of, step) for of, step in self.steps]
            self.lost = {new if of == old else of for of in self.lost}
        elif what == "call lost":
            self.lost.add(detail["call"])
        elif what == "call failed":
            self.steps = [(of, step) for of, step in self.steps if of != detail["call"]]
            self.lost.discard(detail["call"])
        elif what == "call returned":
            self.steps = [(None if of == detail["call"] else of, step) for of, step in self.steps]
            self.lost.discard(detail["call"])
        elif what == "protocol begins again":
            self.steps.append((None, Restart(detail["at"])))
