"""What is enforced: a contract, as the hooks of a middleware ask it.

A law makes pure steps from state to state, on the functions of the guard. `protocol_law` is the other one, for state
machines that were put together in Python.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from accord.integrations.guard import ending, reserving
from accord.integrations.guard.decisions import Change, Decision
from accord.integrations.guard.reserving import all_fit
from accord.integrations.guard.tool_events import ToolEvents
from accord.integrations.guard.visible import may_be_called
from accord.machine.stages import Stage
from accord.monitor.events import make_event
from accord.monitor.step import is_over

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Literal

    from accord.integrations.batch import Claim
    from accord.integrations.exchange import ToolCall
    from accord.integrations.guard.decisions import Noted, Remark
    from accord.integrations.guard.policy import Policy
    from accord.integrations.guard.reserving import Unfit
    from accord.integrations.guard.state import State
    from accord.langchain.homes import Opened
    from accord.machine.clocks import Time
    from accord.monitor import Verdict
    from accord.monitor.step import Situation

__all__ = ["Law", "Trace", "people_steps"]

_REMEMBERED = 4096

Trace = tuple[tuple[str, str | None], ...]


class Law:
    """A contract under guard. `lagging` says that people's steps are asked for before a model may propose anything."""

    acts = False
    """Whether something is to be done about what happens."""
    shows = False
    """Whether the state of the graph shows more than our report."""
    is_plain = True
    """Whether its steps are those of the guard and nothing more."""
    needs_names = True
    """Whether a step of a person is taken only with the name of that person."""
    listens = False
    """Whether what the model says can be an event."""

    def __init__(self, policy: Policy, *, lagging: bool, unfit: Unfit = all_fit) -> None:
        self.policy = policy
        self.unfit = unfit
        self.lagging = lagging
        self.labels = _sent_labels(policy)
        self.weighed = _weighed_labels(policy)
        """The labels of calls whose arguments matter to somebody; `None` if all do."""
        self.looks_at_results = isinstance(policy.tools, ToolEvents) and policy.tools.looks_at_results
        """Whether it can matter what a tool returned."""
        self._callable: dict[tuple[Stage, str], bool] = {}

    @property
    def people(self) -> frozenset[str]:
        """The labels of the steps that people make."""
        return frozenset(self.policy.gates)

    @property
    def asks_about_calls(self) -> bool:
        """Whether a person may have to be asked about a call."""
        return bool(self.policy.gates) or self.policy.escalate == "review"

    @property
    def asks_about_steps(self) -> bool:
        """Whether a person may have to be asked before the model is."""
        return bool(self.policy.gates)

    def judges(self, name: str) -> bool:  # noqa: ARG002 - another law may pass some by
        """Whether calls of a tool are any business of the law."""
        return True

    def weighs(self, name: str) -> bool:
        """Whether it matters what a tool is called with, because the law looks at it or people are shown it."""
        if not self.judges(name) or self.weighed is None:
            return self.weighed is None and self.judges(name)
        return any(label in self.weighed for label in self.policy.tools.labels_of(name))

    def reserve(self, state: State, claims: Sequence[Claim], at: Time | None) -> Change[list[Decision]]:
        """Decide about the calls of a batch, in order."""
        return reserving.reserve(self.policy, state, claims, at, unfit=self.unfit)

    def settle(self, state: State, ticket: str, result: Mapping[str, object], at: Time | None) -> Change[Verdict]:
        """A call has returned."""
        return ending.settle(self.policy, state, ticket, result, at)

    def happen(
        self,
        state: State,
        direction: Literal["!", "?"],
        label: str,
        payload: Mapping[str, object] | None,
        by: str | None,
        at: Time | None,
        meta: dict[str, object] | None = None,
    ) -> Change[Verdict]:
        """Something happens that is no call of a tool."""
        return reserving.happen_then(self.policy, state, make_event(direction, label, payload, None, by, at), meta)

    def gate(self, state: State) -> tuple[str, ...]:
        """The steps of people without which the session cannot go on; none if there is another way."""
        here = state.worlds()
        if here is None or state.log or state.desk.stopped is not None:
            return ()
        steps = people_steps(self.policy, here)
        if not steps or any(world.complete or not _only_people(world) for world in here):
            return ()
        if not self.lagging and any(self._reachable(world) for world in here):
            return ()
        return steps

    def _reachable(self, world: Situation) -> bool:
        """Whether a call would be legal behind the steps of people: then that very call can be shown to them."""
        return any(self.may_be_called(world, label) for label in self.labels)

    def may_be_shown(self, here: Sequence[Situation], name: str) -> bool:
        """Whether a call of a tool may be legal in one of these worlds, with some arguments."""
        tools = self.policy.tools
        legal = any(self.may_be_called(world, label) for label in tools.labels_of(name) for world in here)
        return legal or tools.may_pass(name)

    def may_be_called(self, world: Situation, label: str) -> bool:
        """Whether a call may be legal in a world; the same for all sessions that stand there."""
        stage = world.place
        if type(stage) is not Stage:
            return may_be_called(world, label, self.policy.gates)
        known = self._callable.get((stage, label))
        if known is None:
            if len(self._callable) >= _REMEMBERED:
                self._callable.clear()
            known = self._callable[stage, label] = may_be_called(world, label, self.policy.gates)
        return known

    def trace(self, trace: Trace, notes: Sequence[Noted | Remark]) -> Trace:  # noqa: ARG002 - another law keeps one
        """What is remembered of what has happened."""
        return trace

    def more_keys(self) -> dict[str, Any]:
        """Keys of the graph's state beside ours, by name, with their types."""
        return {}

    def public(self, opened: Opened) -> dict[str, Any]:  # noqa: ARG002 - the same
        """What stands under those keys."""
        return {}

    def spoken(
        self,
        graph: Mapping[str, Any],  # noqa: ARG002 - the same
        state: State,  # noqa: ARG002 - the same
    ) -> list[tuple[Literal["!", "?"], str, Mapping[str, Any]]]:
        """What the model has just said that is an event: directions, labels and payloads."""
        return []

    def seeing(self, trace: Trace) -> AbstractContextManager[None]:  # noqa: ARG002 - the same
        """While a step is judged."""
        return nullcontext()

    def act(self, state: State, trace: Trace, notes: Sequence[Noted | Remark]) -> None:
        """What is to be done about what happens, before anything comes of it."""

    def refusal(
        self,
        call: ToolCall,
        message: str,
        verdict: Verdict | None,
        state: State,  # noqa: ARG002 - another law tells it
        phase: Literal["send", "recv"] = "send",  # noqa: ARG002 - the same
        status: Literal["admitted", "refused"] = "refused",
    ) -> Decision:
        """The decision about something that is not allowed."""
        return Decision(call, status, message, verdict=verdict)


def people_steps(policy: Policy, here: Sequence[Situation]) -> tuple[str, ...]:
    """The labels of the steps that people can make in every world, sorted."""
    possible: set[str] | None = None
    for world in here:
        if is_over(world.place):
            return ()
        passes = world.stage.stages.standings.machine.passes
        offered = {gate for gate in policy.gates if passes("?", gate)}
        offered |= {symbol.label for symbol in world.standing.symbols if symbol.gated} & set(policy.gates)
        possible = offered if possible is None else possible & offered
    return tuple(sorted(possible or ()))


def _only_people(world: Situation) -> bool:
    if world.stage.stages.standings.machine.is_open:
        return False
    return all(symbol.gated for symbol in world.standing.symbols)


def _sent_labels(policy: Policy) -> tuple[str, ...]:
    if not policy.contract.machines:
        return ()
    machine = policy.contract.machine(policy.protocol)
    return tuple(sorted({symbol.label for symbol in machine.symbols if symbol.direction == "!"}))


def _weighed_labels(policy: Policy) -> frozenset[str] | None:
    stages = policy.contract.stages(policy.protocol)
    if policy.gates or stages.sliced is not None or stages.sliced_rules or policy.contract.document.events is not None:
        return None
    symbols = {symbol.label for symbol in stages.standings.machine.symbols if symbol.clauses}
    patterns = {pattern.label for rule in stages.book.machines for pattern in rule.patterns if pattern.guards}
    return frozenset(symbols | patterns)
