"""Where a session of a protocol with deadlines can be: configurations that know what time it is.

As in `configurations`, with three differences:

- `(state, (), due)`: the session (or part) is in a state with a deadline, and until when it is in time;
- `(fork, parts, 0)`: an interleaving that is a recursion point and in which nothing has happened yet, so that the
  session may pause there; its parts have clocks that run;
- when all parts of an interleaving may end, what follows them may have begun, and from then on its clocks run. So that
  it has begun and that it has not are two possibilities, and a session follows both.

To enter a state therefore leads to several configurations, and all of them depend on the time.
"""

from __future__ import annotations

from itertools import product
from math import isfinite
from typing import TYPE_CHECKING, TypeAlias

from accord.machine.configurations import TooManyConfigurationsError
from accord.machine.tables import END_STATE, Fork, Plain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from accord.machine.configurations import Configuration, Origin
    from accord.machine.tables import Machine

__all__ = [
    "Time",
    "dues",
    "enter",
    "is_complete",
    "late",
    "may_end",
    "moves",
    "offers",
    "print_time",
    "running",
    "time_of",
]

Time: TypeAlias = int | float

# More ways for the parts of one interleaving to begin than anybody can mean.
_MOST_WAYS = 10_000

# Times beyond this are not written out digit by digit.
_MOST_PLAIN = 10**15


# Up to here whole numbers and floats are the same numbers.
_EXACT = 2**53


def time_of(value: object) -> Time | None:
    """The time in a value that may be anything; `None` if it is none.

    Beyond 2^53 a time is a float: adding a duration to it never leads back, and it is read as it was written.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int) and -_EXACT <= value <= _EXACT:
        return int(value)
    try:
        time = float(value)
    except OverflowError:
        return None
    return time if isfinite(time) else None


def print_time(time: Time) -> str:
    """A time as text; one that is whole looks alike whether it is kept as an integer or not."""
    if abs(time) >= _MOST_PLAIN:
        return f"{float(time):g}"
    return str(int(time) if time == int(time) else time)


def enter(machine: Machine, number: int, at: Time) -> list[Configuration]:
    """Where a session can be that comes to a state at this time.

    Nesting is bounded, so this may recurse into parts; along a row of interleavings that may all be over it loops.
    """
    found: list[Configuration] = []
    state = machine.states[number]
    while isinstance(state, Fork):
        ways = _ways([enter(machine, part, at) for part in state.parts])
        beside, over = _beside(machine, state.join, ways, head=None if state.stop is None else number)
        found += beside
        if not over:
            return found
        if len(found) > _MOST_WAYS:
            raise _too_many()
        number = state.join
        state = machine.states[number]
    found.append((number,) if state.late is None else (number, (), at + state.late.milliseconds / 1000))
    return found


def _ways(parts: list[list[Configuration]]) -> Iterable[tuple[Configuration, ...]]:
    many = 1
    for part in parts:
        many *= len(part)
    if many > _MOST_WAYS:
        raise _too_many()
    return product(*parts)


def _too_many() -> TooManyConfigurationsError:
    return TooManyConfigurationsError(f"more than {_MOST_WAYS} possibilities would have to be followed")


def _beside(
    machine: Machine, join: int, ways: Iterable[Iterable[Configuration]], head: int | None = None
) -> tuple[list[Configuration], bool]:
    """An interleaving whose parts can be in any of these places, and whether in one of them all may have ended."""
    found: list[Configuration] = []
    over = False
    for parts in map(tuple, ways):
        running = tuple(sorted(part for part in parts if len(part) > 1 or machine.states[part[0]] != END_STATE))
        if running:
            found.append((join, running) if head is None else (head, running, 0))
        over = over or all(may_end(machine, part) for part in parts)
    return found, over


def _go_on(machine: Machine, join: int, ways: Iterable[Iterable[Configuration]], at: Time) -> list[Configuration]:
    """An interleaving under way whose parts can be in any of these places, and what may follow it by now."""
    beside, over = _beside(machine, join, ways)
    return beside + enter(machine, join, at) if over else beside


def _parts(machine: Machine, configuration: Configuration) -> tuple[int, tuple[Configuration, ...]] | None:
    """Join and parts of an interleaving; `None` for a plain state."""
    if len(configuration) == 2:
        return configuration
    if len(configuration) == 3 and configuration[1]:
        fork = machine.states[configuration[0]]
        assert isinstance(fork, Fork)  # noqa: S101 - nothing else has parts
        return fork.join, configuration[1]
    return None


def moves(
    machine: Machine,
    configuration: Configuration,
    at: Time,
    wanted: Collection[int] | None = None,
    origin: Origin = (),
) -> Iterator[tuple[int, list[Configuration], Origin]]:
    """Every symbol that can happen (or every wanted one), with the configurations after it if it happens now."""
    interleaved = _parts(machine, configuration)
    if interleaved is None:
        state = machine.states[configuration[0]]
        assert isinstance(state, Plain)  # noqa: S101 - forks are entered at once
        for symbol, target in state.edges:
            if wanted is None or symbol in wanted:
                yield symbol, enter(machine, target, at), origin
        return
    join, parts = interleaved
    for index, part in enumerate(parts):
        if index and part == parts[index - 1]:
            continue  # equal parts move alike
        others = [*parts[:index], *parts[index + 1 :]]
        for symbol, afters, inside in moves(machine, part, at, wanted, (*origin, index)):
            yield symbol, _go_on(machine, join, ([*others, after] for after in afters), at), inside


def offers(machine: Machine, configuration: Configuration) -> Iterator[int]:
    """Every symbol that can happen."""
    interleaved = _parts(machine, configuration)
    if interleaved is None:
        for symbol, _ in machine.states[configuration[0]].edges:  # type: ignore[union-attr] # forks are entered at once
            yield symbol
    else:
        for part in interleaved[1]:
            yield from offers(machine, part)


def may_end(machine: Machine, configuration: Configuration) -> bool:
    """Whether the session or part can be over here; for an interleaving another configuration says so."""
    return _parts(machine, configuration) is None and machine.states[configuration[0]].stop == "end"


def is_complete(machine: Machine, configuration: Configuration) -> bool:
    """Whether nothing is owed here: the session may end, or pauses where no end can be reached."""
    if len(configuration) == 2:
        parts = configuration[1]
        all_complete = all(is_complete(machine, part) for part in parts)
        return all_complete and not all(may_end(machine, part) for part in parts)
    return machine.states[configuration[0]].stop is not None


def dues(machine: Machine, configuration: Configuration) -> Iterator[Time]:
    """When the deadlines that run here are due."""
    interleaved = _parts(machine, configuration)
    if interleaved is not None:
        for part in interleaved[1]:
            yield from dues(machine, part)
    elif len(configuration) == 3:
        yield configuration[2]


def running(machine: Machine, configuration: Configuration) -> Iterator[tuple[Time, int]]:
    """The deadlines that run here: when each is due, and of which state it is."""
    interleaved = _parts(machine, configuration)
    if interleaved is not None:
        for part in interleaved[1]:
            yield from running(machine, part)
    elif len(configuration) == 3:
        yield configuration[2], configuration[0]


def late(machine: Machine, configuration: Configuration, due: Time) -> list[Configuration]:
    """Where the session can be after what was due at this time has not happened."""
    if due not in dues(machine, configuration):
        return [configuration]
    interleaved = _parts(machine, configuration)
    if interleaved is None:
        state = machine.states[configuration[0]]
        assert isinstance(state, Plain)  # noqa: S101 - something is due here
        assert state.late is not None  # noqa: S101
        return enter(machine, state.late.target, due)
    join, parts = interleaved
    return _go_on(machine, join, _ways([late(machine, part, due) for part in parts]), due)
