"""Agents that follow random protocols, under random schedules: no violation, nobody stuck, planted bugs noticed."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import make_dataclass
from functools import reduce
from operator import or_
from random import Random

import pytest

import accord
from accord import ContractError, Limits, UsageError
from accord.agents import Agent, Crash, GaveUpError, follows, on
from accord.agents.runtime import conversation as conversations
from accord.agents.runtime import in_process, life, partings, sorting, supervisor
from accord.agents.runtime.strand import current_strand
from accord.choreography import compile_choreography
from accord.language.global_tree import CRASH
from accord.language.printer import print_document
from accord.testing import RandomSchedule
from tests.crews import run
from tests.properties.generate_globals import LABELS, random_global

PROTOCOLS = 20_000 if os.environ.get("ACCORD_SOAK") else 250
PATIENCE = 12  # steps after which a role goes for its end

LIMITS = Limits(search=10)  # why a protocol is refused is of no interest here
MESSAGES = {CRASH: Crash, **{label: make_dataclass(label, []) for label in LABELS}}


def distances(following):
    """For each state how many steps its end is away, if nobody crashes."""
    states = following.machine.states
    found = {number: 0 for number, state in enumerate(states) if state.stop == "end"}
    for _ in states:
        for number in range(len(states)):
            steps = [following.after(number, s) for s in following.edges(number) if s.label != CRASH]
            near = [found[target] + 1 for target in steps if target in found]
            if near and min(near) < found.get(number, len(states)):
                found[number] = min(near)
    return found


class BoomError(Exception):
    """An agent crashes."""


class Follower(Agent):
    """Does whatever its machine allows: sends if it can, else receives whatever comes."""

    def __init__(self, rng, following, crashes) -> None:
        self.rng, self.following, self.crashes, self.steps = rng, following, crashes, 0
        self.far = distances(following)

    async def on_start(self) -> None:
        if self.following.opening:
            await self.walk(0)

    async def walk(self, state: int) -> None:
        following = self.following
        while edges := following.edges(state):
            sends = [symbol for symbol in edges if symbol.direction == "!" and symbol.label != CRASH]
            self.steps += 1
            if self.crashes and self.rng.random() < 0.1:
                self.crashes.pop()
                raise BoomError
            if sends:
                symbol = self.rng.choice(sends)
                if (
                    self.steps > PATIENCE and self.rng.random() < 0.7
                ):  # always would be for ever, if others go in circles
                    symbol = min(sends, key=lambda s: self.far[following.after(state, s)])
                await self.send(symbol.partner, MESSAGES[symbol.label]())
            elif following.may_stop(state) or self.rng.random() < 0.3:
                return  # what comes next finds a handler
            else:
                symbol = await self.wait(edges)
            state = following.after(state, symbol)

    async def wait(self, edges):
        """Receive any of them; the step that it was. Who sent it is known to the run time alone."""
        message = await self.receive(reduce(or_, [MESSAGES[label] for label in sorted({s.label for s in edges})]))
        _, sender = current_strand(self).last
        return next(s for s in edges if (s.label, s.partner) == (type(message).__name__, sender))


def crew_of(contract, rng, crashes):
    """For each role a class; `None` if agents cannot follow the protocol, or it need not end."""
    agents = []
    for role in compile_choreography(contract, "P").roles:
        try:
            agent = follows(contract["P"], as_=role)(type(f"Plays{role}", (Follower,), {}))
        except UsageError:
            return None
        (following,) = agent.__accord_roles__
        if len(distances(following)) < len(following.machine.states):
            return None
        if following.receives:
            wanted = [MESSAGES[label] for label in sorted(following.receives)]

            async def take(self, message) -> None:
                await self.walk(current_strand(self).last[0].state)

            agent.take = on(reduce(or_, wanted))(take)
        agents.append((agent, rng, following, crashes, {}))
        if following.opening:  # several conversations, which the others are in at the same time
            agents += [
                (agent, rng, following, crashes, {"name": f"another {number}"}) for number in range(rng.randrange(3))
            ]
    return agents


def campaign(seed: int, protocols: int, *, most_crashes: int = 0):
    """Run agents of random protocols; how many of each kind, and the first thing that went wrong."""
    rng = Random(seed)
    seen = Counter()
    while seen["runs"] < protocols:
        document = random_global(rng, parts=rng.random() < 0.5)
        try:
            contract = accord.compile(print_document(document), limits=LIMITS)
        except ContractError:
            seen["refused"] += 1
            continue
        crashes = [None] * rng.randint(0, most_crashes)
        agents = crew_of(contract, rng, crashes)
        if agents is None:
            seen["skipped"] += 1
            continue
        seen["runs"] += 1
        seen["roles"] += len(agents)
        seen["loops"] += "rec" in print_document(document)
        seen["parts"] += "par" in print_document(document)
        try:
            schedule = RandomSchedule(rng.randrange(1 << 30))
            room = rng.choice((1, 2, 100))
            seen["crashes"] += len(crashes)
            transport = in_process.InProcess()
            options = {"mailbox": room, "schedule": schedule, "transport": transport}
            left = run(*agents, max_restarts=most_crashes, within=1e9, **options)
            seen["crashes"] -= len(crashes)
        except GaveUpError as error:
            return seen, f"{error} in\n{print_document(document)}"
        if left:
            return seen, f"{left} is stuck in\n{print_document(document)}"
        if any(box.waiting or box.taken or box.lanes for box in transport._boxes.values()):
            return seen, f"a mailbox is not empty after\n{print_document(document)}"
    return seen, None


def test_agents_of_random_protocols(health):
    seen, wrong = campaign(1, PROTOCOLS)
    assert wrong is None
    assert seen["roles"] > 2 * PROTOCOLS
    assert seen["loops"] * 10 > PROTOCOLS
    assert seen["parts"] * 50 > PROTOCOLS
    health(f"agents of {seen['runs']:,} random protocols, {seen['loops']:,} with loops, {seen['parts']:,} with parts")


def test_nobody_is_stuck_when_agents_crash(health):
    """Whatever the protocol says of crashes, and whenever they happen."""
    seen, wrong = campaign(3, PROTOCOLS, most_crashes=4)
    assert wrong is None
    assert seen["crashes"] > PROTOCOLS / 2
    health(f"{seen['crashes']:,} crashes of agents of {seen['runs']:,} random protocols")


def lifo(monkeypatch):
    def take_last(self, arrival):
        if arrival.delivery is not None:
            self._arrived[arrival.sender].pop()

    monkeypatch.setattr(conversations.Conversation, "pop", take_last)


def any_order(monkeypatch):
    def first(self, labels=None):
        found = [
            conversations.Arrival(order, sender, delivery.letter.label, delivery)
            for sender, queue in self._arrived.items()
            for order, delivery in list(queue)[:1]
            if labels is None or delivery.letter.label in labels
        ]
        return min(found, default=None, key=lambda arrival: arrival.order)

    monkeypatch.setattr(conversations.Conversation, "next", first)


def never_let_go(monkeypatch):
    async def keep(self, strand, conversation, bereaved):
        pass

    monkeypatch.setattr(life.Life, "_let_go", keep)


def lost_letter(monkeypatch):
    post = in_process.InProcess.post
    count = iter(range(1 << 30))

    async def sometimes(self, name, letter, pause):
        if next(count) % 7 != 6:
            await post(self, name, letter, pause)

    monkeypatch.setattr(in_process.InProcess, "post", sometimes)


def no_room_again(monkeypatch):
    async def settle(self, name, numbers):
        for number in numbers:
            self._boxes[name].taken.pop(number, None)

    monkeypatch.setattr(in_process.InProcess, "settle", settle)


def untold(monkeypatch):
    async def nobody(hub, begun, gone, but=()):
        pass

    for module in (life, partings, sorting, supervisor):
        monkeypatch.setattr(module, "tell", nobody)


def forgetful(monkeypatch):
    async def begin(self, conversation):
        pass

    monkeypatch.setattr(life.Life, "begin", begin)


def settled_too_early(monkeypatch):
    take = in_process.InProcess.take

    async def taken(self, name):
        delivery = await take(self, name)
        await self.settle(name, [delivery.number])
        return delivery

    monkeypatch.setattr(in_process.InProcess, "take", taken)


@pytest.mark.parametrize("bug", [untold, forgetful, settled_too_early])
def test_planted_bugs_with_crashes_are_noticed(bug, monkeypatch):
    bug(monkeypatch)
    _, wrong = campaign(4, 300, most_crashes=4)
    assert wrong is not None, bug.__name__


@pytest.mark.parametrize("bug", [lifo, any_order, never_let_go, lost_letter, no_room_again])
def test_planted_bugs_are_noticed(bug, monkeypatch):
    bug(monkeypatch)
    try:
        _, wrong = campaign(2, 300)
    except (AssertionError, IndexError, StopIteration) as error:
        wrong = repr(error)
    assert wrong is not None, bug.__name__
