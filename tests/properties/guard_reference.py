"""What a guard must answer, the obvious way: all that has happened as a list, judged anew for every way it may end.

A call that is out does not count, or counts, or counts and has ended in some way, as far as the contract does not say
what a failure of it means: each choice of these for all calls is a world, and each world is a whole session. What the
agent does must be legal in all of them; what is received, in those in which calls that are running have not ended. Of a
call that is lost nobody knows whether it counts; if it does, it has ended. Reviews are a list too, and their rules are
written down here once more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from accord import Ok, UsageError
from accord.calls.ends import after_any_end
from accord.calls.entries import End
from accord.machine.events import Event
from accord.monitor.events import read_event
from accord.monitor.step import begin, close, step, tick
from accord.monitor.verdicts import UNRECOGNIZED

MOST_GATES = 8
"""More of them than a call of the contracts here can need."""
REMEMBERED_REVIEWS = 32
REMEMBERED_CALLS = 64


class DifferenceError(Exception):
    """The guard and the reference do not agree."""


class IllegalError(DifferenceError):
    """The agent has done something that is illegal in some world."""


@dataclass
class Tick:
    """Time has passed until then."""

    at: float


@dataclass
class Reservation:
    """A call that is out, with the ends that it can have; nobody knows what became of it if it is lost."""

    ticket: str
    events: tuple[Event, ...]
    identity: str
    reviews: tuple[int, ...] = ()
    failure: str = "undone"
    ends: tuple[End, ...] = ()
    lost: bool = False


@dataclass
class Asked:
    """A question to a person, and what became of it. One without a gate asks whether the agent may go on,
    or what became of a lost call.
    """

    gate: str | None
    label: str
    payload: dict
    expires: float | None
    state: str = "open"
    modified: dict | None = None
    call: str | None = None

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
        self.contract, self.gates, self.is_timed = contract, policy.gates, policy.is_timed
        self.history: list[Event | Reservation | Tick] = []
        self.reviews: dict[int, Asked] = {}
        self.certain = 0, self.start  # so much of the history is certain, and leads there
        self.known: dict[bool, tuple] = {}  # the worlds that were enumerated last
        self.found = False  # whether a lost call was ever found to have happened
        self.left_open = False  # whether it stayed open how one of these has ended
        self.hindsight = (
            False  # whether it was said later how a call has ended, so that something was received too early
        )

    @property
    def out(self) -> list[Reservation]:
        # Before the first of them everything is certain.
        return [item for item in self.history[self.certain[0] :] if isinstance(item, Reservation)]

    def here(self, *, ends=True):
        """Every world there may be, each a whole session; what is certain is gone through once.

        Without `ends`, calls that are running have not ended.
        """
        count, situation = self.certain
        while count < len(self.history) and not isinstance(self.history[count], Reservation):
            situation = after(situation, [self.history[count]])[0]
            count += 1
        if count == len(self.history):
            self.hindsight = False
        self.certain = count, situation
        rest = self.history[count:]
        known = self.known.get(ends)
        if known is None or known[0] is not situation or [*map(id, known[1])] != [*map(id, rest)]:
            known = self.known[ends] = situation, rest, self.enumerate(situation, rest, ends=ends)
        return known[2]

    def enumerate(self, situation, history, *, ends):
        """The worlds after this has happened; `IllegalError` if the agent has done in one what is illegal there."""
        worlds = [(situation, False)]  # each with whether something is supposed to have ended in it
        for item in history:
            following = []
            for world, supposed in worlds:
                if isinstance(item, Reservation):
                    found = self.choices(world, supposed, item, ends=ends)
                else:
                    there, legal = after(world, [item])
                    is_deed = isinstance(item, Event) and item.direction == "!"
                    if not legal and (is_deed or not (supposed or self.hindsight)):
                        raise IllegalError(f"what is out may end so that {item} is illegal: {self.history}")
                    found = [(there, supposed)]
                following += [each for each in found if each not in following]
            worlds = following
        return [world for world, _ in worlds]

    def choices(self, world, supposed, item, *, ends):
        """What may become of a call, in one world: it counts, it counts and has ended, it does not count."""
        taken, legal = after(world, item.events)
        if not legal:
            raise IllegalError(f"what is out may end so that {item} is illegal: {self.history}")
        if not (item.lost and item.ends):
            yield taken, supposed
        if item.ends and (item.lost or ends):
            yield from ((there, True) for there in after_any_end(taken, item.events[-1].payload, item.ends))
        if item.failure != "done":
            yield world, supposed

    def verdicts(self, *steps):
        """For every world: whether these steps would be legal there; what is received, if nothing more has ended."""
        return [after(situation, steps)[1] for situation in self.here(ends=steps[-1].direction == "!")]

    def legal(self, *steps):
        return all(self.verdicts(*steps))

    def pass_time(self, at) -> bool:
        """Time passes, if the contract looks at it; whether something was due until then in some course."""
        if not self.is_timed:
            return False
        here = self.here(ends=False)
        late = any(not isinstance(tick(situation, "refuse", None, at)[1], Ok) for situation in here)
        self.history.append(Tick(at))
        return late

    def may_end(self, at):
        return all(isinstance(close(situation, None, at)[1], Ok) for situation in self.here())

    # -- what becomes of calls -----------------------------------------------------------------------------------------

    def ends(self, label) -> tuple[End, ...]:
        """The ends that a call can have, of those that somebody looks at: the protocol, or else rules alone."""
        stages = self.start.stage.stages
        named = any((s.direction, s.label, s.gated) == ("?", label, False) for s in stages.machine.symbols)
        if named or label == UNRECOGNIZED:
            return (End(label),)
        watched = any(("?", label) in rule.watched for rule in stages.book.machines)
        return (End(label, to_rules=bool(self.contract.machines)),) if watched else ()

    def end(self, item, fields, at) -> Event | None:
        """The event that an end of a call is."""
        payload = {"error": None, **fields, "call": item.events[-1].payload, "call_id": item.ticket}
        return next((Event("?", end.label, None, payload, None, at, end.to_rules) for end in item.ends), None)

    def _place(self, ticket):
        return next(n for n, item in enumerate(self.history) if isinstance(item, Reservation) and item.ticket == ticket)

    def settle(self, ticket):
        place = self._place(ticket)
        self.history[place : place + 1] = self.history[place].events

    def lose(self, ticket):
        place = self._place(ticket)
        self.history[place] = replace(self.history[place], lost=True)

    def find(self, ticket, fields) -> bool:
        """A lost call has happened; whether its end is legal. The end is where the call is.

        If what has happened since cannot stand then, the call counts, and how it has ended stays open.
        """
        place = self._place(ticket)
        item, self.hindsight, self.found = self.history[place], True, True
        end = self.end(item, fields, item.events[-1].at)
        count, situation = self.certain
        there = self.enumerate(situation, [*self.history[count:place], *item.events], ends=False)
        legal = end is None or all(after(world, [end])[1] for world in there)
        found = [*item.events, *([end] if legal and end is not None else [])]
        try:
            self.enumerate(situation, [*self.history[count:place], *found, *self.history[place + 1 :]], ends=True)
        except IllegalError:
            self.history[place] = replace(item, failure="done")
            self.left_open = True
            return False
        self.history[place : place + 1] = found
        return legal

    def fail(self, ticket):
        item = self.history.pop(self._place(ticket))
        for number in item.reviews:
            if number in self.reviews:
                self.reviews[number].state = "allowed"

    # -- people --------------------------------------------------------------------------------------------------------

    def way(self, event) -> tuple[tuple[str, ...], dict] | None:
        """The first gates through which a call would be legal, and what it would be made with."""
        changed = self.modifier(event)
        payload = event.payload if changed is None else changed.modified
        meant = event._replace(payload=payload)
        if changed is not None and self.legal(meant):
            return (), payload
        gates = self.shortest(list(self.here()), meant, self.in_order(meant))
        return None if gates is None else (gates, payload)

    def modifier(self, event) -> Asked | None:
        """The last answer by which a person has put something else in the place of a call."""
        found = None
        for asked in self.living(event.at):
            if (asked.label, asked.payload, asked.state) == (event.label, event.payload, "allowed"):
                found = found if asked.modified is None else asked
        return found

    def in_order(self, event):
        """The gates, those first that people were asked for about this action and whose answer is not used up."""
        asked = [gate for gate in self.gates if self.asked_for((gate,), event.label, event.payload, event.at) != [None]]
        return [*asked, *(gate for gate in self.gates if gate not in asked)]

    def can_become_legal(self, event) -> bool:
        """Whether a call is legal, or through gates, when time has passed until then and what is overdue was told."""
        if not self.is_timed:
            return self.legal(event) or self.way(event) is not None
        certain = self.certain
        self.history.append(Tick(event.at))
        try:
            return self.legal(event) or self.way(event) is not None
        finally:
            self.history.pop()
            self.certain = certain

    def rests(self, event) -> bool:
        """Whether a call would be legal, at once or through gates, if the calls that are out ended well for it."""
        here = list(self.here())
        return any(after(world, [event])[1] or self.shortest([world], event, self.gates) for world in here)

    def shortest(self, here, event, gates) -> tuple[str, ...] | None:
        """The fewest gates, at least one, through which a call is legal in all of these worlds."""
        seen: list[list] = []
        layer: list[tuple[tuple[str, ...], list]] = [((), here)]
        for _ in range(MOST_GATES):
            following = []
            for way, worlds in layer:
                for gate in gates:
                    step = Event("?", gate, None, event.payload, "ana", event.at)
                    moved = [after(world, [step]) for world in worlds]
                    there = [world for world, _ in moved]
                    if not all(legal for _, legal in moved) or there in seen:
                        continue
                    if all(after(world, [event])[1] for world in there):
                        return *way, gate
                    seen.append(there)
                    following.append(((*way, gate), there))
            layer = following
        return None

    def living(self, at) -> list[Asked]:
        return [asked for asked in self.reviews.values() if asked.gate is not None and not asked.is_over(at)]

    def asked_for(self, gates, label, payload, at, first: Asked | None = None) -> list[Asked | None]:
        """For each gate the last question that was asked for this action, each at most once; `first` before others."""
        found: list[Asked | None] = []
        for gate in gates:
            for asked in (first, *reversed(self.living(at))):
                if asked is None:
                    continue
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
        using = {n for item in self.out for n in item.reviews}
        over = [
            n
            for n, each in self.reviews.items()
            if n not in using
            and (each.state in {"denied", "used"} or each.is_over(at) or (each.gate is None and each.state != "open"))
        ]
        self.reviews[number] = asked
        for old in over[:-REMEMBERED_REVIEWS]:
            del self.reviews[old]

    def open_ones(self, at) -> list[int]:
        return [n for n, asked in self.reviews.items() if asked.state == "open" and not asked.is_over(at)]

    def stuck(self, at) -> bool:
        """Whether a person is asked if the agent may go on."""
        asked = [self.reviews[number] for number in self.open_ones(at)]
        return any(each.gate is None and each.call is None for each in asked)

    def answered(self, ticket):
        """It is known what became of a call, so nobody is asked about it any more."""
        for asked in self.reviews.values():
            if asked.call == ticket and asked.state == "open":
                asked.state = "used"


def events_of(entries, ends) -> list[Event | Tick]:
    """What a ledger says has happened: all that was accepted, without the calls that failed, and those that are lost.

    A call that was lost has its end where it was made.
    """
    kept: list[tuple[str | None, Event | Tick]] = []  # those of a call that has not returned stand with its ticket
    lost: set[str] = set()
    for entry in entries:
        call = entry.get("meta", {}).get("call")
        if entry["act"] == "attempt" and entry["event"] == "tick":
            kept.append((None, Tick(entry["at"])))
        elif entry["act"] == "attempt" and entry["event"][0] in "!?":
            said = read_event(entry["event"])
            event = Event(
                said.direction, said.label, None, entry.get("payload", {}), entry.get("by"), entry.get("at", 0)
            )
            made = [
                place
                for place, (c, e) in enumerate(kept)
                if c == call and call is not None and isinstance(e, Event) and e.direction == "!"
            ]
            is_result = said.direction == "?" and bool(made)
            if is_result:
                event = event._replace(to_rules=any(end.to_rules for end in ends(said.label)))
                kept = [(None if c == call else c, e) for c, e in kept]
            if entry["verdict"] == "ok" and is_result and call in lost:
                kept.insert(made[-1] + 1, (None, event._replace(at=kept[made[-1]][1].at)))
            elif entry["verdict"] == "ok":
                kept.append((None if is_result else call, event))
            lost -= {call} if is_result else set()
        elif entry["act"] == "note" and entry["what"] == "call renamed":
            old, new = entry["detail"]["call"], entry["detail"]["now"]
            kept = [(new if c == old else c, e) for c, e in kept]
            lost = {new if c == old else c for c in lost}
        elif entry["act"] == "note" and entry["what"] == "call lost":
            lost.add(entry["detail"]["call"])
        elif entry["act"] == "note" and entry["what"] in {"call failed", "call returned"}:
            call = entry["detail"]["call"]
            failed = entry["what"] == "call failed"
            kept = [(None if c == call else c, e) for c, e in kept if c != call or not failed]
            lost.discard(call)
    return [event for call, event in kept if call not in lost]
