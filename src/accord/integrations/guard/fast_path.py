"""The fast path: a session in memory while nothing is left to decide.

That is the case for most calls of most agents: nothing was refused, nobody is asked, and where the session may be with
the calls that are out has been worked out before (`calls.nodes`). The session then stands here, as one value, and a
call that goes out or returns replaces it by another. No lock is taken: where CPython promises not to come between (see
`monitor.atomicity`), a line without a call happens whole or not at all. Everything else takes the session out of here,
with the calls that are out, and decides about it as about any other (`reserving`, `ending`).

INVARIANT: a line that replaces the session consists of what is known to run no other code; see `monitor.monitor`.
INVARIANT: what is decided here is what the session's own functions have decided before, or decide now (`take`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from accord.calls.entries import Out
from accord.calls.state import Calls
from accord.calls.worlds import take
from accord.integrations.guard.handles import Handle, handle_of
from accord.integrations.guard.patience import is_waiting
from accord.integrations.guard.reviewing import digest_of
from accord.integrations.guard.state import EMPTY_DESK, RECOGNISED, REMEMBERED, Done
from accord.machine.events import NO_PAYLOAD, Event
from accord.monitor.atomicity import calls_only_switching
from accord.monitor.quick import follow
from accord.monitor.step import Situation
from accord.monitor.verdicts import Ok
from accord.projection.payloads import of_result, with_call

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accord.calls.nodes import Node, Nodes
    from accord.integrations.guard.handles import Asked
    from accord.integrations.guard.state import State
    from accord.language.tree import Direction
    from accord.machine.guards import Registers

__all__ = ["FastPath", "Here"]


Here: TypeAlias = "tuple[Node, Registers, tuple[Handle | Asked, ...]]"
"""Where a session is: its node, what it holds, and the calls that are out, in the order of the node."""


_NONE: frozenset[str] = frozenset()
_CAN_RUN = calls_only_switching()


class FastPath:
    """A session that stands here, unless `here` is `None`; `left` is one that was taken out and not yet taken over.

    `nodes` is `None` where the fast path is closed for good. `done` are the calls that have returned since the session
    came here, by their ids; `known` are the ids of those before.
    """

    __slots__ = ("done", "here", "known", "left", "nodes", "numbered")

    def __init__(self, nodes: Nodes | None) -> None:
        self.nodes = nodes if _CAN_RUN else None
        self.here: Here | None = None
        self.left: Here | None = None
        self.done: dict[str, Handle] = {}
        self.known = _NONE
        self.numbered = 0

    # -- coming and going ----------------------------------------------------------------------------------------------

    def open(self, state: State) -> None:
        """Let a session stand here that is quiet."""
        desk = state.desk
        if self.nodes is None or state.log:
            return
        if desk is not EMPTY_DESK and (desk.refusals or desk.idle or is_waiting(state, desk.now)):
            return
        node = self.nodes.at_rest(state.settled)
        if node is not None:
            self.done = {}
            self.known = frozenset([done.ticket for done in desk.done]) if desk.done else _NONE
            self.numbered = desk.numbered
            self.here = node, state.settled.holding, ()  # type: ignore[assignment] # it is at rest

    def close(self) -> None:
        """Let nothing happen here any more."""
        if self.here is not None: self.left = self.here; self.here = None  # fmt: skip  # noqa: E701, E702

    def shut(self) -> None:
        """Forget the session, and let none stand here again."""
        self.here = self.left = self.nodes = None

    def taken_over(self, state: State) -> State:
        """The session that was taken out of here, as whoever decides about it knows it. May be asked again."""
        if self.left is None:
            return state
        node, held, _ = self.left
        out = [handle_of(call) for call in self.left[2]]
        for call in out:
            if not (call.identity or call.number):
                self.numbered = call.number = self.numbered + 1
            call.ticket = call.identity or f"#{call.number}"
        done = [_done(call) for call in [*self.done.values()] if call.identity not in self.known]
        desk = state.desk._replace(done=(*state.desk.done, *done)[-REMEMBERED:], numbered=self.numbered)
        before = state._replace(settled=Situation(node.stage, held), desk=desk)
        if out and out[0].after is not None:
            return before.at(before.calls.with_entry(_entry(out[0])))
        calls = iter(out)
        log = [_entry(next(calls), logged) if type(logged) is Out else logged for logged in node.calls.log]
        return before.at(Calls(before.settled, tuple(log)))

    # -- calls ---------------------------------------------------------------------------------------------------------

    def go(self, calls: Sequence[Handle], first: int) -> tuple[int, bool]:
        """Let calls go out, from the first on: how many have, and whether the next is certain to wait for others."""
        before = self.here
        if before is None:
            return 0, False
        node, held, out = before
        if out and _is_looked_into(out[0]):
            return 0, False
        last, number, waits = first, self.numbered, True
        try:
            while last < len(calls):
                call = calls[last]
                identity = call.identity
                if identity and (identity in self.done or identity in self.known):
                    waits = False
                    break
                after = node.next.get(call.kind) or node.went(call.kind)
                if after is None or after is node:
                    waits = after is node
                    break
                node = after
                last += 1
            if last > first:
                here = node, held, (*out, *calls[first:last])
            else:
                call = calls[first]
                if out or waits or not call.kind.looks or not self._goes_alone(call, node, held):
                    return 0, waits
                number = call.number
                here = node, held, (call,)
                last += 1
            told = last - first, waits
        except Exception:  # noqa: BLE001 - whoever decides about the session itself says what is wrong
            return 0, False
        if self.here is before: self.here = here; self.numbered = number; return told  # fmt: skip  # noqa: E701, E702
        return 0, False

    def _goes_alone(self, call: Handle, node: Node, held: Registers) -> bool:
        """Whether a call that the contract looks into is legal while nothing else is out."""
        if call.identity and (call.identity in self.done or call.identity in self.known):
            return False
        settled, label = node.calls.settled, call.kind.label
        before = settled if settled.holding is held else Situation(node.stage, held)
        after = before if label is None else _taken(before, "!", label, call.arguments)
        if after is None:
            return False
        call.number = self.numbered + (not call.identity)
        call.after = after
        return True

    def end(self, call: Handle, value: object) -> bool:
        """A call has returned: whether that is all there is to it."""
        before = self.here
        if before is None:
            return False
        node, held, out = before
        if call not in out:
            return False
        try:
            if call.after is None:
                place = out.index(call)
                after = node.ends.get(place) or node.returned(place, call.kind)
                out = (*out[:place], *out[place + 1 :])
            else:
                situation = _answered(call, call.after, value)
                if situation is None or self.nodes is None:
                    return False
                after, held, out = self.nodes.at_rest(situation), situation.holding, ()  # type: ignore[assignment] # it is at rest
            if after is None:
                return False
            here = after, held, out
        except Exception:  # noqa: BLE001 - as above
            return False
        if call.identity:
            self.done[call.identity] = call
            if len(self.done) > REMEMBERED:
                del self.done[next(iter(self.done))]
        if self.here is before: self.here = here; return True  # fmt: skip  # noqa: E701, E702
        return False


def _is_looked_into(call: Handle | Asked) -> bool:
    return isinstance(call, Handle) and call.after is not None


def _answered(call: Handle, after: Situation, value: object) -> Situation | None:
    """Where a session is after the result of a call that the contract looks into; `None` if that is refused."""
    kind = call.kind
    if kind.answer is None:
        return after
    label, to_rules = kind.answer
    fields: Mapping[str, object] = NO_PAYLOAD
    if kind.looks_at_end:
        fields = with_call(of_result(value, None, None), call.arguments, call.identity or f"#{call.number}")
    return _taken(after, "?", label, fields, to_rules=to_rules)


def _taken(
    here: Situation, direction: Direction, label: str, fields: Mapping[str, object], *, to_rules: bool = False
) -> Situation | None:
    """Where a session is after an event; `None` if that is refused."""
    after = None if to_rules else follow(here, direction, label, fields)
    if after is not None:
        return after
    after, verdict = take(here, Event(direction, label, None, fields, None, None, to_rules))
    return after if type(verdict) is Ok else None


def _entry(call: Handle, logged: Out | None = None) -> Out:
    """A call as it stands in a log; `logged` is the entry of its node that stood for it."""
    arguments, kind = call.arguments, call.kind
    digest = digest_of(kind.known_as, arguments) if call.identity else ""
    out = Out(
        call.ticket or "", call.name, arguments, digest, kind.made(arguments), started=True, failure=kind.failure,
        ends=kind.ends,
    )  # fmt: skip
    return out if logged is None else out._replace(touches=logged.touches)


def _done(call: Handle) -> Done:
    return Done(call.identity, digest_of(call.kind.known_as, call.arguments)[:RECOGNISED])
