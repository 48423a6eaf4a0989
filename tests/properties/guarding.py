"""Guards against an obvious reference: the whole history, judged for every way in which calls that are out may end.

One session is guarded twice, in memory and in a store that several guards share, and everything is done to both. What
the answers must be is said by `guard_reference`. Some sessions are short, as tests like them; some live as long as
those of real agents do, because what is counted, remembered and forgotten shows only then.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from random import Random

from accord import Guard, MemoryStore, Ok, ToolCall, UsageError
from accord.integrations.guard.looking import as_calls, look_at
from accord.integrations.guard.policy import gates_of
from accord.machine.contract import Contract
from accord.machine.events import Event
from accord.monitor import snapshot as snapshots
from accord.monitor.events import read_event
from accord.monitor.step import begin
from tests.properties.generate_data import random_payload
from tests.properties.guard_contracts import GATES, LABELS, STRANGER, constructs, contract_for_tools
from tests.properties.guard_reference import (
    REMEMBERED_CALLS,
    Asked,
    DifferenceError,
    Reference,
    Reservation,
    after,
    events_of,
)
from tests.properties.guard_tables import LIVES, MOST_OPEN, MOST_REVIEWS, OTHERS, UNGATED, Health, size

MOODS = ((0.7, (9, 1, 1)), (0.4, (1, 4, 1)), (0.7, (2, 1, 6)), (0.7, (3, 1, 6)))
SILENT = (0.0, (1, 1, 1))
"""How soon people answer, and how often they allow, deny and modify."""
MOST_OUT = (1, 2, 2, 3, 3, 4, 4, 6)
SHORT = (5, 14, 14, 20)
PATIENT = 30
"""Steps of a session in which people have time to answer."""
LONG = (60, 150, 400)


class Session:
    """One session under guards, and the reference beside it."""

    def __init__(self, contract: Contract, rng: Random, health: Health, long: int | None = None) -> None:
        self.rng, self.health, self.contract = rng, health, contract
        self.kinds = constructs(contract.document)
        self.store = MemoryStore()
        self.time = 0.0
        self.mood = SILENT if long is not None and long % 3 == 1 else rng.choice(MOODS)
        impatient = long is None and rng.random() < 0.35
        self.options = {
            "clock": lambda: self.time,
            "events": gates_of(contract, None),  # this program reports them all
            "patience": rng.randint(2, 4) if impatient else 10_000,
            "escalate": rng.choice(("stop", "review")),
            "review_lasts": rng.choice((2, 5)) if self.mood is not SILENT and rng.random() < 0.3 else None,
        }
        self.alone = Guard(contract, **self.options)
        self.crew = [self.in_the_store() for _ in range(3)]
        self.policy = self.alone._session.policy
        self.reference = Reference(contract, self.policy, self.time)
        self.most_out = rng.choice(MOST_OUT if long is None else (3, 4))
        self.wish: tuple[str, dict] | None = None  # what the agent has asked for, and will ask for again
        self.hangs = self.most_out > 1 and (rng.random() < 0.3 if long is None else long % 2 == 1)
        self.haste, self.talks = (0.35, 0.1) if long is None else (0.55, 0.4)
        self.strange = rng.choice((0.05, 0.05, 0.5))
        self.hanging: str | None = None  # the first call of a session that hangs hardly ever ends
        self.done: dict[str, str] = {}
        self.ended: list[tuple[str, str]] = []
        self.started: set[str] = set()
        self.refusals: Counter[str] = Counter()
        self.idle = 0
        self.tried: dict[str, tuple[int, dict]] = {}  # what counts of a batch: where the last was, what is shown of it
        self.went: set[str] = set()
        self.stopped = False
        self.named = 0
        self.seen: Counter[str] = Counter()

    def in_the_store(self):
        return Guard(self.contract, store=self.store, key="s", **self.options)

    # -- doing the same to both ----------------------------------------------------------------------------------------

    def both(self, act):
        """Do it to the guard in memory and to one of those in the store; the answer, which must be the same."""
        mine, theirs = act(self.alone), act(self.rng.choice(self.crew))
        if mine != theirs:
            raise DifferenceError(f"in memory {mine}, in a store {theirs}")
        if "failed inside" in str(mine):
            raise DifferenceError(f"it broke: {mine}")
        if self.store.row("s") is not None and written(self.alone) != written(there := self.in_the_store()):
            raise DifferenceError(f"in memory it is {written(self.alone)}, read back it is {written(there)}")
        return mine

    def note(self, label: str, end: str, gates: int | None = None) -> None:
        """Count what became of a call; with the number of its gates if it is people who decide about it."""
        self.health.answers[end] += 1
        if end in OTHERS:
            return
        kinds = {*self.kinds.get(label, {"unknown"}), f"fails {self.contract.failure_of(label, label)}"}
        if gates is not None:
            kinds = {*(kinds - {*GATES, *UNGATED}), GATES[min(gates, 3)]}
            self.most("gates of a call", gates)
        self.health.ends.add((kind, end) for kind in kinds)

    def most(self, what: str, count: int) -> None:
        self.seen[what] = max(self.seen[what], count)

    def run(self, steps: int) -> None:
        for step in range(steps):
            self.one_step() if step else self.reserve()
            log = self.alone._session.state().log
            self.most("log while out", len(log))
            self.most("calls out at once", len(self.reference.out))
            self.most("open at once", len(self.reference.open_ones(self.time)))
            self.seen["steps"] += 1
            asked = [review.number for review in self.alone.reviews()]
            if asked != self.reference.open_ones(self.time):
                raise DifferenceError(f"asked is {asked}, expected {self.reference.open_ones(self.time)}")
        self.check_ledger()
        self.close()
        self.health.lives.add((what, size(self.seen[what])) for what in LIVES)
        self.health.longest |= self.seen

    def one_step(self) -> None:
        rng, out = self.rng, self.reference.out
        ending = [item for item in out if item.ticket != self.hanging or rng.random() < 0.004]
        if rng.random() < (0.5 if self.policy.is_timed else 0.25):
            self.time += rng.choice((0.25, 0.5, 1, 1, 2, 4)) if rng.random() < 0.98 else 60
        if self.reference.open_ones(self.time) and rng.random() < self.mood[0]:
            return self.decide()
        if self.stopped and rng.random() < 0.4:
            return self.resume()
        if ending and (len(out) >= self.most_out or rng.random() < self.haste):
            return self.end_one(rng.choice(ending))
        if rng.random() < self.talks and not any(word.startswith("!") for word in self.alone.allowed()):
            return self.say()  # maybe there will be something to do then
        acts = [self.say, self.say, self.say, self.tick, self.start_one, self.end_again]
        if len(out) < self.most_out:
            acts += [self.reserve] * 12
        return rng.choice(acts)()

    # -- reserving -----------------------------------------------------------------------------------------------------

    def payload(self):
        rng, flavour = self.rng, self.health.flavour
        if flavour == "people":
            return {"x": rng.randint(0, 1)}
        if flavour == "life":
            return {"x": rng.randint(0, 3), "k": rng.randint(0, 2)}
        payload = random_payload(rng) if flavour != "plain" else {}
        if "slices" in flavour and rng.random() < 0.95:
            key, inside = rng.choice((1, 1, 2, "1", [1])), payload.get("o")
            payload |= {"k": key, "o": {**(inside if isinstance(inside, dict) else {}), "k": key}}
        return payload

    @property
    def may_ask(self):
        """Whether a batch may ask people again: to the bound of all questions, or to the guard's own of open ones."""
        nothing_answered = all(asked.state == "open" for asked in self.reference.reviews.values())
        return self.seen["questions"] <= MOST_REVIEWS - 9 or (nothing_answered and MOST_REVIEWS >= MOST_OPEN)

    def reserve(self):
        room = self.most_out - len(self.reference.out)
        if self.is_answered() and self.rng.random() < 0.8:
            calls = [ToolCall(*self.wish, self.random_id())]
        else:
            calls = [self.random_call() for _ in range(self.rng.randint(1, min(6, room)) if self.may_ask else 1)]
        can_wait = self.rng.random() < 0.5

        def ask(guard):
            claims = look_at(as_calls(calls), None, strict=True)
            decisions = guard._session.decide(claims, started=False, can_wait=can_wait)
            shown = [(d.status, d.ticket, d.message, d.call.arguments, d.review and d.review.id) for d in decisions]
            return shown, [(out.ticket, out.events, out.reviews) for out in guard.out()]

        decisions, outs = self.both(ask)
        made = {ticket: (events, reviews) for ticket, events, reviews in outs}
        self.most("calls in a batch", len(calls))
        late = self.reference.pass_time(self.time)
        self.look_what_was_opened()
        shown = {decision[0]: (call.name, call.arguments) for call, decision in zip(calls, decisions, strict=True)}
        if self.wish in (None, shown.get("admitted"), shown.get("refused")) or self.rng.random() < 0.05:
            self.wish = shown.get("review")
        ahead = held = False
        self.tried, self.went, self.place = {}, set(), 0
        expected = []
        for self.place, (call, decision) in enumerate(zip(calls, decisions, strict=True)):
            repeated = bool(call.id) and sum(other.id == call.id for other in calls) > 1
            if late:
                self.note(call.name, "late")
                expected.append(self.refused(call, {} if repeated else call.arguments))
            else:
                may_hold = can_wait and ahead
                expected.append(self.judge(call, decision, made, held=held, may_hold=may_hold, repeated=repeated))
            held = held or decision[0] == "held"
            ahead = ahead or decision[1] is not None
        self.end_turn(expected, {call.name for call, status in zip(calls, expected, strict=True) if status == "held"})
        for call, decision, status in zip(calls, decisions, expected, strict=True):
            if decision[0] != status:
                raise DifferenceError(f"{call} was {decision}, expected was {status} after {self.reference.history}")
        if self.opened:
            raise DifferenceError(f"nobody had to be asked: {self.opened}")

    def look_what_was_opened(self):
        desk = self.alone._session.state().desk
        self.opened = [review for review in desk.reviews if review.number not in self.reference.reviews]

    def is_answered(self):
        """Whether the agent has asked for something, and nobody is asked about it any more."""
        open_ones = [self.reference.reviews[number] for number in self.reference.open_ones(self.time)]
        return self.may_ask and self.wish is not None and all(asked.label != self.wish[0] for asked in open_ones)

    def random_call(self):
        rng = self.rng
        words = [word for word in self.alone.allowed() if word.startswith("!")]
        legal = [read_event(word.split("(")[0]).label for word in words]
        gated = [label for label, kinds in self.kinds.items() if kinds & {*GATES}]
        others = (STRANGER,) if rng.random() < self.strange else gated if gated and rng.random() < 0.6 else LABELS
        label = rng.choice(legal if legal and rng.random() < (0.2 if self.mood is SILENT else 0.7) else others)
        payload = self.payload()
        for _ in range(3 if legal else 0):  # what is legal is mostly so for some payloads only
            if self.reference.legal(Event("!", label, None, payload, None, self.time)):
                break
            payload = self.payload()
        if self.wish is not None and rng.random() < (0.1 if self.mood is SILENT else 0.5):
            label, payload = self.wish
        if self.mood is SILENT:
            payload = {**payload, "n": rng.randint(0, 9)}  # so that there are many things to ask about
        if not self.may_ask and not self.reference.legal(Event("!", label, None, payload, None, self.time)):
            label = STRANGER
        return ToolCall(label, payload, self.random_id())

    def random_id(self):
        """None, a new one, or one that was there before, be it yesterday."""
        kind = self.rng.random()
        if kind < 0.3:
            return self.rng.choice(("", "", "#1"))
        if kind < 0.75 or not self.named:
            self.named += 1
            return f"i{self.named}"
        return f"i{self.rng.randint(max(1, self.named - 3), self.named) if kind < 0.95 else 1}"

    def judge(self, call, decision, made, *, held, may_hold, repeated):
        """The status that a call must get; what is admitted is reserved."""
        _, ticket, _, arguments, _ = decision
        if held and not repeated:
            self.note(call.name, "held")
            return "held"
        if self.stopped or self.reference.stuck(self.time):
            self.note(call.name, "stopped" if self.stopped else "stuck")
            return "refused" if self.stopped else "review"
        if repeated:
            self.note(call.name, "same id")
            return self.refused(call, {})  # it was not even read
        action = action_of(call.name, call.arguments)
        if call.id and (known := self.known(call.id)) is not None:
            self.note(call.name, "known id")
            new = call.id not in self.done and call.id not in self.started
            return "admitted" if known == action and new else "refused"
        event = Event("!", call.name, None, call.arguments, None, self.time)
        if self.reference.legal(event):
            self.admit(call, ticket, arguments, ((event,), ()))
            return "admitted"
        if may_hold:
            self.note(call.name, "held")
            return "held"
        way = self.reference.way(event)
        if way is not None:
            return self.judge_approval(call, event, way, decision, made)
        rests = self.reference.out and self.reference.rests(event)
        self.note(call.name, "rests on" if rests else "refused")
        waits = rests and not any(item.lost for item in self.reference.out) and "No approval would" not in decision[2]
        return "refused" if waits else self.refused(call)

    def judge_approval(self, call, event, way, decision, made):
        """A call that people can make legal: it runs once for each time they have."""
        _, ticket, _, arguments, _ = decision
        gates, payload = way
        modifier = self.reference.modifier(event)
        asked = self.reference.asked_for(gates, call.name, payload, self.time, modifier)
        states = [each and each.state for each in asked]
        if "denied" in states:
            self.note(call.name, "denied", len(gates))
            return self.refused(call)
        if set(states) <= {"allowed"}:
            used = asked if modifier is None or any(each is modifier for each in asked) else [*asked, modifier]
            numbers = tuple(next(n for n, each in self.reference.reviews.items() if each is one) for one in used)
            steps = [Event("?", gate, None, payload, "ana", self.time) for gate in gates]
            events = (*steps, event._replace(payload=payload))
            if made.get(ticket) != (events, numbers):
                return f"made of {events} by the reviews {numbers}, not {made.get(ticket)}"
            self.note(call.name, "allowed" if payload == call.arguments else "modified", len(gates))
            self.admit(call, ticket, arguments, (events, numbers))
            return "admitted"
        if any(each.label == call.name and each.is_over(self.time) for each in self.reference.reviews.values()):
            self.note(call.name, "expired", len(gates))
        if len(self.reference.open_ones(self.time)) + states.count(None) > MOST_OPEN:
            self.health.answers["too many questions"] += 1
            return "refused"
        for gate, each in zip(gates, states, strict=True):
            if each is None:
                self.ask(gate, call.name, payload)
        self.note(call.name, "asked" if None in states else "waiting", len(gates))
        return "review"

    def ask(self, gate, label, payload, call=None) -> bool:
        """A question is opened, as the guard has to; `False` if too many are."""
        if len(self.reference.open_ones(self.time)) >= MOST_OPEN:
            return False
        if not self.opened:
            raise DifferenceError(f"nobody was asked for {gate} of {label} {payload}")
        review = self.opened.pop(0)
        shown = review.gate, review.label, dict(review.payload), review.state, review.call
        if shown != (gate, label, payload, "open", call):
            raise DifferenceError(f"asked was {review}, expected {gate} of {label} {payload}")
        lasts = None if gate is None else self.options["review_lasts"]
        expires = None if lasts is None else self.time + lasts
        if review.expires != expires:
            raise DifferenceError(f"{review} does not expire at {expires}")
        self.reference.ask(review.number, Asked(gate, label, payload, expires, call=call), self.time)
        self.seen["questions"] += 1
        return True

    def refused(self, call, shown=None):
        """The status of a call that is refused, which counts against the patience of the guard."""
        self.tried.pop(call.name, None)
        self.tried[call.name] = self.place, call.arguments if shown is None else shown
        return "refused"

    def end_turn(self, expected, held):
        """What was refused is counted, once for a batch: if that was too often, a person is asked, or all stops."""
        if self.stopped or self.reference.stuck(self.time):
            return
        tried = [label for label in self.tried if label not in self.went | held]
        for label in self.went:
            del self.refusals[label]
        for label in tried:
            self.refusals[label] += 1
            self.most("refusals in a row", self.refusals[label])
        if self.went or tried:
            self.idle = 0 if self.went else self.idle + 1
        patience = self.options["patience"]
        over = [label for label in tried if self.refusals[label] >= patience]
        if not over and (not tried or self.idle < patience):
            return
        label = (over or tried)[-1]
        place, shown = self.tried[label]
        if self.options["escalate"] == "review" and self.ask(None, label, shown):
            expected[place] = "review"
        else:
            self.stopped = True

    def known(self, identity):
        if identity in self.done:
            return self.done[identity]
        # One that is lost may be tried again.
        out = next((item for item in self.reference.out if item.ticket == identity and not item.lost), None)
        return None if out is None else out.identity

    def make_way(self, ticket):
        """A lost call gets another ticket when its id is used for a new attempt."""
        there = self.both(lambda guard: sorted(out.ticket for out in guard.out()))
        known = {item.ticket for item in self.reference.out}
        for place, item in enumerate(self.reference.history):
            if isinstance(item, Reservation) and item.lost and item.ticket == ticket:
                new = next(name for name in there if name.startswith(f"{ticket}#") and name not in known)
                self.reference.history[place] = replace(item, ticket=new)
                self.started = {new if name == ticket else name for name in self.started}
                self.hanging = new if self.hanging == ticket else self.hanging
                for asked in self.reference.reviews.values():
                    asked.call = new if asked.call == ticket else asked.call

    def admit(self, call, ticket, arguments, made):
        events, reviews = made
        self.make_way(ticket)
        if ticket is None or any(item.ticket == ticket for item in self.reference.out):
            raise DifferenceError(f"{call} has the ticket {ticket}, which is none or another one's")
        if arguments != events[-1].payload:
            raise DifferenceError(f"{call} would run with {arguments}")
        self.note(call.name, "admitted")
        self.went.add(call.name)
        for number in reviews:
            self.reference.reviews[number].state = "used"
        action = action_of(call.name, call.arguments) if call.id else ""
        failure, ends = self.contract.failure_of(call.name, call.name), self.reference.ends(call.name)
        self.reference.history.append(Reservation(ticket, events, action, reviews, failure, ends))
        if self.hangs and self.hanging is None:
            self.hanging = ticket

    # -- what becomes of calls -----------------------------------------------------------------------------------------

    def start_one(self):
        if not self.reference.out:
            return
        item = self.rng.choice(self.reference.out)
        may = self.both(lambda guard: guard.start(item.ticket))
        if may != (item.ticket not in self.started):
            raise DifferenceError(f"{item} may be started: {may}")
        self.started.add(item.ticket)

    def end_one(self, item):
        ticket, call = item.ticket, item.events[-1]
        how = self.rng.choices(("returned", "failed", "unknown end"), (5, 4, 2))[0]
        result = self.payload() if how == "returned" else {"error": "stopped"}
        acts = {
            "returned": lambda guard: guard.settle(ticket, result),
            "failed": lambda guard: guard.fail(ticket, "it has not" if item.lost else "stopped"),
            "unknown end": lambda guard: guard.keep(ticket, "stopped"),
        }
        verdict = self.both(acts[how])
        meaning = item.failure
        if how == "failed" and meaning == "unknown" and not item.lost:
            if verdict != Ok():
                raise DifferenceError(f"{item} could not fail")
            self.note(call.label, "lost")
            self.lost(item)
            return
        if how == "failed" and meaning != "done":
            if verdict != Ok():
                raise DifferenceError(f"{item} could not fail")
            self.note(call.label, "not found" if item.lost else "undone")
            self.taken_back(item)
            return
        self.note(call.label, "found" if item.lost else "done" if how == "failed" else how)
        legal = self.has_run(item, result, again=how == "failed" and not item.lost)
        if isinstance(verdict, Ok) != legal:
            raise DifferenceError(f"the result of {item} was {verdict} after {self.reference.history}")

    def lost(self, item):
        """Nobody knows what became of a call; people are asked, if there are any."""
        self.started.add(item.ticket)
        self.reference.lose(item.ticket)
        self.reference.pass_time(self.time)
        self.look_what_was_opened()
        if self.policy.gates or self.options["escalate"] == "review":
            self.ask(None, item.events[-1].label, item.events[-1].payload, item.ticket)
        if self.opened:
            raise DifferenceError(f"nobody had to be asked: {self.opened}")

    def taken_back(self, item):
        self.over(item)
        self.reference.fail(item.ticket)
        self.reference.answered(item.ticket)
        self.reference.pass_time(self.time)

    def over(self, item):
        self.started.discard(item.ticket)
        self.ended = [*self.ended[-5:], (item.ticket, item.events[-1].label)]

    def has_run(self, item, result, *, again=False) -> bool:
        """A call has happened and ended; whether its end is legal. `again`: it may be tried again under its id."""
        ticket, label = item.ticket, item.events[-1].label
        if item.identity and not again:
            self.done.setdefault(ticket, item.identity)
            while len(self.done) > REMEMBERED_CALLS:
                del self.done[next(iter(self.done))]
        self.seen["calls run"] += 1
        self.reference.answered(ticket)
        if item.lost:
            legal = self.reference.find(ticket, result)
            self.reference.pass_time(self.time)
        else:
            self.reference.settle(ticket)
            late = self.reference.pass_time(self.time)
            event = self.reference.end(item, result, self.time)
            legal = event is None or (not late and self.reference.legal(event))
            if legal and event is not None:
                self.reference.history.append(event)
        if all(out.ticket != ticket for out in self.reference.out):
            self.over(item)
        if item.ends:
            self.note(label, "result ok" if legal else "result bad")
        return legal

    def end_again(self):
        """What has ended cannot end again, unless another call has got the ticket since."""
        ticket, label = self.rng.choice(self.ended) if self.ended else ("nobody's", STRANGER)
        if any(item.ticket == ticket for item in self.reference.out):
            return
        act = self.rng.choice(
            (lambda g: g.settle(ticket, {}), lambda g: g.fail(ticket, "late"), lambda g: g.keep(ticket, "late"))
        )
        if isinstance(self.both(act), Ok) or self.both(lambda guard: guard.start(ticket)):
            raise DifferenceError(f"{ticket} has ended twice")
        self.note(label, "ended twice")

    def tick(self):
        verdict = self.both(lambda guard: guard.tick())
        if isinstance(verdict, Ok) == self.reference.pass_time(self.time):
            raise DifferenceError(f"time has passed until {self.time}: {verdict} after {self.reference.history}")

    def say(self):
        words = self.alone.allowed()
        label = self.rng.choice(LABELS)
        direction = self.rng.choice("!?")
        if words and self.rng.random() < 0.8:
            word = read_event(self.rng.choice(words).split("(")[0].split(" by ")[0].rpartition(" ")[2])
            direction, label = word.direction, word.label
        by = "ana" if direction == "?" and self.rng.random() < 0.4 else None
        event = Event(direction, label, None, self.payload(), by, self.time)

        def say(guard):
            try:
                if direction == "!":
                    return guard.send(label, event.payload)
                return guard.receive(label, event.payload, by)
            except UsageError as error:
                return str(error)

        verdict = self.both(say)
        self.health.answers["message"] += 1
        legal = not self.reference.pass_time(self.time) and self.reference.legal(event)
        if isinstance(verdict, Ok) != legal:
            raise DifferenceError(f"{event} was {verdict} after {self.reference.history}")
        if legal:
            self.reference.history.append(event)

    # -- people --------------------------------------------------------------------------------------------------------

    def decide(self):
        numbers = self.reference.open_ones(self.time)
        wished = [n for n in numbers if self.wish is not None and self.reference.reviews[n].label == self.wish[0]]
        number = self.rng.choice(wished if wished and self.rng.random() < 0.7 else numbers)
        asked = self.reference.reviews[number]
        if asked.call is not None:
            self.say_what_became(number, asked)
            return
        answer = self.rng.choices(("allow", "deny", "modify"), self.mood[1])[0]
        payload, may = None, True
        for _ in range(3 if answer == "modify" else 0):
            payload = self.payload()
            meant = Event("!", asked.label, None, payload, None, self.time)
            may = asked.gate is not None and self.reference.can_become_legal(meant)
            if may:
                break

        def decide(guard):
            identity = next(review.id for review in guard.reviews() if review.number == number)
            try:
                return guard.decide(identity, answer, by="ana", payload=payload).state
            except UsageError as error:
                return str(error)

        state = self.both(decide)
        if state != (("denied" if answer == "deny" else "allowed") if may else state):
            raise DifferenceError(f"{answer} of {asked} was {state}")
        if (state in {"denied", "allowed"}) != may:
            raise DifferenceError(f"{answer} {payload} of {asked} was {state} after {self.reference.history}")
        if not may:
            return
        asked.state, asked.modified = state, payload
        if asked.gate is None and answer == "deny":
            self.stopped = True
        elif asked.gate is None:
            del self.refusals[asked.label]
            self.idle = 0

    def say_what_became(self, number, asked):
        """A person says what became of a lost call."""
        answer = self.rng.choice(("done", "done", "undone", "undone", "allow"))

        def decide(guard):
            identity = next(review.id for review in guard.reviews() if review.number == number)
            try:
                return guard.decide(identity, answer, by="ana").state
            except UsageError:
                return "no answer"

        state = self.both(decide)
        if state != ("no answer" if answer == "allow" else "used"):
            raise DifferenceError(f"{answer} to {asked} was {state}")
        self.health.answers["what became of it"] += 1
        if answer == "allow":
            return
        item = next(item for item in self.reference.out if item.ticket == asked.call)
        self.note(asked.label, "found" if answer == "done" else "not found")
        if answer == "done":
            self.has_run(item, {"error": "ana says so"})
        else:
            self.taken_back(item)

    def resume(self):
        self.both(lambda guard: guard.resume(by="ana", reason="go on"))
        self.stopped = False
        self.refusals.clear()
        self.idle = 0

    # -- afterwards ----------------------------------------------------------------------------------------------------

    def check_ledger(self):
        """What stands in the ledger, without the calls that failed, is a legal session; also if more of them fail."""
        if self.store.row("s") is None:
            return
        events = events_of([json.loads(line)["entry"] for line in self.store.ledger("s")], self.reference.ends)
        situation = begin(self.contract, None, 0)
        for event in events:
            situation, legal = after(situation, [event])
            received = isinstance(event, Event) and event.direction == "?"
            # How a lost call has ended is said later than it has; what was due meanwhile is told by then, too.
            excused = self.reference.found and (received or self.policy.is_timed)
            if not (legal or self.reference.left_open or excused):
                raise DifferenceError(f"the ledger does not replay: {event} of {events}")
        list(self.reference.here())
        if not self.store.verify("s").ok:
            raise DifferenceError("the ledger does not verify")

    def close(self):
        """Closing is for when nothing is running, and final; whatever became of what is lost, nothing may be owed."""
        may = all(item.lost for item in self.reference.out) and self.reference.may_end(self.time)
        if isinstance(self.both(lambda guard: guard.close()), Ok) != may:
            raise DifferenceError(f"closed: {not may} after {self.reference.history}")


def written(guard):
    """What a guard knows, as values that can be compared."""
    settled, log, desk = guard._session.home.state()
    return snapshots.describe(settled, guard.contract, guard.protocol, "refuse", 0), log, desk


def action_of(label, payload):
    return json.dumps([label, payload], sort_keys=True)


def is_lively(contract):
    """Whether there is something to do at once, and something to ask people about."""
    allowed = Guard(contract).allowed()
    return any(word.startswith("!") for word in allowed) and any(word.endswith("by human") for word in allowed)


def campaign(seed: int, sessions: int, flavour: str, health: Health | None = None) -> tuple[Health, str | None]:
    """So many sessions; stop at the first difference."""
    rng = Random(f"guard {flavour} {seed}")
    health = health or Health()
    health.flavour = flavour
    for number in range(sessions):
        long = number // 20 if flavour == "life" and number % 20 == 0 else None
        if number % (1 if flavour == "life" else 3) == 0:  # what one session has met, the next finds prepared
            contract = contract_for_tools(rng, flavour)
            while long is not None and not is_lively(contract):
                contract = contract_for_tools(rng, flavour)
        health.sessions += 1
        try:
            steps = (
                LONG[long % len(LONG)] if long is not None else PATIENT if flavour == "people" else rng.choice(SHORT)
            )
            Session(contract, rng, health, long).run(steps)
        except DifferenceError as difference:
            return health, f"{difference}\nof {contract.to_json()}"
    return health, None
