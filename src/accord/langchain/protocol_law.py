"""A state machine from Python as a law: steps of the guard on its tables, with its own guards and actions.

The tables say what may happen where. Beside that, of several transitions for one event the first whose guard holds is
the one that is meant, in every world in which the session may be; and a transition that was made calls its action,
after it was written down and before anything comes of it.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from accord.errors import StoreError, UsageError
from accord.integrations.batch import in_words
from accord.integrations.guard import ending, reserving
from accord.integrations.guard.decisions import Change, Noted, Remark
from accord.integrations.guard.options import reported
from accord.integrations.guard.policy import Policy
from accord.integrations.guard.tool_events import PlainTools
from accord.langchain.fsm import MonitorContext, direction_of
from accord.langchain.law import Law
from accord.langchain.violations import ProtocolDecision, ViolationEvent
from accord.language.labels import normalise
from accord.ledger.attempts import Given
from accord.monitor.events import make_event
from accord.monitor.verdicts import OK, Blocked
from accord.monitor.wording import quote_text
from accord.projection.payloads import of_result
from accord.projection.plain import NotPlainError, plainly

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Literal

    from accord.integrations.batch import Claim
    from accord.integrations.exchange import ToolCall
    from accord.integrations.guard.decisions import Decision
    from accord.integrations.guard.policy import WhenOver
    from accord.integrations.guard.state import State
    from accord.langchain.fsm import Phase, ProtocolFSM, ToolRef, Transition
    from accord.langchain.homes import Opened
    from accord.langchain.law import Trace
    from accord.language.tree import Direction
    from accord.machine.clocks import Time
    from accord.monitor import Verdict
    from accord.monitor.step import Situation

__all__ = ["ProtocolLaw"]

_REMEMBERED = 1000
"""Events of a session that its trace shows."""
_TRACE: ContextVar[Trace] = ContextVar("_TRACE", default=())
_FOREVER = 1 << 62
"""State machines know no patience."""


class ProtocolLaw(Law):
    """A state machine under guard; only calls of the tools in `tool_refs` are its business."""

    def __init__(
        self,
        fsm: ProtocolFSM,
        tool_refs: Sequence[ToolRef],
        *,
        observes: bool,
        when_over: WhenOver = "refuse",
        events: Iterable[str] = (),
        name: str = "fsm",
    ) -> None:
        self.fsm = fsm
        self._shown_as = (f"{name}_state", f"{name}_trace")
        self.compiled = fsm.compiled
        self.tools = {tool.label: tool for tool in tool_refs}
        used = {t.tool.label for t in fsm.transitions if t.tool is not None}
        missing = sorted(used - self.tools.keys())
        if missing:
            raise UsageError(f"the state machine speaks of the tool `{missing[0]}`, which is not among `tool_refs`")
        self.answered = frozenset(normalise(t.label) for t in fsm.transitions if t.tool and t.phase == "recv")
        self.is_plain = False
        self.needs_names = False
        self.shows = True
        self.acts = any(t.action is not None for t in fsm.transitions)
        self.listens = any(t.match_structured_response is not None for t in fsm.transitions)
        policy = Policy(
            contract=self.compiled.contract,
            protocol=None,
            tools=PlainTools(normalise),
            gates=(),
            patience=_FOREVER,
            escalate="stop",
            review_lasts=None,
            observes=observes,
            is_timed=False,
            when_over=when_over,
            people=frozenset(normalise(transition.label) for transition in fsm.transitions if transition.interrupt),
            reports=reported(events),
        )
        super().__init__(policy, lagging=True)
        self.looks_at_results = bool(self.answered)
        if any(t.guard is not None or t.action is not None for t in fsm.transitions):
            self.weighed = None

    # -- where a session is --------------------------------------------------------------------------------------------

    def state_name(self, state: State) -> str:
        """The state in which a session is if every call that is out counts."""
        here = state.worlds()
        return self._name(state.settled if here is None else here[0])

    def _name(self, world: Situation) -> str:
        return self.compiled.names[int(world.standing.configurations[0][0])]

    def judges(self, name: str) -> bool:
        """Whether calls of a tool are any business of the state machine."""
        return name in self.tools

    @property
    def people(self) -> frozenset[str]:
        """The labels of the steps that people make."""
        return self.policy.people

    @property
    def asks_about_calls(self) -> bool:
        """People are asked for steps, not about calls."""
        return False

    @property
    def asks_about_steps(self) -> bool:
        """Whether some transition is a person's."""
        return any(transition.interrupt for transition in self.fsm.transitions)

    def gate(self, state: State) -> tuple[str, ...]:
        """The steps that people can make from here, if there are any; the agent waits for one of them."""
        here = state.worlds()
        if here is None or state.log:
            return ()
        source = self._name(here[0])
        return tuple(dict.fromkeys(t.label for t in self.fsm.transitions if t.source == source and t.interrupt))

    # -- choosing among transitions ------------------------------------------------------------------------------------

    def _choose(self, state: State, direction: Direction, label: str, metadata: Mapping[str, Any]) -> str | Blocked:
        """The label that the tables have for an event, or why a guard is against it."""
        chosen: set[str] = set()
        for world in state.worlds() or [state.settled]:
            source = self._name(world)
            several = self.compiled.alternatives.get((source, direction, normalise(label)), ())
            if not several:
                chosen.add(normalise(label))  # the tables will say no
                continue
            held = self._first_that_holds(several, source, metadata)
            if isinstance(held, Blocked):
                return held
            chosen.add(held)
        if len(chosen) > 1:
            return Blocked(f"which transition {quote_text(label)} is depends on calls that have not returned")
        return chosen.pop()

    def _first_that_holds(
        self, several: Sequence[tuple[str, Transition]], source: str, metadata: Mapping[str, Any]
    ) -> str | Blocked:
        """The first of the transitions of an event whose guard holds.

        INVARIANT: where a guard fails, none is: the transitions behind it are for what it was to keep out.
        """
        for own, transition in several:
            if transition.guard is None:
                return own
            try:
                holds = transition.guard(_context(transition, source, metadata, _words(_TRACE.get())))
            except Exception as error:  # noqa: BLE001 - what it says may quote what nobody may see
                return Blocked(f"{_not_from(transition, source)}: its guard failed ({type(error).__name__})")
            if holds is True:
                return own
        return Blocked(f"{_not_from(several[0][1], source)}: no guard of it holds")

    @contextmanager
    def seeing(self, trace: Trace) -> Iterator[None]:
        """While a step is judged, what has happened so far is known to guards and to those who hear of violations."""
        token = _TRACE.set(trace)
        try:
            yield
        finally:
            _TRACE.reset(token)

    # -- the steps of a guard ------------------------------------------------------------------------------------------

    def reserve(self, state: State, claims: Sequence[Claim], at: Time | None) -> Change[list[Decision]]:
        """Decide about the calls of a batch, in order, each by the transition that it is."""
        notes: list[Noted | Remark] = []
        decisions: list[Decision] = []
        for claim in claims:
            before = state
            name, arguments = claim.call.name, claim.arguments
            metadata = {"args": arguments or {}, "tool_call_id": claim.call.id}
            label = self._choose(state, "!", name, metadata) if claim.fault is None else normalise(name)
            if isinstance(label, Blocked):
                change = reserving.reserve(self.policy, state, [replace(claim, fault=label.reason)], at)
            else:
                tools = PlainTools(lambda _name, own=label: own)  # type: ignore[misc] # a default
                policy = self.policy._replace(tools=tools)
                change = reserving.reserve(policy, state, [claim], at)
            state = change.state
            notes += change.notes
            (decision,) = change.answer
            if decision.status == "refused" or (decision.admitted and decision.ticket is None):
                status: Literal["admitted", "refused"] = "refused" if decision.status == "refused" else "admitted"
                verdict = label if isinstance(label, Blocked) else decision.verdict
                decision = self.refusal(decision.call, decision.message, verdict, before, status=status)
            decisions.append(decision)
        return Change(state, tuple(notes), decisions)

    def settle(self, state: State, ticket: str, result: Mapping[str, object], at: Time | None) -> Change[Verdict]:
        """A call has returned: it counts, and its return is the transition that it is."""
        out = state.out(ticket)
        counted = ending.settle(self.policy, state, ticket, result, at)
        if out is None or not out.events or normalise(out.name) not in self.answered:
            return counted
        notes = tuple(note for note in counted.notes if not isinstance(note, Remark))
        metadata = {"result": dict(result), "tool_call_id": ticket}
        label = self._choose(counted.state, "?", out.name, metadata)
        if isinstance(label, Blocked):
            given = Given("?", normalise(out.name), result, None, None, at, {"call": ticket})
            return Change(counted.state, (*notes, Noted(given, label)), label)
        payload = of_result(result, dict(out.arguments), ticket)
        happened = reserving.happen(counted.state, make_event("?", label, payload, None, None, at), {"call": ticket})
        return Change(happened.state, (*notes, *happened.notes), happened.answer)

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
        """Something happens that is no call of a tool; what cannot be a payload is for guards and actions alone."""
        metadata = payload or {}
        kept = _plain(metadata) or {}
        meta = {**(meta or {}), **({"metadata": dict(metadata)} if metadata and not kept else {})} or None
        own = self._choose(state, direction, label, metadata)
        if isinstance(own, Blocked):
            given = Given(direction, normalise(label), kept, None, by, at, meta)
            return Change(state, (Noted(given, own),), own)
        return reserving.happen(state, make_event(direction, own, kept, None, by, at), meta)

    # -- what is said about it -----------------------------------------------------------------------------------------

    def refusal(
        self,
        call: ToolCall,
        message: str,
        verdict: Verdict | None,
        state: State,
        phase: Phase = "send",
        status: Literal["admitted", "refused"] = "refused",
    ) -> Decision:
        """The decision about an event that is not allowed, for whoever wants to know of violations."""
        name = call.name if isinstance(call.name, str) else ""
        tool = self.tools.get(name)
        source = self.state_name(state)
        event = ViolationEvent(
            current_state=source,
            event=f"{phase}:{name}",
            phase=phase,
            expected=self.fsm.valid_events(source),
            trace=_words(_TRACE.get()),
            tool_ref=tool,
            event_label=name if tool is None else None,
            message=message,
            call_id=call.id or "",
            arguments=call.arguments if isinstance(call.arguments, dict) else {},
        )
        return ProtocolDecision(call, status, message, verdict=verdict, event=event)

    def trace(self, trace: Trace, notes: Sequence[Noted | Remark]) -> Trace:
        """What has happened, each with the call that may yet be taken back."""
        kept = list(trace)
        for note in notes:
            if isinstance(note, Remark):
                call = note.detail.get("call")
                if note.what == "call failed":
                    kept = [each for each in kept if each[1] != call]
                elif note.what == "call returned":
                    kept = [(word, None if ticket == call else ticket) for word, ticket in kept]
            elif note.answer is OK and note.given.direction in {"!", "?"}:
                meta = note.given.meta if isinstance(note.given.meta, dict) else {}
                call = meta.get("call")
                word = self._word(note)
                if note.given.direction == "?":
                    kept = [(each, None if ticket == call else ticket) for each, ticket in kept]
                    call = None
                kept.append((word, call if isinstance(call, str) else None))
        return tuple(kept[-_REMEMBERED:])

    def act(self, state: State, trace: Trace, notes: Sequence[Noted | Remark]) -> None:
        """Call the actions of the transitions that are made."""
        if not self.acts:
            return
        source = self.state_name(state)
        for note in notes:
            if not isinstance(note, Noted) or note.answer is not OK or note.given.direction not in {"!", "?"}:
                continue
            given = note.given
            transition = self.compiled.transitions.get((source, given.direction, str(given.label)))  # type: ignore[arg-type] # `!` or `?`
            if transition is None:
                continue
            if transition.action is not None:
                try:
                    transition.action(_context(transition, source, _metadata(given), _words(trace)))
                except Exception as error:
                    raise StoreError(f"the action of {transition.event} failed: {in_words(error)}") from error
            source = transition.target

    def _word(self, note: Noted) -> str:
        phase = "send" if note.given.direction == "!" else "recv"
        label = str(note.given.label)
        return f"{phase}:{self.compiled.plain.get(label, label)}"

    # -- what the state of the graph shows -----------------------------------------------------------------------------

    def more_keys(self) -> dict[str, Any]:
        """The state and the trace, for everybody to read and nobody to write."""
        from accord.langchain.schema import protocol_keys  # noqa: PLC0415 - it needs LangChain

        return protocol_keys(*self._shown_as)

    def public(self, opened: Opened) -> dict[str, Any]:
        """The state and the trace."""
        state, trace = self._shown_as
        return {state: self.state_name(opened.state), trace: _words(opened.trace)}

    def spoken(self, graph: Mapping[str, Any], state: State) -> list[tuple[Direction, str, Mapping[str, Any]]]:
        """The event that the model's structured response is, if it is one here."""
        response = graph.get("structured_response")
        if response is None:
            return []
        source = self.state_name(state)
        for transition in self.fsm.transitions:
            kind = transition.match_structured_response
            if transition.source == source and kind is not None and isinstance(response, kind):
                return [(direction_of(transition.phase), transition.label, _fields(response))]
        return []


def _not_from(transition: Transition, source: str) -> str:
    return f"{transition.event} is not allowed from {quote_text(source)}"


def _words(trace: Trace) -> list[str]:
    return [word for word, _ in trace]


def _context(transition: Transition, source: str, metadata: Mapping[str, Any], trace: list[str]) -> MonitorContext:
    return MonitorContext(
        current_state=source,
        event=transition.event,
        phase=transition.phase,
        trace=trace,
        tool_ref=transition.tool,
        event_label=transition.event_label,
        metadata=dict(metadata),
    )


def _metadata(given: Given) -> dict[str, Any]:
    meta = given.meta if isinstance(given.meta, dict) else {}
    payload = dict(given.payload) if isinstance(given.payload, dict) else {}
    if "metadata" in meta:
        return dict(meta["metadata"])
    if "call" not in meta:
        return payload
    if given.direction == "!":
        return {"args": payload, "tool_call_id": meta["call"]}
    return {"result": payload, "tool_call_id": meta["call"]}


def _fields(response: object) -> dict[str, Any]:
    """A structured response as a payload, if it can be one; as it is for guards and actions."""
    dump = getattr(response, "model_dump", None)
    found: object = response
    if callable(dump):
        found = dump(mode="json")
    elif is_dataclass(response) and not isinstance(response, type):
        found = {each.name: getattr(response, each.name) for each in fields(response)}
    plain = _plain(found) if isinstance(found, dict) else None
    return {"structured_response": response} if plain is None else plain


def _plain(fields: Mapping[str, Any]) -> dict[str, Any] | None:
    """These fields as JSON holds them; `None` if it cannot."""
    try:
        return plainly(fields)
    except NotPlainError:
        return None
