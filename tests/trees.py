"""Trees of supervisors: random ones with agents that really crash, and a model that says what must follow.

The model is Erlang's: a supervisor deals with what fails below it by its strategy; beyond its limit it fails itself,
which is a failure below the one above it. What is started again counts anew. Everything ends in the reverse of the
order in which it was started.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from accord.agents import Agent, GaveUpError, Supervisor, follows

STRATEGIES = ("one_for_one", "one_for_all", "rest_for_one")


class BoomError(Exception):
    pass


class World:
    """What agents have done, and the doors by which they are made to crash."""

    def __init__(self) -> None:
        self.log: list[tuple[str, str]] = []
        self.doors: dict[str, asyncio.Future[None]] = {}

    async def comes_to(self, expected: list[tuple[str, str]]) -> None:
        """Wait until so much has happened; then nothing else may have."""
        while len(self.log) < len(expected):  # noqa: ASYNC110 - agents write to it, and know nothing of who reads it
            await asyncio.sleep(0)
        for _ in range(20):
            await asyncio.sleep(0)
        assert self.log == expected


@follows("protocol Idle { Nobody -> Worker: Nothing }", as_="Worker")
class Worker(Agent):
    """Lives until its door opens, and then crashes."""

    def __init__(self, name: str, world: World) -> None:
        self.name = name
        self.world = world

    async def on_start(self) -> None:
        self.world.log.append(("start", self.name))
        self.world.doors[self.name] = door = asyncio.get_running_loop().create_future()
        try:
            await door
        finally:
            self.world.log.append(("stop", self.name))


@dataclass(eq=False)
class Node:
    """A supervisor of the model, or an agent if it has no strategy."""

    name: str
    strategy: str = ""
    most: int = 0
    children: list[Node] = field(default_factory=list)
    above: Node | None = None
    count: int = 0

    @property
    def agents(self) -> list[str]:
        return [name for child in self.children for name in child.agents] if self.strategy else [self.name]

    @property
    def nodes(self) -> list[Node]:
        return [self, *(node for child in self.children for node in child.nodes)]

    def supervisor(self, world: World, **options) -> Supervisor:
        """A real one."""
        made = Supervisor(strategy=self.strategy, max_restarts=self.most, **options)
        for child in self.children:
            if child.strategy:
                made.add(child.supervisor(world), name=child.name)
            else:
                made.add(Worker, child.name, world, name=child.name)
        return made


class Model:
    """What must have happened."""

    def __init__(self, root: Node) -> None:
        self.root = root
        self.log = [("start", name) for name in root.agents]
        self.seen: Counter[tuple[str, str]] = Counter()
        self.is_over = False

    def crash(self, name: str) -> None:
        self.log.append(("stop", name))
        self._fail(next(node for node in self.root.nodes if node.name == name), {name}, 0)

    def _fail(self, node: Node, ended: set[str], height: int) -> None:
        above = node.above
        if above is None:
            self.is_over = True
            self._stop(node.agents, ended)
            self.seen["gave up", f"after {min(height, 3)}"] += 1
            return
        above.count += 1
        if above.count > above.most:
            self._fail(above, ended, height + 1)
            return
        at = above.children.index(node)
        again = {"one_for_one": [node], "one_for_all": above.children, "rest_for_one": above.children[at:]}
        names = [name for child in again[above.strategy] for name in child.agents]
        self._stop(names, ended)
        for child in again[above.strategy]:
            for each in child.nodes:
                each.count = 0
        self.log += [("start", name) for name in names]
        self.seen[above.strategy, f"after {min(height, 3)}"] += 1

    def _stop(self, names: list[str], ended: set[str]) -> None:
        self.log += [("stop", name) for name in reversed(names) if name not in ended]

    def end(self) -> None:
        if not self.is_over:
            self._stop(self.root.agents, set())


def random_tree(chance, depth: int = 3) -> Node:
    """A supervisor of one to three children, down to so many levels."""
    names = iter(range(1000))

    def make(level: int) -> Node:
        node = Node(f"s{next(names)}", chance.choice(STRATEGIES), chance.randint(0, 2))
        for _ in range(chance.randint(1, 3)):
            child = make(level - 1) if level > 1 and chance.random() < 0.6 else Node(f"a{next(names)}")
            child.above = node
            node.children.append(child)
        return node

    return make(depth)


async def hold(root: Node, chance, crashes: int, **options) -> Model:
    """Crash agents of a tree one after the other, and hold what happens against the model."""
    world, model = World(), Model(root)
    supervisor = root.supervisor(world, within=1e9, **options)
    failure = None
    try:
        async with supervisor:
            await world.comes_to(model.log)
            for _ in range(crashes):
                name = chance.choice(root.agents)
                model.crash(name)
                world.doors[name].set_exception(BoomError(name))
                while model.is_over:  # noqa: ASYNC110 - until the block is cancelled
                    await asyncio.sleep(0)
                await world.comes_to(model.log)
    except GaveUpError as error:
        failure = error
    model.end()
    assert world.log == model.log
    assert (failure is not None) == model.is_over
    while isinstance(failure, GaveUpError):
        failure = failure.__cause__
    assert isinstance(failure, BoomError) == model.is_over, "in the end, it is the crash"
    return model
