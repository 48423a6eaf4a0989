"""tau2-bench: `{info, tasks, simulations: [{id, task_id, trial, reward_info, messages}]}`.

Arguments are objects, and the user has tools too: a call says who made it, and so does its result. What is recorded of
a run's surroundings, the raw answers of models above all, is several times its messages and is never decoded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from accord.projection.open_calls import OpenCalls
from accord.sources.metadata import scalars
from accord.sources.model import Broken, Message, Run
from accord.sources.reader import Reader
from accord.sources.records import Keys, Shape, why_broken
from accord.sources.roles import UnknownRoleError, pass_over

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.canonical import Json
    from accord.sources.model import Kind
    from accord.sources.sketch import Sketch

__all__ = ["TAU2"]

_NOTHING = msgspec.Raw(b"null")


class _Call(msgspec.Struct, gc=False):
    name: str | None = None
    id: str | None = None
    arguments: msgspec.Raw = _NOTHING
    requestor: str | None = None


class _Recorded(msgspec.Struct, gc=False):
    role: str
    content: str | list[Any] | dict[str, Any] | None = None
    tool_calls: list[_Call] | None = None
    id: str | None = None
    requestor: str | None = None
    error: bool | None = None
    timestamp: str | None = None
    tool_messages: list[_Recorded] | None = None


class _Reward(msgspec.Struct, gc=False):
    reward: float | None = None


class _Simulation(msgspec.Struct, gc=False):
    messages: list[_Recorded]
    id: str | None = None
    task_id: str | int | None = None
    trial: str | int | None = None
    reward_info: _Reward | None = None
    termination_reason: str | None = None


class _Agent(msgspec.Struct, gc=False):
    llm: str | None = None


class _Environment(msgspec.Struct, gc=False):
    domain_name: str | None = None


class _Info(msgspec.Struct, gc=False):
    agent_info: _Agent | None = None
    environment_info: _Environment | None = None


class _Results(msgspec.Struct, gc=False):
    simulations: list[msgspec.Raw]
    info: _Info | None = None


_FILES = Shape(_Results)
_RUN = msgspec.json.Decoder(_Simulation)


def _read(stream: BinaryIO, file: str) -> Iterator[Run | Broken]:
    keys = Keys()
    for record in _FILES.records(stream, file):
        if isinstance(record, Broken):
            yield record
            continue
        about = _about(record.value.info)
        for place, raw in enumerate(record.value.simulations):
            try:
                run = _RUN.decode(raw)
            except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
                yield Broken(file, record.line, f"simulation {place}: {why_broken(error)}")
                continue
            key = keys.unique(f"{place if run.task_id is None else run.task_id}/{run.trial or 0}")
            reward = None if run.reward_info is None else run.reward_info.reward
            told = {"task": run.task_id, "trial": run.trial, "reward": reward, "ended": run.termination_reason}
            try:
                yield Run(key, file, _messages(run.messages), record.line, scalars(told, about))
            except UnknownRoleError as error:
                yield Broken(file, record.line, f"simulation {place}: {error}")


def _about(info: _Info | None) -> dict[str, Json]:
    if info is None:
        return {}
    agent, environment = info.agent_info, info.environment_info
    return scalars({"model": agent and agent.llm, "domain": environment and environment.domain_name})


def _messages(recorded: list[_Recorded]) -> list[Message]:
    found: list[Message] = []
    calls = {"user": OpenCalls[Message](), "assistant": OpenCalls[Message]()}
    for index, message in enumerate(recorded):
        role = message.role
        if role in {"user", "assistant"}:
            made, content = message.tool_calls, message.content
            if content or (content is not None and not made):
                found.append(Message("user" if role == "user" else "agent", index, content, moment=message.timestamp))
            for call in made or ():
                by = call.requestor or role
                kind: Kind = "user call" if by == "user" else "call"
                out = Message(kind, index, call.arguments, call.name, call.id or None, None, message.timestamp)
                calls["user" if by == "user" else "assistant"].add(out)
                found.append(out)
        elif role == "tool":
            if not message.tool_messages:
                found.append(_result(index, message, calls))
        else:
            pass_over(role, index)
        found.extend(_result(index, answer, calls) for answer in message.tool_messages or ())
    return found


def _result(index: int, message: _Recorded, calls: dict[str, OpenCalls[Message]]) -> Message:
    call_id = message.id or None
    call = calls["user" if message.requestor == "user" else "assistant"].answer(call_id, None)
    kind: Kind = "error" if message.error else "result"
    name = None if call is None else call.name
    return Message(kind, index, message.content, name, call_id, call, message.timestamp)


def _recognises(sketch: Sketch) -> bool:
    return "simulations" in sketch.keys or {"user_info", "environment_info"} <= sketch.keys


TAU2 = Reader("tau2-bench", 2, _recognises, _read)
