"""A machine for people at a terminal: one line per state.

    protocol Demo, each order.id, 5 states
     → 0  !Ask → 1
    ●  1  ?No → 4, ?Yes → 2, after 24h → 4
       2  (3 | 3) then 4
       3  !Log → 4
       4  end

An arrow leads to the first state, a dot marks where a session is. `end` and `pause` stand among the edges, because
there the session has that choice too, and so does where a deadline leads, `after 24h`; no edge can be mistaken for
them, since every word has its `!` or `?`. A state with so many edges that its line would be too long gets a line for
each. The last line names the registers, if there are any. Rules are listed under a heading of their own.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from accord.diagnostics.visible import display_width, visible
from accord.language.details import print_slice
from accord.language.durations import print_duration
from accord.language.labels import quote
from accord.machine.tables import Fork

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from accord.machine.rules import RuleMachine
    from accord.machine.tables import Machine, State

__all__ = ["CURRENT", "draw_rules_text", "draw_states", "draw_text", "draw_title", "neighbourhood"]

CURRENT = "●"
WIDTH = 100


def draw_text(machine: Machine, current: Collection[int] = ()) -> str:
    """The machine's name, all states, and the registers."""
    lines = [draw_title(machine), *draw_states(machine, current)]
    if machine.registers:
        names = [f"{visible(name)} (a set)" if name in machine.sets else visible(name) for name in machine.registers]
        lines.append(f"registers: {', '.join(names)}")
    return "\n".join(lines)


def draw_title(machine: Machine) -> str:
    """The name of the protocol and its size."""
    name = f"protocol {visible(machine.name)}" if machine.name else "bare protocol"
    sliced = "" if machine.each is None else f", {visible(print_slice(machine.each).removesuffix(':'))}"
    opened = ", open" if machine.is_open else ""
    return f"{name}{opened}{sliced}, {_count(len(machine.states), 'state')}"


def draw_states(machine: Machine, current: Collection[int] = (), only: Collection[int] | None = None) -> list[str]:
    """The lines of all states, or `only` these, with `…` in place of those left out."""
    count = len(machine.states)
    out = []
    gutter = len(str(count - 1))
    next_number = 0
    for number in range(count) if only is None else sorted(only):
        if number > next_number:
            out.append(f"   {'…':>{gutter}}")
        next_number = number + 1
        marks = f"{CURRENT if number in current else ' '}{'→' if number == 0 else ' '}"
        out += _lines(f"{marks} {number:>{gutter}}  ", list(_ways(machine, machine.states[number])))
    if next_number < count:
        out.append(f"   {'…':>{gutter}}")
    return out


def draw_rules_text(rules: Sequence[RuleMachine]) -> str:
    """The rules, each with its name and its text."""
    lines = [_count(len(rules), "rule")]
    named = [(visible(quote(rule.rule.name)), visible(rule.text)) for rule in rules]
    column = max(display_width(name) for name, _ in named)
    broken = column + max(display_width(text) for _, text in named) > WIDTH
    for name, text in named:
        between = "\n      " if broken else " " * (column - display_width(name) + 2)
        lines.append(f"   {name}{between}{text}")
    return "\n".join(lines)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _ways(machine: Machine, state: State) -> Iterator[str]:
    """Everything that can happen in a state."""
    if isinstance(state, Fork):
        yield f"({' | '.join(map(str, state.parts))}) then {state.join}"
    else:
        for symbol, target in state.edges:
            yield f"{visible(machine.symbols[symbol].word)} → {target}"
        if state.late is not None:
            yield f"after {print_duration(state.late.milliseconds)} → {state.late.target}"
    if state.stop is not None:
        yield state.stop


def _lines(head: str, ways: list[str]) -> list[str]:
    # A state without any way on is nothing the compiler makes, but a machine that was read from a file may hold one.
    line = head + (", ".join(ways) or "nothing")
    if display_width(line) <= WIDTH or len(ways) < 2:
        return [line]
    return [(head if index == 0 else " " * len(head)) + way for index, way in enumerate(ways)]


def neighbourhood(machine: Machine, around: Iterable[int], most: int) -> frozenset[int]:
    """The `most` states that are nearest on the way on from the states `around`, themselves included first.

    The cost depends on `most`, not on the size of the machine, so that a stepper stays quick in a machine of any size.
    """
    seeds = list(dict.fromkeys(around))[:most]
    found = set(seeds)
    queue = deque(seeds)
    while queue and len(found) < most:
        for number in machine.states[queue.popleft()].targets:
            if number not in found and len(found) < most:
                found.add(number)
                queue.append(number)
    return frozenset(found)
