"""OTLP in JSON, as collectors export it: `resourceSpans`, their scopes, and spans with typed attributes.

A file is one export or an export per line. A trace may be spread over several, so all spans of a file are put together
by their trace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from accord.sources.metadata import scalars
from accord.sources.model import Broken, Run
from accord.sources.reader import Reader
from accord.sources.records import Keys, Shape
from accord.sources.spans import attributed, span_messages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.sources.sketch import Sketch
    from accord.sources.spans import Span

__all__ = ["OTLP"]

_DEEPEST = 20


class _Attribute(msgspec.Struct, gc=False):
    key: str = ""
    value: Any = None


class _Status(msgspec.Struct, gc=False):
    code: str | int | None = None


class _Event(msgspec.Struct, gc=False):
    name: str = ""
    attributes: list[_Attribute] = []


class _Recorded(msgspec.Struct, gc=False):
    traceId: str | None = None  # noqa: N815 - as it is written
    parentSpanId: str | None = None  # noqa: N815
    name: str | None = None
    startTimeUnixNano: str | int | None = None  # noqa: N815
    endTimeUnixNano: str | int | None = None  # noqa: N815
    attributes: list[_Attribute] = []
    events: list[_Event] = []
    status: _Status | None = None


class _Scope(msgspec.Struct, gc=False):
    spans: list[_Recorded] = []


class _ResourceInfo(msgspec.Struct, gc=False):
    attributes: list[_Attribute] = []


class _Resource(msgspec.Struct, gc=False):
    resource: _ResourceInfo | None = None
    scopeSpans: list[_Scope] = []  # noqa: N815
    instrumentationLibrarySpans: list[_Scope] = []  # noqa: N815 - what it was called before


class _Export(msgspec.Struct, gc=False):
    resourceSpans: list[_Resource]  # noqa: N815


class _Trace:
    def __init__(self, line: int | None) -> None:
        self.line = line
        self.spans: list[_Recorded] = []
        self.service: object = None


_EXPORTS = Shape(_Export)


def _read(stream: BinaryIO, file: str) -> Iterator[Run | Broken]:
    traces: dict[str, _Trace] = {}
    for record in _EXPORTS.records(stream, file):
        if isinstance(record, Broken):
            yield record
            continue
        for resource in record.value.resourceSpans:
            about = _values(resource.resource.attributes) if resource.resource is not None else {}
            for scope in (*resource.scopeSpans, *resource.instrumentationLibrarySpans):
                for span in scope.spans:
                    trace = traces.setdefault(span.traceId or "trace", _Trace(record.line))
                    trace.spans.append(span)
                    trace.service = trace.service or about.get("service.name")
    keys = Keys()
    for key, trace in traces.items():
        spans = [_span(index, span) for index, span in enumerate(trace.spans)]
        model = next((span.model for span in spans if span.model), None)
        metadata = scalars({"model": model, "service": trace.service})
        yield Run(keys.unique(key), file, span_messages(spans), trace.line, metadata)


def _span(index: int, span: _Recorded) -> Span:
    attributes = _values(span.attributes)
    for event in span.events:  # contents are kept in events by some
        for name, value in _values(event.attributes).items():
            attributes.setdefault(name, value)
    failed = span.status is not None and str(span.status.code).upper() in {"2", "STATUS_CODE_ERROR"}
    start, end, parent = span.startTimeUnixNano, span.endTimeUnixNano, span.parentSpanId or None
    return attributed(index, span.name, attributes, start, end, failed=failed, parent=parent)


def _values(attributes: list[_Attribute]) -> dict[str, object]:
    return {attribute.key: _value(attribute.value) for attribute in attributes}


def _value(value: object, depth: int = 0) -> object:
    """A typed value as a plain one."""
    if not isinstance(value, dict) or depth > _DEEPEST:
        return value
    for kind, inner in value.items():
        if kind == "arrayValue" and isinstance(inner, dict):
            values = inner.get("values")
            return [_value(item, depth + 1) for item in values] if isinstance(values, list) else []
        if kind == "kvlistValue" and isinstance(inner, dict):
            items = inner.get("values")
            pairs = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
            return {str(pair.get("key")): _value(pair.get("value"), depth + 1) for pair in pairs}
        if kind == "intValue" and isinstance(inner, str) and inner.lstrip("-").isdecimal() and len(inner) < 40:
            return int(inner)
        return inner
    return None


def _recognises(sketch: Sketch) -> bool:
    return "resourceSpans" in sketch.keys


OTLP = Reader("otlp", 2, _recognises, _read)
