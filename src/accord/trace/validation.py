"""All validators in one pass over a trace of any length.

Theory of operation. Each validator says which kinds of events it wants and keeps a little state per run. The loop looks
a kind up, finds the run, and calls whoever wants the event. Violations are collected with the position of the event
they are about, and handed out in that order.

`fail_fast` gives the first violation in the order of the trace. What is found first need not come first: a call that is
never answered is a violation at the call and is known at the end only. So after the first finding reading goes on
while something older is open, and no longer.

Where code of the user's own fails, the validation is over: what was found so far is there, and `feed` and `finish`
raise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accord.trace.boundaries import GenerateBoundaries, StreamBoundaries, close_by_error
from accord.trace.events import ERROR, TraceEvent, as_event
from accord.trace.order import ToolOrder
from accord.trace.order_rules import order_plan
from accord.trace.own_validators import OwnValidators, own_plans
from accord.trace.payloads import NO_PAYLOAD, ToolPayloads
from accord.trace.protocol import ProtocolValidator, protocol_plan
from accord.trace.reading import Line, open_trace, read_pieces
from accord.trace.results import ToolResults
from accord.trace.runs import Report, Run
from accord.trace.values import NotJsonError, check_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from accord.trace.boundaries import Handler
    from accord.trace.config import TraceConfig
    from accord.trace.events import RunKey
    from accord.trace.order_rules import OrderPlan
    from accord.trace.protocol import ProtocolPlan
    from accord.trace.reading import TraceFile
    from accord.trace.violations import Violation

__all__ = [
    "TracePlan",
    "Validation",
    "compile_trace_config",
    "iter_violations",
    "validate_file",
    "validate_with_config",
]

_Validator = (
    GenerateBoundaries | StreamBoundaries | ToolResults | ToolPayloads | ToolOrder | ProtocolValidator | OwnValidators
)


class TracePlan:
    """A configuration, compiled: what any number of validations share."""

    def __init__(self, config: TraceConfig, base: Path | None = None) -> None:
        self.config = config
        contracts = config.contracts
        self.enabled = config.enabled and contracts.enabled
        self.protocol: ProtocolPlan | None = None
        self.order: OrderPlan | None = None
        if self.enabled and contracts.protocol.enabled:
            self.protocol = protocol_plan(contracts.protocol, base)
        if self.enabled and contracts.tool_order.enabled:
            also = [label for _, label in self.protocol.spoken] if self.protocol else []
            self.order = order_plan(contracts, also)
        self._own = own_plans(contracts.validators) if self.enabled else []
        self._payloads = ToolPayloads(contracts.tool_payloads, contracts.tool_results, Report())  # compiles schemas

    def validators(self, report: Report) -> list[_Validator]:
        """Fresh validators for one trace."""
        contracts = self.config.contracts
        results, payloads = contracts.tool_results, contracts.tool_payloads
        found: list[_Validator] = []
        if not self.enabled:
            return found
        if contracts.generate_boundaries.enabled:
            found.append(GenerateBoundaries(contracts.generate_boundaries, report))
        if contracts.stream_boundaries.enabled:
            found.append(StreamBoundaries(contracts.stream_boundaries, report))
        if results.enabled:
            found.append(ToolResults(results, payloads.tool_key, report))
        if payloads.enabled:
            found.append(self._payloads.with_report(report))
        if self.order is not None:
            kinds = results.call_start_kind, results.call_result_kind
            found.append(ToolOrder(self.order, *kinds, payloads.tool_key, report))
        if self.protocol is not None:
            found.append(ProtocolValidator(self.protocol, results, payloads, report))
        if self._own:
            found.append(OwnValidators(self._own, report))
        return found


def compile_trace_config(config: TraceConfig, base: Path | None = None) -> TracePlan:
    """A configuration, ready to validate any number of traces; contract files are looked for in `base`.

    Raises `UsageError` or `ContractError` for what is wrong with it.
    """
    return TracePlan(config, base)


class Validation:
    """The validation of one trace, fed bit by bit.

    With `most`, only so many violations are kept, those of the earliest events; `places` knows where the others are.

    Example:
        >>> from accord.trace import TraceConfig
        >>> validation = Validation(TraceConfig())
        >>> validation.feed([TraceEvent(0, "tool_call_start", {"tool_name": "search"})])
        >>> [violation.code for violation in validation.finish()]
        ['TOOL_NO_RESULT']
    """

    def __init__(self, config: TraceConfig | TracePlan, *, most: int | None = None) -> None:
        plan = config if isinstance(config, TracePlan) else compile_trace_config(config)
        self._report = Report(most)
        self._validators = plan.validators(self._report)
        self._fail_fast = plan.config.contracts.fail_fast
        self._handlers = self._table(plan.config.contracts.tool_results.call_id_key)
        self._own = next((v for v in self._validators if isinstance(v, OwnValidators)), None)
        # A contract may ask for something to happen, so it has to hear of every run; what is the user's own hears all.
        hears_all = plan.enabled and (plan.protocol is not None or self._own is not None)
        self._otherwise: tuple[Handler, ...] | None = () if hears_all else None
        self._runs: dict[RunKey, Run] = {}
        self._run: Run | None = None
        self._position = 0
        self._look_again = 0
        self.stopped = False
        """Whether `fail_fast` has seen enough, or code of the user's own has failed."""

    def _table(self, call_key: str) -> dict[str, tuple[Handler, ...]]:
        handlers: dict[str, list[Handler]] = {}
        for validator in self._validators:
            for kind, found in validator.handlers().items():
                handlers.setdefault(kind, []).extend(found)
        streams = next((v for v in self._validators if isinstance(v, StreamBoundaries)), None)
        generations = next((v for v in self._validators if isinstance(v, GenerateBoundaries)), None)
        if streams is not None or generations is not None:
            handlers.setdefault(ERROR, []).append(close_by_error(streams, generations, call_key))
        for validator in self._validators:
            if isinstance(validator, ToolResults):
                handlers.setdefault(ERROR, []).append(validator.error)
        return {kind: tuple(found) for kind, found in handlers.items()}

    @property
    def found(self) -> int:
        """How many violations were found so far."""
        return self._report.count

    @property
    def places(self) -> dict[RunKey, dict[str, list[int]]]:
        """By run and code the numbers of the events that violations are about, where only so many are kept."""
        return self._report.places

    def feed(self, events: Iterable[TraceEvent | Line | Mapping[str, Any]]) -> None:
        """Look at the next events. It is in one piece because it is hot.

        Raises `ValidatorError` when code of the user's own fails.
        """
        if not self._validators or self.stopped:
            return
        get, otherwise, report = self._handlers.get, self._otherwise, self._report
        fail_fast, own = self._fail_fast, self._own
        run = self._run
        position = self._position
        for event in events:
            if type(event) is not Line:
                event = self._looked_at(event, position)  # noqa: PLW2901 - the same event
            position += 1
            handlers = get(event.kind, otherwise)
            if handlers is None:
                continue
            if run is None or event.run_id != run.run_id or event.example_id != run.example_id:
                run = self._find(event, position)
            payload = event.payload
            if type(payload) is not dict:
                payload = self._object(run, position, event)
            for handler in handlers:
                handler(run, position, event.seq, payload)
            if own is not None:
                own.event(run, position, event, payload)
                if own.failure is not None:
                    self.stopped = True
                    break
            if fail_fast and report.count and position >= self._look_again and self._has_seen_enough(position):
                break
        self._run, self._position = run, position
        self._raise_failure()

    def finish(self) -> list[Violation]:
        """The trace is over: all violations, in the order of the events they are about.

        Raises `ValidatorError` if code of the user's own has failed.
        """
        self._raise_failure()  # nothing is owed by a trace that was not read to its end
        if self._validators:
            for run in self._runs.values() if self._runs else [Run(None, None)]:
                for validator in self._validators:
                    validator.finish(run)
        self._raise_failure()
        return self.violations()

    def _raise_failure(self) -> None:
        if self._own is not None and self._own.failure is not None:
            raise self._own.failure

    def violations(self) -> list[Violation]:
        """What was found so far, in the order of the events it is about."""
        found = self._report.in_order()
        return found[:1] if self._fail_fast else found

    def take(self) -> list[Violation]:
        """What was found since it was last asked for, which is then forgotten; for traces without an end in sight."""
        return self._report.take()

    def _find(self, event: TraceEvent | Line, position: int) -> Run:
        key = event.run_id, event.example_id
        run = self._runs.get(key)
        if run is None:
            run = self._runs[key] = Run(*key, (position, event.seq, event.kind))
        return run

    def _looked_at(self, value: Any, place: int) -> TraceEvent | Line:  # noqa: ANN401 - whatever the caller has
        """An event that was not read from JSON, and so may hold what JSON cannot hold."""
        event = _event(value, place)
        if event.kind in self._handlers:
            try:
                check_json(event.payload)
            except NotJsonError as error:
                run = self._find(event, place + 1)
                self._report.add(run, place + 1, "INVALID_PAYLOAD", event.seq, event.kind, str(error))
        return event

    def _object(self, run: Run, position: int, event: TraceEvent | Line) -> dict[str, Any]:
        if isinstance(event.payload, dict):
            return event.payload
        if event.payload is None:
            return {}
        what = f"the payload is a `{type(event.payload).__name__}` and no object"
        self._report.add(run, position, "INVALID_PAYLOAD", event.seq, event.kind, what)
        return NO_PAYLOAD

    def _has_seen_enough(self, position: int) -> bool:
        first = self._report.first
        older = 0
        for run in self._runs.values():
            for validator in self._validators:
                older += sum(1 for at in validator.open(run) if at < first)
        self.stopped = not older
        self._look_again = position + older + 16  # so that looking costs no more than reading
        return self.stopped


def _event(value: Any, place: int) -> TraceEvent | Line:  # noqa: ANN401 - whatever the caller has
    """An event from a mapping, without a copy of its payload."""
    if isinstance(value, TraceEvent | Line):
        return value
    if type(value) is dict and type(value.get("seq", place)) is int and isinstance(value.get("kind"), str):
        run_id, example_id = value.get("run_id"), value.get("example_id")
        if type(run_id) in _IDS and type(example_id) in _IDS:
            return Line(value.get("seq", place), value["kind"], value.get("payload"), run_id, example_id)
    return as_event(value, place)


_IDS = frozenset({str, int, type(None)})


def validate_with_config(
    events: Iterable[TraceEvent | Line | Mapping[str, Any]], config: TraceConfig | TracePlan
) -> list[Violation]:
    """All violations of a configuration in a trace, in the order of the events they are about.

    The events are read once, in order, and not changed. Several runs may stand in one trace; each is judged by itself.
    With `fail_fast` there is at most one violation, the first.

    Example:
        >>> from accord.trace import TraceConfig
        >>> events = [TraceEvent(0, "stream_chunk", {"chunk": "x", "chunk_index": 0})]
        >>> print(*validate_with_config(events, TraceConfig()))
        STREAM_CHUNK_BEFORE_START at event 0: a chunk of the stream, which has not begun
    """
    validation = Validation(config)
    validation.feed(events)
    return validation.finish()


def iter_violations(
    events: Iterable[TraceEvent | Line | Mapping[str, Any]], config: TraceConfig | TracePlan
) -> Iterator[Violation]:
    """As `validate_with_config`, one by one in the order in which they are found, and none of them is kept.

    What never ends is found at the end. For traces without an end in sight, and for violations without number.

    Example:
        >>> from itertools import count
        >>> from accord.trace import TraceConfig
        >>> endless = ({"seq": seq, "kind": "generate_end"} for seq in count())
        >>> print(next(iter_violations(endless, TraceConfig())))
        GENERATE_NO_START at event 0: the generation ends, which has not begun
    """
    plan = config if isinstance(config, TracePlan) else compile_trace_config(config)
    if plan.config.contracts.fail_fast:
        yield from validate_with_config(events, plan)
        return
    validation = Validation(plan)
    for event in events:
        validation.feed((event,))
        if validation.found:
            yield from validation.take()
    validation.finish()
    yield from validation.take()


def validate_file(file: TraceFile, config: TraceConfig | TracePlan) -> list[Violation]:
    """As `validate_with_config`, for the events in a file of JSON lines, in bounded memory."""
    validation = Validation(config)
    with open_trace(file) as (opened, name):
        for lines in read_pieces(opened, name):
            validation.feed(lines)
            if validation.stopped:
                break
    return validation.finish()
