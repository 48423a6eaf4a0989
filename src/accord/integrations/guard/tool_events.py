"""Calls of tools and their ends as events of a contract, as a guard meets them: the contract's projection decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from accord.calls.entries import End
from accord.calls.nodes import nodes_of
from accord.machine.events import Event
from accord.projection.payloads import with_call
from accord.projection.projection import Projected, projection_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accord.calls.entries import Failure, Out
    from accord.calls.nodes import Kind, Nodes
    from accord.machine.clocks import Time
    from accord.machine.contract import Contract
    from accord.projection.projection import Projection

__all__ = ["PlainTools", "ToolEvents", "tool_events"]


class _Given(NamedTuple):
    """A call or its end, whose payload is known already."""

    kind: Literal["call", "result", "error"]
    name: str
    payload: Mapping[str, object]
    at: Time | None
    text: str = ""
    answers: None = None
    labelled: bool = False
    direction: None = None
    by: None = None


class ToolEvents(NamedTuple):
    """What calls are to a contract. `label` is the name by which the contract knows a tool."""

    label: Callable[[str], str]
    failure: Callable[[str, str | None], Failure]
    projection: Projection

    def call(self, name: str, arguments: Mapping[str, object], at: Time | None) -> Projected:
        """What a call is."""
        return self.projection.event(_Given("call", self.label(name), arguments, at))

    def labels_of(self, name: str) -> tuple[str, ...]:
        """The labels that a call of a tool can have."""
        possible = self.projection.possible("call", self.label(name))
        return tuple([projected.event.label for _, projected in possible if projected.event is not None])

    def kind(self, name: str) -> Kind | None:
        """What all calls of a tool are; `None` if its name alone does not tell."""
        return self.nodes.kind(name, self.label(name))

    @property
    def nodes(self) -> Nodes:
        """Where sessions of the contract may be while calls are out."""
        return nodes_of(self.projection)

    def may_pass(self, name: str) -> bool:
        """Whether a call of a tool can be none of the contract's business."""
        possible = self.projection.possible("call", self.label(name))
        return any(projected.outcome in {"ignored", "unmatched"} for _, projected in possible)

    def ends(self, name: str, failure: Failure) -> tuple[End, ...]:
        """The ends that a call can have, of those that somebody looks at."""
        return tuple([End(event.label, event.to_rules) for event in self.projection.ends(self.label(name), failure)])

    def end(self, out: Out, fields: Mapping[str, object], *, failed: bool, at: Time | None) -> Event | None:
        """The event that the end of a call with these fields is; `None` if nobody looks at it."""
        payload = with_call(fields, dict(out.arguments), out.ticket)
        return self.projection.event(_Given("error" if failed else "result", self.label(out.name), payload, at)).event

    @property
    def looks_at_results(self) -> bool:
        """Whether it can matter what a tool returned."""
        return self.projection.reads_outputs or any(way == "?" for way, _ in self.projection.spoken)


class PlainTools(NamedTuple):
    """What calls are to a state machine from Python: events of their own name. Of their ends it takes care itself."""

    label: Callable[[str], str]
    nodes: None = None

    def kind(self, name: str) -> None:
        """Nothing that all its calls are: the state machine decides about each."""

    def call(self, name: str, arguments: Mapping[str, object], at: Time | None) -> Projected:
        """An event of its name."""
        return Projected("event", Event("!", self.label(name), None, arguments, None, at))

    def labels_of(self, name: str) -> tuple[str, ...]:
        """Its name."""
        return (self.label(name),)

    def may_pass(self, name: str) -> bool:  # noqa: ARG002 - whatever it is called
        """It never is."""
        return False

    def ends(self, name: str, failure: Failure) -> tuple[End, ...]:  # noqa: ARG002 - the same
        """None that a guard would look ahead to."""
        return ()

    def end(self, out: Out, fields: Mapping[str, object], *, failed: bool, at: Time | None) -> None:
        """None that a guard would make."""

    def failure(self, name: str, label: str | None) -> Failure:  # noqa: ARG002 - as above
        """A call that fails is taken back."""
        return "undone"


def tool_events(contract: Contract, protocol: str | None, label: Callable[[str], str]) -> ToolEvents:
    """What calls are to a contract."""
    return ToolEvents(label, contract.failure_of, projection_of(contract, protocol))
