"""Runs agents for real, with puppets for the roles that nobody plays, and tells what went wrong.

A puppet does whatever its role may do. What it does, what `flip()` says and who moves next is chosen by one schedule,
so that all runs can be tried, or many at random.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
from typing import Any

from accord.agents import Agent, Crash, GaveUpError, Supervisor, follows, on
from accord.agents.declaring import declaration_of
from accord.agents.runtime.branch import Branch
from accord.agents.runtime.strand import current_strand
from accord.errors import AccordError
from accord.language.global_tree import CRASH, Enumeration, Record

MOST_STEPS = 120
MOST_FREE = 2  # so many messages a puppet sends as it likes; then it makes for the end
MOST_FLIPS = 4  # so often a condition is left to chance; then it is true, which ends every loop that can end


class OutOfStepsError(Exception):
    """The run was long enough."""


class Choices:
    """One schedule for everything that is left to chance, in one run after the other."""

    def __init__(self) -> None:
        self.begin(lambda _: 0)

    def begin(self, schedule) -> None:
        self.schedule = schedule
        self.steps = 0
        self.flips = 0
        self.body: asyncio.Task[object] | None = None

    def __call__(self, waiting) -> int:
        self.steps += 1
        if self.steps > MOST_STEPS:
            if self.body is not None:
                self.body.cancel()
                self.body = None
            return 0
        return self.schedule(waiting) if len(waiting) > 1 else 0

    def flip(self) -> bool:
        self.flips += 1
        if self.flips > 40:
            raise OutOfStepsError
        if self.flips > MOST_FLIPS:
            return self.flips % 2 == 0
        return not self(["true", "false"])

    def work(self, text: str) -> str:
        if self(["works", "fails"]):
            raise ValueError(text)
        return text


class Watching(Branch):
    """Remembers what its own agents did wrong, and gives up then; puppets may crash and start again."""

    def __init__(self, mine: list[type]) -> None:
        super().__init__("one_for_one", 3, 5.0)
        self.mine = mine
        self.wrong: list[BaseException] = []

    async def _deal_with(self, hub, child, error):
        if child.agent_class in self.mine and isinstance(error, AccordError):
            self.wrong.append(error)
            return GaveUpError("seen enough")
        return await super()._deal_with(hub, child, error)


def _distances(following) -> list[int]:
    """For each state of a role how many steps it is from where it may stop."""
    states = following.machine.states
    far = [0 if state.stop is not None else 10_000 for state in states]
    for _ in states:
        for number, state in enumerate(states):
            far[number] = min([far[number], *(far[target] + 1 for target in state.targets)])
    return far


_VALUES = {
    "String": ("a b", ""),
    "Int": (7, 200),
    "Float": (1.5, 0.0),
    "Bool": (True, False),
    "Any": (None,),
    "Option": (None,),
}


def _value(type_, types, choices, depth=0) -> object:
    """Something of a field's type."""
    if type_.name in _VALUES:
        values = _VALUES[type_.name]
        return values[choices(values)]
    if type_.name in {"List", "Map"} or depth > 3:
        return [] if type_.name == "List" else {}
    declared = types[type_.name]
    if isinstance(declared, Enumeration):
        return declared.members[0]
    return {field.name: _value(field.type, types, choices, depth + 1) for field in declared.fields}


def example(type_, document) -> object:
    """Something of a field's type, always the same."""
    return _value(type_, {item.name: item for item in document.types}, lambda _: 0)


def _message(label: str, following, classes: dict[str, type], choices: Choices) -> object:
    record = following.types.get(label)
    fields = record.fields if isinstance(record, Record) else ()
    return classes[label](**{field.name: _value(field.type, following.types, choices) for field in fields})


def puppet(following, role: str, classes: dict[str, type], choices: Choices) -> type:
    """An agent that plays a role by itself."""

    class Puppet(Agent):
        free = MOST_FREE

        async def on_start(self):
            (mine,) = self.__accord_roles__
            openings = sorted(mine.opening)
            if openings:
                label, to = openings[choices(openings)]
                await self.send(to, _message(label, mine, classes, choices))
                await self.proceed(current_strand(self).conversations[0])

        async def proceed(self, conversation):
            mine = conversation.following
            while True:
                edges = [s for s in mine.edges(conversation.state) if s.direction == "!"]
                if not edges:
                    return
                if self.free > 0:
                    self.free -= 1
                    symbol = edges[choices([edge.word for edge in edges])]
                    if symbol.label == CRASH:
                        raise OutOfStepsError
                else:
                    edges = [edge for edge in edges if edge.label != CRASH]
                    far = _distances(mine)
                    symbol = min(edges, key=lambda edge: far[mine.after(conversation.state, edge)])
                await self.send(symbol.partner, _message(symbol.label, mine, classes, choices))

        async def take(self, _message):
            await self.proceed(current_strand(self).last[0])

    probe = follows(following.contract[following.protocol], as_=role)(type(f"Puppet{role}", (Puppet,), {}))
    received = declaration_of(probe).roles[0].receives
    handlers = {}
    for label in received:

        async def handle(self, message):
            await self.take(message)

        handlers[f"on_{label}"] = on(Crash if label == CRASH else classes[label])(handle)
    made = type(f"Puppet{role}", (Puppet,), handlers)
    return follows(following.contract[following.protocol], as_=role)(made)


def agents_of(names: dict[str, Any]) -> list[type]:
    """The agents that a case declares."""
    return [
        value
        for value in names.values()
        if isinstance(value, type) and issubclass(value, Agent) and getattr(value, "__accord_roles__", None)
    ]


class Stage:
    """A case, loaded once, to be run under many schedules. `refused` is what was wrong with its declarations."""

    def __init__(self, text: str, loop: asyncio.Runner) -> None:
        self.loop = loop
        self.choices = Choices()
        self.refused: list[BaseException] = []
        self.mine: list[type] = []
        self.others: list[type] = []
        names: dict[str, Any] = {"__name__": "case", "flip": self.choices.flip, "work": self.choices.work}
        try:
            exec(compile(text, "case.py", "exec", dont_inherit=True), names)  # noqa: S102 - the corpus is ours
            self.mine = agents_of(names)
            self.others = self._puppets(names)
        except AccordError as error:
            self.refused = [error]

    def _puppets(self, names: dict[str, Any]) -> list[type]:
        played = {following.part for agent in self.mine for following in declaration_of(agent).roles}
        made: dict[object, type] = {}
        for agent in self.mine:
            for following in declaration_of(agent).roles:
                for role in following.choreography.roles:
                    part = following.part._replace(role=role)
                    if part not in played and part not in made:
                        made[part] = puppet(following, role, names, self.choices)
                        made[part].__name__ = f"Puppet{following.protocol}{role}"
        return list(made.values())

    def run(self, schedule) -> list[BaseException]:
        """Run under one schedule; everything that the case's own agents did wrong."""
        return self.refused or self.loop.run(self._run(schedule))

    async def _run(self, schedule) -> list[BaseException]:
        self.choices.begin(schedule)
        supervisor = Supervisor(schedule=self.choices)
        supervisor._branch = watching = Watching(self.mine)
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                for agent in [*self.mine, *self.others]:
                    supervisor.add(agent)
            except AccordError as error:
                return [error]
            with contextlib.suppress(Exception, asyncio.CancelledError):
                self.choices.body = asyncio.current_task()
                async with supervisor:
                    await supervisor.settled()
        return watching.wrong
