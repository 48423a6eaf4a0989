"""Short lives in which everything breaks: stores, clocks, programs that are interrupted, messages that come twice.

Two guards share a session, each with a store that fails at random. Nothing is expected of the single answer, but that
it is one. What must hold is in `truth`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from random import Random
from typing import Any

from accord import Guard, MemoryStore, NotDone, ToolCall, UsageError
from accord.errors import AccordError
from accord.stores.store import Store
from accord.testing import Fault, FaultyStore
from tests.census import Census
from tests.lives.truth import BrokenError, Effect, check, guard_of

STORE = tuple(fault.name.lower().replace("_", " ") for fault in Fault if fault is not Fault.NONE)
IN_TOOLS = {
    "raises": TimeoutError("no answer"), "was not begun": NotDone("not now"), "is interrupted": KeyboardInterrupt(),
    "is cancelled": asyncio.CancelledError(),
}  # fmt: skip
"""How tools end that do not return."""
MOMENTS = ("before it has done it", "when it has done it")
OTHERS = ("clock goes on", "clock goes back", "twice", "late", "another guard")
FAULTS = (*STORE, *(f"{how} {moment}" for how in IN_TOOLS for moment in MOMENTS), *OTHERS)
ACTS = ("run", "reserve", "start", "settle", "fail", "keep", "decide")
NEVER = {
    **{
        (f"{how} {moment}", act): "no tool runs in it" for how in IN_TOOLS for moment in MOMENTS for act in ACTS[1:]
    },
    ("was not begun when it has done it", "*"): "that would be a lie",
    **{("late", act): "nobody asks for what is over" for act in ("run", "reserve")},
}  # fmt: skip


NO_ANSWER = (KeyboardInterrupt, asyncio.CancelledError, AccordError, ZeroDivisionError)
"""What whoever asked has instead of an answer."""


def table() -> Census:
    return Census("injected faults", FAULTS, ACTS, NEVER)


class BrokenLife:
    """One session, two guards that share it, and a world in which things break."""

    def __init__(self, rng: Random, seen: Census, inner: Store | None = None, key: str = "s") -> None:
        self.rng, self.seen, self.key = rng, seen, key
        self.inner = inner or MemoryStore()
        self.now = 0.0
        self.effects: list[Effect] = []
        self.known: list[ToolCall] = []
        self.tickets: list[str] = []
        self.ids = 0
        self.faults = 0
        self.act = ""
        self.running: str | None = None
        self.guards = [self.open(), self.open()]
        self.last = self.guards[0]

    def open(self) -> Guard:
        return guard_of(FaultyStore(self.inner, self.plan()), self.key, lambda: self.now, self.work, review_lasts=50)

    def plan(self) -> Any:
        """What goes wrong with a store, operation by operation."""
        faults = [fault for fault in Fault if fault is not Fault.NONE]
        while True:
            fault = self.rng.choice(faults) if self.act and self.rng.random() < 0.18 else Fault.NONE
            if fault is not Fault.NONE:
                self.note(fault.name.lower().replace("_", " "))
            yield fault

    def note(self, fault: str) -> None:
        self.faults += fault != "another guard"  # which is no fault, but has to be there
        self.seen.add([(fault, self.act)])

    # -- tools ---------------------------------------------------------------------------------------------------------

    def work(self, tool: str, order: int, amount: int) -> dict[str, Any]:
        """A tool; it may fail before or after it has done what it is for."""
        rng = self.rng
        asked = (call for call in self.asked if (call.name, call.arguments["order"]) == (tool, order))
        effect = Effect(tool, next(asked).id, order, amount, rng.random() < 0.9)
        moment = rng.choice(MOMENTS) if rng.random() < 0.25 else None
        how = rng.choice([how for how in IN_TOOLS if moment == MOMENTS[0] or how != "was not begun"])
        if moment is not MOMENTS[0]:
            self.effects.append(effect)
        if moment is not None:
            self.note(f"{how} {moment}")
            raise IN_TOOLS[how]
        return {"ok": effect.ok}

    def batch(self) -> list[ToolCall]:
        """Calls that differ in what they are about, so that it can be told whose effect is whose."""
        rng = self.rng
        calls: dict[tuple[str, int], ToolCall] = {}
        for _ in range(rng.choice((1, 1, 2, 3))):
            order = rng.randrange(4)
            tool = rng.choice(("verify", "pay"))
            arguments = {"order": order} if tool == "verify" else {"order": order, "amount": rng.choice((5, 200, 200))}
            self.ids += 1
            call = ToolCall(tool, arguments, f"{tool}{self.ids}")
            if self.known and rng.random() < 0.3:
                call = rng.choice(self.known)
                self.note("twice")
            calls[call.name, call.arguments["order"]] = call
        self.known = [*self.known, *calls.values()][-12:]
        return list({call.id: call for call in calls.values()}.values())

    # -- living --------------------------------------------------------------------------------------------------------

    def live(self, steps: int) -> None:
        for _ in range(steps):
            self.act = self.rng.choices(ACTS, (8, 3, 3, 3, 3, 3, 5))[0]
            self.disturb()
            guard = self.rng.choice(self.guards)
            if guard is not self.last:
                self.note("another guard")
            self.last = guard
            if self.rng.random() < 0.02:
                self.guards[self.rng.randrange(2)] = self.open()
            self.asked: list[ToolCall] = []
            with suppress(*NO_ANSWER):
                self.step(guard)
            if self.rng.random() < 0.1:
                self.act = ""
                check(self.inner, self.key, self.effects, self.now, ended=False)

    def disturb(self) -> None:
        dice = self.rng.random()
        if dice < 0.06:
            self.now += self.rng.choice((1, 30, 200))
            self.note("clock goes on")
        elif dice < 0.12:
            self.now -= self.rng.choice((1, 30, 200))
            self.note("clock goes back")
        else:
            self.now += 0.5

    def step(self, guard: Guard) -> None:
        rng, act = self.rng, self.act
        if act == "run":
            self.asked = self.batch()
            self.told(guard.run(self.asked))
        elif act == "reserve":
            calls = self.batch()
            self.tickets += [d.ticket for d in guard.reserve(calls) if d.ticket is not None]
            self.tickets = self.tickets[-12:]
        elif act == "decide":
            self.decide(guard)
        elif self.tickets:
            ticket = rng.choice(self.tickets)
            known = {out.ticket: out for out in guard.out()}
            if ticket not in known:
                self.note("late")
            self.end(guard, act, ticket, known.get(ticket))
            if rng.random() < 0.3:
                self.note("twice")
                self.end(rng.choice(self.guards), act, ticket, None)

    def end(self, guard: Guard, act: str, ticket: str, out: Any) -> None:
        """Whoever runs a reserved call begins it, or tells what became of it; it tells the truth."""
        if act == "start":
            if guard.start(ticket) and out is not None and self.rng.random() < 0.9:
                # It is run here and now; what became of it is told later, by this one or by another.
                arguments = dict(out.arguments)
                self.effects.append(Effect(out.name, ticket, arguments["order"], arguments.get("amount", 0), ok=False))
            return
        really = sum(effect.id == ticket for effect in self.effects)
        happened = really > 0
        if act == "settle" and happened:
            guard.settle(ticket, {"ok": False})
        elif act == "keep" and happened:
            guard.keep(ticket, "it has happened")
        elif act == "fail":
            guard.fail(ticket, TimeoutError("no answer") if happened else NotDone("it was not begun"))

    def decide(self, guard: Guard) -> None:
        reviews = [review for review in guard.reviews() if review.call is None]
        if not reviews:
            return
        review = self.rng.choice(reviews)
        answer = self.rng.choice(("allow", "allow", "allow", "deny"))
        guard.decide(review.id, answer, by="ana")
        self.note("twice")
        try:
            self.rng.choice(self.guards).decide(review.id, self.rng.choice(("allow", "deny")), by="bob")
        except UsageError:
            self.note("late")
        else:
            raise BrokenError(f"{review} was decided twice")

    def told(self, results: list[Any]) -> None:
        """What a model was told: what it was told to have run has run."""
        for result in results:
            if result.ok and not any(effect.id == result.tool_call_id for effect in self.effects):
                raise BrokenError(f"{result} is told, and nothing has happened")


def campaign(seed: str, faults: int, seen: Census, most_steps: int = 100) -> tuple[int, Counter[str], str | None]:
    """Lives until so many faults were met; the first of them that is broken."""
    rng, met, ended = Random(f"broken {seed}"), 0, Counter[str]()
    while met < faults or (seen.lacking(1) and met < 2 * faults):
        number = rng.randrange(10**9)
        life = BrokenLife(Random(number), seen)
        try:
            life.live(most_steps)
            life.act = ""
            ended[check(life.inner, life.key, life.effects, max(life.now, 10.0**6), ended=True)] += 1
        except BrokenError as broken:
            return met, ended, f"life {number}: {broken}"
        met += life.faults
    return met, ended, None
