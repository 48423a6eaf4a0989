"""Loops without a way out: the places from which no end of a method can be reached, unless something fails."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from accord.agents.check.graph import Leave, Pass
from accord.agents.check.paths import Trap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from accord.agents.check.methods import Method
    from accord.agents.check.paths import Place, Step

__all__ = ["find_trap"]


def find_trap(
    method: Method,
    after: Mapping[Place, Iterable[Place]],
    ends: Iterable[Place],
    speaks: Mapping[Place, Iterable[tuple[int, str]]],
    path: Callable[[Place], tuple[Step, ...]],
) -> Trap | None:
    """The first loop of a walk that is never left. `after` says what can come after each place that was visited."""
    free = _free(after, ends)
    trapped = [place for place in after if place not in free and place.node.operation != Leave("fail")]
    loops = [place for place in trapped if isinstance(place.node.operation, Pass) and place.node.operation.loop]
    if not loops:
        return None
    loop = min(loops, key=lambda place: place.node.tree.lineno if isinstance(place.node.tree, ast.stmt) else 0)
    partners = frozenset(partner for place in trapped for partner in speaks.get(place, ()))
    worlds = frozenset(place.world.forget() for place in loops)
    return Trap(method, loop.node.tree or method.node, worlds, partners, path(loop))


def _free(after: Mapping[Place, Iterable[Place]], ends: Iterable[Place]) -> set[Place]:
    """The places from which an end can be reached."""
    todo = [place for place in ends if place.node.operation != Leave("fail")]
    back: dict[Place, list[Place]] = {}
    for place, nexts in after.items():
        for target in nexts:
            back.setdefault(target, []).append(place)
    free = set(todo)
    while todo:
        for place in back.get(todo.pop(), ()):
            if place not in free:
                free.add(place)
                todo.append(place)
    return free
