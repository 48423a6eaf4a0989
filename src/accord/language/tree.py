"""The tree of a contract: what the parser makes, the printer prints and everything else reads.

Nodes are frozen, know their place in the text (`span`, which plays no part in equality) and are always in one normal
form, which the constructors enforce:

- a `Sequence` has at least two steps and none of them is a `Sequence`;
- every branch of a `Choice` begins with an action or with `end`;
- a `Deadline` stands around an action or a choice.

There is no node for grouping: `(!a.?b).!c` is the sequence `!a.?b.!c`, and the printer puts parentheses where a loop
does not stand last.

A contract can be nested deeper than Python can recurse. So equality walks with a stack of its own, and a node's hash is
computed once, from those of its children, when it is made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from accord.diagnostics import Source, Span
from accord.errors import UsageError
from accord.language.durations import LONGEST
from accord.language.events import Events
from accord.language.global_tree import Enumeration, GlobalProtocol, Record
from accord.language.rules import Rule
from accord.language.tools import Tools

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accord.language.clauses import Clause, Path

__all__ = [
    "NOWHERE",
    "RECEIVE",
    "SEND",
    "Action",
    "Choice",
    "Comment",
    "Deadline",
    "Declaration",
    "Direction",
    "Document",
    "End",
    "Interleaving",
    "Item",
    "Protocol",
    "Recursion",
    "Sequence",
    "Variable",
    "first_step",
    "sequence",
]

Direction = Literal["!", "?"]
SEND: Direction = "!"
RECEIVE: Direction = "?"

NOWHERE = Span(0, 0)


class _Node:
    """Equality and hash of all nodes, by shape and never by place."""

    __slots__ = ()

    _hash: int

    def _scalars(self) -> tuple[object, ...]:
        return ()

    def children(self) -> tuple[Protocol, ...]:
        """The protocols this one is made of, in source order."""
        return ()

    def __post_init__(self) -> None:
        parts = (type(self).__name__, self._scalars(), tuple(map(hash, self.children())))
        object.__setattr__(self, "_hash", hash(parts))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        stack: list[tuple[object, object]] = [(self, other)]
        while stack:
            left, right = stack.pop()
            if left is right:
                continue
            if not isinstance(left, _Node) or type(left) is not type(right):
                return NotImplemented if left is self else False
            assert isinstance(right, _Node)  # noqa: S101 - for the type checker
            if left._hash != right._hash or left._scalars() != right._scalars():
                return False
            mine, theirs = left.children(), right.children()
            if len(mine) != len(theirs):
                return False
            stack.extend(zip(mine, theirs, strict=True))
        return True

    def __repr__(self) -> str:
        from accord.language.printer import print_protocol  # noqa: PLC0415 - the printer needs the tree

        assert isinstance(self, Protocol)  # noqa: S101 - for the type checker
        return f"{type(self).__name__}({print_protocol(self)!r})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Action(_Node):
    """`!label`, `?label`, `Role!label`; with clauses on its payload, and gated if only a person can make the step."""

    direction: Direction
    label: str
    partner: str | None = None
    span: Span = NOWHERE
    clauses: tuple[Clause, ...] = ()
    gated: bool = False
    _hash: int = field(init=False)

    def _scalars(self) -> tuple[object, ...]:
        return (self.direction, self.label, self.partner, self.clauses, self.gated)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Choice(_Node):
    """One of several branches; the first action tells which."""

    branches: tuple[Protocol, ...]
    span: Span = NOWHERE
    _hash: int = field(init=False)

    def __post_init__(self) -> None:
        if not self.branches:
            raise UsageError("a choice needs at least one branch")
        for branch in self.branches:
            if not isinstance(first_step(branch), Action | End):
                raise UsageError(f"a branch begins with an action or is `end`, got {branch!r}")
        _Node.__post_init__(self)

    def children(self) -> tuple[Protocol, ...]:
        """The branches."""
        return self.branches


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Deadline(_Node):
    """`step within D else T`: if the time has passed and nothing has happened, the session goes on with T instead.

    T falls through to what follows the step, like a branch.
    """

    body: Action | Choice
    milliseconds: int
    otherwise: Protocol
    span: Span = NOWHERE
    _hash: int = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.body, Action | Choice):
            raise UsageError(f"a deadline is about a message or a choice, got {self.body!r}")
        if type(self.milliseconds) is not int or not 0 < self.milliseconds <= LONGEST:
            raise UsageError(f"a deadline is 1 to {LONGEST} milliseconds away, got {self.milliseconds!r}")
        _Node.__post_init__(self)

    def _scalars(self) -> tuple[object, ...]:
        return (self.milliseconds,)

    def children(self) -> tuple[Protocol, ...]:
        """The timed step, and what follows if it is late."""
        return (self.body, self.otherwise)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sequence(_Node):
    """Steps one after the other. Made by `sequence`, which keeps the normal form."""

    steps: tuple[Protocol, ...]
    span: Span = NOWHERE
    _hash: int = field(init=False)

    def __post_init__(self) -> None:
        if len(self.steps) < 2 or any(isinstance(step, Sequence) for step in self.steps):
            raise UsageError("a Sequence has two or more steps that are no sequences; use sequence()")
        _Node.__post_init__(self)

    def children(self) -> tuple[Protocol, ...]:
        """The steps."""
        return self.steps


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Interleaving(_Node):
    """Parts that run side by side, each to its end, in any order."""

    parts: tuple[Protocol, ...]
    span: Span = NOWHERE
    _hash: int = field(init=False)

    def __post_init__(self) -> None:
        if len(self.parts) < 2:
            raise UsageError("an interleaving needs at least two parts")
        _Node.__post_init__(self)

    def children(self) -> tuple[Protocol, ...]:
        """The parts."""
        return self.parts


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Recursion(_Node):
    """`rec X. body`: a jump to `X` inside the body goes on from here."""

    variable: str
    body: Protocol
    span: Span = NOWHERE
    variable_span: Span = NOWHERE
    _hash: int = field(init=False)

    def _scalars(self) -> tuple[object, ...]:
        return (self.variable,)

    def children(self) -> tuple[Protocol, ...]:
        """The body alone."""
        return (self.body,)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Variable(_Node):
    """A jump back to the innermost `rec` of this name."""

    name: str
    span: Span = NOWHERE
    _hash: int = field(init=False)

    def _scalars(self) -> tuple[object, ...]:
        return (self.name,)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class End(_Node):
    """The session is over; inside a part of an interleaving, the part is."""

    span: Span = NOWHERE
    _hash: int = field(init=False)


Protocol = Action | Choice | Deadline | Sequence | Interleaving | Recursion | Variable | End


def sequence(steps: Iterable[Protocol]) -> Protocol:
    """The steps in a row, flattened: the only way to build a sequence.

    Example:
        >>> sequence([Action("!", "a"), sequence([Action("?", "b"), End()])])
        Sequence('!a.?b.end')
    """
    flat: list[Protocol] = []
    for step in steps:
        if isinstance(step, Sequence):
            flat.extend(step.steps)
        else:
            flat.append(step)
    if not flat:
        raise UsageError("a sequence needs at least one step")
    if len(flat) == 1:
        return flat[0]
    return Sequence(tuple(flat), Span(flat[0].span.start, flat[-1].span.end))


def first_step(protocol: Protocol) -> Protocol:
    """What a protocol begins with."""
    return protocol.steps[0] if isinstance(protocol, Sequence) else protocol


@dataclass(frozen=True, slots=True)
class Comment:
    """A `// …` comment, without its line end. `own_line` tells whether only white space stands before it."""

    text: str
    span: Span
    own_line: bool


@dataclass(frozen=True, slots=True)
class Declaration:
    """`protocol Name = …`; the name is `None` for a bare protocol.

    With `each` it is sliced: every value at that path of the payloads has an instance of its own. One that `is_open`
    has no business with messages that it does not name, in that direction: they pass. Any other refuses them.
    """

    name: str | None
    body: Protocol
    span: Span = field(default=NOWHERE, compare=False)
    name_span: Span = field(default=NOWHERE, compare=False)
    each: Path | None = None
    is_open: bool = False

    def __post_init__(self) -> None:
        if self.is_open and self.name is None:
            raise UsageError("an open protocol has a name: `protocol Name open = …`")


Item: TypeAlias = Declaration | Rule | Events | Tools | GlobalProtocol | Record | Enumeration


@dataclass(frozen=True, slots=True)
class Document:
    """Everything one text declares, in its order."""

    items: tuple[Item, ...]
    source: Source = field(default=Source(""), compare=False, repr=False)
    comments: tuple[Comment, ...] = field(default=(), compare=False, repr=False)

    @property
    def declarations(self) -> tuple[Declaration, ...]:
        """The protocols."""
        return tuple(item for item in self.items if isinstance(item, Declaration))

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules."""
        return tuple(item for item in self.items if isinstance(item, Rule))

    @property
    def globals(self) -> tuple[GlobalProtocol, ...]:
        """The protocols between roles."""
        return tuple(item for item in self.items if isinstance(item, GlobalProtocol))

    @property
    def types(self) -> tuple[Record | Enumeration, ...]:
        """The records and enums."""
        return tuple(item for item in self.items if isinstance(item, Record | Enumeration))

    @property
    def events(self) -> Events | None:
        """What the labels mean in raw traffic, where the text says so."""
        return next((item for item in self.items if isinstance(item, Events)), None)

    @property
    def tools(self) -> Tools | None:
        """What it means if calls fail, where the text says so."""
        return next((item for item in self.items if isinstance(item, Tools)), None)

    def __str__(self) -> str:
        from accord.language.printer import print_document  # noqa: PLC0415 - the printer needs the tree

        return print_document(self)
