"""What the forks of a machine must satisfy, for machines that come from outside and not from the compiler.

A part of an interleaving never leads back to the fork it belongs to, interleavings are nested no deeper than the limits
allow, and no chain of forks leads back to itself without a message. Otherwise following a configuration would not end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.errors import UsageError
from accord.limits import DEFAULT_LIMITS
from accord.machine.tables import Fork

if TYPE_CHECKING:
    from accord.machine.tables import Machine

__all__ = ["check_forks"]


def check_forks(machine: Machine) -> None:
    """Raise `UsageError` if a configuration of the machine could grow or unfold without end."""
    forks = {number: state for number, state in enumerate(machine.states) if isinstance(state, Fork)}
    if not forks:
        return
    depth: dict[int, int] = {}
    for number, fork in forks.items():
        _depth(machine, number, fork, depth, ())
    silent = _silent_states(machine, forks)
    for number in forks:
        seen = {number}
        here = number
        while here in forks and all(part in silent for part in forks[here].parts):
            here = forks[here].join
            if here in seen:
                raise UsageError(f"state {here} is reached from itself without a message")
            seen.add(here)


def _depth(machine: Machine, number: int, fork: Fork, known: dict[int, int], above: tuple[int, ...]) -> int:
    """How deeply interleavings are nested in this one."""
    if number in above or len(above) >= DEFAULT_LIMITS.interleaving_depth:
        raise UsageError(f"the interleaving at state {number} is nested too deeply or holds itself")
    if number not in known:
        deepest = 0
        for inner in _inside(machine, fork):
            state = machine.states[inner]
            if isinstance(state, Fork):
                deepest = max(deepest, _depth(machine, inner, state, known, (*above, number)))
        known[number] = deepest + 1
    if known[number] + len(above) > DEFAULT_LIMITS.interleaving_depth:
        raise UsageError(f"the interleaving at state {number} is nested too deeply")
    return known[number]


def _inside(machine: Machine, fork: Fork) -> set[int]:
    """The states of the parts of a fork, without those of interleavings inside them."""
    seen = set(fork.parts)
    todo = list(seen)
    while todo:
        state = machine.states[todo.pop()]
        targets = [state.join] if isinstance(state, Fork) else [target for _, target in state.edges]
        for target in targets:
            if target not in seen:
                seen.add(target)
                todo.append(target)
    return seen


def _silent_states(machine: Machine, forks: dict[int, Fork]) -> set[int]:
    """The states in which a part can finish without a message."""
    silent = {number for number, state in enumerate(machine.states) if state.stop == "end"}
    grown = True
    while grown:
        more = {
            number
            for number, fork in forks.items()
            if number not in silent and fork.join in silent and all(part in silent for part in fork.parts)
        }
        silent |= more
        grown = bool(more)
    return silent
