"""How a block of a protocol between roles can begin, and whether one can get past its end.

Both look through `do`. So the protocols of a text are taken in an order in which each comes behind those it does;
where one does itself, which is an error told elsewhere, that `do` begins with nothing and is passed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from accord.language.global_tree import CRASH, Call, Continue, Exchange, GlobalChoice, GlobalLoop, blocks_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accord.diagnostics import Span
    from accord.language.global_tree import Block, GlobalProtocol

__all__ = ["First", "Shapes", "calls_in"]


class First(NamedTuple):
    """A message that a block can begin with, and where it stands."""

    sender: str
    receiver: str
    label: str
    span: Span

    @property
    def message(self) -> tuple[str, str, str]:
        """It without its place."""
        return self.sender, self.receiver, self.label


def calls_in(block: Block) -> Iterator[Call]:
    """Every `do` in a block, in source order."""
    for step in block:
        if isinstance(step, Call):
            yield step
        for inner in blocks_in(step):
            yield from calls_in(inner)


class Shapes:
    """What is known of the protocols of a text; a name that is declared twice means the first."""

    def __init__(self, protocols: Iterable[GlobalProtocol]) -> None:
        self.protocols: dict[str, GlobalProtocol] = {}
        for protocol in protocols:
            self.protocols.setdefault(protocol.name, protocol)
        self.circles: dict[str, Call] = {}
        """Protocols that do themselves, by way of others or at once, and the `do` that closes the circle."""
        self._firsts: dict[str, list[First]] = {}
        self._passes: dict[str, bool] = {}
        self.sizes: dict[str, int] = {}
        """How many steps each protocol has, with what `do` does written out."""
        for name in self._in_order():
            body = self.protocols[name].body
            self._firsts[name] = self.firsts(body)
            self._passes[name] = self.passes(body)
            self.sizes[name] = self._size(body)

    def _in_order(self) -> list[str]:
        """The names, each behind those that its protocol does."""
        order: dict[str, None] = {}
        for root in self.protocols:
            path: dict[str, Iterator[Call]] = {root: calls_in(self.protocols[root].body)} if root not in order else {}
            while path:
                name = next(reversed(path))
                call = next(path[name], None)
                if call is None:
                    order[name] = None
                    del path[name]
                elif call.protocol in path:
                    self.circles.setdefault(name, call)
                elif call.protocol in self.protocols and call.protocol not in order:
                    path[call.protocol] = calls_in(self.protocols[call.protocol].body)
        return list(order)

    def _size(self, block: Block) -> int:
        return sum(
            self.sizes.get(step.protocol, 0) if isinstance(step, Call) else 1 + sum(map(self._size, blocks_in(step)))
            for step in block
        )

    def firsts(self, block: Block) -> list[First]:
        """Every message the block can begin with, each once, in source order."""
        found: dict[tuple[str, str, str], First] = {}
        for first in self._all_firsts(block):
            found.setdefault(first.message, first)
        return list(found.values())

    def _all_firsts(self, block: Block) -> list[First]:
        if not block:
            return []
        step = block[0]
        if isinstance(step, Exchange):
            return [First(step.sender, step.receiver, step.label, step.span)]
        if isinstance(step, Call):
            actual = dict(step.arguments)
            known = self._firsts.get(step.protocol, [])
            return [First(actual.get(f.sender, ""), actual.get(f.receiver, ""), f.label, step.span) for f in known]
        if isinstance(step, GlobalChoice):
            found = [first for branch in step.branches for first in self.firsts(branch)]
            noticing = self.firsts(step.crash) if step.crash else []
            return found + [First(step.decider, first.sender, CRASH, first.span) for first in noticing[:1]]
        return [first for inner in blocks_in(step) for first in self.firsts(inner)]

    def passes(self, block: Block) -> bool:
        """Whether some way leads past the end of the block."""
        return all(self.step_passes(step) for step in block)

    def step_passes(self, step: object) -> bool:
        """Whether some way leads past a step."""
        if isinstance(step, Exchange):
            return True
        if isinstance(step, Continue):
            return False
        if isinstance(step, Call):
            return self._passes.get(step.protocol, True)
        ways = [self.passes(inner) for inner in blocks_in(step)]  # type: ignore[arg-type] # the steps that are left
        return any(ways) if isinstance(step, GlobalChoice | GlobalLoop) else all(ways)
