"""The reference semantics and the product, held against each other on random protocols and traces.

`compare` runs one trace on both and returns the first difference. `campaign` runs many, from a seed, and reports what
it looked at: a campaign that only ever looked at refused events would find nothing and prove nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random

from accord import Monitor, UsageError, semantics
from accord.diagnostics import Source
from accord.language.tree import Choice, Declaration, Document, Interleaving, Recursion
from accord.machine import compile_document
from accord.monitor.verdicts import Blocked, Ok, Unrecognized, Violation
from tests.properties.generate import kinds, random_event, random_protocol, size

TRACES_PER_PROTOCOL = 5
LONGEST_TRACE = 14

KIND = {Ok: "ok", Violation: "violation", Blocked: "blocked", Unrecognized: "unrecognized"}


@dataclass
class Health:
    """What a campaign looked at."""

    pairs: int = 0
    protocols: int = 0
    thrown_away: int = 0
    events: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    longest_accepted: int = 0
    sizes: int = 0
    largest: int = 0
    with_kind: Counter[str] = field(default_factory=Counter)

    def add(self, other: Health) -> None:
        for name in ("pairs", "protocols", "thrown_away", "sizes"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.events += other.events
        self.outcomes += other.outcomes
        self.with_kind += other.with_kind
        self.longest_accepted = max(self.longest_accepted, other.longest_accepted)
        self.largest = max(self.largest, other.largest)

    def share(self, counter: Counter[str], key: str) -> float:
        return counter[key] / max(1, counter.total())

    def sentence(self) -> str:
        share = {k: f"{v / self.protocols:.0%}" for k, v in sorted(self.with_kind.items())}
        return (
            f"differential: {self.pairs:,} pairs of {self.protocols:,} protocols "
            f"({self.thrown_away:,} ill-formed ones thrown away), mean size {self.sizes / self.protocols:.1f}, "
            f"largest {self.largest}, {share}; {self.events.total():,} events, "
            f"{self.share(self.events, 'ok'):.0%} accepted, longest accepted run {self.longest_accepted}; "
            f"closed {dict(self.outcomes)}"
        )

    def check_floors(self) -> None:
        """A generator that has gone stale is a failure, not a success."""
        assert self.share(self.events, "ok") > 0.5, self.sentence()
        assert self.events["violation"] > self.pairs * 0.1, self.sentence()
        assert self.events["blocked"] and self.events["unrecognized"], self.sentence()
        assert self.longest_accepted == LONGEST_TRACE, self.sentence()
        assert self.sizes / self.protocols > 5, self.sentence()
        for outcome in ("ok", "violation", "blocked", "unrecognized"):
            assert self.outcomes[outcome] > self.pairs * 0.001, self.sentence()
        for kind in ("Choice", "Recursion", "Interleaving"):
            assert self.with_kind[kind] > self.protocols * 0.1, self.sentence()
        assert self.thrown_away < self.protocols * 3, self.sentence()


def monitor_for(body, rng: Random) -> Monitor:
    contract = compile_document(Document((Declaration(None, body),), Source("")))
    return Monitor(contract, mode="refuse" if rng.random() < 0.5 else "halt")


def answer(verdict) -> tuple[str, tuple[str, ...]]:
    expected = tuple(verdict.expected) if isinstance(verdict, Violation | Unrecognized) else ()
    return KIND[type(verdict)], expected


def compare(body, rng: Random, health: Health, make_monitor=monitor_for) -> str | None:
    """Run one random trace on both engines; the first difference in words, or `None`."""
    monitor = make_monitor(body, rng)
    reference = semantics.Session(body, monitor.mode)
    state = semantics.start(body)
    told: list[str] = []
    accepted = 0
    for _ in range(rng.randint(1, LONGEST_TRACE)):
        legal = sorted(semantics.moves(state), key=semantics.word)
        if (not legal or reference.status == "violated") and rng.random() < 0.7:
            break  # little to be learnt from a session that is over
        event = random_event(rng, legal)
        if rng.random() < 0.3:  # leave the partner out where one is named
            event = type(event)(event.direction, event.label)
        told.append(semantics.word(event))
        mine = theirs = None
        try:
            if event.direction == "!":
                theirs = reference.send(event.label, to=event.partner)
            else:
                theirs = reference.receive(event.label, sender=event.partner)
        except ValueError:
            pass
        try:
            if event.direction == "!":
                mine = monitor.send(event.label, to=event.partner)
            else:
                mine = monitor.receive(event.label, sender=event.partner)
        except UsageError:
            pass
        if theirs is None or mine is None:
            health.events["ambiguous"] += 1
            if theirs is not mine:
                return f"{body!r} after {told}: usage error here {mine is None}, reference {theirs is None}"
            continue
        health.events[theirs.kind] += 1
        if theirs.kind == "ok":
            accepted += 1
            state = semantics.step(state, event.direction, event.label, event.partner)
        if answer(mine) != (theirs.kind, theirs.expected):
            return f"{body!r} after {told}: accord {answer(mine)}, reference {theirs}"
        if (monitor.status, monitor.allowed()) != (reference.status, reference.allowed()):
            return (
                f"{body!r} after {told}: accord {monitor.status} {monitor.allowed()}, "
                f"reference {reference.status} {reference.allowed()}"
            )
        if rng.random() < 0.1:
            monitor = Monitor.restore(monitor.contract, monitor.snapshot())
    mine, theirs = monitor.close(), reference.close()
    health.outcomes[theirs.kind] += 1
    health.longest_accepted = max(health.longest_accepted, accepted)
    if (answer(mine), monitor.status) != ((theirs.kind, theirs.expected), reference.status):
        return f"{body!r} after {told}, closing: accord {answer(mine)}, reference {theirs}"
    return None


def campaign(seed: int, pairs: int, make_monitor=monitor_for) -> tuple[Health, str | None]:
    """Compare that many pairs; stop at the first difference."""
    rng = Random(seed)
    health = Health()
    while health.pairs < pairs:
        body, thrown_away = random_protocol(rng)
        health.protocols += 1
        health.thrown_away += thrown_away
        health.sizes += size(body)
        health.largest = max(health.largest, size(body))
        for kind in kinds(body) & {Choice, Recursion, Interleaving}:
            health.with_kind[kind.__name__] += 1
        for _ in range(TRACES_PER_PROTOCOL):
            health.pairs += 1
            difference = compare(body, rng, health, make_monitor)
            if difference is not None:
                return health, difference
    return health, None
