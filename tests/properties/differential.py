"""The reference semantics and the product, held against each other on random contracts and traces.

`compare` runs one trace on both and returns the first difference. `campaign` runs many, from a seed, and reports what
it looked at: a campaign that only ever looked at refused events would find nothing and prove nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from random import Random

from accord import Limits, Monitor, UsageError, semantics
from accord.diagnostics import Source
from accord.language.tree import Action, Choice, Declaration, Document, Interleaving, Recursion
from accord.limits import DEFAULT_LIMITS
from accord.machine import compile_document
from accord.monitor.verdicts import Blocked, Ok, Unrecognized, Violation
from accord.semantics.data import Event, happening
from accord.semantics.places import advance
from tests.census import Census
from tests.properties.generate import kinds, random_action, random_protocol, size
from tests.properties.generate_data import NO_JSON, is_open, random_document, random_payload
from tests.properties.made import tables_of
from tests.properties.met import Met

TRACES_PER_PROTOCOL = 4
LONGEST_TRACE = 14
LONG_LIVES = 0.02  # what is bounded by a short trace would never be seen
LONG_LIFE = (30, 30, 210)
MOST_POSSIBILITIES = 300  # beyond, the reference takes its time, and the product has a limit
TRIES_FOR_A_FITTING_PAYLOAD = 6

KIND = {Ok: "ok", Violation: "violation", Blocked: "blocked", Unrecognized: "unrecognized"}


@dataclass
class Health:
    """What a campaign looked at."""

    flavour: str
    pairs: int = 0
    protocols: int = 0
    thrown_away: int = 0
    events: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    clauses: Counter[str] = field(default_factory=Counter)
    longest_accepted: int = 0
    sizes: int = 0
    largest: int = 0
    with_kind: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.made = tables_of(self.flavour)
        self.met = Met(self.flavour)

    def tables(self) -> Iterator[Census]:
        """What contracts were made of, and what sessions met."""
        yield from (table.census for table in self.made)
        yield from self.met.censuses()

    def share(self, counter: Counter[str], key: str) -> float:
        return counter[key] / max(1, counter.total())

    def sentence(self) -> str:
        share = {k: f"{v / self.protocols:.0%}" for k, v in sorted(self.with_kind.items())}
        return (
            f"differential, {self.flavour}: {self.pairs:,} pairs of {self.protocols:,} contracts "
            f"({self.thrown_away:,} ill-formed ones thrown away), mean size {self.sizes / self.protocols:.1f}, "
            f"largest {self.largest}, {share}; {self.events.total():,} events, "
            f"{self.share(self.events, 'ok'):.0%} accepted, {self.events['ambiguous']:,} ambiguous, "
            f"longest accepted run {self.longest_accepted}; "
            f"refused by {dict(self.clauses)}; closed {dict(self.outcomes)}"
        )

    def check_floors(self) -> None:
        """A generator that has gone stale is a failure, not a success."""
        assert self.share(self.events, "ok") > 0.4, self.sentence()
        assert self.events["violation"] > self.pairs * 0.1, self.sentence()
        assert self.events["blocked"] and self.events["unrecognized"] and self.events["ambiguous"], self.sentence()
        assert self.longest_accepted >= LONGEST_TRACE - 2, self.sentence()
        assert self.sizes / self.protocols > 5, self.sentence()
        for outcome in ("ok", "violation", "blocked", "unrecognized"):
            assert self.outcomes[outcome] > self.pairs * 0.001, self.sentence()
        for kind in ("Choice", "Recursion", "Interleaving"):
            assert self.with_kind[kind] > self.protocols * 0.1, self.sentence()
        if "rules" in self.flavour:
            assert self.clauses["rule"] > self.pairs * 0.1, self.sentence()
        if "data" in self.flavour:
            assert self.with_kind["clauses"] > self.protocols * 0.3, self.sentence()
            assert self.with_kind["gates"] > self.protocols * 0.05, self.sentence()
        assert self.thrown_away < self.protocols * 12, self.sentence()
        for table in self.made:
            table.census.check(2)
        for census in self.met.censuses():
            census.check(1)


def monitor_for(document: Document, rng: Random) -> Monitor:
    # Now and then hardly anything is remembered, so that forgetting is looked at too.
    limits = Limits(remembered_standings=rng.choice([1, 4])) if rng.random() < 0.2 else DEFAULT_LIMITS
    return Monitor(compile_document(document, limits), mode="refuse" if rng.random() < 0.5 else "halt")


def sharing(make_monitor):
    """Monitors of one document share their contract, as in real life: what one has met, the others find prepared."""
    contracts: dict[int, object] = {}

    def make(document: Document, rng: Random) -> Monitor:
        first = contracts.get(id(document))
        if first is None:
            contracts.clear()
            monitor = make_monitor(document, rng)
            contracts[id(document)] = monitor.contract
            return monitor
        return Monitor(first, mode="refuse" if rng.random() < 0.5 else "halt")

    return make


def random_contract(rng: Random, flavour: str) -> tuple[Document, int]:
    if flavour == "plain":
        body, thrown_away = random_protocol(rng)
        return Document((Declaration("P", body, is_open=is_open(body)),), Source("")), thrown_away
    return random_document(rng, data="data" in flavour, rules="rules" in flavour)


def answer(verdict) -> tuple[str, tuple[str, ...], str]:
    """What the reference can be asked too; what it cannot be asked is asked all the same, and must change nothing."""
    expected = tuple(verdict.expected) if isinstance(verdict, Violation | Unrecognized) else ()
    clause = ""
    if isinstance(verdict, Violation):
        clause = verdict.clause[6:-1] if verdict.clause.startswith("rule ") else "protocol"
        verdict.explain()  # it searches through what all sessions of a contract share
    return KIND[type(verdict)], expected, clause


@dataclass
class Telling:
    """One event as both engines are told it."""

    action: Action
    payload: dict | None
    by: str | None

    def tell(self, session):
        if self.action.direction == "!":
            return session.send(self.action.label, self.payload, to=self.action.partner)
        return session.receive(self.action.label, self.payload, sender=self.action.partner, by=self.by)

    def peek(self, monitor: Monitor) -> None:
        with suppress(UsageError):
            if self.action.direction == "!":
                monitor.peek_send(self.action.label, self.payload, to=self.action.partner)
            else:
                monitor.peek_receive(self.action.label, self.payload, sender=self.action.partner, by=self.by)

    def event(self) -> Event:
        return happening(self.action.direction, self.action.label, self.action.partner, self.payload, self.by)

    def __str__(self) -> str:
        return f"{semantics.word(self.action)} {self.payload} by {self.by}"


def lasting_telling(rng: Random, reference: semantics.Session, state, flavour: str, *, last: bool) -> Telling:
    """Something after which the session goes on, where a few tries find it; the last may be anything."""
    if last and rng.random() < 0.6:
        return Telling(rng.choice((random_action(rng), Action("!", "Unrecognized"))), None, None)
    for _ in range(TRIES_FOR_A_FITTING_PAYLOAD):
        telling = random_telling(rng, state, flavour)
        trial = copy(reference)
        with suppress(ValueError):
            if telling.tell(trial).kind == "ok" and (state is None or trial._course.moves()):
                break
    return telling


def random_telling(rng: Random, state, flavour: str) -> Telling:
    """Mostly something legal, with a payload that fits where one is found; sometimes anything."""
    legal = sorted(semantics.moves(state), key=semantics.word) if state is not None else []
    action = rng.choice(legal) if legal and rng.random() < 0.92 else random_action(rng)
    partner = action.partner if rng.random() < 0.7 else None  # leave the partner out where one is named
    bare = Action(action.direction, action.label, partner)
    if flavour == "plain":
        return Telling(bare, None, None)
    telling = Telling(bare, None, None)
    for _ in range(TRIES_FOR_A_FITTING_PAYLOAD):
        by = "ana" if bare.direction == "?" and rng.random() < 0.5 else None
        telling = Telling(bare, random_payload(rng), by)
        try:
            if state is None or rng.random() < 0.15 or advance(state, telling.event()):
                break
        except ValueError:
            break
    return telling


def reference_for(document: Document, mode: str) -> semantics.Session:
    if not document.declarations:
        return semantics.Session(None, mode, rules=document.rules)
    first = document.declarations[0]
    return semantics.Session(first.body, mode, rules=document.rules, is_open=first.is_open)


def compare(document: Document, rng: Random, health: Health, make_monitor=monitor_for) -> str | None:
    """Run one random trace on both engines; the first difference in words, or `None`."""
    monitor = make_monitor(document, rng)
    reference = reference_for(document, monitor.mode)
    state = semantics.start(document.declarations[0].body) if document.declarations else None
    told: list[str] = []
    accepted = 0

    def difference(what: str, mine: object, theirs: object) -> str:
        return f"{document!r} after {told}: {what}: accord {mine}, reference {theirs}"

    lasting = rng.random() < LONG_LIVES
    for left in reversed(range(rng.choice(LONG_LIFE) if lasting else rng.randint(1, LONGEST_TRACE))):
        over = state is not None and not semantics.moves(state)
        many = state is not None and len(state) > MOST_POSSIBILITIES
        if many or ((over or reference._final == "violated") and rng.random() < 0.7):
            break  # little to be learnt from a session that is over
        if lasting:
            telling = lasting_telling(rng, reference, state, health.flavour, last=not left)
        else:
            telling = random_telling(rng, state, health.flavour)
        if telling.payload and rng.random() < 0.08:
            telling.payload[rng.choice(list(telling.payload))] = rng.choice(NO_JSON)
        told.append(str(telling))
        mine = theirs = None
        with suppress(ValueError):
            theirs = telling.tell(reference)
        with suppress(UsageError):
            mine = telling.tell(monitor)
        if theirs is None or mine is None:
            health.events["ambiguous"] += 1
            if theirs is not mine:
                return difference("usage error", mine is None, theirs is None)
            continue
        health.events[theirs.kind] += 1
        if theirs.kind == "violation":
            health.clauses["protocol" if theirs.clause == "protocol" else "rule"] += 1
        health.met.event(document, state, telling.event(), theirs.kind, theirs.clause)
        if theirs.kind == "ok":
            accepted += 1
            if state is not None and reference._course.names(telling.event()):
                state = advance(state, telling.event())
        if answer(mine) != (theirs.kind, theirs.expected, theirs.clause):
            return difference("verdict", answer(mine), theirs)
        if lasting and rng.random() < 0.8:
            continue  # for what follows, the reference goes through the whole history
        if (monitor.status, monitor.allowed()) != (reference.status, reference.allowed()):
            return difference("status", (monitor.status, monitor.allowed()), (reference.status, reference.allowed()))
        if rng.random() < 0.2:  # asking changes nothing, not even what is prepared
            random_telling(rng, state, health.flavour).peek(monitor)
        if rng.random() < 0.1:
            monitor = Monitor.restore(monitor.contract, monitor.snapshot())
    mine, theirs = monitor.close(), reference.close()
    health.outcomes[theirs.kind] += 1
    health.met.closed(document, accepted, theirs.kind, theirs.clause)
    health.longest_accepted = max(health.longest_accepted, accepted)
    if (answer(mine), monitor.status) != ((theirs.kind, theirs.expected, theirs.clause), reference.status):
        return difference("closing", answer(mine), theirs)
    return None


def look_at(document: Document, health: Health) -> None:
    """Count what the contract is made of."""
    health.protocols += 1
    for table in health.made:
        table.census.add(table.cells(document))
    measure = 0
    for declaration in document.declarations:
        body = declaration.body
        measure += size(body)
        for kind in kinds(body) & {Choice, Recursion, Interleaving}:
            health.with_kind[kind.__name__] += 1
        actions = [node for node in nodes(body) if isinstance(node, Action)]
        health.with_kind["clauses"] += any(action.clauses for action in actions)
        health.with_kind["gates"] += any(action.gated for action in actions)
    health.with_kind["rules"] += bool(document.rules)
    measure += 4 * len(document.rules)
    health.sizes += measure
    health.largest = max(health.largest, measure)


def nodes(body):
    todo = [body]
    while todo:
        node = todo.pop()
        yield node
        todo += node.children()


def campaign(seed: int, pairs: int, make_monitor=monitor_for, flavour: str = "plain") -> tuple[Health, str | None]:
    """Compare that many pairs; stop at the first difference."""
    rng = Random(f"{flavour} {seed}")
    health = Health(flavour)
    make_monitor = sharing(make_monitor)
    while health.pairs < pairs:
        document, thrown_away = random_contract(rng, flavour)
        health.thrown_away += thrown_away
        look_at(document, health)
        for _ in range(TRACES_PER_PROTOCOL):
            health.pairs += 1
            found = compare(document, rng, health, make_monitor)
            if found is not None:
                return health, found
    return health, None
