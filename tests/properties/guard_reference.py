"""What a guard must answer, the obvious way: all that has happened as a list, judged anew for every way it may end.

A call that is out counts or does not, so what has happened is one course for each choice of calls that fail. Whatever
is let happen must be legal in all of them. Reviews are a list too, and their rules are written down here once more.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, combinations, product

from accord import Ok, UsageError
from accord.machine.events import Event
from accord.monitor.events import read_event
from accord.monitor.step import begin, close, step, tick

REMEMBERED_REVIEWS = 32
REMEMBERED_CALLS = 64


class DifferenceError(Exception):
    """The guard and the reference do not agree."""


@dataclass
class Tick:
    """Time has passed until then."""

    at: float


@dataclass
class Reservation:
    """A call that is out."""

    ticket: str
    events: tuple[Event, ...]
    identity: str
    reviews: tuple[int, ...] = ()


@dataclass
class Asked:
    """A question to a person, and what became of it. One without a gate asks whether the agent may go on."""

    gate: str | None
    label: str
    payload: dict
    expires: float | None
    state: str = "open"
    modified: dict | None = None

    def is_over(self, at):
        return self.expires is not None and at >= self.expires


def after(situation, course):
    """Where a course leads, and whether all of it is legal; that time has passed is no deed that could be illegal."""
    legal = True
    for what in course:
        if isinstance(what, Tick):
            situation = tick(situation, "refuse", None, what.at)[0]
            continue
        try:
            situation, verdict = step(situation, what, "refuse")
        except UsageError:
            return situation, False
        legal = legal and isinstance(verdict, Ok)
    return situation, legal


class Reference:
    """All that has happened, in order, with the calls that are out where they were reserved."""

    def __init__(self, contract, policy, at):
        self.start = begin(contract, None, at)
        self.gates, self.is_timed, self.keeps_failed = policy.gates, policy.is_timed, policy.keep_failed
        self.history: list[Event | Reservation | Tick] = []
        self.reviews: dict[int, Asked] = {}
        self.certain = 0, self.start  # so much of the history is certain, and leads there

    @property
    def out(self) -> list[Reservation]:
        # Before the first of them everything is certain.
        return [item for item in self.history[self.certain[0] :] if isinstance(item, Reservation)]

    def here(self):
        """Where the session is for every choice of calls that fail; what is certain is gone through once."""
        count, situation = self.certain
        while count < len(self.history) and not isinstance(self.history[count], Reservation):
            situation = after(situation, [self.history[count]])[0]
            count += 1
        self.certain = count, situation
        out = [] if self.keeps_failed else self.out
        for failing in chain.from_iterable(combinations(out, n) for n in range(len(out) + 1)):
            course = [
                event
                for item in self.history[count:]
                if item not in failing
                for event in (item.events if isinstance(item, Reservation) else (item,))
            ]
            there, legal = after(situation, course)
            if not legal:
                raise DifferenceError(f"what is out may end so that the rest is illegal: {self.history}")
            yield there

    def verdicts(self, *steps):
        """For every choice of calls that fail: whether these steps would be legal then."""
        return [after(situation, steps)[1] for situation in self.here()]

    def legal(self, *steps):
        return all(self.verdicts(*steps))

    def pass_time(self, at) -> bool:
        """Time passes, if the contract looks at it; whether something was due until then in some course."""
        if not self.is_timed:
            return False
        late = any(not isinstance(tick(situation, "refuse", None, at)[1], Ok) for situation in self.here())
        self.history.append(Tick(at))
        return late

    def may_end(self, at):
        return all(isinstance(close(situation, None, at)[1], Ok) for situation in self.here())

    # -- what becomes of calls -----------------------------------------------------------------------------------------

    def _place(self, ticket):
        return next(n for n, item in enumerate(self.history) if isinstance(item, Reservation) and item.ticket == ticket)

    def settle(self, ticket):
        place = self._place(ticket)
        self.history[place : place + 1] = self.history[place].events

    def fail(self, ticket):
        item = self.history.pop(self._place(ticket))
        for number in item.reviews:
            if number in self.reviews:
                self.reviews[number].state = "allowed"

    # -- people --------------------------------------------------------------------------------------------------------

    def way(self, event) -> tuple[tuple[str, ...], dict] | None:
        """The first gates through which a call would be legal, and what it would be made with."""
        payload = event.payload
        for asked in self.living(event.at):
            if (asked.label, asked.payload, asked.state) == (event.label, event.payload, "allowed"):
                payload = payload if asked.modified is None else asked.modified
        here, meant = list(self.here()), event._replace(payload=payload)
        for gates, steps in self.ways(meant):
            if gates and all(after(situation, steps)[1] for situation in here):
                return gates, payload
        return None

    def rests(self, event) -> bool:
        """Whether a call would be legal, at once or through gates, if the calls that are out ended well for it."""
        here = list(self.here())
        return any(after(situation, steps)[1] for _, steps in self.ways(event) for situation in here)

    def ways(self, event):
        """Every short sequence of gates, with the steps that lead through it to a call."""
        for length in range(4):
            for gates in product(self.gates, repeat=length):
                yield gates, [*(Event("?", gate, None, event.payload, "ana", event.at) for gate in gates), event]

    def living(self, at) -> list[Asked]:
        return [asked for asked in self.reviews.values() if asked.gate is not None and not asked.is_over(at)]

    def asked_for(self, gates, label, payload, at) -> list[Asked | None]:
        """For each gate the last question that was asked for this action, each at most once."""
        found: list[Asked | None] = []
        for gate in gates:
            for asked in reversed(self.living(at)):
                bound = asked.payload if asked.modified is None else asked.modified
                fits = (asked.gate, asked.label, bound) == (gate, label, payload) and asked.state != "used"
                if fits and all(asked is not other for other in found):
                    found.append(asked)
                    break
            else:
                found.append(None)
        return found

    def ask(self, number, asked: Asked, at):
        """A question is opened; of those that are over only the last are remembered."""
        self.reviews[number] = asked
        over = [n for n, each in self.reviews.items() if each.state in {"denied", "used"} or each.is_over(at)]
        for old in over[:-REMEMBERED_REVIEWS]:
            del self.reviews[old]

    def open_ones(self, at) -> list[int]:
        return [n for n, asked in self.reviews.items() if asked.state == "open" and not asked.is_over(at)]

    def stuck(self, at) -> bool:
        """Whether a person is asked if the agent may go on."""
        return any(self.reviews[number].gate is None for number in self.open_ones(at))


def events_of(entries) -> list[Event | Tick]:
    """What a ledger says has happened: all that was accepted, without the calls that failed."""
    kept: list[tuple[str | None, Event | Tick]] = []  # those of a call that has not returned stand with its ticket
    for entry in entries:
        call = entry.get("meta", {}).get("call")
        if entry["act"] == "attempt" and entry["event"] == "tick":
            kept.append((None, Tick(entry["at"])))
        elif entry["act"] == "attempt" and entry["event"][0] in "!?":
            said = read_event(entry["event"])
            event = Event(
                said.direction, said.label, None, entry.get("payload", {}), entry.get("by"), entry.get("at", 0)
            )
            is_result = said.direction == "?" and any(
                c == call and isinstance(e, Event) and e.direction == "!" for c, e in kept
            )
            if is_result and call is not None:
                kept = [(None if c == call else c, e) for c, e in kept]
            if entry["verdict"] == "ok":
                kept.append((None if is_result else call, event))
        elif entry["act"] == "note" and entry["what"] in {"call failed", "call returned"}:
            call = entry["detail"]["call"]
            failed = entry["what"] == "call failed"
            kept = [(None if c == call else c, e) for c, e in kept if c != call or not failed]
    return [event for _, event in kept]
