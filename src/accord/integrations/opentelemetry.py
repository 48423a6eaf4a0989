"""What a guard does, as OpenTelemetry spans and metrics with the attributes of the GenAI conventions.

`gen_ai` names are written out here: the package that holds them changes them between minor versions.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from accord.canonical import encode
from accord.diagnostics.visible import clip
from accord.errors import UsageError
from accord.integrations.batch import in_words
from accord.integrations.guard.observing import Observer
from accord.ledger.represent import represent
from accord.monitor.verdicts import Ok

try:
    from opentelemetry import metrics, trace
    from opentelemetry.trace import SpanKind, Status, StatusCode
except ImportError:
    raise UsageError("OpenTelemetry is not installed: pip install 'accord-contracts[opentelemetry]'") from None

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    from accord.integrations.exchange import ToolCall
    from accord.integrations.guard.decisions import Decision
    from accord.integrations.guard.observing import Watched
    from accord.machine.events import Event
    from accord.monitor import Verdict

__all__ = ["OpenTelemetryObserver"]

_SCOPE = "accord"
_LONGEST = 1000
_LONGEST_NAME = 100


class OpenTelemetryObserver(Observer):
    """Makes spans and metrics of what a guard does: `Guard(…, observers=[OpenTelemetryObserver()])`.

    | | |
    |---|---|
    | span `accord.check` | one decision about a batch, with an event `accord.decision` for each call |
    | span `execute_tool NAME` | a tool that runs, between the two checks |
    | `accord.decisions` | counter, by tool and status |
    | `accord.results` | counter of results, by tool and verdict |
    | `accord.events` | counter of events that are no calls, by event and verdict |
    | `accord.check.duration` | histogram, seconds for one check |

    Without providers the global ones are used. Arguments, and messages and exceptions that may quote them, are left out
    unless `content`.
    """

    def __init__(
        self,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        content: bool = False,
    ) -> None:
        self._tracer = trace.get_tracer(_SCOPE, tracer_provider=tracer_provider)
        meter = metrics.get_meter(_SCOPE, meter_provider=meter_provider)
        self._decisions = meter.create_counter("accord.decisions", "{call}", "calls that were decided about")
        self._results = meter.create_counter("accord.results", "{call}", "results that the contract was asked about")
        self._events = meter.create_counter("accord.events", "{event}", "events that are no calls of tools")
        self._duration = meter.create_histogram("accord.check.duration", "s", "time that one check took")
        self._content = content

    def decided(self, watched: Watched, decisions: Sequence[Decision], seconds: float) -> None:
        """A span with an event for each call."""
        from time import time_ns  # noqa: PLC0415 - the span begins in the past

        end = time_ns()
        span = self._tracer.start_span(
            "accord.check", start_time=end - int(seconds * 1e9), attributes=_of_session(watched)
        )
        for decision in decisions:
            span.add_event("accord.decision", self._of_decision(decision), end)
            counted = {"gen_ai.tool.name": _name(decision.call), "accord.status": decision.status}
            self._decisions.add(1, counted)
        if any(decision.status == "refused" for decision in decisions):
            span.set_status(Status(StatusCode.ERROR, "a call was refused"))
        span.end(end)
        self._duration.record(seconds, {"accord.check": "call"})

    @contextmanager
    def running(self, watched: Watched, decision: Decision) -> Iterator[None]:
        """A span around the tool."""
        attributes = {**_of_session(watched), **_of_call(decision.call)}
        if self._content:
            attributes["gen_ai.tool.call.arguments"] = _text(decision.call.arguments)
        name = f"execute_tool {_name(decision.call)}"
        # What an exception says may quote arguments, so it is recorded only where those are.
        with self._tracer.start_as_current_span(
            name,
            kind=SpanKind.INTERNAL,
            attributes=attributes,
            record_exception=self._content,
            set_status_on_exception=False,
        ) as span:
            try:
                yield
            except BaseException as error:
                span.set_attribute("error.type", type(error).__qualname__)
                span.set_status(Status(StatusCode.ERROR, in_words(error)[:_LONGEST] if self._content else None))
                raise

    def returned(self, watched: Watched, call: ToolCall, verdict: Verdict, seconds: float) -> None:
        """Counted; a refused result is an event of the span that is current, if there is one."""
        kind = type(verdict).__name__.lower()
        self._results.add(1, {"gen_ai.tool.name": _name(call), "accord.verdict": kind})
        self._duration.record(seconds, {"accord.check": "result"})
        if type(verdict) is not Ok:
            said = {"accord.verdict": kind, **_of_call(call), **_of_session(watched)}
            trace.get_current_span().add_event("accord.result.refused", said)

    def happened(self, watched: Watched, event: Event, verdict: Verdict, seconds: float) -> None:
        """Counted; a refused event is one of the span that is current, if there is one."""
        said = {"accord.event": clip(f"{event.direction}{event.label}", _LONGEST_NAME)}
        said["accord.verdict"] = type(verdict).__name__.lower()
        self._events.add(1, said)
        self._duration.record(seconds, {"accord.check": "event"})
        if type(verdict) is not Ok:
            trace.get_current_span().add_event("accord.event.refused", {**said, **_of_session(watched)})

    def _of_decision(self, decision: Decision) -> dict[str, str]:
        said = {**_of_call(decision.call), "accord.status": decision.status}
        if decision.verdict is not None:
            said["accord.verdict"] = type(decision.verdict).__name__.lower()
            said["accord.clause"] = getattr(decision.verdict, "clause", "")
        if decision.review is not None:
            said["accord.review"] = decision.review.id
        if self._content and decision.message:
            said["accord.message"] = decision.message[:_LONGEST]
        return said


def _of_session(watched: Watched) -> dict[str, str]:
    said = {"accord.contract": watched.contract}
    if watched.key is not None:
        said["gen_ai.conversation.id"] = watched.key
    if watched.protocol is not None:
        said["accord.protocol"] = watched.protocol
    return said


def _of_call(call: ToolCall) -> dict[str, str]:
    said = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": _name(call)}
    if isinstance(call.id, str) and call.id:
        said["gen_ai.tool.call.id"] = clip(call.id, _LONGEST_NAME)
    return said


def _name(call: ToolCall) -> str:
    """The name of a tool, which may be anything that a model has made up."""
    return clip(call.name, _LONGEST_NAME) if isinstance(call.name, str) else ""


def _text(value: object) -> str:
    return encode(represent(value)).decode()[:_LONGEST]
