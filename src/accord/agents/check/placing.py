"""What nodes are made with: the graph grows here, and what is around a statement is remembered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from accord.agents.check.exceptions import Outwards
from accord.agents.check.graph import Bind, Leave, Node, Unseen

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable

    from accord.agents.check.declarations import AgentClass
    from accord.agents.check.exceptions import Raised
    from accord.agents.check.graph import Operation, Throws
    from accord.agents.check.methods import Method
    from accord.agents.check.names import Program

__all__ = ["Around", "Placing", "TooLargeError"]

_MOST_NODES = 50_000


class TooLargeError(Exception):
    """A method with more ways through it than anybody can follow."""


@dataclass(frozen=True)
class Around:
    """What a statement stands in: where `return`, `break`, `continue` and exceptions lead."""

    throws: Throws
    returns: Callable[[], Node]
    breaks: Callable[[], Node] | None = None
    continues: Callable[[], Node] | None = None
    is_timed: bool = False
    """Whether it may be given up in the middle, because time is up."""


class Placing:
    """Makes the nodes of one method."""

    def __init__(self, method: Method, effectful: frozenset[str], agent: AgentClass, program: Program) -> None:
        self.method = method
        self.me = method.self_name
        self.effectful = effectful
        self.agent = agent
        self.program = program
        self._count = 0

    def node(self, operation: Operation, tree: ast.AST | None, next_: list[Node], throws: Throws) -> Node:
        """A node of the graph."""
        self._count += 1
        if self._count > _MOST_NODES:
            raise TooLargeError
        return Node(self._count, operation, tree, next_, throws)

    def leave(self, raised: Raised | None) -> Node:
        """The end of the method by an exception."""
        kind = Leave("fail") if raised is None else Leave("raise", raised)
        return self.node(kind, None, [], Outwards(self.leave))

    def bind(self, name: str, value: ast.expr | None, tree: ast.AST, then: Node, around: Around) -> Node:
        """A name is bound; to nothing that is known if there is no value."""
        return self.node(Bind(name, value), tree, [then], around.throws)

    def unseen(self, why: str, tree: ast.AST, then: Node, around: Around) -> Node:
        """Something that is not analysed."""
        return self.node(Unseen(why), tree, [then], around.throws)

    def key(self, tree: ast.AST) -> str:
        """What a loop's count, or a subject of `match`, is remembered under; no name of Python's looks like it."""
        return f"{self.method.name}:{tree.lineno}:{tree.col_offset}"  # type: ignore[attr-defined] # it has a place
