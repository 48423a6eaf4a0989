"""The reference semantics and the product over time and over slices, held against each other.

`compare` runs one random trace with times and keys on the reference and on another engine that is used like a
`Monitor`, and returns the first difference. `campaign` runs many and reports what it looked at. A `Mirror` is the
reference itself behind that interface: with it a campaign finds nothing, and with a bug planted in it, it must.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from random import Random

from accord import Monitor, UsageError, semantics
from accord.language.rules import Within
from accord.language.tree import Action, Document
from accord.machine import compile_document
from accord.monitor.verdicts import Blocked, Ok, Unrecognized, Violation
from accord.semantics.data import happening
from accord.semantics.rules import deadlines, owes
from accord.semantics.slices import key_of
from tests.census import Census
from tests.properties.generate import random_action
from tests.properties.generate_time import (
    KEYS,
    is_timed,
    random_contract_over_time,
    random_keyed_payload,
    random_time,
)
from tests.properties.made import tables_of
from tests.properties.met import MetOverTime

TRACES_PER_CONTRACT = 3
LONGEST_TRACE = 16
# What is bounded by a short trace would never be seen. Few contracts with deadlines last; slices do, and take time.
LONG_LIVES = {"time": 0.04, "slices": 0.016, "slices time": 0.016}
LONG_LIFE = (40, 140, 140)
MOST_POSSIBILITIES = 300  # beyond, the reference takes its time, and the product has a limit
TRIES_FOR_A_FITTING_PAYLOAD = 6

KIND = {Ok: "ok", Violation: "violation", Blocked: "blocked", Unrecognized: "unrecognized"}

# Each of these must have happened at least in this share of the pairs.
FLOORS = {
    "time": {
        "a protocol was late": 0.2,
        "an event came late": 0.1,
        "several deadlines passed at once": 0.01,
        "at the moment it was due": 0.1,
        "a rule was late": 0.05,
        "several rules were late": 0.001,
        "late at closing": 0.005,
        "open at closing": 0.01,
        "misuse": 0.05,
    },
    "slices": {
        "several keys": 0.1,
        "a tombstone": 0.02,
        "no key": 0.05,
        "the key of the call": 0.02,
        "a key written in another way": 0.02,
        "an event that passes": 0.02,
        "a new instance was refused": 0.02,
        "an instance had nothing left to remember": 0.01,
    },
}


@dataclass
class Health:
    """What a campaign looked at."""

    flavour: str
    pairs: int = 0
    contracts: int = 0
    thrown_away: int = 0
    events: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    happened: Counter[str] = field(default_factory=Counter)
    longest_accepted: int = 0

    def __post_init__(self) -> None:
        self.made = tables_of(self.flavour)
        self.met = MetOverTime(self.flavour)

    def tables(self) -> Iterator[Census]:
        """What contracts were made of, and what sessions met."""
        yield from (table.census for table in self.made)
        yield from self.met.censuses()

    def sentence(self) -> str:
        return (
            f"differential over time, {self.flavour}: {self.pairs:,} pairs of {self.contracts:,} contracts "
            f"({self.thrown_away:,} thrown away); {self.events.total():,} events {dict(self.events)}, "
            f"longest accepted run {self.longest_accepted}; {dict(sorted(self.happened.items()))}; "
            f"closed {dict(self.outcomes)}"
        )

    def check_floors(self) -> None:
        """A generator that has gone stale is a failure, not a success."""
        assert self.events["ok"] > self.events.total() * 0.35, self.sentence()
        assert self.events["violation"] > self.pairs * 0.2, self.sentence()
        assert self.events["blocked"] and self.events["unrecognized"], self.sentence()
        assert self.longest_accepted >= LONGEST_TRACE - 4, self.sentence()
        for outcome in ("ok", "violation", "blocked"):
            assert self.outcomes[outcome] > self.pairs * 0.01, self.sentence()
        for name, floors in FLOORS.items():
            for what, share in floors.items() if name in self.flavour else ():
                assert self.happened[what] > self.pairs * share, f"{what}: {self.sentence()}"
        if self.flavour == "slices time":
            assert self.happened["late in one of several instances"] > self.pairs * 0.01, self.sentence()
        assert self.thrown_away < self.contracts * 30, self.sentence()
        for census in self.tables():
            census.check(1)


# -- the other engine --------------------------------------------------------------------------------------------------


def reference_of(document: Document, mode: str, at: float | None) -> semantics.Session:
    first = document.declarations[0] if document.declarations else None
    body, each, is_open = (first.body, first.each, first.is_open) if first else (None, None, False)
    return semantics.Session(body, mode, rules=document.rules, each=each, at=at, is_open=is_open)


class Mirror:
    """The reference, used like a monitor."""

    def __init__(self, document: Document, mode: str, at: float | None) -> None:
        self.session = reference_of(document, mode, at)

    def __getattr__(self, name: str):
        return getattr(self.session, name)

    def peek_send(self, *event, **more):
        return copy(self.session).send(*event, **more)

    def peek_receive(self, *event, **more):
        return copy(self.session).receive(*event, **more)


class Product:
    """The monitor, with a contract that all sessions of one document share."""

    def __init__(self) -> None:
        self.document: Document | None = None

    def __call__(self, document: Document, mode: str, at: float | None) -> Monitor:
        if self.document is not document:
            self.document, self.contract = document, compile_document(document)
        return Monitor(self.contract, mode=mode, **({} if at is None else {"at": at}))


def restored(engine):
    """The engine put to rest and restored; a mirror stays as it is."""
    return Monitor.restore(engine.contract, engine.snapshot()) if isinstance(engine, Monitor) else engine


def answer(verdict) -> tuple[str, tuple[str, ...], str]:
    """Kind, expected words and clause, from either engine."""
    if isinstance(verdict, semantics.Verdict):
        return verdict.kind, verdict.expected, verdict.clause
    expected = tuple(verdict.expected) if isinstance(verdict, Violation | Unrecognized) else ()
    clause = ""
    if isinstance(verdict, Violation):
        clause = verdict.clause[6:-1] if verdict.clause.startswith("rule ") else "protocol"
    return KIND[type(verdict)], expected, clause


# -- what happens ------------------------------------------------------------------------------------------------------


@dataclass
class Telling:
    """One event as both engines are told it."""

    action: Action
    payload: dict
    by: str | None
    at: float | None

    def tell(self, session, *, peek: bool = False):
        """The answer of a session; `None` for a usage error."""
        when = {} if self.at is None else {"at": self.at}
        prefix = "peek_" if peek else ""
        try:
            if self.action.direction == "!":
                send = getattr(session, f"{prefix}send")
                return answer(send(self.action.label, self.payload, to=self.action.partner, **when))
            receive = getattr(session, f"{prefix}receive")
            return answer(receive(self.action.label, self.payload, sender=self.action.partner, by=self.by, **when))
        except (UsageError, semantics.Misuse):
            return None

    def event(self):
        at = 0 if self.at is None else self.at
        return happening(self.action.direction, self.action.label, self.action.partner, self.payload, self.by, at)

    def __str__(self) -> str:
        return f"@{self.at} {semantics.word(self.action)} {self.payload} by {self.by}"


def timing(at: float | None, act):
    """What `tick` or `close` answers; `None` for a usage error."""
    try:
        return answer(act(at) if at is not None else act())
    except (UsageError, semantics.Misuse):
        return None


def random_telling(rng: Random, course, at: float | None) -> Telling:
    """Mostly something legal for some key, with a payload that fits where one is found; sometimes anything."""
    key = rng.choice(KEYS)
    telling = Telling(random_action(rng), {}, None, at)
    legal: list[Action] = []
    for _ in range(TRIES_FOR_A_FITTING_PAYLOAD):
        key = rng.choice(KEYS)
        aged = None if course is None else course.aged(0 if at is None else at)
        if aged is not None:
            probe = happening("!", "a", payload={"k": key, "o": {"k": key}})
            legal = sorted(aged.moves(probe), key=semantics.word)
        action = rng.choice(legal) if legal and rng.random() < 0.9 else random_action(rng)
        partner = action.partner if rng.random() < 0.8 else None
        by = "ana" if action.direction == "?" and rng.random() < 0.5 else None
        bare = Action(action.direction, action.label, partner)
        telling = Telling(bare, random_keyed_payload(rng, action.direction, key), by, at)
        try:
            if aged is None or rng.random() < 0.25 or aged.after(telling.event()) is not None:
                break
        except semantics.Misuse:
            break
    return telling


# -- looking on --------------------------------------------------------------------------------------------------------


class Witness:
    """Counts what happens to the reference; it looks inside, and changes nothing."""

    def __init__(self, document: Document, reference: semantics.Session, health: Health) -> None:
        self.reference = reference
        self.happened = health.happened
        self.rules = [rule for rule in document.rules if rule.each is not None]

    def before(self, at: float) -> None:
        """Time is about to pass."""
        reference = self.reference
        if reference._final is not None or not reference._timed or reference._clock is None:
            return
        due = reference.next_due()
        self.happened["at the moment it was due"] += due == at
        course, aged = reference._course, reference._aged(at)
        if course is not None and aged != course:
            self.happened["a protocol was late"] += 1
            between = course.next_due()
            self.happened["several deadlines passed at once"] += course.aged(between + 0.001) != aged
            late = sum(aged.states[key] != course.states[key] for key in course.states)
            self.happened["late in one of several instances"] += late < len(course.states)
        missed = reference._missed(at)
        self.happened["a rule was late"] += bool(missed)
        self.happened["several rules were late"] += len(missed) > 1

    def event(self, telling: Telling) -> None:
        """An event is about to be told."""
        course = self.reference._course
        clock = self.reference._clock
        if self.reference._timed and (telling.at is None or (clock is not None and telling.at < clock)):
            return
        if course is not None and self.reference._timed and clock is not None:
            self.happened["an event came late"] += course.aged(telling.at) != course
        if course is None or course.each is None:
            return
        event = telling.event()
        if not course.names(event):
            self.happened["an event that passes"] += course.is_open
            return
        key = key_of(event, course.each)
        self.happened["no key"] += key is None
        if key is None:
            return
        self.happened["several keys"] += len(course.states) > 1
        self.happened["the key of the call"] += "call" in telling.payload
        self.happened["a key written in another way"] += any(k == key and repr(k) != repr(key) for k in course.states)
        tombstone = key in course.states and not semantics.moves(course.states[key])
        self.happened["a tombstone"] += tombstone

    def told(self, telling: Telling, verdict) -> None:
        """An event has been told."""
        course = self.reference._course
        if verdict is not None and verdict[0] == "violation" and course is not None and course.each is not None:
            key = key_of(telling.event(), course.each)
            self.happened["a new instance was refused"] += key is not None and key not in course.states

    def closing(self, at: float) -> None:
        """The session is about to be closed."""
        if self.reference._final != "violated" and self.reference._clock is not None:
            self.happened["late at closing"] += bool(self.reference._missed(at))
            dues = [due for rule in self.reference._rules for due in deadlines(rule, self.reference._history)]
            self.happened["open at closing"] += any(due >= at for due in dues)

    def after(self, owed: set) -> set:
        """Something has happened: which instances of rules owe something now, where these did before."""
        history = self.reference._history
        owing = {
            (rule.name, key)
            for rule in self.rules
            for key in {key_of(event, rule.each) for event in history} - {None}
            if owes_for(rule, key, history, self.reference._clock or 0)
        }
        self.happened["an instance had nothing left to remember"] += bool(owed - owing)
        return owing


def owes_for(rule, key, history, now: float) -> bool:
    mine = tuple(event for event in history if key_of(event, rule.each) == key)
    return owes(rule, mine, now) if not isinstance(rule.body, Within) else any(d >= now for d in deadlines(rule, mine))


# -- the comparison ----------------------------------------------------------------------------------------------------


class Pair:
    """One session, on the reference and on another engine."""

    def __init__(self, document: Document, rng: Random, health: Health, make) -> None:
        self.rng, self.health = rng, health
        self.document, self.timed = document, is_timed(document)
        self.now = float(rng.randint(0, 3))
        mode, at = rng.choice(("halt", "refuse")), self.now if rng.random() < 0.5 else None
        self.title = f"{document!r} {mode} at {at}"
        self.told: list[str] = []
        self.reference, self.other = reference_of(document, mode, at), make(document, mode, at)
        self.witness = Witness(document, self.reference, health)
        self.owed: set = set()
        self.accepted = 0
        self.lasting = False

    def difference(self, what: str, mine: object, theirs: object) -> str:
        return f"{self.title} after {self.told}: {what}: accord {mine}, reference {theirs}"

    def time(self) -> float | None:
        """The time of the next attempt; a contract that does not care is sometimes told one too."""
        if not self.timed and self.rng.random() < 0.7:
            return None
        if self.timed and self.rng.random() < 0.04:  # a misuse
            return None if self.rng.random() < 0.5 else self.now - 0.25
        return random_time(self.rng, self.now, self.reference.next_due())

    def telling(self, at: float | None) -> Telling:
        """What is told next; where the session is to last, something after which it goes on."""
        for _ in range(TRIES_FOR_A_FITTING_PAYLOAD):
            telling = random_telling(self.rng, self.reference._course, at)
            trial = copy(self.reference)
            answered = telling.tell(trial) if self.lasting else None
            if not self.lasting or (
                answered and answered[0] == "ok" and (trial._course is None or trial._course.moves())
            ):
                break
        return telling

    def step(self) -> str | None:
        """Something happens on both; the difference in words, if there is one."""
        at = self.time()
        if at is not None and at >= self.now:
            self.witness.before(at)
        if self.reference._course is not None and self.reference._final is None:
            self.health.met.waiting(
                self.document, self.reference._course.states.values(), self.now if at is None else at
            )
        if at is not None and self.rng.random() < 0.15:
            self.told.append(f"@{at} tick")
            theirs, mine = timing(at, self.reference.tick), timing(at, self.other.tick)
        else:
            telling = self.telling(at)
            self.told.append(str(telling))
            self.witness.event(telling)
            self.health.met.event(self.document, telling.action.direction, telling.action.label, telling.payload)
            foretold = telling.tell(self.other, peek=True) if self.rng.random() < 0.2 else ...
            theirs, mine = telling.tell(self.reference), telling.tell(self.other)
            if foretold not in (..., mine):
                return self.difference("foretold", foretold, mine)
            self.accepted += theirs is not None and theirs[0] == "ok"
            self.witness.told(telling, theirs)
        if theirs != mine:
            return self.difference("verdict", mine, theirs)
        self.health.events[theirs[0] if theirs else "misuse"] += 1
        self.health.happened["misuse"] += theirs is None
        if theirs is not None and at is not None and self.timed:
            self.now = max(self.now, at)
        if not self.lasting:  # it goes through the whole history
            self.owed = self.witness.after(self.owed)
        return self.standing()

    def standing(self) -> str | None:
        """Whether both stand alike; now and then the other is put to rest and restored."""
        if self.lasting and self.rng.random() < 0.8:
            return None  # the reference goes through the whole history for it
        mine = self.other.status, list(self.other.allowed()), self.other.next_due()
        theirs = self.reference.status, self.reference.allowed(), self.reference.next_due()
        if mine != theirs:
            return self.difference("standing", mine, theirs)
        if self.rng.random() < 0.1:
            self.other = restored(self.other)
        return None

    def close(self) -> str | None:
        at = random_time(self.rng, self.now, self.reference.next_due()) if self.timed else None
        if at is not None:
            self.witness.closing(at)
        theirs, mine = timing(at, self.reference.close), timing(at, self.other.close)
        self.health.outcomes[theirs[0] if theirs else "misuse"] += 1
        self.health.met.closed(self.accepted)
        self.health.longest_accepted = max(self.health.longest_accepted, self.accepted)
        if theirs != mine:
            return self.difference("closing", mine, theirs)
        return self.standing()


def compare(document: Document, rng: Random, health: Health, make) -> str | None:
    """Run one random trace on both engines; the first difference in words, or `None`."""
    pair = Pair(document, rng, health, make)
    pair.lasting = rng.random() < LONG_LIVES.get(health.flavour, 0)
    for _ in range(rng.choice(LONG_LIFE) if pair.lasting else rng.randint(1, LONGEST_TRACE)):
        if pair.reference._final == "violated" and rng.random() < 0.7:
            break  # little to be learnt from a session that is over
        course = pair.reference._course
        if course is not None and any(len(state) > MOST_POSSIBILITIES for state in course.states.values()):
            break
        found = pair.step()
        if found is not None:
            return found
    return pair.close()


def campaign(seed: int, pairs: int, make, flavour: str, *, fill: bool = False) -> tuple[Health, str | None]:
    """Compare that many pairs; stop at the first difference.

    To `fill` the tables it goes on for a while where something rare has not been met yet.
    """
    rng = Random(f"{flavour} {seed}")
    health = Health(flavour)
    while health.pairs < pairs or (
        fill and health.pairs < 2 * pairs and any(census.lacking(1) for census in health.tables())
    ):
        document, thrown_away = random_contract_over_time(rng, flavour)
        health.contracts += 1
        for table in health.made:
            table.census.add(table.cells(document))
        health.thrown_away += thrown_away
        for _ in range(TRACES_PER_CONTRACT):
            health.pairs += 1
            found = compare(document, rng, health, make)
            if found is not None:
                return health, found
    return health, None
