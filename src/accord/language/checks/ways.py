"""Where the ways through a protocol lead: shared by the checks of guardedness and reachability.

For each node: can a session pass it and reach what follows? Can it stop inside? And can it do so silently, that is
without any message? A deadline that passes is no message, so what is late can be silent. A jump does neither: it goes
on elsewhere. Inside an interleaving `end` only finishes its part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from accord.language.tree import Action, End, Interleaving, Sequence, Variable

if TYPE_CHECKING:
    from accord.language.tree import Protocol

__all__ = ["Ways", "ways_through"]


class Ways(NamedTuple):
    """What the ways through one node can do."""

    passes: bool
    stops: bool
    passes_silently: bool
    stops_silently: bool


_ACTION = Ways(passes=True, stops=False, passes_silently=False, stops_silently=False)
_END = Ways(passes=False, stops=True, passes_silently=False, stops_silently=True)
_JUMP = Ways(passes=False, stops=False, passes_silently=False, stops_silently=False)


def ways_through(body: Protocol) -> dict[int, Ways]:
    """The ways through every node that is no leaf, by the node's `id`."""
    known: dict[int, Ways] = {}
    todo: list[tuple[Protocol, bool]] = [(body, False)]
    while todo:
        node, children_done = todo.pop()
        children = node.children()
        if not children:
            continue
        if not children_done:
            todo.append((node, True))
            todo += [(child, False) for child in children]
            continue
        ways = [of(child, known) for child in children]
        if isinstance(node, Sequence):
            known[id(node)] = _in_a_row(ways)
        elif isinstance(node, Interleaving):
            known[id(node)] = Ways(
                passes=all(w.passes or w.stops for w in ways),
                stops=False,
                passes_silently=all(w.passes_silently or w.stops_silently for w in ways),
                stops_silently=False,
            )
        else:
            known[id(node)] = Ways(*(any(column) for column in zip(*ways, strict=True)))
    return known


def of(node: Protocol, known: dict[int, Ways]) -> Ways:
    """The ways through one node."""
    if isinstance(node, Action):
        return _ACTION
    if isinstance(node, End):
        return _END
    if isinstance(node, Variable):
        return _JUMP
    return known[id(node)]


def _in_a_row(ways: list[Ways]) -> Ways:
    reached = silent = True
    stops = stops_silently = False
    for step in ways:
        stops |= reached and step.stops
        stops_silently |= silent and step.stops_silently
        reached &= step.passes
        silent &= step.passes_silently
    return Ways(reached, stops, silent, stops_silently)
