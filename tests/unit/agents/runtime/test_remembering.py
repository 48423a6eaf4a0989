"""What an agent remembers: of conversations that are over, of what has arrived, of what it has handled."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import permutations

import pytest
from tests.crews import Note, run

from accord.agents import Agent, InProcess, Supervisor, follows, persistent
from accord.agents.declaring import declaration_of
from accord.agents.following import Part
from accord.agents.runtime.conversation import Conversation
from accord.agents.runtime.hub import Remembered
from accord.agents.runtime.letters import MOST_REMEMBERED, Delivery, Letter
from accord.stores import MemoryStore

PART = Part("contract", "Protocol", "Role")
KEY = ("conversation", PART)
OTHERS = [
    ("another", PART),
    ("conversation", PART._replace(contract="another")),
    ("conversation", PART._replace(protocol="another")),
    ("conversation", PART._replace(role="another")),
]


def numbered(number):
    return f"c{number}", PART


def test_so_many_conversations_that_are_over_are_remembered_the_last_ones():
    remembered = Remembered()
    for number in range(MOST_REMEMBERED):
        remembered.add(numbered(number))
    assert all(numbered(number) in remembered for number in (0, 1, MOST_REMEMBERED - 1))
    remembered.add(numbered(0))  # again: nothing has to go for it
    assert numbered(1) in remembered
    for number in range(MOST_REMEMBERED, MOST_REMEMBERED + 3):
        remembered.add(numbered(number))
        assert numbered(number) in remembered
    assert [numbered(number) in remembered for number in (0, 1, 2, 3)] == [False, False, False, True]


def test_so_many_crashes_before_a_conversation_are_remembered_the_last_ones():
    remembered = Remembered()
    for number in range(MOST_REMEMBERED + 1):
        remembered.bury(numbered(number), "A")
        remembered.bury(numbered(number), "B")
    assert remembered.buried(numbered(0)) == frozenset()
    assert remembered.buried(numbered(1)) == remembered.buried(numbered(MOST_REMEMBERED)) == {"A", "B"}


@pytest.mark.parametrize("other", OTHERS)
def test_a_conversation_is_its_id_and_all_of_its_part(other):
    remembered = Remembered()
    remembered.add(KEY)
    remembered.bury(KEY, "A")
    assert KEY in remembered
    assert other not in remembered
    assert remembered.buried(other) == frozenset()


GATHERING = """
protocol Gathering {
    C -> A: Ask
    C -> B: Ask
    C -> D: Ask
    par { A -> C: FromA; A -> C: FromA } and { B -> C: FromB } and { D -> C: FromD }
}
"""


@follows(GATHERING, as_="C")
class Gatherer(Agent):
    pass


@pytest.mark.parametrize("order", list(permutations("AABD"))[::2])
def test_messages_are_taken_in_the_order_in_which_they_came(order):
    """Whoever sends them, and whatever order the protocol names them in."""
    (following,) = declaration_of(Gatherer).roles
    cast = {role: role.lower() for role in "ABCD"}
    conversation = Conversation("c1", following, dict(cast), None)
    for role in "ABD":
        conversation.send("Ask", {}, role)
    for place, sender in enumerate(order):
        letter = Letter(
            conversation="c1",
            contract=following.part.contract,
            protocol="Gathering",
            sender=sender,
            receiver="C",
            label=f"From{sender}",
            payload={},
            cast=cast,
            nth=order[: place + 1].count(sender),
        )
        assert conversation.arrive(Delivery(str(place), letter), place) is None
    only_b = conversation.next({"FromB"})
    assert (only_b.sender, only_b.order) == ("B", order.index("B"))
    for place in range(len(order)):
        arrival = conversation.next()
        assert (arrival.order, arrival.delivery.number) == (place, str(place))
        conversation.pop(arrival)
        conversation.take(arrival.delivery.letter)
    assert conversation.next() is None


STREAM = """
record Note { number: Int }
record Last { number: Int }
protocol Stream { Writer -> Logger: Note; Writer -> Logger: Note; Writer -> Logger: Last }
"""


@dataclass
class Last:
    number: int


def test_what_a_message_has_changed_is_kept_before_it_leaves_the_mailbox():
    """Who dies between the two finds the message again, and not its effect twice."""
    log = []

    class Settling(InProcess):
        async def settle(self, name, numbers):
            log.append(f"{name} settles {len(numbers)}")
            await super().settle(name, numbers)

    class Keeping(MemoryStore):
        def exchange(self, key, guess, judge):
            super().exchange(key, guess, judge)
            log.append("kept")

    @follows(STREAM, as_="Logger")
    class Logger(Agent):
        numbers: list[int] = persistent([])

        def count(self, number):
            self.numbers.append(number)  # which nobody is told of, as of an assignment
            log.append("counted")

        async def on_note(self, note: Note) -> None:
            self.count(note.number)
            self.count((await self.receive(Note)).number)
            self.count((await self.receive(Last)).number)

    @follows(STREAM, as_="Writer")
    class Writer(Agent):
        async def on_start(self) -> None:
            await self.send("Logger", Note(1))
            await self.send("Logger", Note(2))
            await self.send("Logger", Last(3))

    assert run(Logger, Writer, store=Keeping(), transport=Settling()) == []
    steps = [step for step in log if not step.startswith("Writer")]
    settled = [place for place, step in enumerate(steps) if step == "Logger settles 1"]
    assert len(settled) == 3
    for place in settled:
        counted = max(n for n, step in enumerate(steps[:place]) if step == "counted")
        assert "kept" in steps[counted:place], steps


def test_what_is_left_unfinished_is_told_with_all_its_names():
    left = []

    @follows(STREAM, as_="Logger")
    class Logger(Agent):
        async def on_note(self, _note: Note) -> None:
            await self.receive(Note)
            await self.receive(Last)

    @follows(STREAM, as_="Writer")
    class Writer(Agent):
        async def on_start(self) -> None:
            await self.send("Logger", Note(1))
            left.extend(supervisor.unfinished())
            await self.send("Logger", Note(2))
            await self.send("Logger", Last(3))

    async def main():
        supervisor.add(Logger, name="paper")
        supervisor.add(Writer, name="pen")
        async with supervisor:
            await supervisor.settled()
            return supervisor.unfinished()

    supervisor = Supervisor()
    assert asyncio.run(main()) == []
    told = {one.agent: (one.protocol, one.role, tuple(one.next)) for one in left}
    assert told["pen"] == ("Stream", "Writer", ("Logger!Note",))
    assert len({one.conversation for one in left}) == 1
