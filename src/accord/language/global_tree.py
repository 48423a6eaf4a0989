"""The tree of what is between roles: protocols seen from above, and the records and enums of their messages.

A *block* is a tuple of steps. Nodes are frozen and compare by shape, never by place. Unlike a local protocol, a block
is nested no deeper than `DEEPEST`, which the parser and the builder hold, so functions on it may recurse.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from accord.diagnostics import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "BASIC_TYPES",
    "CRASH",
    "DEEPEST",
    "Block",
    "Call",
    "Continue",
    "Enumeration",
    "Exchange",
    "Field",
    "FieldType",
    "GlobalChoice",
    "GlobalLoop",
    "GlobalProtocol",
    "GlobalStep",
    "Parallel",
    "Record",
    "blocks_in",
    "exchanges_in",
    "roles_in",
]

DEEPEST = 64
"""Blocks inside blocks, and types inside types; nobody reads more."""

CRASH = "crash"
"""The label by which a role learns that another one has crashed."""

BASIC_TYPES = {"String": 0, "Int": 0, "Float": 0, "Bool": 0, "Any": 0, "List": 1, "Map": 2, "Option": 1}
"""The types that need no declaration, and how many types each takes in `<…>`."""

_NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True)
class Exchange:
    """`A -> B: Label`: one sends, the other receives."""

    sender: str
    receiver: str
    label: str
    span: Span = field(default=_NOWHERE, compare=False)
    receiver_span: Span = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class GlobalChoice:
    """`choice at R {…} or {…} or crash R {…}`: R decides, by the first message it sends.

    What is in `crash` follows if R fails instead; whoever sends first there is the one that notices.
    """

    decider: str
    branches: tuple[Block, ...]
    crash: Block | None = None
    span: Span = field(default=_NOWHERE, compare=False)
    decider_span: Span = field(default=_NOWHERE, compare=False)
    branch_spans: tuple[Span, ...] = field(default=(), compare=False)
    """Of each branch in braces, the one behind `crash` last."""


@dataclass(frozen=True, slots=True)
class GlobalLoop:
    """`rec X {…}`: `continue X` inside goes on from here; whoever gets past the end leaves the loop."""

    variable: str
    body: Block
    span: Span = field(default=_NOWHERE, compare=False)
    variable_span: Span = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Continue:
    """`continue X`."""

    variable: str
    span: Span = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Parallel:
    """`par {…} and {…}`: all parts, each to its end, in any order."""

    parts: tuple[Block, ...]
    span: Span = field(default=_NOWHERE, compare=False)
    part_spans: tuple[Span, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """`do P(Role = Role, …)`: another protocol, played by roles of this one."""

    protocol: str
    arguments: tuple[tuple[str, str], ...]
    """The role there and the role here, in their order."""
    span: Span = field(default=_NOWHERE, compare=False)
    protocol_span: Span = field(default=_NOWHERE, compare=False)
    argument_spans: tuple[Span, ...] = field(default=(), compare=False)


GlobalStep: TypeAlias = Exchange | GlobalChoice | GlobalLoop | Continue | Parallel | Call
Block: TypeAlias = tuple[GlobalStep, ...]


@dataclass(frozen=True, slots=True)
class GlobalProtocol:
    """`protocol Name {…}`; `listed` are the roles of its `roles` line, `None` if it has none."""

    name: str
    body: Block
    listed: tuple[str, ...] | None = None
    span: Span = field(default=_NOWHERE, compare=False)
    name_span: Span = field(default=_NOWHERE, compare=False)
    listed_spans: tuple[Span, ...] = field(default=(), compare=False)

    @property
    def roles(self) -> tuple[str, ...]:
        """Its roles: as they are listed, else in the order in which they are met."""
        if self.listed is not None:
            return tuple(dict.fromkeys(self.listed))
        return tuple(dict.fromkeys(role for role, _ in roles_in(self.body)))


@dataclass(frozen=True, slots=True)
class FieldType:
    """`String`, `List<Int>`, the name of a record or an enum."""

    name: str
    arguments: tuple[FieldType, ...] = ()
    span: Span = field(default=_NOWHERE, compare=False)

    def __str__(self) -> str:
        inside = ", ".join(map(str, self.arguments))
        return f"{self.name}<{inside}>" if inside else self.name


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a record."""

    name: str
    type: FieldType
    span: Span = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Record:
    """`record Name { field: Type, … }`; an open one (`...` stands last) may have other fields too."""

    name: str
    fields: tuple[Field, ...]
    is_open: bool = False
    span: Span = field(default=_NOWHERE, compare=False)
    name_span: Span = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Enumeration:
    """`enum Name { a, b }`: one of these texts."""

    name: str
    members: tuple[str, ...]
    span: Span = field(default=_NOWHERE, compare=False)
    name_span: Span = field(default=_NOWHERE, compare=False)
    member_spans: tuple[Span, ...] = field(default=(), compare=False)


def blocks_in(step: GlobalStep) -> tuple[Block, ...]:
    """The blocks a step is made of, in source order."""
    if isinstance(step, GlobalChoice):
        return step.branches if step.crash is None else (*step.branches, step.crash)
    if isinstance(step, GlobalLoop):
        return (step.body,)
    return step.parts if isinstance(step, Parallel) else ()


def exchanges_in(block: Block) -> Iterator[Exchange]:
    """Every exchange of a block, in source order; what is done by `do` is not in it."""
    for step in block:
        if isinstance(step, Exchange):
            yield step
        for inner in blocks_in(step):
            yield from exchanges_in(inner)


def roles_in(block: Block) -> Iterator[tuple[str, Span]]:
    """Every mention of a role, in source order."""
    for step in block:
        if isinstance(step, Exchange):
            yield step.sender, Span(step.span.start, step.span.start + len(step.sender))
            yield step.receiver, step.receiver_span
        elif isinstance(step, GlobalChoice):
            yield step.decider, step.decider_span
        elif isinstance(step, Call):
            spans = step.argument_spans or (step.span,) * len(step.arguments)
            for (_, actual), span in zip(step.arguments, spans, strict=True):
                yield actual, span
        for inner in blocks_in(step):
            yield from roles_in(inner)
