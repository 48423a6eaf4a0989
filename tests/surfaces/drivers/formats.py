"""A run written down as others write theirs, one small writer for each format of `accord.sources` that can carry it.

What a format cannot carry is said by `capabilities`; a writer does not look.
"""

from __future__ import annotations

import json

from accord.sources.mapping import KindOf, Mapping
from tests.surfaces.drivers.told import message_at
from tests.surfaces.happenings import Run

__all__ = ["MAPPING", "WRITERS"]


def text_of(value: object) -> str:
    """A result as logs hold it: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def turns(run: Run):
    """The run with the calls of a message together: each a kind, and the happenings of it."""
    place = 0
    while place < len(run):
        places = message_at(run, place) if run[place].kind == "call" else [place]
        yield run[place].kind, [run[at] for at in places]
        place = places[-1] + 1


def as_lines(values) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def chat(run: Run) -> bytes:
    """OpenAI's chat API, which does not say whether a tool failed; some who log it write the tool beside the result."""
    messages = []
    named = len(run) % 2 == 0
    for kind, ones in turns(run):
        one = ones[0]
        if kind == "call":
            calls = [
                {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": json.dumps(c.body)}}
                for c in ones
            ]
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        elif kind in {"result", "error"}:
            told = {"name": one.name} if named else {}
            messages.append({"role": "tool", "tool_call_id": one.id, "content": text_of(one.body), **told})
        else:
            messages.append({"role": "assistant" if kind == "agent" else "user", "content": one.body})
    return json.dumps({"id": "run", "messages": messages}).encode()


def responses(run: Run) -> bytes:
    """OpenAI's Responses API; calls of one message stand one behind the other."""
    items = []
    for one in run:
        if one.kind == "call":
            about = {"call_id": one.id, "name": one.name, "arguments": json.dumps(one.body)}
            items.append({"type": "function_call", **about})
        elif one.kind in {"result", "error"}:
            items.append({"type": "function_call_output", "call_id": one.id, "output": text_of(one.body)})
        else:
            part = {"type": "input_text" if one.kind == "user" else "output_text", "text": one.body}
            items.append({"type": "message", "role": "user" if one.kind == "user" else "assistant", "content": [part]})
    return json.dumps({"id": "r", "object": "response", "model": "m", "input": items, "output": []}).encode()


def _blocks(kind: str, ones) -> tuple[str, object]:
    if kind == "call":
        return "assistant", [{"type": "tool_use", "id": c.id, "name": c.name, "input": c.body} for c in ones]
    one = ones[0]
    if kind in {"result", "error"}:
        block = {
            "type": "tool_result",
            "tool_use_id": one.id,
            "content": text_of(one.body),
            "is_error": kind == "error",
        }
        return "user", [block]
    return ("assistant" if kind == "agent" else "user"), [{"type": "text", "text": one.body}]


def anthropic(run: Run) -> bytes:
    """Messages with blocks."""
    messages = [dict(zip(("role", "content"), _blocks(kind, ones), strict=True)) for kind, ones in turns(run)]
    return json.dumps({"model": "m", "messages": messages}).encode()


def session(run: Run) -> bytes:
    """Transcripts of coding agents: a line for each block, and the id of the message tells which belong together."""
    lines = []
    for number, (kind, ones) in enumerate(turns(run)):
        role, blocks = _blocks(kind, ones)
        for block, one in zip(blocks, ones, strict=True):
            message = {"role": role, "content": [block], **({"id": f"m{number}"} if role == "assistant" else {})}
            moment = f"1970-01-01T00:{int(one.at // 60):02}:{one.at % 60:06.3f}Z"
            about = {"sessionId": "s", "uuid": "u", "parentUuid": None, "timestamp": moment}
            lines.append({"type": role, **about, "message": message})
    return as_lines(lines)


def tau2(run: Run) -> bytes:
    """Results of tau2-bench."""
    messages = []
    for kind, ones in turns(run):
        one = ones[0]
        moment = f"1970-01-01T00:{int(one.at // 60):02}:{one.at % 60:06.3f}"
        if kind == "call":
            calls = [{"id": c.id, "name": c.name, "arguments": c.body, "requestor": "assistant"} for c in ones]
            messages.append({"role": "assistant", "content": None, "tool_calls": calls, "timestamp": moment})
        elif kind in {"result", "error"}:
            about = {"id": one.id, "content": text_of(one.body), "requestor": "assistant", "error": kind == "error"}
            messages.append({"role": "tool", **about, "timestamp": moment})
        else:
            role = "assistant" if kind == "agent" else "user"
            messages.append({"role": role, "content": one.body, "timestamp": moment})
    simulation = {"id": "s", "task_id": "7", "trial": 1, "reward_info": {"reward": 1.0}, "messages": messages}
    about = {"user_info": {}, "agent_info": {"llm": "m"}, "environment_info": {"domain_name": "air"}}
    return json.dumps({"info": about, "tasks": [], "simulations": [simulation]}).encode()


def otlp(run: Run) -> bytes:
    """Spans of tools, which hold a call and its end in one; so both have to be there, and nothing is said.

    Those of one message run at the same time, which tells that they belong together."""
    spans = []
    for place, one in enumerate(run):
        if one.kind != "call":
            continue
        end = next(at for at in range(place, len(run)) if run[at].kind in {"result", "error"} and run[at].id == one.id)
        about = {
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": one.name, "gen_ai.tool.call.id": one.id,
            "gen_ai.tool.args": json.dumps(one.body), "gen_ai.output": text_of(run[end].body),
        }  # fmt: skip
        spans.append(
            {
                "traceId": "t",
                "spanId": str(place),
                "name": one.name,
                "startTimeUnixNano": str((10**9 + place) * 10**9),
                "endTimeUnixNano": str((10**9 + end) * 10**9),
                "status": {"code": 2} if run[end].kind == "error" else {},
                "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in about.items()],
            }
        )
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()


MAPPING = Mapping(
    tuple(
        KindOf(kind, ((("kind",), (kind,)),), ("name",), ("body",), ("id",), ("at",))
        for kind in ("call", "result", "error", "user", "agent", "event")
    ),
    together=("message",),
)
"""A format of one's own, as a mapping describes it: a record for each happening."""


def mapped(run: Run) -> bytes:
    """Records that name everything, but who made an event happen."""
    return as_lines(
        {"kind": one.kind, "name": one.name, "body": one.body, "id": one.id or None, "at": one.at}
        | ({"message": one.message} if one.kind == "call" else {})
        for one in run
    )


WRITERS = {
    "openai-chat": chat, "openai-responses": responses, "anthropic": anthropic, "session": session, "tau2-bench": tau2,
    "otlp": otlp, "mapping": mapped,
}  # fmt: skip
