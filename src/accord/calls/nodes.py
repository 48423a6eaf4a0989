"""Where a session may be while calls are out that labels alone decide, remembered with the ways on from there.

A call that nothing looks into is told apart by its label, so where a session is with such calls out, and what may
follow, is the same for all sessions of a contract. A `Node` is such a place: a session with calls that stand for any of
their kind (`calls`), worked out by the same functions as any other, once. From then on a call that goes out or returns
is one look-up.

A node leads on only where nothing is left to decide: a call that is legal whatever becomes of the others, an end that
is accepted. Everything else (`None`) is for whoever judges the session itself.

When many nodes have been met all are forgotten, so that memory stays bounded; what has a node goes on from it.
INVARIANT: a node never changes but for what it remembers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.calls.entries import End, Out
from accord.calls.state import Calls
from accord.machine.events import NO_PAYLOAD, Event
from accord.machine.extent import Extent
from accord.machine.stages import Stage
from accord.monitor.step import Situation
from accord.monitor.verdicts import UNRECOGNIZED, Ok, Violation
from accord.projection.happenings import Happening

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accord.calls.entries import Failure
    from accord.projection.labels import Candidate
    from accord.projection.projection import Projected, Projection

__all__ = ["Kind", "Node", "Nodes", "nodes_of"]

_MOST = 16_384
"""Nodes that are remembered, and calls in them."""


class Kind:
    """Calls of a tool: what they and their ends are to the contract, which knows the tool as `known_as`.

    `label` is that of a call; there is none if nobody looks at the call itself. `answer` is the end that returns, if
    anybody looks at that. `looks` says that something in the contract looks at what a call is made with, or at what it
    returns (`looks_at_end`), `is_seen` that it has a label for the call, or for an end of it.
    """

    __slots__ = ("answer", "ends", "failure", "is_seen", "known_as", "label", "looks", "looks_at_end")

    def __init__(
        self, known_as: str, called: Projected, returned: Projected, failure: Failure, ends: tuple[End, ...]
    ) -> None:
        self.known_as = known_as
        self.label = None if called.event is None else called.event.label
        self.answer = None if returned.event is None else End(returned.event.label, returned.event.to_rules)
        self.failure: Failure = failure
        self.ends = ends
        self.looks = called.looks or returned.looks
        self.looks_at_end = returned.looks
        self.is_seen = self.label is not None or bool(ends)

    def made(self, payload: Mapping[str, object]) -> tuple[Event, ...]:
        """The event of a call with these arguments, if it is one."""
        return () if self.label is None else (Event("!", self.label, None, payload),)


class Node:
    """Made by `Nodes`."""

    __slots__ = ("_nodes", "calls", "ends", "next", "out", "trips")

    def __init__(self, nodes: Nodes, calls: Calls) -> None:
        self._nodes = nodes
        self.calls = calls
        self.out = [logged for logged in calls.log if type(logged) is Out]
        self.next: dict[Kind, Node | None] = {}
        self.ends: dict[int, Node | None] = {}
        self.trips: dict[Kind, tuple[Node, Node] | None] = {}

    @property
    def stage(self) -> Stage:
        """Where the session is if every call that is out fails."""
        return self.calls.settled.stage

    def went(self, kind: Kind) -> Node | None:
        """Where a session is when one more call has gone out; here, if the call is not legal before others return."""
        try:
            return self.next[kind]
        except KeyError:
            after = self.next[kind] = self._nodes.after_call(self, kind)
            return after

    def returned(self, place: int, kind: Kind) -> Node | None:
        """Where a session is when the call at that place of those that are out has returned."""
        try:
            return self.ends[place]
        except KeyError:
            after = self.ends[place] = self._nodes.after_end(self, place, kind)
            return after

    def trip(self, kind: Kind) -> tuple[Node, Node] | None:
        """Where a session is, nothing being out, when a call has gone out, and when it has returned."""
        if kind not in self.trips:
            after = self.went(kind)
            end = None if after is None or after is self else after.returned(0, kind)
            self.trips[kind] = None if after is None or end is None else (after, end)
        return self.trips[kind]

    def forget(self) -> None:
        """Let go of the ways on, so that this one keeps no others alive."""
        self.next, self.ends, self.trips = {}, {}, {}


class Nodes:
    """The nodes of one protocol of a contract, and the kinds of its calls; made by `nodes_of`."""

    def __init__(self, projection: Projection) -> None:
        self._projection = projection
        self._stages = projection.contract.stages(projection.protocol)
        self._kinds: dict[tuple[str, str], Kind | None] = {}
        self._known: dict[int, Node | Stage] = {}
        self._made: list[Node] = []
        self._room = _MOST

    def kind(self, name: str, label: str) -> Kind | None:
        """What calls of a tool are that the contract knows by a label; `None` if the name does not tell."""
        key = name, label
        if key not in self._kinds:
            found = self._kind(name, label)
            if len(self._kinds) >= _MOST:  # tools can be called anything
                return found
            self._kinds[key] = found
        return self._kinds[key]

    def at_rest(self, situation: Situation) -> Node | None:
        """The node of a session without calls that are out; `None` if its steps are not remembered anywhere."""
        stage = situation.place
        known = self._known.get(id(stage))
        if type(known) is Node and known.calls.settled.place is stage and type(situation.holding) is tuple:
            return known
        if type(stage) is not Stage or not stage.shared or isinstance(situation.holding, Extent):
            return None
        if known is not stage:  # a stage that sessions come to once, as where a rule counts, is not worth it
            self._take_room(1)
            self._known[id(stage)] = stage
            return None
        node = self._known[id(stage)] = self._keep(Calls(Situation(stage, self._stages.registers)))
        return node

    def after_call(self, node: Node, kind: Kind) -> Node | None:
        """The node after one more call has gone out; the same, if it is not legal whatever becomes of the others."""
        if kind.looks:
            return None
        events = kind.made(NO_PAYLOAD)
        if events:
            verdict, _ = node.calls.judge(events[0])
            if type(verdict) is not Ok:
                return node if type(verdict) is Violation else None
        ticket = f"{len(node.calls.log)}"
        out = Out(ticket, "", {}, "", events, started=True, failure=kind.failure, ends=kind.ends)
        return self._kept(node.calls.with_entry(out))

    def after_end(self, node: Node, place: int, kind: Kind) -> Node | None:
        """The node after a call has returned."""
        calls, answer = node.calls.counted(node.out[place]), kind.answer
        if answer is not None:
            calls, verdict = calls.happened(Event("?", answer.label, to_rules=answer.to_rules))
            if type(verdict) is not Ok:
                return None
        return self._kept(calls)

    def _kept(self, calls: Calls) -> Node | None:
        settled = calls.settled
        if type(settled.place) is not Stage or settled.holding != self._stages.registers:
            return None
        return self._keep(calls) if calls.log else self.at_rest(settled)

    def _keep(self, calls: Calls) -> Node:
        self._take_room(1 + len(calls.log))
        node = Node(self, calls)
        self._made.append(node)
        return node

    def _take_room(self, entries: int) -> None:
        self._room -= entries
        if self._room < 0:
            self._room = _MOST
            made, self._made, self._known = self._made, [], {}
            for node in made:
                node.forget()

    def _kind(self, name: str, label: str) -> Kind | None:
        projection = self._projection
        candidates = [projection.labeller.candidates(kind, label) for kind in ("call", "result")]
        if not all(map(_is_certain, candidates)):
            return None
        called, returned = (projection.event(Happening(kind, label)) for kind in ("call", "result"))
        if called.outcome == "unknown call":
            return None
        made, end = called.event, returned.event
        if any(event is not None and event.label == UNRECOGNIZED for event in (made, end)):
            return None
        failure = projection.contract.failure_of(name, None if made is None else made.label)
        ends = [End(each.label, each.to_rules) for each in projection.ends(label, failure)]
        return Kind(label, called, returned, failure, tuple(ends))


def nodes_of(projection: Projection) -> Nodes:
    """The nodes of a contract with one of its protocols, made once."""
    kept, key = projection.contract.kept, ("nodes", projection.protocol or "")
    known = kept.get(key)
    if known is None:
        known = kept.setdefault(key, Nodes(projection))
    assert isinstance(known, Nodes)  # noqa: S101 - kept under this name
    return known


def _is_certain(candidates: Sequence[Candidate]) -> bool:
    """Whether calls, or their results, have one label and are not looked at for it; they answer the agent."""
    return len(candidates) < 2 and all(test is None or label.by_name for test, label in candidates)
