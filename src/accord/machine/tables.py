"""The compiled protocol: literal tables, frozen.

A machine is a list of states. There are two kinds:

- a *plain* state has edges, each from a symbol (what happens) to a state, at most one edge per symbol; it may have a
  deadline, which leads to another state if nothing has happened in time;
- a *fork* starts the parts of an interleaving side by side and names the state in which the session goes on when all of
  them have finished. Parts are never multiplied out: they are states of the same table.

`stop` says whether a session (or the part it belongs to) may stop in a state: `"end"` if it may end there, `"pause"`
if no end can be reached any more and the state is a recursion point, so that stopping there leaves nothing owed.

States are numbered in the order in which a walk along sorted symbols meets them, so that equal machines have equal
tables whatever text they came from, and the digest of the tables is the identity of the protocol.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from accord.language.clauses import Collect, Guard
from accord.language.details import print_details
from accord.language.labels import print_word

if TYPE_CHECKING:
    from accord.language.clauses import Clause, Path
    from accord.language.tree import Direction

__all__ = ["END_STATE", "Fork", "Late", "Machine", "Plain", "State", "Stop", "Symbol"]

Stop = Literal["end", "pause"] | None


class Symbol(NamedTuple):
    """Something that can happen: a message in a direction; partner, clauses and gate where the contract has them."""

    direction: Direction
    label: str
    partner: str | None = None
    clauses: tuple[Clause, ...] = ()
    gated: bool = False

    @property
    def word(self) -> str:
        """As it is written in a contract."""
        return print_word(self.direction, self.label, self.partner) + print_details(self.clauses, self.gated)

    @property
    def is_plain(self) -> bool:
        """Whether the label alone decides."""
        return not self.clauses and not self.gated

    @property
    def sort_key(self) -> tuple[str, str, str, str]:
        """The canonical order of symbols: by direction, label, partner, and what stands behind."""
        details = print_details(self.clauses, self.gated) if self.clauses or self.gated else ""
        return (self.direction, self.label, self.partner or "", details)


class Late(NamedTuple):
    """A deadline: how long a session may stay in a state, and where it is afterwards."""

    milliseconds: int
    target: int


@dataclass(frozen=True, slots=True)
class Plain:
    """A state with edges: pairs of an index into the machine's symbols and the number of the next state."""

    edges: tuple[tuple[int, int], ...] = ()
    stop: Stop = None
    late: Late | None = None

    @property
    def targets(self) -> tuple[int, ...]:
        """Where it leads: along its edges, and when its time is over."""
        targets = tuple([target for _, target in self.edges])
        return targets if self.late is None else (*targets, self.late.target)


@dataclass(frozen=True, slots=True)
class Fork:
    """The start of an interleaving: the first states of its parts, and the state after all have finished."""

    parts: tuple[int, ...]
    join: int
    stop: Stop = None

    @property
    def targets(self) -> tuple[int, ...]:
        """Where it leads: into its parts, and behind them."""
        return (*self.parts, self.join)


State = Plain | Fork

END_STATE = Plain((), "end")


@dataclass(frozen=True)
class Machine:
    """A compiled protocol. State 0 is the first.

    With `each` it is sliced: every value at that path of the payloads has an instance of its own. One that `is_open`
    has no business with what it does not name.
    """

    symbols: tuple[Symbol, ...]
    states: tuple[State, ...]
    name: str | None = field(default=None, compare=False)
    each: Path | None = None
    is_open: bool = False

    @cached_property
    def labels(self) -> frozenset[str]:
        """Every label the protocol names."""
        return frozenset(symbol.label for symbol in self.symbols)

    @cached_property
    def joins(self) -> frozenset[int]:
        """The states in which sessions go on after an interleaving."""
        return frozenset(state.join for state in self.states if isinstance(state, Fork))

    @cached_property
    def by_event(self) -> dict[tuple[str, str], tuple[int, ...]]:
        """The symbols of each direction and label."""
        found: dict[tuple[str, str], list[int]] = {}
        for number, symbol in enumerate(self.symbols):
            found.setdefault((symbol.direction, symbol.label), []).append(number)
        return {event: tuple(numbers) for event, numbers in found.items()}

    def passes(self, direction: str, label: str) -> bool:
        """Whether what happens is no business of this protocol: it is open, and does not name it."""
        return self.is_open and (direction, label) not in self.by_event

    @cached_property
    def registers(self) -> tuple[str, ...]:
        """The registers that steps write, sorted; a session holds a value for each."""
        clauses = [clause for symbol in self.symbols for clause in symbol.clauses]
        return tuple(sorted({clause.register for clause in clauses if not isinstance(clause, Guard)}))

    @cached_property
    def sets(self) -> frozenset[str]:
        """The registers that collect."""
        clauses = [clause for symbol in self.symbols for clause in symbol.clauses]
        return frozenset(clause.register for clause in clauses if isinstance(clause, Collect))

    def offered(self, number: int) -> tuple[int, ...]:
        """The symbols of the edges of a plain state."""
        state = self.states[number]
        return tuple([symbol for symbol, _ in state.edges]) if isinstance(state, Plain) else ()

    @cached_property
    def is_timed(self) -> bool:
        """Whether some state has a deadline."""
        return any(isinstance(state, Plain) and state.late is not None for state in self.states)

    @cached_property
    def has_forks(self) -> bool:
        """Whether the protocol interleaves anything."""
        return any(isinstance(state, Fork) for state in self.states)
