"""Traces as lists of spans in JSON, flat or nested, as OpenTelemetry's SDK and OpenInference's tools dump them.

A file is one trace, an array of traces or of spans, or a trace or a span per line. Spans that stand alone are put
together by their trace. Flat or nested, one reader understands both vocabularies; the names of the two formats tell
which one a file is said to be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from accord.sources.metadata import scalars
from accord.sources.model import Broken, Run
from accord.sources.moments import as_seconds, iso_seconds
from accord.sources.reader import Reader
from accord.sources.records import Keys, Shape
from accord.sources.spans import attributed, span_messages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.sources.sketch import Sketch
    from accord.sources.spans import Span

__all__ = ["OPENINFERENCE", "OTEL_SPANS"]

_DEEPEST = 100


class _Context(msgspec.Struct, gc=False):
    trace_id: str | int | None = None
    span_id: str | int | None = None


class _Status(msgspec.Struct, gc=False):
    status_code: str | int | None = None
    code: str | int | None = None


class _Entry(msgspec.Struct, gc=False):
    """A trace that holds spans, or a span. Tools call the same things by several names."""

    trace_id: str | int | None = None
    spans: list[_Entry] | None = None
    child_spans: list[_Entry] | None = None
    name: str | None = None
    span_name: str | None = None
    context: _Context | None = None
    parent: _Context | str | int | None = None
    parent_id: str | int | None = None
    parent_span_id: str | int | None = None
    attributes: dict[str, Any] | None = None
    span_attributes: dict[str, Any] | None = None
    start_time: str | int | float | None = None
    end_time: str | int | float | None = None
    timestamp: str | int | float | None = None
    duration: str | int | float | None = None
    status: _Status | str | None = None
    status_code: str | None = None
    metadata: Any = None


_ENTRIES = Shape(_Entry)


def _read(stream: BinaryIO, file: str) -> Iterator[Run | Broken]:
    keys = Keys()
    alone: dict[str, list[_Entry]] = {}
    for record in _ENTRIES.records(stream, file):
        if isinstance(record, Broken):
            yield record
            continue
        entry = record.value
        if entry.spans is None:
            alone.setdefault(str(_trace_of(entry) or "trace"), []).append(entry)
            continue
        trace = entry.trace_id or next((found for found in map(_trace_of, entry.spans) if found), record.place)
        yield _run(keys.unique(str(trace)), file, entry.spans, record.line, entry.metadata)
    for key, spans in alone.items():
        yield _run(keys.unique(key), file, spans, None, None)


def _trace_of(entry: _Entry) -> str | int | None:
    return entry.trace_id or (entry.context.trace_id if entry.context is not None else None)


def _run(key: str, file: str, entries: list[_Entry], line: int | None, metadata: object) -> Run:
    spans = [_span(index, entry, above) for index, (entry, above) in enumerate(_flat(entries))]
    model = next((span.model for span in spans if span.model), None)
    return Run(key, file, span_messages(spans), line, scalars({"model": model}, metadata))


def _flat(entries: list[_Entry]) -> list[tuple[_Entry, int | None]]:
    """All spans, each before its children, and where in the list stands the one that it is written in."""
    found: list[tuple[_Entry, int | None]] = []
    todo: list[tuple[_Entry, int, int | None]] = [(entry, 0, None) for entry in reversed(entries)]
    while todo:
        entry, depth, above = todo.pop()
        here = len(found)
        found.append((entry, above))
        if depth < _DEEPEST:
            todo += [(child, depth + 1, here) for child in reversed(entry.child_spans or ())]
    return found


def _span(index: int, entry: _Entry, above: int | None) -> Span:
    attributes = _flattened(entry.attributes or entry.span_attributes or {})
    start = entry.start_time if entry.start_time is not None else entry.timestamp
    code = entry.status_code
    if entry.status is not None:
        code = entry.status if isinstance(entry.status, str) else str(entry.status.status_code or entry.status.code)
    failed = (code or "").upper().removeprefix("STATUS_CODE_") in {"ERROR", "2"}
    end = entry.end_time if entry.end_time is not None else _ended(start, entry.duration)
    parent = entry.parent.span_id if isinstance(entry.parent, _Context) else entry.parent
    parent = next((told for told in (parent, entry.parent_span_id, entry.parent_id) if told is not None), above)
    name = entry.name or entry.span_name
    return attributed(index, name, attributes, start, end, failed=failed, parent=parent)


def _ended(start: str | float | None, duration: str | float | None) -> float | None:
    began = as_seconds(start)
    took = iso_seconds(duration) if isinstance(duration, str) else duration
    return None if began is None or took is None else began + took


def _flattened(attributes: dict[str, Any]) -> dict[str, object]:
    """Attributes by their whole names; some tools nest them: `{"llm": {"model_name": …}}`."""
    if not any(isinstance(value, dict | list) for value in attributes.values()):
        return attributes
    found: dict[str, object] = {}
    todo: list[tuple[str, object, int]] = [(name, value, 0) for name, value in attributes.items()]
    while todo:
        name, value, depth = todo.pop()
        if depth < _DEEPEST and isinstance(value, dict) and value:
            todo += [(f"{name}.{inner}", item, depth + 1) for inner, item in value.items()]
        elif depth < _DEEPEST and isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            todo += [(f"{name}.{number}", item, depth + 1) for number, item in enumerate(value)]
        else:
            found[name] = value
    return found


def _is_openinference(sketch: Sketch) -> bool:
    return "openinference.span.kind" in sketch.keys or {"openinference", "span_kind"} <= sketch.keys


def _is_otel(sketch: Sketch) -> bool:
    return "resourceSpans" not in sketch.keys and any(key.startswith("gen_ai.") for key in sketch.keys)


OPENINFERENCE = Reader("openinference", 2, _is_openinference, _read)
OTEL_SPANS = Reader("otel-spans", 2, _is_otel, _read)
