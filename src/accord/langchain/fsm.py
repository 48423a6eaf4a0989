"""Protocols as data: a state machine that is put together in Python, transition by transition.

It compiles to the same tables as a contract of our language, state for state, so that everything which runs contracts
runs it. Only what is Python stays here: which tools its transitions mean, their guards and their actions. Where several
transitions of one event leave one state, told apart by guards, each has a label of its own in the tables.

Nothing here needs LangChain.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from accord.errors import UsageError
from accord.language.labels import normalise
from accord.machine.given import contract_of
from accord.machine.tables import Machine, Plain, Symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accord.language.tree import Direction
    from accord.machine.contract import Contract

__all__ = ["Compiled", "MonitorContext", "Phase", "ProtocolFSM", "ToolRef", "Transition", "direction_of", "ref"]

Phase = Literal["send", "recv"]


def direction_of(phase: str) -> Direction:
    """How our language writes a phase."""
    return "!" if phase == "send" else "?"


@dataclass(frozen=True, slots=True)
class ToolRef:
    """A tool, by the object itself; `label` is the name by which models call it."""

    tool: Any = field(repr=False, compare=False)
    label: str


def ref(tool: Any) -> ToolRef:  # noqa: ANN401 - a function, or what LangChain makes of it
    """Refer to a tool: a function, or what `@tool` has made of it.

    Example:
        >>> ref(print).label
        'print'
    """
    label = getattr(tool, "name", None) or getattr(tool, "__name__", None)
    if not callable(tool) and not hasattr(tool, "invoke"):
        raise UsageError(f"`ref` takes a tool, got {tool!r}")
    if not isinstance(label, str) or not label:
        raise UsageError(f"{tool!r} has no name by which a model could call it")
    return ToolRef(tool, label)


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorContext:
    """What a guard or an action is told about the event that is happening.

    `metadata` holds `args` and `tool_call_id` of a call, `result` and `tool_call_id` of a return, and whatever came
    with any other event.
    """

    current_state: str
    event: str
    phase: Phase
    trace: list[str]
    tool_ref: ToolRef | None = None
    event_label: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One step of a protocol: from `source` to `target`, when a tool is called or returns, or something else happens.

    `tool` is what `ref` has given, `event_label` the name of any other event; it is one or the other. A `guard` that
    does not return `True` disables the transition; it may be asked more than once, so it should only look. An `action`
    is called when the transition is made. With `interrupt`, the agent waits in `source` until a person makes this step.
    With `match_structured_response`, it is made when the model's structured response is of that type.
    """

    source: str
    phase: Phase
    target: str
    tool: ToolRef | None = None
    event_label: str | None = None
    guard: Callable[[MonitorContext], bool] | None = field(default=None, compare=False)
    action: Callable[[MonitorContext], object] | None = field(default=None, compare=False)
    interrupt: bool = False
    match_structured_response: type | None = None

    def __post_init__(self) -> None:
        for name in ("source", "target"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise UsageError(f"the {name} of a transition is the name of a state, got {getattr(self, name)!r}")
        if self.phase not in ("send", "recv"):
            raise UsageError(f"the phase of a transition is `send` or `recv`, got {self.phase!r}")
        if (self.tool is None) == (self.event_label is None):
            raise UsageError("a transition has either a tool, as tool=ref(f), or an event_label")
        if self.tool is not None and not isinstance(self.tool, ToolRef):
            raise UsageError(f"the tool of a transition is a reference, as tool=ref(f), got {self.tool!r}")
        if self.event_label is not None and (not isinstance(self.event_label, str) or not self.event_label):
            raise UsageError(f"an event_label is a text, got {self.event_label!r}")
        self._check_surfaces()

    def _check_surfaces(self) -> None:
        if self.interrupt and (self.tool is not None or self.phase != "recv"):
            raise UsageError("only an event that is received can be a person's: event_label=…, phase='recv'")
        if self.match_structured_response is not None:
            if not isinstance(self.match_structured_response, type):
                raise UsageError("`match_structured_response` is a class")
            if self.tool is not None or self.interrupt:
                raise UsageError("a structured response is an event of its own, neither a tool's nor a person's")
        for name in ("guard", "action"):
            if getattr(self, name) is not None and not callable(getattr(self, name)):
                raise UsageError(f"the {name} of a transition is a function")

    @property
    def label(self) -> str:
        """The name of what happens."""
        return self.event_label or (self.tool.label if self.tool is not None else "")

    @property
    def event(self) -> str:
        """As traces show it."""
        return f"{self.phase}:{self.label}"


class Compiled(NamedTuple):
    """A state machine, ready to run.

    `names` are the states by their numbers in the tables. `transitions` are those that leave a state, by the label that
    the tables have for each; `alternatives` those of one event, in their order.
    """

    contract: Contract
    names: tuple[str, ...]
    transitions: Mapping[tuple[str, Direction, str], Transition]
    alternatives: Mapping[tuple[str, Direction, str], tuple[tuple[str, Transition], ...]]
    plain: Mapping[str, str]
    """The label of an event, by that which the tables have for it."""


class ProtocolFSM:
    """A protocol as a state machine: `ProtocolFSM(initial="idle").add_transition(…).mark_terminal("done")`.

    Example:
        >>> fsm = ProtocolFSM(initial="idle")
        >>> fsm.add_transition(Transition(source="idle", tool=ref(print), phase="send", target="busy"))
        <ProtocolFSM of 2 states>
        >>> fsm.valid_events("idle")
        ['send:print']
    """

    def __init__(self, initial: str) -> None:
        if not isinstance(initial, str) or not initial:
            raise UsageError(f"the initial state is the name of one, got {initial!r}")
        self.initial = initial
        self.transitions: tuple[Transition, ...] = ()
        self.terminal: frozenset[str] = frozenset()
        self._is_compiled = False

    def add_transition(self, transition: Transition) -> Self:
        """Add a transition; of several for one event, the first whose guard holds is made."""
        self._check_open()
        if not isinstance(transition, Transition):
            raise UsageError(f"a `Transition` was expected, got {transition!r}")
        for other in self.transitions:
            same = (other.source, other.phase, normalise(other.label)) == (
                transition.source, transition.phase, normalise(transition.label),
            )  # fmt: skip
            if same and (other.tool is None) != (transition.tool is None):
                raise UsageError(f"{transition.event} from `{transition.source}` is both a tool's and another event")
            if same and other.guard is None:
                raise UsageError(
                    f"a second {transition.event} from `{transition.source}` could never be made: "
                    "the one before has no guard"
                )
        self.transitions = (*self.transitions, transition)
        return self

    def mark_terminal(self, *states: str) -> Self:
        """Say in which states a session may end."""
        self._check_open()
        unknown = [state for state in states if state not in self.states]
        if unknown:
            raise UsageError(f"there is no state {unknown[0]!r}; there is {', '.join(self.states)}")
        self.terminal |= set(states)
        return self

    @property
    def states(self) -> list[str]:
        """All states, the initial one first."""
        named = [self.initial, *(name for t in self.transitions for name in (t.source, t.target))]
        return list(dict.fromkeys(named))

    def valid_events(self, state: str) -> list[str]:
        """What may happen in a state, guards left aside, sorted."""
        return sorted({transition.event for transition in self.transitions if transition.source == state})

    def is_terminal(self, state: str) -> bool:
        """Whether a session may end in a state."""
        return state in self.terminal

    @cached_property
    def compiled(self) -> Compiled:
        """The tables; from now on nothing can be added."""
        self._is_compiled = True
        return _compile(self)

    def _check_open(self) -> None:
        if self._is_compiled:
            raise UsageError("the state machine is in use already, so it cannot be changed")

    def __repr__(self) -> str:
        return f"<ProtocolFSM of {len(self.states)} states>"


def _compile(fsm: ProtocolFSM) -> Compiled:
    alternatives: dict[tuple[str, Direction, str], list[tuple[str, Transition]]] = {}
    plain: dict[str, str] = {normalise(transition.label): transition.label for transition in fsm.transitions}
    for transition in fsm.transitions:
        label = normalise(transition.label)
        of_event = alternatives.setdefault((transition.source, direction_of(transition.phase), label), [])
        own = label if not of_event else f"{label} (or {len(of_event) + 1})"
        if plain.setdefault(own, transition.label) != transition.label:
            raise UsageError(f"the label `{own}` is needed for the alternatives of `{label}`; choose another one")
        of_event.append((own, transition))
    leaving: dict[str, list[tuple[Symbol, str]]] = {}
    for (source, direction, _), several in alternatives.items():
        for own, transition in several:
            symbol = Symbol(direction, own, gated=transition.interrupt)
            leaving.setdefault(source, []).append((symbol, transition.target))
    symbols = sorted({symbol for edges in leaving.values() for symbol, _ in edges}, key=lambda s: s.sort_key)
    number_of = {symbol: number for number, symbol in enumerate(symbols)}
    names = _reached(fsm.initial, leaving)
    state_of = {name: number for number, name in enumerate(names)}
    states = []
    for name in names:
        edges = sorted((number_of[symbol], state_of[target]) for symbol, target in leaving.get(name, ()))
        states.append(Plain(tuple(edges), "end" if name in fsm.terminal else None))
    machine = Machine(tuple(symbols), tuple(states))
    made = {(source, d, own): t for (source, d, _), several in alternatives.items() for own, t in several}
    in_order = {event: tuple(several) for event, several in alternatives.items()}
    return Compiled(contract_of(machine, f"the state machine from {fsm.initial}"), tuple(names), made, in_order, plain)


def _reached(initial: str, leaving: Mapping[str, list[tuple[Symbol, str]]]) -> list[str]:
    """The states in canonical order, so that the same machine has the same tables however it was put together."""
    names, queue = [initial], deque([initial])
    while queue:
        for _, target in sorted(leaving.get(queue.popleft(), ()), key=lambda edge: edge[0].sort_key):
            if target not in names:
                names.append(target)
                queue.append(target)
    return names
