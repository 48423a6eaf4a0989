"""AgentDojo: one run per file, with a label for the user's task (`utility`) and one for the attack (`security`).

In a run with an attack `security: true` says that the attack succeeded. Ids of calls are mostly missing or empty; a
result holds the call it answers.
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
    from collections.abc import Iterator

    from accord.sources.sketch import Sketch

__all__ = ["AGENTDOJO"]

_NOTHING = msgspec.Raw(b"null")


class _Call(msgspec.Struct, gc=False):
    function: str | None = None
    args: msgspec.Raw = _NOTHING
    id: str | None = None


class _Recorded(msgspec.Struct, gc=False):
    role: str
    content: str | list[Any] | dict[str, Any] | None = None
    tool_calls: list[_Call] | None = None
    tool_call: _Call | None = None
    tool_call_id: str | None = None
    error: str | None = None


class _DojoRun(msgspec.Struct, gc=False):
    messages: list[_Recorded]
    suite_name: str | None = None
    pipeline_name: str | None = None
    user_task_id: str | None = None
    injection_task_id: str | None = None
    attack_type: str | None = None
    utility: bool | None = None
    security: bool | None = None


_RUNS = Shape(_DojoRun)


def _read(stream: BinaryIO, file: str) -> Iterator[Run | Broken]:
    keys = Keys()
    for record in _RUNS.records(stream, file):
        if isinstance(record, Broken):
            yield record
            continue
        run = record.value
        parts = [run.suite_name, run.user_task_id, run.attack_type, run.injection_task_id]
        key = keys.unique("/".join(part for part in parts if part) or str(record.place))
        told = {
            "model": run.pipeline_name,
            "suite": run.suite_name,
            "task": run.user_task_id,
            "attack": run.attack_type,
            "injection": run.injection_task_id,
            "utility": run.utility,
            "security": run.security,
        }
        try:
            yield Run(key, file, _messages(run.messages), record.line, scalars(told))
        except UnknownRoleError as error:
            yield Broken(file, record.line, f"run {key}: {error}")


def _messages(recorded: list[_Recorded]) -> list[Message]:
    found: list[Message] = []
    calls: OpenCalls[Message] = OpenCalls()
    for index, message in enumerate(recorded):
        content, made = message.content, message.tool_calls
        if message.role == "user":
            found.append(Message("user", index, content))
        elif message.role == "assistant":
            if content or (content is not None and not made):
                found.append(Message("agent", index, content))
            for call in made or ():
                out = Message("call", index, call.args, call.function, call.id or None)
                calls.add(out)
                found.append(out)
        elif message.role == "tool":
            about = message.tool_call or _Call()
            call_id = message.tool_call_id or about.id or None
            answered = calls.answer(call_id, about.function)
            name = about.function if about.function or answered is None else answered.name
            failed = bool(message.error)
            body = message.error if failed else content
            found.append(Message("error" if failed else "result", index, body, name, call_id, answered))
        else:
            pass_over(message.role, index)
    return found


def _recognises(sketch: Sketch) -> bool:
    return {"suite_name", "user_task_id"} <= sketch.keys


AGENTDOJO = Reader("agentdojo", 2, _recognises, _read)
