"""Messages of Anthropic's API: contents are blocks, and a user's message holds the results of the agent's calls.

A run is a list of messages, or an object with `messages` (and, in a log of requests, the `response`). A file is one
run, an array of runs, or a run or a message per line.
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
    from accord.sources.moments import Moment
    from accord.sources.sketch import Sketch

__all__ = ["ANTHROPIC", "Block", "Blocks", "block_messages"]

_NOTHING = msgspec.Raw(b"null")
_SPEAKERS: dict[str, Kind] = {"user": "user", "assistant": "agent"}


class Block(msgspec.Struct, gc=False):
    """A part of a message: text, a call, a result, or what is no part of what happened."""

    type: str = ""
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = _NOTHING
    tool_use_id: str | None = None
    content: msgspec.Raw = _NOTHING
    is_error: bool | None = None


class Blocks(msgspec.Struct, gc=False):
    """A message."""

    role: str
    content: str | list[Block] | None = None


def block_messages(
    index: int, message: Blocks, calls: OpenCalls[Message], moment: Moment = None, *, speaks: bool = True
) -> Iterator[Message]:
    """What one message is made of: its text in one piece, then calls and results in their order.

    What a user's message says beside results is said by the user; `speaks` tells whether that is really so.
    """
    speaker = _SPEAKERS.get(message.role)
    if speaker is None:
        return
    content = message.content
    if isinstance(content, str):
        if speaks:
            yield Message(speaker, index, content, moment=moment)
        return
    blocks = content or []
    said = [block.text for block in blocks if block.type == "text" and block.text]
    if said and speaks:
        yield Message(speaker, index, "\n".join(said), moment=moment)
    for block in blocks:
        if block.type in {"tool_use", "server_tool_use", "mcp_tool_use"}:
            call = Message("call", index, block.input, block.name, block.id or None, None, moment)
            calls.add(call)
            yield call
        elif block.type.endswith("tool_result"):
            call_id = block.tool_use_id or None
            answered = calls.answer(call_id, None)
            kind: Kind = "error" if block.is_error else "result"
            name = block.name if answered is None else answered.name
            yield Message(kind, index, block.content, name, call_id, answered, moment)


class _Entry(msgspec.Struct, gc=False):
    """A run, or in a file that is one run a message of it."""

    role: str = ""
    content: str | list[Block] | None = None
    messages: list[Blocks] | None = None
    response: Blocks | None = None
    model: str | None = None
    id: str | int | None = None
    reward: float | bool | str | None = None
    success: float | bool | str | None = None
    metadata: Any = None


_ENTRIES = Shape(_Entry, listed="messages")


def _read(stream: BinaryIO, file: str) -> Iterator[Run | Broken]:
    keys = Keys()
    alone: list[Blocks] = []
    for record in _ENTRIES.records(stream, file):
        if isinstance(record, Broken):
            yield record
            continue
        entry = record.value
        if entry.messages is None and entry.role:
            alone.append(Blocks(entry.role, entry.content))
            continue
        if entry.messages is None:
            yield Broken(file, record.line, f"record {record.place}: neither a message nor a run with `messages`")
            continue
        recorded = [*entry.messages, *([entry.response] if entry.response is not None else ())]
        key = keys.unique(str(record.place if entry.id is None else entry.id))
        told = {"model": entry.model, "reward": entry.reward, "success": entry.success}
        try:
            yield Run(key, file, _messages(recorded), record.line, scalars(told, entry.metadata))
        except UnknownRoleError as error:
            yield Broken(file, record.line, f"run {key}: {error}")
    if alone:
        try:
            yield Run(keys.unique("0"), file, _messages(alone))
        except UnknownRoleError as error:
            yield Broken(file, None, str(error))


def _messages(recorded: Sequence[Blocks]) -> list[Message]:
    calls: OpenCalls[Message] = OpenCalls()
    found: list[Message] = []
    for index, message in enumerate(recorded):
        if message.role not in _SPEAKERS:
            pass_over(message.role, index)
        found += block_messages(index, message, calls)
    return found


def _recognises(sketch: Sketch) -> bool:
    return "role" in sketch.keys and ("tool_use_id" in sketch.keys or bool({"tool_use", "tool_result"} & sketch.types))


ANTHROPIC = Reader("anthropic", 2, _recognises, _read)
