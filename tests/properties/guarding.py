"""Guards against an obvious reference: the whole history, replayed for every way in which calls that are out may end.

One session is guarded twice, in memory and in a store that several guards share, and everything is done to both. The
reference remembers what has happened as a list and nothing else. Whether something is legal it asks fresh monitors, one
for each choice of calls that fail.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, combinations, product
from random import Random

from accord import ContractError, Guard, MemoryStore, Monitor, Ok, ToolCall, UsageError, compile
from accord.diagnostics import Source
from accord.integrations.guard.looking import as_calls, look_at
from accord.language.checks import check_document
from accord.language.tree import (
    Action,
    Choice,
    Declaration,
    Document,
    Interleaving,
    Protocol,
    Recursion,
    Sequence,
    sequence,
)
from accord.limits import DEFAULT_LIMITS
from accord.machine.contract import Contract, compile_document
from accord.machine.events import Event
from accord.monitor.events import read_event
from tests.properties.differential import random_contract
from tests.properties.generate_data import random_payload

IDS = ("", "", "i", "j", "k", "#1")
MOST_OUT = 4
LENGTH = 14
LABELS = ("a", "b", "c")


@dataclass
class Health:
    """What a campaign looked at."""

    flavour: str
    sessions: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    most_out: int = 0

    def sentence(self) -> str:
        return (
            f"guard, {self.flavour}: {self.sessions:,} sessions, {dict(sorted(self.answers.items()))}, "
            f"up to {self.most_out} calls out"
        )

    def check_floors(self) -> None:
        assert self.answers["message"] > self.sessions * 0.2, self.sentence()
        assert self.most_out >= 2, self.sentence()
        for answer in ("admitted", "refused", "held", "known", "settled", "failed", "kept", "result", "resting"):
            assert self.answers[answer] > self.sessions * 0.01, f"{answer}: {self.sentence()}"
        if self.flavour == "people":
            assert self.answers["review"] > self.sessions * 0.5, self.sentence()
            assert self.answers["approved"] > self.sessions * 0.1, self.sentence()


class DifferenceError(Exception):
    """The guard and the reference do not agree."""


@dataclass
class Reservation:
    """A call that is out."""

    ticket: str
    events: tuple[Event, ...]
    identity: str


class Reference:
    """All that has happened, in order, with the calls that are out where they were reserved."""

    def __init__(self, contract, gates):
        self.contract = contract
        self.gates = gates
        self.history: list[Event | Reservation] = []

    @property
    def out(self):
        return [item for item in self.history if isinstance(item, Reservation)]

    def courses(self):
        """What will have happened, for every choice of calls that fail."""
        for failing in chain.from_iterable(combinations(self.out, n) for n in range(len(self.out) + 1)):
            yield [
                event
                for item in self.history
                if item not in failing
                for event in (item.events if isinstance(item, Reservation) else (item,))
            ]

    def verdicts(self, *steps):
        """For every choice of calls that fail: whether these steps would be legal then."""
        return [self.replays([*course, *steps]) for course in self.courses()]

    def replays(self, events):
        monitor = Monitor(self.contract, mode="refuse")
        return all(is_accepted(monitor, event) for event in events)

    def legal(self, *steps):
        return all(self.verdicts(*steps))

    def ways(self, event):
        """The gates through which a call would be legal."""
        for length in range(1, 4):
            for gates in product(self.gates, repeat=length):
                if self.legal(*(Event("?", gate, None, event.payload, "ana") for gate in gates), event):
                    yield gates

    def settle(self, ticket):
        place = next(
            n for n, item in enumerate(self.history) if isinstance(item, Reservation) and item.ticket == ticket
        )
        self.history[place : place + 1] = self.history[place].events

    def fail(self, ticket):
        self.history = [i for i in self.history if not (isinstance(i, Reservation) and i.ticket == ticket)]


def is_accepted(monitor, event):
    try:
        if event.direction == "!":
            return isinstance(monitor.send(event.label, event.payload), Ok)
        return isinstance(monitor.receive(event.label, event.payload, by=event.by), Ok)
    except UsageError:
        return False


class Session:
    """One session under guards, and the reference beside it."""

    def __init__(self, contract: Contract, rng: Random, health: Health) -> None:
        self.rng, self.health = rng, health
        self.store = MemoryStore()
        options = {"clock": lambda: 0, "patience": 10_000}
        self.alone = Guard(contract, **options)
        self.crew = [Guard(contract, store=self.store, key="s", **options) for _ in range(3)]
        policy = self.alone._session.policy
        self.results, self.contract = policy.results, contract
        self.reference = Reference(contract, policy.gates)
        self.done: dict[str, str] = {}
        self.started: set[str] = set()
        self.allowed: Counter[str] = Counter()

    # -- doing the same to both ----------------------------------------------------------------------------------------

    def both(self, act):
        """Do it to the guard in memory and to one of those in the store; the answer, which must be the same."""
        mine, theirs = act(self.alone), act(self.rng.choice(self.crew))
        if mine != theirs:
            raise DifferenceError(f"in memory {mine}, in a store {theirs}")
        here, there = self.alone._session.home.state(), Guard(self.contract, store=self.store, key="s", clock=lambda: 0)
        if self.store.row("s") is not None and here != there._session.home.state():
            raise DifferenceError(f"in memory it is {here}, read back it is {there._session.home.state()}")
        return mine

    def run(self):
        for _ in range(LENGTH):
            out = self.reference.out
            self.health.most_out = max(self.health.most_out, len(out))
            act = self.rng.random()
            if self.alone.reviews() and self.rng.random() < 0.4:
                self.decide()
            elif out and (len(out) >= MOST_OUT or act < 0.3):
                self.end_one(self.rng.choice(out))
            elif act < 0.45:
                self.say()
            elif act < 0.5 and out:
                self.start_one(self.rng.choice(out))
            else:
                self.reserve()
        self.check_ledger()

    # -- reserving -----------------------------------------------------------------------------------------------------

    def payload(self):
        if self.health.flavour == "people":
            return {"x": self.rng.randint(0, 1)}
        return random_payload(self.rng) if "data" in self.health.flavour else {}

    def reserve(self):
        room = MOST_OUT - len(self.reference.out)
        calls = [self.random_call() for _ in range(self.rng.randint(1, min(3, room)))]
        can_wait = self.rng.random() < 0.5

        def ask(guard):
            claims = look_at(as_calls(calls), None, strict=True)
            decisions = guard._session.decide(claims, started=False, can_wait=can_wait, ahead=False)
            shown = [(d.status, d.ticket, d.message, d.call.arguments, d.review and d.review.id) for d in decisions]
            return shown, [(out.ticket, out.events) for out in guard.out()]

        decisions, outs = self.both(ask)
        events = dict(outs)
        ahead = held = False
        for call, decision in zip(calls, decisions, strict=True):
            repeated = bool(call.id) and sum(other.id == call.id for other in calls) > 1
            expected = self.judge(call, decision, events, held=held, may_hold=can_wait and ahead, repeated=repeated)
            status, ticket = decision[:2]
            if status != expected:
                raise DifferenceError(f"{call} was {decision}, expected was {expected} after {self.reference.history}")
            held = held or status == "held"
            ahead = ahead or ticket is not None

    def random_call(self):
        legal = [read_event(word.split("(")[0]).label for word in self.alone.allowed() if word.split("!")[0] == ""]
        label = self.rng.choice(legal) if legal and self.rng.random() < 0.75 else self.rng.choice(LABELS)
        payload = self.payload()
        waiting = [each for each in self.alone._session.state().desk.reviews if each.state in {"allowed", "used"}]
        if waiting and self.rng.random() < 0.6:
            label, payload = waiting[-1].label, dict(waiting[-1].payload)
        return ToolCall(label, payload, self.rng.choice(IDS))

    def judge(self, call, decision, events, *, held, may_hold, repeated):
        """The status that a call must get; what is admitted is reserved."""
        status, ticket, _, arguments, _ = decision
        if repeated:
            return "refused"
        if held:
            return "held"
        action = json.dumps([call.name, call.arguments], sort_keys=True)
        if call.id and (known := self.known(call.id)) is not None:
            self.health.answers["known"] += 1
            return (
                "admitted"
                if known == action and call.id not in self.done and call.id not in self.started
                else "refused"
            )
        event = Event("!", call.name, None, call.arguments)
        if self.reference.legal(event):
            self.admit(ticket, (event,), arguments, call)
            return "admitted"
        if may_hold:
            self.health.answers["held"] += 1
            return "held"
        self.health.answers["resting"] += any(self.reference.verdicts(event))
        if any(True for _ in self.reference.ways(event)):
            return self.judge_approval(call, status, ticket, events, arguments, action)
        self.health.answers["refused"] += 1
        return "refused"

    def judge_approval(self, call, status, ticket, events, arguments, action):
        """A call that people can make legal: it runs once for each time they have."""
        if status != "admitted":
            self.health.answers["review"] += status == "review"
            return status if status in {"review", "refused"} else "review"
        made = events.get(ticket, ())
        gates = [event.label for event in made[:-1]]
        if not made or not gates or not self.reference.legal(*made):
            return f"legal only after approval, made was {made}"
        for gate in gates:
            self.allowed[f"{gate} {action}"] -= 1
            if self.allowed[f"{gate} {action}"] < 0:
                return f"no more than was approved: {gate}"
        self.health.answers["approved"] += 1
        self.admit(ticket, made, arguments, call)
        return "admitted"

    def known(self, identity):
        if identity in self.done:
            return self.done[identity]
        return next((action for ticket, action in self.actions() if ticket == identity), None)

    def actions(self):
        for item in self.reference.out:
            call = item.events[-1]
            yield item.ticket, json.dumps([call.label, call.payload], sort_keys=True) if item.identity else ""

    def admit(self, ticket, events, arguments, call):
        if ticket is None or any(item.ticket == ticket for item in self.reference.out):
            raise DifferenceError(f"{call} has the ticket {ticket}, which is none or another one's")
        if arguments != call.arguments:
            raise DifferenceError(f"{call} would run with {arguments}")
        self.health.answers["admitted"] += 1
        events = tuple(event._replace(at=None) for event in events)
        self.reference.history.append(Reservation(ticket, events, call.id))

    # -- what becomes of calls -----------------------------------------------------------------------------------------

    def start_one(self, item):
        may = self.both(lambda guard: guard.start(item.ticket))
        if may != (item.ticket not in self.started):
            raise DifferenceError(f"{item} may be started: {may}")
        self.started.add(item.ticket)

    def end_one(self, item):
        ticket, call = item.ticket, item.events[-1]
        how = self.rng.choices(("settled", "failed", "kept"), (5, 3, 1))[0]
        self.health.answers[how] += 1
        self.started.discard(ticket)
        if how == "failed":
            if self.both(lambda guard: guard.fail(ticket, "busy")) != Ok():
                raise DifferenceError(f"{item} could not fail")
            for event in item.events[:-1]:
                self.allowed[f"{event.label} {json.dumps([call.label, call.payload], sort_keys=True)}"] += 1
            self.reference.fail(ticket)
            return
        result = self.payload() if how == "settled" else {"error": "stopped"}
        act = (
            (lambda guard: guard.settle(ticket, result))
            if how == "settled"
            else (lambda guard: guard.keep(ticket, "stopped"))
        )
        verdict = self.both(act)
        if item.identity:
            self.done[ticket] = json.dumps([call.label, call.payload], sort_keys=True)
        self.reference.settle(ticket)
        legal = True
        if call.label in self.results:
            payload = {"error": None, **result, "call": call.payload, "call_id": ticket}
            event = Event("?", call.label, None, payload)
            legal = self.reference.legal(event)
            self.health.answers["result"] += 1
            if legal:
                self.reference.history.append(event)
        if isinstance(verdict, Ok) != legal:
            raise DifferenceError(f"the result of {item} was {verdict} after {self.reference.history}")

    def say(self):
        words = self.alone.allowed()
        label = self.rng.choice(LABELS)
        direction = self.rng.choice("!?")
        if words and self.rng.random() < 0.8:
            word = read_event(self.rng.choice(words).split("(")[0].split(" by ")[0].rpartition(" ")[2])
            direction, label = word.direction, word.label
        by = "ana" if direction == "?" and self.rng.random() < 0.4 else None
        event = Event(direction, label, None, self.payload(), by)
        act = (
            (lambda g: g.send(label, event.payload))
            if direction == "!"
            else (lambda g: g.receive(label, event.payload, by))
        )

        def say(guard):
            try:
                return act(guard)
            except UsageError as error:
                return str(error)

        verdict = self.both(say)
        self.health.answers["message"] += 1
        if isinstance(verdict, Ok) != self.reference.legal(event):
            raise DifferenceError(f"{event} was {verdict} after {self.reference.history}")
        if isinstance(verdict, Ok):
            self.reference.history.append(event)

    def decide(self):
        review = self.rng.choice(self.alone.reviews())
        answer = self.rng.choices(("allow", "deny"), (4, 1))[0]
        self.both(lambda guard: guard.decide(review.id, answer, by="ana"))
        if answer == "allow":
            self.allowed[f"{review.gate} {json.dumps([review.label, dict(review.payload)], sort_keys=True)}"] += 1

    # -- afterwards ----------------------------------------------------------------------------------------------------

    def check_ledger(self):
        """What stands in the ledger, without the calls that failed, is a legal session; also if more of them fail."""
        if self.store.row("s") is None:
            return
        events = events_of([json.loads(line)["entry"] for line in self.store.ledger("s")])
        if not self.reference.replays(events):
            raise DifferenceError(f"the ledger does not replay: {events}")
        if not self.reference.legal():
            raise DifferenceError(f"what is out may end so that the rest is illegal: {self.reference.history}")
        if not self.store.verify("s").ok:
            raise DifferenceError("the ledger does not verify")


def events_of(entries):
    """What a ledger says has happened: all that was accepted, without the calls that failed."""
    kept: list[tuple[str | None, Event]] = []  # those of a call that has not returned stand with its ticket
    for entry in entries:
        call = entry.get("meta", {}).get("call")
        if entry["act"] == "attempt" and entry["event"][0] in "!?":
            said = read_event(entry["event"])
            event = Event(said.direction, said.label, None, entry.get("payload", {}), entry.get("by"))
            is_result = said.direction == "?" and any(c == call and e.direction == "!" for c, e in kept)
            if is_result and call is not None:
                kept = [(None if c == call else c, e) for c, e in kept]
            if entry["verdict"] == "ok":
                kept.append((None if is_result else call, event))
        elif entry["act"] == "note" and entry["what"] in {"call failed", "call returned"}:
            call = entry["detail"]["call"]
            failed = entry["what"] == "call failed"
            kept = [(None if c == call else c, e) for c, e in kept if c != call or not failed]
    return [event for _, event in kept]


def toolish(rng: Random, node: Protocol) -> Protocol:
    """The protocol with more calls in it, more steps of people, and nobody to talk to."""
    if isinstance(node, Action):
        kind = rng.random()
        direction = "!" if kind < 0.3 else node.direction
        gated = direction == "?" and (node.gated or kind > 0.7)
        return Action(direction, node.label, None, clauses=node.clauses, gated=gated)
    if isinstance(node, Sequence):
        return sequence([toolish(rng, step) for step in node.steps])
    if isinstance(node, Interleaving):
        return Interleaving(tuple(toolish(rng, part) for part in node.parts))
    if isinstance(node, Recursion):
        return Recursion(node.variable, toolish(rng, node.body))
    if isinstance(node, Choice):
        return Choice(tuple(toolish(rng, branch) for branch in node.branches))
    return node


def contract_of_people(rng: Random) -> Contract:
    """A loop of calls that need people, each in its own way."""
    while True:
        branches = []
        for label in rng.sample(LABELS, rng.randint(1, 3)):
            gates = [f"?{rng.choice('pq')} by human" for _ in range(rng.randint(0, 3))]
            branches.append(".".join([*gates, f"!{label}", *([f"?{label}"] if rng.random() < 0.3 else []), "L"]))
        with suppress(ContractError):
            return compile("rec L.{" + ", ".join(branches) + "}")


def contract_for_tools(rng: Random, flavour: str) -> Contract:
    while flavour != "people":
        document, _ = random_contract(rng, flavour)
        items = [Declaration(each.name, toolish(rng, each.body)) for each in document.declarations]
        inclined = Document((*items, *document.rules), Source(""))
        if not any(d.severity == "error" for d in check_document(inclined, DEFAULT_LIMITS)):
            return compile_document(inclined, DEFAULT_LIMITS)
    return contract_of_people(rng)


def campaign(seed: int, sessions: int, flavour: str) -> tuple[Health, str | None]:
    """So many sessions; stop at the first difference."""
    rng = Random(f"guard {flavour} {seed}")
    health = Health(flavour)
    while health.sessions < sessions:
        contract = contract_for_tools(rng, flavour)
        for _ in range(3):
            health.sessions += 1
            try:
                Session(contract, rng, health).run()
            except DifferenceError as difference:
                return health, f"{difference}\nof {contract.to_json()}"
    return health, None
