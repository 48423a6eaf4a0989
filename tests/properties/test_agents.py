"""Agents that follow random protocols, under random schedules: no violation, nobody stuck, planted bugs noticed."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, make_dataclass
from functools import reduce
from operator import or_
from random import Random
from typing import NoReturn

import pytest

import accord
from accord import ContractError, Limits, UsageError
from accord.agents import Agent, Crash, GaveUpError, follows, on
from accord.agents.runtime import child, in_process, life, partings, sorting
from accord.agents.runtime import conversation as conversations
from accord.agents.runtime.strand import current_strand
from accord.choreography import compile_choreography
from accord.language.global_tree import CRASH
from accord.language.printer import print_document
from accord.testing import RandomSchedule
from tests.crews import run
from tests.properties.deeds import ROOMS, STEPS, Deeds, Plan, cells
from tests.properties.generate_globals import LABELS, random_global
from tests.properties.met import bracket

PROTOCOLS = 20_000 if os.environ.get("ACCORD_SOAK") else 300
DRAWN = 5  # so many protocols, of which one is tried
NOTICED = 6  # so often as much is run what says how a crash goes on: it takes one at the right moment
PATIENCE = (12, 12, 12, 40)  # steps after which a role goes for its end
ENDLESS = 1_000  # steps of a life

LIMITS = Limits(search=10)  # why a protocol is refused is of no interest here
MESSAGES = {CRASH: Crash, **{label: make_dataclass(label, []) for label in LABELS}}


class BoomError(Exception):
    """An agent crashes."""


class EndlessError(Exception):
    """A crash has taken away who would have decided that it ends."""


@dataclass
class Crew:
    """What the agents of one run have in common."""

    rng: Random
    deeds: Deeds
    room: int
    patience: int
    crashes: int  # that are to come
    crashed: set[str] = field(default_factory=set)
    lives: list[Follower] = field(default_factory=list)


class Follower(Agent):
    """Does whatever its machine allows: sends if it can, else receives whatever comes."""

    def __init__(self, plan, crew) -> None:
        self.plan, self.crew, self.rng, self.steps = plan, crew, crew.rng, 0
        self.ended = "whole"
        self.left = {}  # the conversations that are left to handlers, and the states in which they are
        crew.lives.append(self)

    @property
    def life(self):
        return current_strand(self).life

    def did(self, deed, state) -> None:
        self.crew.deeds.did(deed, self, state)

    async def on_start(self) -> None:
        if self.plan.following.opening:
            await self.walk(0)

    async def take(self, message) -> None:
        """What every handler does."""
        conversation = current_strand(self).last[0]
        self.steps += 1
        crash = " crash" * isinstance(message, Crash)
        self.did(f"handler takes{crash}", self.left.pop(conversation.id, 0))
        await self.walk(conversation.state)

    async def walk(self, state: int) -> None:
        following = self.plan.following
        while edges := following.edges(state):
            sends = [symbol for symbol in edges if symbol.direction == "!" and symbol.label != CRASH]
            self.steps += 1
            noticed = any(symbol.direction == "!" and symbol.label == CRASH for symbol in edges)
            if self.steps > ENDLESS:
                raise EndlessError
            if self.crew.crashes and self.rng.random() < (0.6 if noticed else 0.1):
                self.crash(state)
            if sends and not (self.rng.random() < 0.6 and self.has_come(edges)):
                symbol = self.rng.choice(sends)
                if (
                    self.steps > self.crew.patience and self.rng.random() < 0.7
                ):  # always would be for ever, if others go in circles
                    symbol = min(sends, key=lambda s: self.plan.far[following.after(state, s)])
                await self.send(symbol.partner, MESSAGES[symbol.label]())
                self.did("sends", state)
            elif not sends and (following.may_stop(state) or self.rng.random() < 0.3):
                self.did("leaves it to handlers", state)
                self.left[current_strand(self).conversations[0].id] = state
                return
            else:
                symbol = await self.wait(edges)
                self.did(f"`receive` takes{' crash' * (symbol.label == CRASH)}", state)
            state = following.after(state, symbol)

    def has_come(self, edges) -> bool:
        """Whether there is something to receive; who waits for it while others wait for what it sends is stuck."""
        wanted = {symbol.label for symbol in edges if symbol.direction == "?"}
        return any(conversation.next(wanted) for conversation in current_strand(self).conversations)

    def crash(self, state) -> NoReturn:
        self.did("crashes", state)
        self.crew.crashes -= 1
        self.crew.crashed.add(self.life.name)
        self.ended = "until it crashes"
        raise BoomError

    async def wait(self, edges):
        """Receive any of them; the step that it was. Who sent it is known to the run time alone."""
        labels = sorted({symbol.label for symbol in edges if symbol.direction == "?"})
        message = await self.receive(reduce(or_, [MESSAGES[label] for label in labels]))
        _, sender = current_strand(self).last
        received = ("?", type(message), sender)
        return next(s for s in edges if (s.direction, MESSAGES[s.label], s.partner) == received)


def players_of(contract):
    """For each role a class and its plan; `None` if agents cannot follow the protocol, or it need not end."""
    players = []
    for role in compile_choreography(contract, "P").roles:
        try:
            agent = follows(contract["P"], as_=role)(type(f"Plays{role}", (Follower,), {}))
        except UsageError:
            return None
        (following,) = agent.__accord_roles__
        plan = Plan(following)
        if plan.need_not_end:
            return None
        if following.receives:
            wanted = [MESSAGES[label] for label in sorted(following.receives)]

            async def handle(self, message) -> None:
                await self.take(message)

            agent.handle = on(reduce(or_, wanted))(handle)
        players.append((agent, plan))
    return players


def outcome(players, crew, schedule):
    """Run a crew, whose first role may be played by several that open conversations; what went wrong."""
    agents = [(agent, plan, crew, {}) for agent, plan in players]
    opens = 1
    for agent, plan in players:
        if plan.following.opening:  # several conversations, which the others are in at the same time
            more = crew.rng.randrange(3)
            agents += [(agent, plan, crew, {"name": f"another {number}"}) for number in range(more)]
            opens += more
    most, transport = crew.crashes, in_process.InProcess()
    options = {"mailbox": crew.room, "schedule": schedule, "transport": transport}
    try:
        left = run(*agents, max_restarts=most, within=1e9, **options)
    except GaveUpError as error:
        return None if isinstance(error.__cause__, EndlessError) and crew.crashed else str(error)
    played = (f"mailbox {crew.room}", f"{len(players)} roles", f"{opens} open{'s' * (opens == 1)}")
    crew.deeds.runs.add((str(most - crew.crashes), place) for place in played)
    crew.deeds.lives.add((life.ended, bracket(life.steps, STEPS)) for life in crew.lives)
    if left:
        return f"{left} is stuck"
    if any(box.waiting or box.taken or box.lanes for box in transport._boxes.values()):
        return "a mailbox is not empty afterwards"
    return None


def campaign(seed: int, protocols: int, *, most_crashes: tuple[int, ...]):
    """Run agents of random protocols, once for each number of crashes; the first thing that went wrong.

    It goes on for longer where something was never met so far.
    """
    rng = Random(seed)
    deeds = Deeds()
    done = 0
    while done < protocols or (done < 4 * protocols and any(table.lacking(1) for table in deeds.censuses())):
        document = deeds.rarest(random_global(rng, parts=rng.random() < 0.5) for _ in range(DRAWN))
        try:
            contract = accord.compile(print_document(document), limits=LIMITS)
        except ContractError:
            continue
        players = players_of(contract)
        if players is None:
            continue
        done += 1
        has = list(cells(document))
        deeds.protocols.add(has)
        noticing = any(construct == "crash" for construct, _ in has)
        for most in most_crashes * (NOTICED if noticing else 1):
            crew = Crew(rng, deeds, rng.choice(ROOMS), rng.choice(PATIENCE), rng.randint(0, most))
            wrong = outcome(players, crew, RandomSchedule(rng.randrange(1 << 30)))
            if wrong is not None:
                return deeds, f"{wrong} in\n{print_document(document)}"
    return deeds, None


def test_agents_of_random_protocols(health):
    """Nobody is stuck, whatever the protocol says of crashes, and whenever they happen."""
    deeds, wrong = campaign(7, PROTOCOLS, most_crashes=(0, 4))
    assert wrong is None
    tables = deeds.censuses()
    for census in tables:
        census.check(1)
    health("\n".join((f"agents of {PROTOCOLS:,} random protocols", *(census.table() for census in tables))))


TWO_WAYS = """
protocol P {
    C -> A: x
    choice at B {
        choice at B { B -> A: x; B -> C: x } or { B -> A: z; B -> C: z } or crash B { A -> C: z }
    } or { B -> A: y; B -> C: y }
    or crash B { C -> A: x }
}
"""


def test_one_crash_is_noticed_in_one_way():
    """All roles are told of a crash: where it begins two branches, they do not agree on what follows it."""
    with pytest.raises(ContractError):
        accord.compile(TWO_WAYS)


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

    for module in (life, partings, sorting, child):
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
    _, wrong = campaign(4, 300, most_crashes=(4,))
    assert wrong is not None, bug.__name__


@pytest.mark.parametrize("bug", [lifo, any_order, never_let_go, lost_letter, no_room_again])
def test_planted_bugs_are_noticed(bug, monkeypatch):
    bug(monkeypatch)
    try:
        _, wrong = campaign(2, 300, most_crashes=(0,))
    except (AssertionError, IndexError, StopIteration) as error:
        wrong = repr(error)
    assert wrong is not None, bug.__name__
