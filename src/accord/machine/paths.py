"""The shortest way to make a refused action legal: breadth-first over standings, within the limits."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Literal

from accord.errors import UsageError
from accord.machine.standing import TooManyConfigurationsError

if TYPE_CHECKING:
    from accord.language.tree import Direction
    from accord.machine.standing import Standing
    from accord.machine.tables import Symbol

__all__ = ["NOT_DECIDED", "shortest_way"]

NOT_DECIDED: Literal["not decided"] = "not decided"


def shortest_way(
    standing: Standing, direction: Direction, label: str, partner: str | None = None
) -> tuple[Symbol, ...] | Literal["not decided"] | None:
    """The fewest events after which the action is legal; `None` if it never can be.

    The answer is `NOT_DECIDED` where the search met a limit before it found a way.
    """
    standings = standing.standings
    came_from: dict[object, tuple[Standing, Symbol] | None] = {standing.configurations: None}
    queue = deque([standing])
    cut_short = False
    while queue:
        here = queue.popleft()
        if _is_legal(here, direction, label, partner):
            return _retrace(here, came_from)
        for symbol, configurations in here.after.items():
            try:
                there = standings.at(configurations)
            except TooManyConfigurationsError:
                cut_short = True
                continue
            if there.configurations in came_from:
                continue
            if len(came_from) >= standings.limits.search:
                return NOT_DECIDED
            came_from[there.configurations] = (here, symbol)
            queue.append(there)
    return NOT_DECIDED if cut_short else None


def _is_legal(standing: Standing, direction: Direction, label: str, partner: str | None) -> bool:
    try:
        return standing.follow(direction, label, partner) is not None
    except UsageError:
        return True  # legal as soon as the partner is named
    except TooManyConfigurationsError:
        return False


def _retrace(standing: Standing, came_from: dict[object, tuple[Standing, Symbol] | None]) -> tuple[Symbol, ...]:
    way: list[Symbol] = []
    step = came_from[standing.configurations]
    while step is not None:
        standing, symbol = step
        way.append(symbol)
        step = came_from[standing.configurations]
    return tuple(reversed(way))
