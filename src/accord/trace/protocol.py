"""Any accord contract as a validator: the same text that guards a live agent, held against what was recorded.

A trace is told as happenings (calls, their ends, what was said), and the contract's projection makes events of them, as
it does for a guard. An event of any other kind is one of the program, if the contract speaks of it: `!kind` or `?kind`,
with its payload; `by` in there says who made a gated step.

Where a contract has a protocol, the first violation is the only one told of a run: nobody knows where the run stands
after it. A contract of rules alone goes on, as if what was refused had not happened.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from accord.choreography.compiling import compile_contract, load_contract
from accord.errors import UsageError
from accord.machine.events import Event
from accord.machine.extent import Extent
from accord.monitor.quick import quick_step
from accord.monitor.refusals import unknown_call
from accord.monitor.step import Situation, begin, close, step
from accord.monitor.verdicts import OK
from accord.monitor.verdicts import Violation as Refused
from accord.projection.happenings import Read
from accord.projection.open_calls import OpenCalls
from accord.projection.projection import projection_of
from accord.trace.events import CHAT_END, CHAT_START, GENERATE_END, GENERATE_START, STREAM_END, STREAM_START
from accord.trace.violations import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accord.language.tree import Direction
    from accord.machine.contract import Contract
    from accord.monitor.verdicts import Verdict
    from accord.projection.projection import Projection
    from accord.trace.boundaries import Handler, Payload
    from accord.trace.config import ProtocolConfig, ToolPayloadsConfig, ToolResultsConfig
    from accord.trace.runs import Report, Run

__all__ = ["Following", "ProtocolPlan", "ProtocolValidator", "protocol_plan"]


@dataclass(frozen=True, slots=True)
class ProtocolPlan:
    """A contract and how it looks at what happens."""

    contract: Contract
    protocol: str | None
    projection: Projection
    time_key: str | None

    @property
    def spoken(self) -> frozenset[tuple[Direction, str]]:
        """What it speaks of."""
        return self.projection.spoken


def protocol_plan(config: ProtocolConfig, base: Path | None = None) -> ProtocolPlan | None:
    """The contract of a configuration; `None` if it has none.

    Raises `ContractError` if the contract has errors, `UsageError` if it cannot be read or used here.
    """
    if config.contract is not None and config.file is not None:
        raise UsageError("the contract is given as `contract` or as `file`, not as both")
    if config.file is not None:
        path = Path(config.file)
        contract = load_contract(path if base is None else base / path)
    elif config.contract is not None:
        contract = compile_contract(config.contract)
    else:
        return None
    name = contract.protocol_name(config.protocol)
    stages = contract.stages(name)
    if stages.is_timed and config.time_key is None:
        raise UsageError("the contract uses time; `time_key` says which key of the payloads holds it, in seconds")
    return ProtocolPlan(contract, name, projection_of(contract, name), config.time_key)


class Following:
    """Where a run stands with the contract."""

    __slots__ = ("calls", "heard", "held", "kind", "over", "place", "position", "seq")

    def __init__(self, situation: Situation, begun: tuple[int, int, str | None]) -> None:
        self.place, self.held = situation
        self.over = False
        # The last event that mattered; the first of the run while none has.
        self.position, self.seq, self.kind = begun
        self.calls = OpenCalls[Read]()
        # Of a conversation that is told from its beginning each time, so many messages of the user are known.
        self.heard = 0


class ProtocolValidator:
    """The validator of a contract."""

    def __init__(self, plan: ProtocolPlan, calls: ToolResultsConfig, tools: ToolPayloadsConfig, report: Report) -> None:
        self.plan = plan
        self.report = report
        self._calls = calls
        self._tools = tools
        self._stages = plan.contract.stages(plan.protocol)
        projection = plan.projection
        self._project = projection.event
        self._plain = not self._stages.is_wide and plan.time_key is None
        # Calls are remembered where something looks at what came of them.
        self._remembers = projection.reads_outputs
        self._by_name = self._plain and projection.labeller.lines is None and not self._remembers
        self._goes_on = not plan.contract.machines
        self._tool_key = tools.tool_key
        self._start_kind, self._result_kind = calls.call_start_kind, calls.call_result_kind

    def handlers(self) -> dict[str, list[Handler]]:
        """What to call for which kind of event."""
        start, result = self._calls.call_start_kind, self._calls.call_result_kind
        found: dict[str, list[Handler]] = {start: [self.call], result: [self.result]}
        projection = self.plan.projection
        others: set[tuple[Direction, str]] = {*projection.spoken, *(("?", kind) for kind in projection.reported)}
        for direction, kind in others:
            if kind not in {start, result}:
                found.setdefault(kind, []).append(self._other(direction, kind))
        for kind, said in _SAID.items() if projection.hears_text else ():
            if kind not in {start, result}:
                found.setdefault(kind, []).append(self._text(kind, said))
        return found

    def call(self, run: Run, position: int, seq: int, payload: Payload) -> None:
        """A tool is called."""
        following: Following = run.protocol or self._begin(run)
        if following.over:
            return
        tool = payload.get(self._tool_key)
        if type(tool) is not str or not tool:
            return
        if self._by_name:  # the way of a monitor: one look-up where the label alone decides
            link = following.place.sends.get(tool)
            if link is not None:
                following.place = link[1]
                following.position = position
                following.seq = seq
                following.kind = self._start_kind
                return
        happening = Read("call", tool, payload.get(self._tools.args_key), _id(payload, self._calls.call_id_key))
        if self._remembers:
            following.calls.add(happening)
        self._happen(run, position, seq, self._start_kind, happening, payload)

    def result(self, run: Run, position: int, seq: int, payload: Payload) -> None:
        """A tool has answered."""
        following: Following = run.protocol or self._begin(run)
        tool = payload.get(self._tool_key)
        if following.over or type(tool) is not str or not tool:
            return
        if self._by_name:
            link = following.place.receives.get(tool)
            if link is not None:
                following.place = link[1]
                following.position = position
                following.seq = seq
                following.kind = self._result_kind
                return
        name = _id(payload, self._calls.call_id_key)
        call = self._answered(following, name, tool) if self._remembers else None
        error = payload.get("error")
        if payload.get("ok") is False or error is not None:
            happening = Read("error", tool, payload.get("result") if error is None else error, call=call)
        else:
            happening = Read("result", tool, payload.get("result"), call=call)
        self._happen(run, position, seq, self._result_kind, happening, payload)

    def _answered(self, following: Following, name: str | None, tool: str) -> Read | None:
        """The call that a result belongs to, as far as it is known."""
        call = following.calls.answer(name, tool)
        if call is None:
            return None if name is None else Read("call", tool, id=name)
        return call if call.id is not None else call._replace(id=name)

    def finish(self, run: Run) -> None:
        """The run is over."""
        following: Following = run.protocol or self._begin(run)
        if following.over:
            return
        closing = _closing(following)
        if isinstance(closing, UsageError):
            self._tell(run, "PROTOCOL_INCOMPLETE", str(closing), {})
        elif closing is not OK:
            self._tell_verdict(run, "PROTOCOL_INCOMPLETE", closing)

    def open(self, run: Run) -> Iterator[int]:
        """What is owed is told at the last event that mattered."""
        following: Following = run.protocol or self._begin(run)
        if not following.over and _closing(following) is not OK:
            yield following.position

    def _begin(self, run: Run) -> Following:
        run.protocol = Following(begin(self.plan.contract, self.plan.protocol), run.begun)
        return run.protocol  # type: ignore[no-any-return] # made on the line before

    def _other(self, direction: Direction, kind: str) -> Handler:
        def happen(run: Run, position: int, seq: int, payload: Payload) -> None:
            by = payload.get("by") if direction == "?" else None
            known = by if isinstance(by, str) and by else None
            happening = Read("event", kind, payload, direction=direction, by=known)
            self._happen(run, position, seq, kind, happening, payload)

        return happen

    def _text(self, kind: str, said: tuple[Literal["user", "agent"], str]) -> Handler:
        speaker, key = said

        def happen(run: Run, position: int, seq: int, payload: Payload) -> None:
            following: Following = run.protocol or self._begin(run)
            for text in _news(following, payload) if kind == CHAT_START else (payload.get(key),):
                if text is not None:
                    self._happen(run, position, seq, kind, Read(speaker, value=text), payload)

        return happen

    def _happen(self, run: Run, position: int, seq: int, kind: str, happening: Read, payload: Payload) -> None:
        """Judge what happened, if it is an event."""
        following: Following = run.protocol or self._begin(run)
        if following.over:
            return
        outcome, event, _, _ = self._project(happening, skim=True)
        if event is not None:
            following.position, following.seq, following.kind = position, seq, kind
            self._step(run, event, payload)
        elif outcome == "unknown call":
            following.position, following.seq, following.kind = position, seq, kind
            stage = Situation(following.place, following.held).stage
            refusal = unknown_call(stage, Event("!", happening.name or ""))
            self._tell_verdict(run, "PROTOCOL_VIOLATION", Refused.of(refusal, None))
            following.over = not self._goes_on

    def _step(self, run: Run, event: Event, payload: Payload) -> None:
        following: Following = run.protocol
        situation = Situation(following.place, following.held)
        quick = quick_step(situation, event) if self._plain else None
        if quick is not None:
            following.place, following.held = quick
            return
        if self.plan.time_key is not None and self._stages.is_timed:
            at = payload.get(self.plan.time_key)
            if isinstance(at, bool) or not isinstance(at, int | float) or not isfinite(at):
                detail = f"{shown(self.plan.time_key)} does not say when it happened"
                self._tell(run, "PROTOCOL_VIOLATION", detail, {"got": event.word})
                following.over = True
                return
            event = event._replace(at=at)
        try:
            (following.place, following.held), verdict = step(situation, event, "refuse")
        except UsageError as error:
            self._tell(run, "PROTOCOL_VIOLATION", str(error), {"got": event.word})
            following.over = not self._goes_on
            return
        if verdict is not OK:
            self._tell_verdict(run, "PROTOCOL_VIOLATION", verdict)
            following.over = not self._goes_on

    def _tell_verdict(self, run: Run, code: str, verdict: Verdict) -> None:
        context: dict[str, Any] = {}
        if isinstance(verdict, Refused):
            context = {
                "expected": verdict.expected,
                "got": verdict.got,
                "clause": verdict.clause,
                "contract": verdict.contract,
            }
        detail = verdict.explain() if verdict is not OK else ""  # type: ignore[union-attr] # all others explain
        self._tell(run, code, detail, context)

    def _tell(self, run: Run, code: str, detail: str, context: dict[str, Any]) -> None:
        following: Following = run.protocol
        self.report.add(run, following.position, code, following.seq, following.kind, detail, **context)


def _closing(following: Following) -> Verdict | UsageError:
    """What would be said if the run were over."""
    at = following.held.now if isinstance(following.held, Extent) else None
    try:
        return close(Situation(following.place, following.held), None, at)[1]
    except UsageError as error:
        return error


def _id(payload: Payload, key: str) -> str | None:
    name = payload.get(key)
    return name if type(name) is str else str(name) if type(name) is int else None


_SAID: dict[str, tuple[Literal["user", "agent"], str]] = {
    GENERATE_START: ("user", "prompt"),
    STREAM_START: ("user", "prompt"),
    CHAT_START: ("user", "messages"),
    GENERATE_END: ("agent", "response"),
    CHAT_END: ("agent", "response"),
    STREAM_END: ("agent", "full_response"),
}
"""Who speaks in which kind of event, and where it stands what was said."""


def _news(following: Following, payload: Payload) -> Iterable[object]:
    """What the user has said since: a chat is told from its beginning each time."""
    told = payload.get("messages")
    messages = told if isinstance(told, list) else []
    said = [one.get("content") for one in messages if isinstance(one, dict) and one.get("role") == "user"]
    new = said[following.heard :]
    following.heard = max(following.heard, len(said))
    return new
