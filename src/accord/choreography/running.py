"""The roles of a protocol on their own: each follows its projection, messages travel through channels.

A search through everything they can do together finds the shortest way to get stuck, if there is one. It is what a
refused protocol would lead to, shown as a trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from accord.language.labels import print_label

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.machine.tables import Machine, Plain

__all__ = ["Stuck", "find_stuck"]

Channels = tuple[tuple[tuple[str, str], tuple[str, ...]], ...]
Configuration = tuple[tuple[int, ...], Channels]


@dataclass(frozen=True, slots=True)
class Stuck:
    """A run that leads to where nothing more can happen although something should.

    `waiting` are the roles that are not at an end and what each waits for; `left` are messages that nobody receives.
    """

    run: tuple[str, ...]
    waiting: tuple[tuple[str, tuple[str, ...]], ...]
    left: tuple[tuple[str, str, str], ...]


def find_stuck(machines: dict[str, Machine], most: int) -> Stuck | None:
    """The shortest run of the roles after which they are stuck, looking at no more than `most` configurations."""
    roles = tuple(machines)
    start: Configuration = ((0,) * len(roles), ())
    before: dict[Configuration, tuple[Configuration, str] | None] = {start: None}
    queue = [start]
    for configuration in queue:  # it grows while it is walked
        moved = False
        for word, after in _steps(configuration, roles, machines):
            moved = True
            if after not in before and len(before) <= most:
                before[after] = (configuration, word)
                queue.append(after)
        stuck = None if moved else _stuck(configuration, roles, machines)
        if stuck is not None:
            run: list[str] = []
            at = before[configuration]
            while at is not None:
                run.append(at[1])
                at = before[at[0]]
            return Stuck(tuple(reversed(run)), *stuck)
    return None


def _steps(
    configuration: Configuration, roles: tuple[str, ...], machines: dict[str, Machine]
) -> Iterator[tuple[str, Configuration]]:
    states, channels = configuration
    held = dict(channels)
    for index, role in enumerate(roles):
        machine = machines[role]
        state: Plain = machine.states[states[index]]  # type: ignore[assignment] # projections have no forks
        for number, target in state.edges:
            symbol = machine.symbols[number]
            partner = symbol.partner or ""
            after = dict(held)
            if symbol.direction == "!":
                after[role, partner] = (*held.get((role, partner), ()), symbol.label)
                word = f"{role} sends `{print_label(symbol.label)}` to {partner}"
            else:
                queue = held.get((partner, role), ())
                if not queue or queue[0] != symbol.label:
                    continue
                after[partner, role] = queue[1:]
                word = f"{role} receives `{print_label(symbol.label)}` from {partner}"
            moved = (*states[:index], target, *states[index + 1 :])
            yield word, (moved, tuple(sorted((key, value) for key, value in after.items() if value)))


def _stuck(
    configuration: Configuration, roles: tuple[str, ...], machines: dict[str, Machine]
) -> tuple[tuple[tuple[str, tuple[str, ...]], ...], tuple[tuple[str, str, str], ...]] | None:
    states, channels = configuration
    waiting = []
    for role, number in zip(roles, states, strict=True):
        state: Plain = machines[role].states[number]  # type: ignore[assignment] # projections have no forks
        if state.stop is None:
            waiting.append((role, tuple(machines[role].symbols[symbol].word for symbol, _ in state.edges)))
    left = tuple((*channel, label) for channel, labels in channels for label in labels)
    return (tuple(waiting), left) if waiting or left else None
