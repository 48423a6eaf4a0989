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
from accord.language.global_tree import CRASH, Continue, Exchange, GlobalChoice, GlobalLoop, GlobalProtocol, Parallel
from accord.language.printer import print_document
from accord.language.tree import Document
from accord.testing import RandomSchedule
from tests.census import Census
from tests.crews import run
from tests.properties.generate_globals import LABELS, ROLES, random_global

PROTOCOLS = 20_000 if os.environ.get("ACCORD_SOAK") else 250
PATIENCE = 12  # steps after which a role goes for its end

LIMITS = Limits(search=10)  # why a protocol is refused is of no interest here
MOMENTS = ("sends", "chooses", "awaits", "awaits any", "sends or awaits", "in a loop", "may stop")
PLACES = ("opening", "in a handler", "in the middle", "left to a handler", "crashes here", "partner is gone")
SENDING = ("sends", "chooses", "sends or awaits")
NEVER = {
    **{(moment, "left to a handler"): "what is to be sent is sent" for moment in SENDING},
    **{(moment, "partner is gone"): "whoever can send does not wait" for moment in SENDING},
    **{(moment, "opening"): "who opens a conversation sends" for moment in ("awaits", "awaits any", "may stop")},
    ("may stop", "partner is gone"): "nobody is owed anything",
    ("sends or awaits", "opening"): "nothing comes before the one message that opens a conversation",
}
SIZES = ("0", "1", "2", "3–4", "5–8", "9+")
CREWS = ("roles", "conversations", "room in a mailbox", "steps of an agent", "crashes")


class Seen:
    """What a campaign looked at."""

    def __init__(self, *, crashes: bool) -> None:
        calm = {("*", place): "nobody crashes here" for place in PLACES[-2:]}
        self.counts: Counter[str] = Counter()
        self.moments = Census("moment of an agent", MOMENTS, PLACES, NEVER if crashes else {**NEVER, **calm})
        self.crews = Census("crew", CREWS, SIZES, NO_CREWS if crashes else {**NO_CREWS, **NO_CRASHES})

    def check(self) -> None:
        self.moments.check(2)
        self.crews.check(3)


NO_CREWS = {
    **{("roles", size): "a protocol is between two and four" for size in ("0", "1", "5–8", "9+")},
    ("conversations", "0"): "somebody begins",
    **{("conversations", size): "an agent is there three times at the most" for size in ("5–8", "9+")},
    **{("room in a mailbox", size): "there is room for one, for two or for all" for size in ("0", "3–4", "5–8")},
    ("steps of an agent", "0"): "everybody has something to do",
    **{("crashes", size): "an agent is begun again four times at the most" for size in ("5–8", "9+")},
}
NO_CRASHES = {("crashes", size): "nobody crashes here" for size in SIZES[1:]}


def size(count: int) -> str:
    """The column of a number."""
    return SIZES[min(len(SIZES) - 1, count if count < 2 else (count - 1).bit_length() + 1)]


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


def loops(following):
    """The states from which a way leads back."""
    after = {
        number: {following.after(number, symbol) for symbol in following.edges(number)}
        for number in range(len(following.machine.states))
    }
    for _ in after:  # one step further each time
        after = {number: targets.union(*(after[target] for target in targets)) for number, targets in after.items()}
    return {number for number, targets in after.items() if number in targets}


class BoomError(Exception):
    """An agent crashes."""


class Follower(Agent):
    """Does whatever its machine allows: sends if it can, else receives whatever comes."""

    def __init__(self, rng, following, crashes, seen) -> None:
        self.rng, self.following, self.crashes, self.steps = rng, following, crashes, 0
        self.far, self.loops = distances(following), loops(following)
        self.seen: Seen = seen

    async def on_start(self) -> None:
        if self.following.opening:
            await self.walk(0, "opening")

    def note(self, state: int, place: str) -> None:
        """Count a moment, and what it is."""
        edges = self.following.edges(state)
        sends = sum(symbol.direction == "!" and symbol.label != CRASH for symbol in edges)
        awaits = sum(symbol.direction == "?" and symbol.label != CRASH for symbol in edges)
        kind = ("sends" if sends == 1 else "chooses") if sends else "awaits" if awaits == 1 else "awaits any"
        kinds = ["sends or awaits" if sends and awaits else kind]
        kinds += ["in a loop"] if state in self.loops else []
        kinds += ["may stop"] if self.following.may_stop(state) else []
        self.seen.moments.add((kind, place) for kind in kinds)

    async def walk(self, state: int, place: str) -> None:
        following = self.following
        while edges := following.edges(state):
            sends = [symbol for symbol in edges if symbol.direction == "!" and symbol.label != CRASH]
            self.steps += 1
            self.seen.counts["longest"] = max(self.seen.counts["longest"], self.steps)
            self.note(state, place)
            place = "in the middle"
            is_told = any(symbol.direction == "!" and symbol.label == CRASH for symbol in edges)
            if self.crashes and self.rng.random() < (0.5 if is_told else 0.1):
                self.crashes.pop()
                self.note(state, "crashes here")
                raise BoomError
            if sends:
                symbol = self.rng.choice(sends)
                if (
                    self.steps > PATIENCE and self.rng.random() < 0.7
                ):  # always would be for ever, if others go in circles
                    symbol = min(sends, key=lambda s: self.far[following.after(state, s)])
                await self.send(symbol.partner, MESSAGES[symbol.label]())
            elif following.may_stop(state) or self.rng.random() < 0.3:
                self.note(state, "left to a handler")
                return  # what comes next finds a handler
            else:
                symbol = await self.wait(edges)
                if symbol.label == CRASH:
                    self.note(state, "partner is gone")
            state = following.after(state, symbol)

    async def wait(self, edges):
        """Receive any of them; the step that it was. Who sent it is known to the run time alone."""
        message = await self.receive(reduce(or_, [MESSAGES[label] for label in sorted({s.label for s in edges})]))
        _, sender = current_strand(self).last
        return next(s for s in edges if (MESSAGES[s.label], s.partner) == (type(message), sender))


def alone(body):
    return Document((GlobalProtocol("P", body),))


def random_protocol(rng):
    """Any protocol, or one of those that are seldom among them: with crashes that are told, and with parts."""
    kind = rng.random()
    if kind < 0.45:
        return random_global(rng, parts=rng.random() < 0.5)
    third, decider, receiver = rng.sample(ROLES[:3], 3)

    def exchange(sender, receiver):
        return Exchange(sender, receiver, rng.choice(LABELS))

    if kind < 0.6:
        beside = (exchange(third, decider), *((exchange(decider, third),) if rng.random() < 0.5 else ()))
        parts = Parallel(((exchange(decider, receiver),), beside))
        first = (exchange(third, decider), exchange(decider, third))[: rng.randint(1, 2)]
        return alone((*first, parts, exchange(decider, receiver)))
    if kind < 0.75:  # the receiver never learns that it is over
        again = (*((exchange(receiver, decider),) if rng.random() < 0.5 else ()), Continue("L"))
        on, over = (exchange(decider, receiver), *again), (exchange(decider, third),)
        return alone((exchange(third, decider), GlobalLoop("L", (GlobalChoice(decider, (on, over)),))))
    crash, *labels = rng.sample(LABELS, 3)  # everybody can tell the branches apart
    branches = []
    for label in labels[: rng.randint(1, 2)]:
        goes_on = (Continue("L"),) if branches and rng.random() < 0.6 else ()
        after = (Exchange(receiver, third, label), exchange(third, decider))[: rng.randint(1, 2)]
        branches.append((Exchange(decider, receiver, label), *after, *goes_on))
    choice = GlobalChoice(decider, tuple(branches), crash=(Exchange(receiver, third, crash),))
    first = () if rng.random() < 0.2 else (exchange(rng.choice((third, receiver, receiver)), decider),)
    return alone((GlobalLoop("L", (*first, choice)),))


def crew_of(contract, rng, crashes, seen):
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
                seen.counts["crashes heard of by a handler"] += isinstance(message, Crash)
                await self.walk(current_strand(self).last[0].state, "in a handler")

            agent.take = on(reduce(or_, wanted))(take)
        agents.append((agent, rng, following, crashes, seen, {}))
        if following.opening:  # several conversations, which the others are in at the same time
            agents += [
                (agent, rng, following, crashes, seen, {"name": f"another {number}"})
                for number in range(rng.randrange(3))
            ]
    return agents


def campaign(seed: int, protocols: int, *, most_crashes: int = 0):
    """Run agents of random protocols; what was met, and the first thing that went wrong."""
    rng = Random(seed)
    seen = Seen(crashes=most_crashes > 0)
    counts = seen.counts
    while counts["runs"] < protocols:
        document = random_protocol(rng)
        text = print_document(document)
        try:
            contract = accord.compile(text, limits=LIMITS)
        except ContractError:
            counts["refused"] += 1
            continue
        planned = rng.randint(0, most_crashes)
        crashes = [None] * planned
        agents = crew_of(contract, rng, crashes, seen)
        if agents is None:
            counts["skipped"] += 1
            continue
        counts["runs"] += 1
        counts["loops"] += "rec" in text
        counts["parts"] += "par" in text
        counts["longest"] = 0
        room = rng.choice((1, 2, 100))
        try:
            schedule = RandomSchedule(rng.randrange(1 << 30))
            transport = in_process.InProcess()
            options = {"mailbox": room, "schedule": schedule, "transport": transport}
            left = run(*agents, max_restarts=most_crashes, within=1e9, **options)
        except GaveUpError as error:
            return seen, f"{error} in\n{text}"
        counts["crashes"] += planned - len(crashes)
        crew = (
            len(document.globals[0].roles),
            1 + sum(bool(named) for *_, named in agents),
            room,
            counts["longest"],
            planned - len(crashes),
        )
        seen.crews.add(zip(CREWS, map(size, crew), strict=True))
        if left:
            return seen, f"{left} is stuck in\n{text}"
        if any(box.waiting or box.taken or box.lanes for box in transport._boxes.values()):
            return seen, f"a mailbox is not empty after\n{text}"
    return seen, None


@pytest.mark.parametrize("most_crashes", [0, 4])
def test_agents_of_random_protocols(most_crashes, health):
    """Nobody is stuck; whatever the protocol says of crashes, and whenever they happen."""
    seen, wrong = campaign(3 if most_crashes else 1, PROTOCOLS, most_crashes=most_crashes)
    assert wrong is None
    counts = seen.counts
    health(
        f"agents of {counts['runs']:,} random protocols, {counts['loops']:,} with loops, {counts['parts']:,} with "
        f"parts, {counts['crashes']:,} crashes"
    )
    health(seen.moments.table())
    health(seen.crews.table())
    assert counts["loops"] * 10 > PROTOCOLS
    assert counts["parts"] * 50 > PROTOCOLS
    assert not most_crashes or counts["crashes heard of by a handler"] > 5
    seen.check()


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
