"""What the forks and deadlines of a machine must satisfy, for machines that do not come from the compiler.

A part of an interleaving never leads back to the fork it belongs to, interleavings are nested no deeper than the limits
allow, and no chain of forks and deadlines leads back to itself without a message. Otherwise following a configuration
would not end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.errors import UsageError
from accord.limits import DEFAULT_LIMITS
from accord.machine.tables import Fork

if TYPE_CHECKING:
    from accord.machine.tables import Machine, State

__all__ = ["check_forks"]


def check_forks(machine: Machine) -> None:
    """Raise `UsageError` if a configuration of the machine could grow or unfold without end."""
    forks = {number: state for number, state in enumerate(machine.states) if isinstance(state, Fork)}
    depth: dict[int, int] = {}
    for number, fork in forks.items():
        _depth(machine, number, fork, depth, ())
    silent = _silent_states(machine)
    fine: set[int] = set()
    for number in range(len(machine.states)):
        here: int | None = number
        seen: set[int] = set()
        while here is not None and here not in fine:
            if here in seen:
                raise UsageError(f"state {here} is reached from itself without a message")
            seen.add(here)
            here = _without_a_message(machine.states[here], silent)
        fine |= seen


def _without_a_message(state: State, silent: set[int]) -> int | None:
    """Where a session can be after a state in which nothing has happened."""
    if isinstance(state, Fork):
        return state.join if all(part in silent for part in state.parts) else None
    return state.late.target if state.late else None


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
        for target in (state.join,) if isinstance(state, Fork) else state.targets:
            if target not in seen:
                seen.add(target)
                todo.append(target)
    return seen


def _silent_states(machine: Machine) -> set[int]:
    """The states in which a part can finish without a message. Each is looked at once: chains can be long."""
    missing: dict[int, int] = {}
    needed_by: dict[int, list[int]] = {}
    for number, state in enumerate(machine.states):
        needs = set(state.targets) if isinstance(state, Fork) else {state.late.target} if state.late else set()
        missing[number] = len(needs)
        for target in needs:
            needed_by.setdefault(target, []).append(number)
    silent = {number for number, state in enumerate(machine.states) if state.stop == "end"}
    todo = list(silent)
    while todo:
        for number in needed_by.get(todo.pop(), ()):
            missing[number] -= 1
            if missing[number] == 0 and number not in silent:
                silent.add(number)
                todo.append(number)
    return silent
