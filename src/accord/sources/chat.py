"""Messages as OpenAI's chat API writes them, which many formats hold runs in; and runs that are such messages alone.

A run is a list of messages, or an object with a list of `messages` (or, in a log of requests, `request.messages` and
the answer's `choices`). A file is one run, an array of runs, or a run per line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Generic, TypeAlias, TypeVar, cast

import msgspec

from accord.projection.open_calls import OpenCalls
from accord.sources.metadata import scalars
from accord.sources.model import Broken, Message, Run
from accord.sources.reader import Reader
from accord.sources.records import Keys, Shape
from accord.sources.roles import UnknownRoleError, pass_over

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accord.canonical import Json
    from accord.sources.sketch import Sketch

__all__ = ["CHAT", "ChatMessage", "QuickMessage", "SkimmedMessage", "chat_messages"]

Content = str | list[Any] | dict[str, Any] | int | float | bool | None
_NO_ARGUMENTS = msgspec.Raw(b"null")


class ChatFunction(msgspec.Struct, gc=False):
    """What is called. The arguments stay as they are until a guard reads them."""

    name: str | None = None
    arguments: msgspec.Raw = _NO_ARGUMENTS
    input: msgspec.Raw = _NO_ARGUMENTS


class ChatCall(msgspec.Struct, gc=False):
    """A call in a message of the assistant."""

    function: ChatFunction | None = None
    id: str | None = None
    custom: ChatFunction | None = None


class ChatMessage(msgspec.Struct, gc=False):
    """A message of any role, of which only what a run needs is decoded."""

    role: str
    content: Content = None
    tool_calls: list[ChatCall] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    function_call: ChatFunction | None = None


# Messages of the known roles: of each, only what its role has is decoded, and of what a system says nothing.


class _System(msgspec.Struct, gc=False, tag_field="role", tag="system"):
    role: ClassVar[str] = "system"


class _Developer(msgspec.Struct, gc=False, tag_field="role", tag="developer"):
    role: ClassVar[str] = "developer"


class _User(msgspec.Struct, gc=False, tag_field="role", tag="user"):
    role: ClassVar[str] = "user"
    content: Content = None


class _Assistant(msgspec.Struct, gc=False, tag_field="role", tag="assistant"):
    role: ClassVar[str] = "assistant"
    content: Content = None
    tool_calls: list[ChatCall] | None = None
    function_call: ChatFunction | None = None


class _Tool(msgspec.Struct, gc=False, tag_field="role", tag="tool"):
    role: ClassVar[str] = "tool"
    tool_call_id: str | None = None
    name: str | None = None
    content: Content = None


class _SkimmedTool(msgspec.Struct, gc=False, tag_field="role", tag="tool"):
    role: ClassVar[str] = "tool"
    content: ClassVar[None] = None
    tool_call_id: str | None = None
    name: str | None = None


class _Function(msgspec.Struct, gc=False, tag_field="role", tag="function"):
    role: ClassVar[str] = "function"
    tool_call_id: ClassVar[None] = None
    name: str | None = None
    content: Content = None


QuickMessage: TypeAlias = _System | _Developer | _User | _Assistant | _Tool | _Function
"""A message of one of the known roles, which is decoded faster than one of any role."""
SkimmedMessage: TypeAlias = _System | _Developer | _User | _Assistant | _SkimmedTool | _Function
"""The same, without what tools returned."""
M = TypeVar("M")


def chat_messages(recorded: Sequence[object]) -> list[Message]:
    """Messages of a run. What the system or a developer says is no part of what happened.

    Raises `UnknownRoleError`.
    """
    found: list[Message] = []
    add = found.append
    calls: OpenCalls[Message] = OpenCalls()
    opened, answer = calls.add, calls.answer
    # Whatever its class, a message has what its role has.
    for index, message in enumerate(cast("Sequence[ChatMessage]", recorded)):
        role = message.role
        if role == "assistant":
            made, content = message.tool_calls, message.content
            if content or (content is not None and not made and message.function_call is None):
                add(Message("agent", index, content))
            if made:
                for made_call in made:
                    call = _call(index, made_call)
                    opened(call)
                    add(call)
            if message.function_call is not None:
                call = _call(index, ChatCall(message.function_call))
                opened(call)
                add(call)
        elif role == "user":
            add(Message("user", index, message.content))
        elif role in {"tool", "function"}:
            call_id, name = message.tool_call_id or None, message.name
            answered = answer(call_id, name)
            if name is None and answered is not None:
                name = answered.name
            add(Message("result", index, message.content, name, call_id, answered))
        else:
            pass_over(role, index)
    return found


def _call(index: int, made: ChatCall) -> Message:
    function = made.function
    if function is not None:
        return Message("call", index, function.arguments, function.name, made.id or None)
    if made.custom is not None:
        return Message("call", index, made.custom.input, made.custom.name, made.id or None)
    return Message("call", index, None, None, made.id or None)


class _Choice(msgspec.Struct, gc=False):
    message: ChatMessage | None = None


class _Answer(msgspec.Struct, gc=False):
    choices: list[_Choice] = []
    model: str | None = None


class _Request(msgspec.Struct, gc=False):
    messages: list[ChatMessage] = []
    model: str | None = None


class _Entry(ChatMessage, Generic[M], gc=False):
    """A run, or in a file that is one run a message of it."""

    role: str = ""
    messages: list[M] | None = None
    request: _Request | None = None
    response: _Answer | None = None
    choices: list[_Choice] | None = None
    model: str | None = None
    id: str | int | None = None
    run_id: str | int | None = None
    task_id: str | int | None = None
    trial: str | int | None = None
    reward: float | bool | str | None = None
    score: float | bool | str | None = None
    success: float | bool | str | None = None
    outcome: str | float | bool | None = None
    metadata: Any = None


def _kind(kind: object) -> type[_Entry[object]]:
    """The type checker takes one with its parameter for a value."""
    return cast("type[_Entry[object]]", kind)


_Entries: TypeAlias = "Shape[_Entry[object]]"
_ENTRIES: _Entries = Shape(_kind(_Entry[QuickMessage]), _kind(_Entry[ChatMessage]), "messages")
_SKIMMED: _Entries = Shape(_kind(_Entry[SkimmedMessage]), _kind(_Entry[ChatMessage]), "messages")
_METADATA = ("trial", "reward", "score", "success", "outcome")


def _read(stream: BinaryIO, file: str) -> Iterator[Run | Broken]:
    return _runs(_ENTRIES, stream, file)


def _skim(stream: BinaryIO, file: str) -> Iterator[Run | Broken]:
    return _runs(_SKIMMED, stream, file)


def _runs(entries: _Entries, stream: BinaryIO, file: str) -> Iterator[Run | Broken]:
    keys = Keys()
    alone: list[object] = []
    for record in entries.records(stream, file):
        if isinstance(record, Broken):
            yield record
            continue
        entry = record.value
        if entry.role:
            alone.append(entry)
            continue
        recorded = _recorded(entry)
        if recorded is None:
            yield Broken(file, record.line, f"record {record.place}: neither a message nor a run with `messages`")
            continue
        key = entry.run_id if entry.run_id is not None else entry.id
        name = keys.unique(str(record.place if key is None else key))
        try:
            yield Run(name, file, chat_messages(recorded), record.line, _metadata(entry))
        except UnknownRoleError as error:
            yield Broken(file, record.line, f"run {name}: {error}")
    if alone:
        try:
            yield Run(keys.unique("0"), file, chat_messages(alone))
        except UnknownRoleError as error:
            yield Broken(file, None, str(error))


def _recorded(entry: _Entry[object]) -> list[object] | None:
    """The messages of a run; of a logged request, those of the request and of its answer."""
    request, answer = entry.request, entry.response
    choices = entry.choices if answer is None else answer.choices
    said = [choice.message for choice in choices[:1] if choice.message is not None] if choices else []
    if request is None and not said:
        return entry.messages
    sent = entry.messages if request is None else request.messages
    return [*(sent or ()), *said]


def _metadata(entry: _Entry[object]) -> dict[str, Json]:
    model = entry.model or (entry.response and entry.response.model) or (entry.request and entry.request.model)
    told = {"model": model, "task": entry.task_id}
    return scalars(told, {name: getattr(entry, name) for name in _METADATA}, entry.metadata)


def _recognises(sketch: Sketch) -> bool:
    return {"role", "content"} <= sketch.keys or {"role", "tool_calls"} <= sketch.keys


CHAT = Reader("openai-chat", 3, _recognises, _read, _skim)
