"""A method as a graph: what it does, one thing after another, on every way through it.

A node is one thing that happens, such as a message that is sent or a condition that is asked, and knows the nodes that
can come next. An exception has ways of its own: `throws` of a node says where they lead.

Only what can matter to a protocol becomes a node of its own. Everything else is a `Risk`: it may raise an exception.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    import ast

    from accord.agents.check.exceptions import Raised
    from accord.agents.check.methods import Method

__all__ = [
    "Bind",
    "Case",
    "Except",
    "Help",
    "Leave",
    "Node",
    "Operation",
    "Pass",
    "Receive",
    "Risk",
    "Round",
    "Rounds",
    "Send",
    "Test",
    "Throws",
    "Unseen",
]


@dataclass(frozen=True)
class Pass:
    """Nothing; all nodes behind it are possible. `loop` if rounds begin here."""

    note: str = ""
    loop: bool = False


@dataclass(frozen=True)
class Except:
    """The beginning of an `except`: the exceptions that it takes, `None` for all."""

    names: tuple[str, ...] | None
    note: str


@dataclass(frozen=True)
class Risk:
    """Something that may raise an exception and is no business of the protocol."""


@dataclass(frozen=True)
class Send:
    """`await self.send(target, message)`; `await self.reply(message)` if there is no target."""

    call: ast.Call
    target: ast.expr | None
    message: ast.expr | None
    protocol: ast.expr | None
    is_timed: bool = False
    """Whether it may be given up when it is half done: the message is on its way, and time is up."""

    @property
    def is_reply(self) -> bool:
        """Whether it answers the message that came last."""
        return self.target is None


@dataclass(frozen=True)
class Receive:
    """`await self.receive(Type)`."""

    call: ast.Call
    types: ast.expr | None
    protocol: ast.expr | None


@dataclass(frozen=True)
class Help:
    """A call of a method of the same class."""

    call: ast.Call
    method: Method
    is_timed: bool = False


@dataclass(frozen=True)
class Bind:
    """A name that is bound; to nothing that is known if there is no value."""

    name: str
    value: ast.expr | None


@dataclass(frozen=True)
class Test:
    """A condition: the first node behind it if it is true, the second if not."""

    condition: ast.expr


@dataclass(frozen=True)
class Case:
    """A pattern of `match`: the first node behind it if it fits, the second if not."""

    subject: ast.expr
    pattern: ast.pattern


@dataclass(frozen=True)
class Rounds:
    """The beginning of a loop whose rounds are counted."""

    key: str


@dataclass(frozen=True)
class Round:
    """Where a loop goes round: the first node behind it for another round, the second if there are no more.

    `elements` if it is known how often, and over what.
    """

    key: str
    name: str | None
    elements: tuple[ast.expr | None, ...] | None


@dataclass(frozen=True)
class Leave:
    """The end of the method: it returns, raises on purpose, or fails."""

    kind: str
    raised: Raised | None = None


@dataclass(frozen=True)
class Unseen:
    """Something that is not analysed."""

    why: str


Operation: TypeAlias = (
    Pass | Except | Risk | Send | Receive | Help | Bind | Test | Case | Rounds | Round | Leave | Unseen
)


class Throws(Protocol):
    """Where exceptions go."""

    def targets(self, raised: Raised | None) -> tuple[Node, ...]:
        """The nodes that an exception can come to; `None` is any that something raises that is not seen."""
        ...


class Node:
    """One thing that happens."""

    __slots__ = ("next", "number", "operation", "throws", "tree")

    def __init__(
        self, number: int, operation: Operation, tree: ast.AST | None, next_: list[Node], throws: Throws
    ) -> None:
        self.number = number
        self.operation = operation
        self.tree = tree
        self.next = next_
        self.throws = throws

    def __repr__(self) -> str:
        return f"<{self.number} {self.operation} -> {[node.number for node in self.next]}>"
