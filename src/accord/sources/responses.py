"""Items of OpenAI's Responses API: messages, calls and their outputs side by side in one list.

A run is a list of items, or a response with its `input` and its `output`. A file is one run, an array of responses, or
a response or an item per line. Tools that the service runs itself (`web_search_call` and the like) are calls too.

An item does not say which answer of the model it is from. But a model gives what it gives until it is told something:
calls with no output and no other input between them are from one answer, and have the number of the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from accord.projection.open_calls import OpenCalls
from accord.sources.metadata import scalars
from accord.sources.model import Broken, Message, Run
from accord.sources.reader import Reader
from accord.sources.records import Keys, Shape
from accord.sources.roles import UnknownRoleError, pass_over

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accord.sources.model import Kind
    from accord.sources.sketch import Sketch

__all__ = ["RESPONSES", "Item", "item_messages"]

_NOTHING = msgspec.Raw(b"null")


class Item(msgspec.Struct, gc=False):
    """An item, of which only what a run needs is decoded."""

    type: str = "message"
    role: str | None = None
    content: str | list[Any] | dict[str, Any] | None = None
    name: str | None = None
    call_id: str | None = None
    id: str | int | None = None
    arguments: msgspec.Raw = _NOTHING
    input: msgspec.Raw = _NOTHING
    action: msgspec.Raw = _NOTHING
    output: msgspec.Raw = _NOTHING
    error: Any = None


_ASKED = {"function_call", "custom_tool_call"}
_CALLS = {*_ASKED, "mcp_call"}
_SILENT = {"reasoning", "compaction", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response"}
_OUTPUTS = "_output"
_SERVED = "_call"


def item_messages(items: Sequence[Item], told: int = 0) -> list[Message]:
    """Messages of a run. Reasoning and what the system says is no part of what happened.

    The first `told` items were told to the model, so what is behind them is another answer. Raises `UnknownRoleError`
    if an item may be a part of it and nobody can tell which.
    """
    found: list[Message] = []
    calls: OpenCalls[Message] = OpenCalls()
    answer: int | None = None  # the number of the first call of this answer
    for index, item in enumerate(items):
        kind = item.type
        if index == told or kind.endswith(_OUTPUTS) or item.role not in {None, "assistant"}:
            answer = None
        if kind == "message" or item.role:
            speaker: Kind | None = {"user": "user", "assistant": "agent"}.get(item.role or "")  # type: ignore[assignment]
            if speaker is None:
                pass_over(item.role, index)
            else:
                found.append(Message(speaker, index, item.content))
        elif kind in _CALLS or kind.endswith(_SERVED):
            if kind in _ASKED and answer is None:
                answer = index
            call = _call(answer if kind in _ASKED and answer is not None else index, item)
            found.append(call)
            if kind == "mcp_call":  # holds its own result
                failed = bool(item.error)
                body = item.error if failed else item.output
                found.append(Message("error" if failed else "result", index, body, call.name, call.call_id, call))
            else:
                calls.add(call)
        elif kind.endswith(_OUTPUTS):
            call_id = item.call_id or None
            answered = calls.answer(call_id, None)
            name = item.name if answered is None else answered.name
            found.append(Message("result", index, item.output, name, call_id, answered))
        elif kind not in _SILENT:
            raise UnknownRoleError(
                f"item {index} is of the type `{kind}`, which this format does not have; a mapping can describe it"
            )
    return found


def _call(index: int, item: Item) -> Message:
    name = item.name or item.type.removesuffix(_SERVED)
    body = next((raw for raw in (item.arguments, item.input, item.action) if raw != _NOTHING), None)
    identity = item.call_id or (item.id if isinstance(item.id, str) else None)
    return Message("call", index, body, name, identity or None)


class _Entry(Item, gc=False):
    """A response, or in a file that is one run an item of it."""

    type: str = ""
    model: str | None = None
    status: str | None = None
    metadata: Any = None


_ENTRIES = Shape(_Entry, listed="input")
_ITEMS = msgspec.json.Decoder(list[Item])
_TEXT = msgspec.json.Decoder(str)


def _read(stream: BinaryIO, file: str) -> Iterator[Run | Broken]:
    keys = Keys()
    alone: list[Item] = []
    for record in _ENTRIES.records(stream, file):
        if isinstance(record, Broken):
            yield record
            continue
        entry = record.value
        if entry.type or entry.role:
            alone.append(entry)
            continue
        try:
            told = _items_in(entry.input)
            items = [*told, *_items_in(entry.output)]
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            yield Broken(file, record.line, f"record {record.place}: {error}")
            continue
        key = keys.unique(str(record.place if entry.id is None else entry.id))
        metadata = scalars({"model": entry.model, "status": entry.status}, entry.metadata)
        try:
            yield Run(key, file, item_messages(items, len(told)), record.line, metadata)
        except UnknownRoleError as error:
            yield Broken(file, record.line, f"run {key}: {error}")
    if alone:
        try:
            yield Run(keys.unique("0"), file, item_messages(alone))
        except UnknownRoleError as error:
            yield Broken(file, None, str(error))


def _items_in(raw: msgspec.Raw) -> list[Item]:
    data = bytes(raw)
    if data.startswith(b'"'):
        return [Item("message", "user", _TEXT.decode(data))]
    return [] if raw == _NOTHING else _ITEMS.decode(data)


def _recognises(sketch: Sketch) -> bool:
    kinds = {"function_call", "function_call_output", "custom_tool_call", "output_text", "input_text"}
    return bool(kinds & sketch.types) and "tool_use_id" not in sketch.keys


RESPONSES = Reader("openai-responses", 3, _recognises, _read)
