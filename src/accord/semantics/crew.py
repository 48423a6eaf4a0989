"""Roles on their own: each follows a local protocol, and messages travel through channels, first in, first out.

Everything the crew can do together is explored, step by step, up to a number of deeds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from accord.semantics.closing import is_complete
from accord.semantics.places import moves, start, step

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from accord.language.tree import Protocol
    from accord.semantics.exchanges import Deed

__all__ = ["Moment", "explore"]


class Moment(NamedTuple):
    """What every role has done so far, what is under way, and whether nothing more can happen."""

    histories: dict[str, tuple[Deed, ...]]
    channels: dict[tuple[str, str], tuple[str, ...]]
    stuck: bool
    all_may_stop: bool


def explore(crew: Mapping[str, Protocol], deeds: int) -> Iterator[Moment]:
    """Every moment the crew can come to with no more than that many deeds, each once."""
    roles = tuple(crew)
    seen: set[tuple[tuple[Deed, ...], ...]] = {tuple(() for _ in roles)}
    todo: list[tuple[tuple[object, ...], tuple[tuple[Deed, ...], ...], dict[tuple[str, str], tuple[str, ...]]]]
    todo = [(tuple(start(crew[role]) for role in roles), tuple(() for _ in roles), {})]
    while todo:
        states, histories, channels = todo.pop()
        stuck = True
        for index, role in enumerate(roles):
            for action in moves(states[index]):  # type: ignore[arg-type] # a state of that role
                partner = action.partner or ""
                channel = (role, partner) if action.direction == "!" else (partner, role)
                queue = channels.get(channel, ())
                if action.direction == "?" and queue[:1] != (action.label,):
                    continue
                stuck = False
                moved = queue[1:] if action.direction == "?" else (*queue, action.label)
                deed = (action.direction, partner, action.label)
                longer = (*histories[:index], (*histories[index], deed), *histories[index + 1 :])
                if longer not in seen and sum(map(len, longer)) <= deeds:
                    seen.add(longer)
                    after = step(states[index], action.direction, action.label, partner)  # type: ignore[arg-type]
                    todo.append(((*states[:index], after, *states[index + 1 :]), longer, {**channels, channel: moved}))
        may_stop = all(is_complete(state) for state in states)  # type: ignore[arg-type]
        yield Moment(dict(zip(roles, histories, strict=True)), channels, stuck, may_stop)
