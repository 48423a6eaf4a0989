"""Exports of Langfuse: a trace and its observations, in one object each, or the trace with the observations inside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from accord.projection.bodies import decoded
from accord.sources.conversation import tool_content, turns_in
from accord.sources.metadata import scalars
from accord.sources.model import Broken, Run
from accord.sources.reader import Reader
from accord.sources.records import Keys, Shape
from accord.sources.spans import Span, span_messages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.canonical import Json
    from accord.sources.sketch import Sketch
    from accord.sources.spans import Role

__all__ = ["LANGFUSE"]


class _Observation(msgspec.Struct, gc=False):
    type: str | None = None
    name: str | None = None
    startTime: str | None = None  # noqa: N815 - as it is written
    endTime: str | None = None  # noqa: N815
    input: Any = None
    output: Any = None
    model: str | None = None
    level: str | None = None
    metadata: Any = None
    traceId: str | None = None  # noqa: N815
    parentObservationId: str | None = None  # noqa: N815


class _Score(msgspec.Struct, gc=False):
    name: str | None = None
    value: Any = None


class _Trace(msgspec.Struct, gc=False):
    id: str | None = None
    name: str | None = None
    userId: str | None = None  # noqa: N815
    sessionId: str | None = None  # noqa: N815
    environment: str | None = None
    release: str | None = None
    scores: list[_Score] | None = None


class _Export(_Trace, gc=False):
    trace: _Trace | None = None
    observations: list[_Observation] | None = None


_EXPORTS = Shape(_Export)


def _read(stream: BinaryIO, file: str) -> Iterator[Run | Broken]:
    keys = Keys()
    for record in _EXPORTS.records(stream, file):
        if isinstance(record, Broken):
            yield record
            continue
        export = record.value
        if export.observations is None:
            yield Broken(file, record.line, f"record {record.place}: a trace without `observations`")
            continue
        trace = export.trace if export.trace is not None else export
        spans = [_span(index, observation) for index, observation in enumerate(export.observations)]
        key = keys.unique(trace.id or str(record.place))
        yield Run(key, file, span_messages(spans), record.line, _metadata(trace, spans))


def _metadata(trace: _Trace, spans: list[Span]) -> dict[str, Json]:
    model = next((span.model for span in spans if span.model), None)
    scores = {score.name: score.value for score in trace.scores or () if score.name}
    told = {"model": model, "trace": trace.name, "environment": trace.environment, "release": trace.release}
    return scalars(told, scores)


def _span(index: int, observation: _Observation) -> Span:
    attributes = _attributes(observation.metadata)
    role, name = _role(observation, attributes), observation.name
    failed = observation.level == "ERROR"
    start, end, parent = observation.startTime, observation.endTime, observation.parentObservationId
    span = Span(index, role, name, start, end, failed=failed, parent=parent, model=observation.model)
    if role == "tool":
        span.input = decoded(observation.input)
        span.output, named, call_id = tool_content(observation.output)
        told = attributes.get("gen_ai.tool.name", named), attributes.get("gen_ai.tool.call.id", call_id)
        span.name = (
            told[0] if isinstance(told[0], str) and told[0] else (name or "").removeprefix("execute_tool ") or None
        )
        span.call_id = told[1] if isinstance(told[1], str) and told[1] else None
    elif role == "model":
        span.sent, span.said = turns_in(observation.input, "user"), turns_in(observation.output, "agent")
    return span


def _role(observation: _Observation, attributes: dict[str, object]) -> Role:
    kind = (observation.type or "").upper()
    if kind == "TOOL":
        return "tool"
    if kind == "GENERATION":
        return "model"
    executes = attributes.get("gen_ai.operation.name") == "execute_tool" or "gen_ai.tool.name" in attributes
    executes = executes or tool_content(observation.output)[2] is not None
    return "tool" if kind == "SPAN" and executes else "other"


def _attributes(metadata: object) -> dict[str, object]:
    """What OpenTelemetry had recorded, if the observation came from there; metadata is often JSON in a string."""
    metadata = decoded(metadata)
    inner = decoded(metadata.get("attributes")) if isinstance(metadata, dict) else None
    return inner if isinstance(inner, dict) else {}


def _recognises(sketch: Sketch) -> bool:
    return "observations" in sketch.keys and bool({"trace", "projectId", "htmlPath"} & sketch.keys)


LANGFUSE = Reader("langfuse", 2, _recognises, _read)
