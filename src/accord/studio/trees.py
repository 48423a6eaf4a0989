"""The local protocols of a text as numbered nodes, and trees with one node exchanged.

A node is known by its number: all nodes of all protocols, parents before children, in the order of the text. The page
names places of a text by these numbers, and sends the text along, so that they always mean the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from accord.diagnostics import Span
from accord.errors import UsageError
from accord.language.tree import (
    Action,
    Choice,
    Deadline,
    Declaration,
    End,
    Interleaving,
    Protocol,
    Recursion,
    Sequence,
    Variable,
    sequence,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accord.language.tree import Document

__all__ = ["Spot", "exchanged", "exchanged_at", "moved_to", "names_in", "node_at", "spots_in"]


@dataclass(frozen=True, slots=True)
class Spot:
    """A node where it stands: in which item of the document, and as which child of what."""

    number: int
    node: Protocol
    item: int
    parent: Spot | None
    index: int

    @property
    def root(self) -> Spot:
        """The whole body that it is part of."""
        spot = self
        while spot.parent is not None:
            spot = spot.parent
        return spot

    @property
    def path(self) -> tuple[int, ...]:
        """Which child of which it is, from the whole body on."""
        path: list[int] = []
        spot = self
        while spot.parent is not None:
            path.append(spot.index)
            spot = spot.parent
        return tuple(reversed(path))

    def is_inside(self, outer: Spot) -> bool:
        """Whether it is the other node, or part of it."""
        here: Spot | None = self
        while here is not None and here is not outer:
            here = here.parent
        return here is not None

    @property
    def branch(self) -> Spot | None:
        """The branch of a choice that it begins, if it begins one."""
        branch = self
        if branch.parent is not None and isinstance(branch.parent.node, Sequence) and branch.index == 0:
            branch = branch.parent
        return branch if branch.parent is not None and isinstance(branch.parent.node, Choice) else None

    @property
    def timed(self) -> Spot:
        """With its deadline, if it is what that is about."""
        parent = self.parent
        return parent if parent is not None and isinstance(parent.node, Deadline) and self.index == 0 else self


def spots_in(document: Document) -> list[Spot]:
    """Every node of every local protocol, by its number."""
    spots: list[Spot] = []
    for item, declaration in enumerate(document.items):
        if not isinstance(declaration, Declaration):
            continue
        todo: list[tuple[Protocol, Spot | None, int]] = [(declaration.body, None, 0)]
        while todo:
            node, parent, index = todo.pop()
            spot = Spot(len(spots), node, item, parent, index)
            spots.append(spot)
            children = node.children()
            todo += [(children[at], spot, at) for at in reversed(range(len(children)))]
    return spots


def names_in(spot: Spot) -> set[str]:
    """The names of all loops of its protocol."""
    found: set[str] = set()
    todo = [spot.root.node]
    while todo:
        here = todo.pop()
        if isinstance(here, Recursion):
            found.add(here.variable)
        todo += here.children()
    return found


def exchanged(spot: Spot, new: Protocol | None) -> Protocol:
    """The body of its protocol with something else, or nothing, in its place."""
    return exchanged_at(spot.root.node, spot.path, new)


def node_at(body: Protocol, path: Iterable[int]) -> Protocol:
    """The node to which a path leads."""
    for index in path:
        body = body.children()[index]
    return body


def exchanged_at(body: Protocol, path: tuple[int, ...], new: Protocol | None) -> Protocol:
    """A body with something else, or nothing, where a path leads to."""
    nodes = [body]
    for index in path[:-1]:
        nodes.append(nodes[-1].children()[index])
    for parent, index in zip(reversed(nodes), reversed(path), strict=False):
        new = _with_child(parent, index, new)
    return End(body.span) if new is None else new


def _with_child(parent: Protocol, index: int, new: Protocol | None) -> Protocol | None:
    """A node with another child; without one that held it together it is gone, or is what is left of it."""
    children = [*parent.children()]
    children[index : index + 1] = [] if new is None else [new]
    if isinstance(parent, Sequence):
        return sequence(children)
    if isinstance(parent, Choice):
        if len(children) > 1 or new is not None:  # one of one branch stays what it was, so that paths still lead there
            return Choice(tuple(children), parent.span)
        return children[0] if children else None
    if isinstance(parent, Interleaving):
        return Interleaving(tuple(children), parent.span) if len(children) > 1 else children[0]
    if isinstance(parent, Recursion):
        return replace(parent, body=new) if new is not None else None
    if not isinstance(parent, Deadline):
        raise UsageError("nothing can be put there")
    return _with_late(parent, new) if index else _with_timed(parent, new)


def _with_late(deadline: Deadline, new: Protocol | None) -> Deadline:
    if new is None:
        raise UsageError("it is what happens when the time is over; change the deadline instead")
    return replace(deadline, otherwise=new)


def _with_timed(deadline: Deadline, new: Protocol | None) -> Protocol | None:
    if new is None:
        return None
    if not isinstance(new, Action | Choice):
        raise UsageError("a deadline is about one message or one choice; take it off first")
    return replace(deadline, body=new)


def moved_to(node: Protocol, at: int) -> Protocol:
    """The same, all of it said to stand at one place of another text, so that comments there stay around it."""
    span = Span(at, at)
    children = [moved_to(child, at) for child in node.children()]
    if isinstance(node, Sequence):
        return replace(sequence(children), span=span)
    if isinstance(node, Choice):
        return Choice(tuple(children), span)
    if isinstance(node, Interleaving):
        return Interleaving(tuple(children), span)
    if isinstance(node, Deadline):
        return Deadline(children[0], node.milliseconds, children[1], span)  # type: ignore[arg-type] # as it was
    if isinstance(node, Recursion):
        return Recursion(node.variable, children[0], span, span)
    return node if isinstance(node, Variable) and node.span == span else replace(node, span=span)
