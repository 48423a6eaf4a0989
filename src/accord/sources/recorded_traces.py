"""accord's own traces: `tool_call_start` and `tool_result` lines, chats and generations, run after run in one file."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import msgspec

from accord.projection.bodies import as_text
from accord.projection.open_calls import OpenCalls
from accord.sources.model import Broken, Message, Run
from accord.sources.reader import Reader
from accord.sources.records import Keys, Shape
from accord.trace.events import (
    CHAT_END,
    CHAT_START,
    GENERATE_END,
    GENERATE_START,
    STREAM_END,
    STREAM_START,
    TOOL_CALL_START,
    TOOL_RESULT,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.projection.bodies import Body
    from accord.sources.sketch import Sketch

__all__ = ["TRACES"]

_NOTHING = msgspec.Raw(b"null")


class _Payload(msgspec.Struct, gc=False):
    tool_name: str | None = None
    arguments: msgspec.Raw = _NOTHING
    result: msgspec.Raw = _NOTHING
    error: msgspec.Raw = _NOTHING
    ok: bool | None = None
    tool_call_id: str | None = None
    prompt: msgspec.Raw = _NOTHING
    messages: list[dict[str, object]] | None = None
    response: msgspec.Raw = _NOTHING
    full_response: msgspec.Raw = _NOTHING


class _Line(msgspec.Struct, gc=False):
    kind: str
    payload: _Payload | None = None
    run_id: str | int | None = None
    example_id: str | int | None = None


class _Open:
    """A run that is being read."""

    def __init__(self, key: str, line: int | None) -> None:
        self.key = key
        self.line = line
        self.lines = 0
        self.messages: list[Message] = []
        self.calls: OpenCalls[Message] = OpenCalls()
        self.heard = 0


_LINES = Shape(_Line)


def _read(stream: BinaryIO, file: str) -> Iterator[Run | Broken]:
    # Runs may be interleaved, so all of a file's are open until its end.
    runs: dict[tuple[str | int | None, str | int | None], _Open] = {}
    for record in _LINES.records(stream, file):
        if isinstance(record, Broken):
            yield record
            continue
        line = record.value
        name = (line.run_id, line.example_id)
        run = runs.get(name)
        if run is None:
            key = "/".join(str(part) for part in name if part is not None) or "run"
            run = runs[name] = _Open(key, record.line)
        _add(run, line.kind, line.payload or _Payload())
        run.lines += 1
    keys = Keys()
    for run in runs.values():
        yield Run(keys.unique(run.key), file, run.messages, run.line)


def _add(run: _Open, kind: str, payload: _Payload) -> None:
    index, add = run.lines, run.messages.append
    call_id = payload.tool_call_id or None
    if kind == TOOL_CALL_START:
        call = Message("call", index, payload.arguments, payload.tool_name, call_id)
        run.calls.add(call)
        add(call)
    elif kind == TOOL_RESULT:
        answered = run.calls.answer(call_id, payload.tool_name)
        failed = payload.ok is False or payload.error != _NOTHING
        body = payload.error if failed and payload.error != _NOTHING else payload.result
        add(Message("error" if failed else "result", index, body, payload.tool_name, call_id, answered))
    elif kind in {GENERATE_START, STREAM_START} and payload.prompt != _NOTHING:
        add(Message("user", index, payload.prompt))
    elif kind == CHAT_START:
        # A chat is told from its beginning each time: only what the user said since is new.
        said = [message.get("content") for message in payload.messages or () if message.get("role") == "user"]
        for content in said[run.heard :]:
            add(Message("user", index, as_text(_body(content))))
        run.heard = max(run.heard, len(said))
    elif kind in {GENERATE_END, CHAT_END, STREAM_END}:
        body = payload.full_response if kind == STREAM_END else payload.response
        if body != _NOTHING:
            add(Message("agent", index, body))


def _body(content: object) -> Body:
    return content if isinstance(content, str | list | dict) else None


def _recognises(sketch: Sketch) -> bool:
    kinds = {TOOL_CALL_START, TOOL_RESULT, CHAT_START, GENERATE_START, STREAM_START}
    return "kind" in sketch.keys and "payload" in sketch.keys and bool(kinds & sketch.types)


TRACES = Reader("accord-trace", 2, _recognises, _read)
