"""Exports of LangSmith: runs of its kind (a tool, a model, a chain), which a trace is made of.

A file is an array of them or one per line, of any number of traces; or a tree with `child_runs`.
"""

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

__all__ = ["LANGSMITH"]

_DEEPEST = 100
_ROLES: dict[str, Role] = {"tool": "tool", "llm": "model", "chat_model": "model"}


class _Recorded(msgspec.Struct, gc=False):
    id: str | None = None
    trace_id: str | None = None
    parent_run_id: str | None = None
    run_type: str | None = None
    name: str | None = None
    start_time: str | int | float | None = None
    end_time: str | int | float | None = None
    inputs: Any = None
    outputs: Any = None
    error: str | None = None
    extra: Any = None
    feedback_stats: Any = None
    child_runs: list[_Recorded] | None = None


_ENTRIES = Shape(_Recorded)


class _Trace:
    def __init__(self, line: int | None) -> None:
        self.line = line
        self.runs: list[_Recorded] = []


def _read(stream: BinaryIO, file: str) -> Iterator[Run | Broken]:
    traces: dict[str, _Trace] = {}
    for record in _ENTRIES.records(stream, file):
        if isinstance(record, Broken):
            yield record
            continue
        top = record.value
        key = top.trace_id or (top.id if top.parent_run_id is None else None) or "trace"
        traces.setdefault(key, _Trace(record.line)).runs += _flat(top)
    keys = Keys()
    for key, trace in traces.items():
        spans = [_span(index, run) for index, run in enumerate(trace.runs)]
        yield Run(keys.unique(key), file, span_messages(spans), trace.line, _metadata(trace.runs, spans))


def _flat(top: _Recorded) -> list[_Recorded]:
    """A run and those inside it, each before its children."""
    found: list[_Recorded] = []
    todo = [(top, 0)]
    while todo:
        run, depth = todo.pop()
        found.append(run)
        if depth < _DEEPEST:
            todo += [(child, depth + 1) for child in reversed(run.child_runs or ())]
    return found


def _span(index: int, run: _Recorded) -> Span:
    role = _ROLES.get(run.run_type or "", "other")
    failed, parent = bool(run.error), run.parent_run_id
    span = Span(index, role, run.name, run.start_time, run.end_time, failed=failed, parent=parent)
    if role == "tool":
        span.input = _arguments(run.inputs)
        output = run.outputs.get("output", run.outputs) if isinstance(run.outputs, dict) else run.outputs
        content, _, span.call_id = tool_content(output)
        span.output = run.error if span.failed else content
    elif role == "model":
        span.model = _model(run.extra)
        span.sent, span.said = turns_in(run.inputs, "user"), turns_in(run.outputs, "agent")
    return span


def _arguments(inputs: object) -> object:
    """Arguments by name; a tool with one text keeps it, or the text of a Python object, as `input`."""
    if isinstance(inputs, dict) and set(inputs) == {"input"}:
        inner = decoded(inputs["input"])
        return inner if isinstance(inner, dict) else inputs
    return inputs


def _model(extra: object) -> str | None:
    metadata = extra.get("metadata") if isinstance(extra, dict) else None
    if not isinstance(metadata, dict):
        return None
    model = metadata.get("ls_model_name")
    return model if isinstance(model, str) else None


def _metadata(runs: list[_Recorded], spans: list[Span]) -> dict[str, Json]:
    root = next((run for run in runs if run.parent_run_id is None), runs[0])
    model = next((span.model for span in spans if span.model), None)
    extra = root.extra.get("metadata") if isinstance(root.extra, dict) else None
    stats = root.feedback_stats if isinstance(root.feedback_stats, dict) else {}
    scores = {name: stat.get("avg") for name, stat in stats.items() if isinstance(stat, dict)}
    return scalars({"model": model, "trace": root.name}, scores, extra)


def _recognises(sketch: Sketch) -> bool:
    return "run_type" in sketch.keys and bool({"inputs", "outputs", "trace_id"} & sketch.keys)


LANGSMITH = Reader("langsmith", 2, _recognises, _read)
