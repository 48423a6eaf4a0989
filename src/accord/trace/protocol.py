"""Any accord contract as a validator: the same text that guards a live agent, held against what was recorded.

A call of the tool `book` is the event `!book`, with its arguments. What it returned is `?book`, if the contract speaks
of it, with the fields a guard gives it. An event of any other kind is `!kind` or `?kind`, if the contract speaks of it,
with its payload; `by` in there says who made a gated step.

Where a contract has a protocol, the first violation is the only one told of a run: nobody knows where the run stands
after it. A contract of rules alone goes on, as if what was refused had not happened.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accord.canonical import encode
from accord.choreography.compiling import compile_contract, load_contract
from accord.errors import UsageError
from accord.language.labels import normalise
from accord.machine.events import NO_PAYLOAD, Event
from accord.machine.extent import Extent
from accord.monitor.quick import quick_step
from accord.monitor.step import Situation, begin, close, step
from accord.monitor.verdicts import OK
from accord.monitor.verdicts import Violation as Refused
from accord.trace.violations import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from accord.language.tree import Direction
    from accord.machine.contract import Contract
    from accord.monitor.verdicts import Verdict
    from accord.trace.boundaries import Handler, Payload
    from accord.trace.config import ProtocolConfig, ToolPayloadsConfig, ToolResultsConfig
    from accord.trace.runs import Report, Run

__all__ = ["Following", "ProtocolPlan", "ProtocolValidator", "protocol_plan"]

_MOST_CALLS = 10_000


@dataclass(frozen=True, slots=True)
class ProtocolPlan:
    """A contract and what it speaks of."""

    contract: Contract
    protocol: str | None
    spoken: frozenset[tuple[Direction, str]]
    calls: bool
    """Whether it looks at the call that a result belongs to."""
    time_key: str | None


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
    symbols = contract.machines[name].symbols if name in contract.machines else ()
    spoken: set[tuple[Direction, str]] = {(symbol.direction, symbol.label) for symbol in symbols}
    for rule in contract.rules.machines:
        spoken |= rule.watched
    patterns = [pattern for rule in contract.rules.machines for pattern in rule.patterns]
    paths = [clause.path for symbol in symbols for clause in symbol.clauses]
    paths += [guard.path for pattern in patterns for guard in pattern.guards]
    calls = any(path[0] == "call" for path in paths)
    return ProtocolPlan(contract, name, frozenset(spoken), calls, config.time_key)


class Following:
    """Where a run stands with the contract."""

    __slots__ = ("arguments", "held", "kind", "over", "place", "position", "seq")

    def __init__(self, situation: Situation, begun: tuple[int, int, str | None]) -> None:
        self.place, self.held = situation
        self.over = False
        # The last event that mattered; the first of the run while none has.
        self.position, self.seq, self.kind = begun
        self.arguments: dict[tuple[object, object], Mapping[str, Any]] = {}


class ProtocolValidator:
    """The validator of a contract."""

    def __init__(self, plan: ProtocolPlan, calls: ToolResultsConfig, tools: ToolPayloadsConfig, report: Report) -> None:
        self.plan = plan
        self.report = report
        self._calls = calls
        self._tools = tools
        self._stages = plan.contract.stages(plan.protocol)
        self._plain = not self._stages.is_wide and plan.time_key is None
        self._goes_on = not plan.contract.machines
        self._tool_key = tools.tool_key
        self._start_kind, self._result_kind = calls.call_start_kind, calls.call_result_kind

    def handlers(self) -> dict[str, list[Handler]]:
        """What to call for which kind of event."""
        start, result = self._calls.call_start_kind, self._calls.call_result_kind
        found: dict[str, list[Handler]] = {start: [self.call], result: [self.result]}
        for direction, kind in self.plan.spoken:
            if kind not in {start, result}:
                found.setdefault(kind, []).append(self._other(direction, kind))
        return found

    def call(self, run: Run, position: int, seq: int, payload: Payload) -> None:
        """A tool is called."""
        following: Following = run.protocol or self._begin(run)
        if following.over:
            return
        tool = payload.get(self._tool_key)
        if type(tool) is not str or not tool:
            return
        following.position = position
        following.seq = seq
        following.kind = self._start_kind
        if self._plain:  # the way of a monitor: one look-up where the label alone decides
            link = following.place.sends.get(tool)
            if link is not None:
                following.place = link[1]
                return
        arguments = payload.get(self._tools.args_key)
        if not isinstance(arguments, dict):
            arguments = NO_PAYLOAD
        if self.plan.calls and len(following.arguments) < _MOST_CALLS:
            following.arguments[tool, _key(payload.get(self._calls.call_id_key))] = arguments
        self._step(run, Event("!", normalise(tool), None, arguments), payload)

    def result(self, run: Run, position: int, seq: int, payload: Payload) -> None:
        """A tool has answered."""
        following: Following = run.protocol or self._begin(run)
        tool = payload.get(self._tool_key)
        if following.over or type(tool) is not str or not tool:
            return
        if self._plain:
            link = following.place.receives.get(tool)
            if link is not None:
                following.place = link[1]
                following.position = position
                following.seq = seq
                following.kind = self._result_kind
                return
        label = normalise(tool)
        if ("?", label) not in self.plan.spoken:
            return
        following.position, following.seq, following.kind = position, seq, self._result_kind
        name = payload.get(self._calls.call_id_key)
        fields = {**_answer(payload), "call_id": name}
        if self.plan.calls:
            fields["call"] = following.arguments.pop((tool, _key(name)), None)
        self._step(run, Event("?", label, None, fields), payload)

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
            following: Following = run.protocol or self._begin(run)
            if not following.over:
                following.position, following.seq, following.kind = position, seq, kind
                by = payload.get("by") if direction == "?" else None
                event = Event(direction, kind, None, payload, by if isinstance(by, str) and by else None)
                self._step(run, event, payload)

        return happen

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


def _key(name: object) -> object:
    return name if type(name) is str or type(name) is int else None


def _answer(payload: Payload) -> dict[str, Any]:
    """The fields of a result as a guard gives them: its own, or its `text`; `error` is null if all went well."""
    error = payload.get("error")
    if payload.get("ok") is False or error is not None:
        return {"error": error if error is not None else "failed"}
    result = payload.get("result")
    if result is None:
        return {"error": None}
    if isinstance(result, dict):
        return {"error": None, **result}
    try:
        return {"error": None, "text": result if isinstance(result, str) else encode(result).decode()}
    except (TypeError, ValueError, AttributeError, RecursionError):
        return {"error": None}
