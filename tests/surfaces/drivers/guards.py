"""`Guard`: its own loop over tools, the same in an event loop, and reserving by hand; in memory or in a store.

The tools do what the run says. In `run` a tool is called in the middle of the run, so it first lets happen what comes
before its own end; in `arun` each waits for a future that the driver fulfils when the run comes to it.
"""

from __future__ import annotations

import asyncio
import inspect
from functools import partial

from accord import Guard, UsageError
from accord.machine.contract import Contract
from tests.surfaces.contracts import GATE, SIGN, STRANGER, TOOLS
from tests.surfaces.drivers.told import Ear, as_call, error_of, finding_of, is_ok, message_at, questions_of
from tests.surfaces.happenings import ENDS, Finding, Outcome, Run, call_of, in_order

__all__ = ["by_arun", "by_hand", "by_run"]

DECLARED = {"events": [SIGN, GATE]} if "events" in inspect.signature(Guard).parameters else {}
"""What the program reports."""


class Guarded:
    """A guard, and the run it is played."""

    def __init__(self, contract: Contract, run: Run, tool, **options) -> None:
        self.run, self.ear, self.at = run, Ear(), 0
        names = {*TOOLS, STRANGER, *(one.name for one in run if one.kind == "call")}
        self.new_guard = partial(
            Guard, contract, tools=dict.fromkeys(names, tool), clock=lambda: self.now, patience=10_000,
            observers=[self.ear], **DECLARED, **options,
        )  # fmt: skip
        self.own, self.is_stored = self.new_guard(), "store" in options

    @property
    def guard(self) -> Guard:
        """The guard; of a session in a store another one each time, as if each step were made by another process."""
        return self.new_guard() if self.is_stored else self.own

    @property
    def now(self) -> float:
        return self.run[min(self.at, len(self.run) - 1)].at

    def say(self, place: int) -> None:
        """What is neither a call nor an end."""
        one, guard = self.run[place], self.guard
        if one.answers:
            return  # it happens with the call that it is about
        try:
            if one.kind == "event":
                verdict = guard.receive(one.name, one.body, one.by)
            elif one.kind == "user":
                verdict = guard.user_says(one.body)
            else:
                verdict = guard.agent_says(one.body)
        except UsageError as error:
            verdict = error
        if not is_ok(verdict):
            self.ear.findings.append(finding_of(place, verdict))

    def people(self, place: int) -> None:
        """What people are asked about a call, and answer, before it is made for good."""
        for call, answer, payload in questions_of(self.run, place):
            self.ear.asking = True
            (decision,) = self.guard.reserve([call])
            self.ear.asking = False
            assert decision.status == "review", f"nobody was asked about {call}: {decision}"
            self.guard.decide(decision.review.id, answer, by="ana", payload=payload)

    def outcome(self) -> Outcome:
        self.at = len(self.run) - 1
        complete = is_ok(self.guard.close())
        if self.ear.broken is not None:
            raise self.ear.broken
        return Outcome(in_order(self.ear.findings), complete, self.ear.waited)


# -- run ---------------------------------------------------------------------------------------------------------------


def by_run(contract: Contract, run: Run, **options) -> Outcome:
    """Batch after batch, each tool in turn."""

    def tool(**_):
        end = here.ear.ends[here.ear.running_now]
        while here.at < end:
            here.at += 1
            if run[here.at - 1].kind in {"event", "user", "agent"}:
                here.say(here.at - 1)
        here.at = end
        one = run[end]
        if one.kind == "error":
            raise error_of(one.body)
        return one.body

    here = Guarded(contract, run, tool, **options)
    while here.at < len(run):
        one = run[here.at]
        if one.kind == "call":
            places = message_at(run, here.at)
            here.people(here.at)
            here.ear.offer(run, places)
            here.at = places[0]
            here.ear.results(run, places, here.guard.run([as_call(run[place]) for place in places]))
            here.at = max(here.at, places[-1]) + 1
            continue
        if one.kind not in ENDS:
            here.say(here.at)
        here.at += 1
    return here.outcome()


# -- arun --------------------------------------------------------------------------------------------------------------


def by_arun(contract: Contract, run: Run, **options) -> Outcome:
    """In an event loop: results come in the order of the run, whatever else is out."""
    return asyncio.run(_by_arun(contract, run, options))


async def _quiet(loop) -> None:
    """Until nothing moves any more that does not wait for the run."""
    await asyncio.sleep(0)
    while loop._ready:  # noqa: ASYNC110 - nobody tells that nothing moves
        await asyncio.sleep(0)


async def _by_arun(contract: Contract, run: Run, options: dict) -> Outcome:
    loop = asyncio.get_running_loop()
    futures: dict[str, asyncio.Future] = {}
    begun: set[str] = set()
    early: list[int] = []  # ends of calls that have not begun yet

    def tool(**_):
        begun.add(here.ear.running_now)
        return futures[here.ear.running_now]

    async def end(place: int) -> None:
        one = run[place]
        if one.kind == "result":
            futures[one.id].set_result(one.body)
        else:
            futures[one.id].set_exception(error_of(one.body))
        await _quiet(loop)

    here = Guarded(contract, run, tool, **options)
    tasks = []
    while here.at < len(run):
        one = run[here.at]
        if one.kind == "call":
            places = message_at(run, here.at)
            here.people(here.at)
            here.ear.offer(run, places)
            again = {run[place].id for place in places}
            begun -= again
            early = [place for place in early if run[place].id not in again]  # of calls that were refused
            futures |= {identity: loop.create_future() for identity in again}
            task = loop.create_task(here.guard.arun([as_call(run[place]) for place in places]))
            tasks.append((places, task))
            here.at = places[-1]
        elif one.kind in ENDS:
            early.append(here.at)
        else:
            here.say(here.at)
        await _quiet(loop)
        while ready := next((place for place in early if run[place].id in begun), None):
            early.remove(ready)
            await end(ready)
        here.at += 1
    for places, task in tasks:
        if task.done():
            here.ear.results(run, places, task.result())
    # What is held when nothing more happens is never let through.
    here.ear.findings += [Finding(place, "*") for place in here.ear.undecided]
    outcome = here.outcome()
    for _, task in tasks:
        task.cancel()
    await asyncio.gather(*(task for _, task in tasks), return_exceptions=True)
    return outcome


# -- by hand -----------------------------------------------------------------------------------------------------------


def by_hand(contract: Contract, run: Run, **options) -> Outcome:
    """`reserve`, `start`, and `settle` or `fail`, for whoever runs tools in another way."""
    here = Guarded(contract, run, lambda **_: None, **options)
    tickets: dict[int, str] = {}
    held: list[int] = []
    early: dict[int, int] = {}

    def ask(places: list[int]) -> None:
        nonlocal held
        held = []
        for place, decision in zip(places, here.guard.reserve([as_call(run[place]) for place in places]), strict=True):
            if decision.status == "held":
                held.append(place)
            elif decision.admitted:
                tickets[place] = decision.ticket
                here.guard.start(decision.ticket)

    def end(place: int, call: int) -> None:
        one, ticket = run[place], tickets.pop(call)
        verdict = here.guard.settle(ticket, one.body) if one.kind == "result" else here.guard.fail(ticket, one.body)
        if not is_ok(verdict) and here.ear.findings[-1:] != [finding_of(place, verdict)]:
            here.ear.findings.append(finding_of(place, verdict))
        if held and run[held[0]].message == run[call].message:
            ask(held)
            for waiting in [one for one in sorted(early, key=early.get) if one in tickets]:
                end(early.pop(waiting), waiting)

    while here.at < len(run):
        one = run[here.at]
        if one.kind == "call":
            places = message_at(run, here.at)
            here.people(here.at)
            here.ear.offer(run, places)
            ask(places)
            here.at = places[-1]
        elif one.kind in ENDS:
            call = call_of(run, here.at)
            if call in tickets:
                end(here.at, call)
            elif call in held:
                early[call] = here.at
        else:
            here.say(here.at)
        here.at += 1
    here.ear.findings += [Finding(place, "*") for place in held]
    return here.outcome()
