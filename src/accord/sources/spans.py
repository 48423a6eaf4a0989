"""Spans of tracing tools put in order: what users said, what agents said, which tools were called and what came of it.

Tools are spans: a call where the span starts, its result where it ends. What is said stands in the spans of models.
They are told the whole conversation each time, so only what is new there has just been said. A trace without spans of
tools has its calls in the conversations alone; the longest of them is then the run.

A span does not say which calls a model gave in one answer. The answer does, where it was recorded; else calls that ran
at the same time under one parent were given together. They have the number of the first of them. Of calls that ran one
after the other nobody can tell.

Two vocabularies are understood, OpenTelemetry's `gen_ai.*` in its several versions and OpenInference's.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from accord.projection.bodies import as_object, as_text, decoded
from accord.sources.conversation import Turn, turn_messages, turns_in
from accord.sources.model import Message
from accord.sources.moments import as_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accord.projection.bodies import Body
    from accord.sources.moments import Moment

__all__ = ["Role", "Span", "attributed", "span_messages"]

Role: TypeAlias = Literal["tool", "model", "other"]


@dataclass(slots=True)
class Span:
    """One span, whoever recorded it."""

    index: int
    role: Role
    name: str | None = None
    start: Moment = None
    end: Moment = None
    input: object = None
    output: object = None
    failed: bool = False
    call_id: str | None = None
    parent: object = None
    """What tells spans of one parent apart from others."""
    model: str | None = None
    sent: list[Turn] = field(default_factory=list)
    said: list[Turn] = field(default_factory=list)


# -- attributes --------------------------------------------------------------------------------------------------------

_TOOL_INPUT = ("gen_ai.tool.call.arguments", "gen_ai.tool.args", "gen_ai.tool.arguments", "input.value")
_TOOL_OUTPUT = ("gen_ai.tool.call.result", "gen_ai.tool.result", "gen_ai.output", "genai.output", "output.value")
_SENT = ("gen_ai.input.messages", "gen_ai.prompt", "input.value")
_SAID = ("gen_ai.output.messages", "gen_ai.completion", "gen_ai.output", "genai.output", "output.value")
_MODELS = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name")
_TALKING = {"chat", "call_llm", "text_completion", "generate_content", "generate_text"}
_NUMBERED = re.compile(r"(llm\.input_messages|llm\.output_messages|gen_ai\.prompt|gen_ai\.completion)\.(\d{1,6})\.(.+)")


def attributed(
    index: int,
    name: str | None,
    attributes: dict[str, object],
    start: Moment,
    end: Moment,
    *,
    failed: bool,
    parent: object = None,
) -> Span:
    """A span from its attributes."""
    span = Span(index, _role(attributes), name, start, end, failed=failed, parent=parent)
    if span.role == "tool":
        named = _first(attributes, ("gen_ai.tool.name", "tool.name"))
        span.name = named if isinstance(named, str) and named else _tool_in(name)
        span.input = _arguments(_first(attributes, _TOOL_INPUT))
        span.output = _first(attributes, _TOOL_OUTPUT)
        call_id = attributes.get("gen_ai.tool.call.id", attributes.get("tool_call.id"))
        span.call_id = call_id if isinstance(call_id, str) and call_id else None
    elif span.role == "model":
        model = _first(attributes, _MODELS)
        span.model = model if isinstance(model, str) else None
        numbered = _conversations(attributes)
        sent = numbered["llm.input_messages"] or numbered["gen_ai.prompt"]
        said = numbered["llm.output_messages"] or numbered["gen_ai.completion"]
        span.sent = turns_in(sent or _first(attributes, _SENT), "user")
        span.said = _without_requests(turns_in(said or _first(attributes, _SAID), "agent"))
    return span


def _role(attributes: dict[str, object]) -> Role:
    operation, kind = attributes.get("gen_ai.operation.name"), attributes.get("openinference.span.kind")
    kind = kind if kind is not None else attributes.get("traceloop.span.kind")
    kind = kind.upper() if isinstance(kind, str) else None
    if operation == "execute_tool" or kind == "TOOL":
        return "tool"
    if kind == "LLM" or (isinstance(operation, str) and operation in _TALKING):
        return "model"
    if operation is None and kind is None and "gen_ai.tool.name" in attributes:
        return "tool"
    return "other"


def _tool_in(name: str | None) -> str | None:
    return None if name is None else name.removeprefix("execute_tool ").strip() or None


def _first(attributes: dict[str, object], names: tuple[str, ...]) -> object:
    return next((attributes[name] for name in names if attributes.get(name) is not None), None)


def _arguments(value: object) -> object:
    """Arguments by name; some tools keep `args` and `kwargs` of a Python call."""
    value = decoded(value)
    if isinstance(value, dict) and isinstance(value.get("kwargs"), dict) and isinstance(value.get("args"), list):
        positional = {"args": value["args"]} if value["args"] else {}
        return {**positional, **value["kwargs"]}
    return value


def _conversations(attributes: dict[str, object]) -> dict[str, list[dict[str, object]]]:
    """Messages that were flattened into numbered attributes, such as `llm.input_messages.0.message.role`."""
    found: dict[str, dict[int, dict[str, object]]] = {}
    for name, value in attributes.items():
        match = _NUMBERED.fullmatch(name)
        if match is not None:
            message = found.setdefault(match[1], {}).setdefault(int(match[2]), {})
            _put(message, match[3].removeprefix("message."), value)
    names = ("llm.input_messages", "llm.output_messages", "gen_ai.prompt", "gen_ai.completion")
    return {name: [found[name][number] for number in sorted(found[name])] if name in found else [] for name in names}


_CALL = re.compile(r"tool_calls\.(\d{1,6})\.(?:tool_call\.)?(?:function\.)?(name|arguments|id)")
_PART = re.compile(r"contents\.(\d{1,6})\.message_content\.(?:text|content)")


def _put(message: dict[str, object], name: str, value: object) -> None:
    call, part = _CALL.fullmatch(name), _PART.fullmatch(name)
    if call is not None:
        calls = cast("list[dict[str, object]]", message.setdefault("tool_calls", []))
        number = min(int(call[1]), 1000)
        calls += [{} for _ in range(number + 1 - len(calls))]
        calls[number][call[2]] = value
    elif part is not None:
        cast("list[object]", message.setdefault("parts", [])).append(value)
    else:
        message[name] = value
    message.setdefault("content", None)


def _without_requests(turns: list[Turn]) -> list[Turn]:
    """What a model said, without what only asks for tools: `[{"tool.name": …}]`."""
    return [turn for turn in turns if turn.text or turn.calls]


# -- a run -------------------------------------------------------------------------------------------------------------


def span_messages(spans: Sequence[Span]) -> list[Message]:
    """The messages of a trace, in the order of their times; where there are none, in the order of the spans."""
    if not any(span.role == "tool" for span in spans):
        return _longest_conversation(spans)
    timeline: list[tuple[float, int, Message]] = []
    heard: Counter[str] = Counter()
    together = _Together()
    latest = 0.0
    for span in _in_time(spans):
        start = as_seconds(span.start)
        latest = latest if start is None else start
        end = as_seconds(span.end)
        end = latest if end is None else max(latest, end)
        if span.role == "tool":
            index = together.number(span, latest, end)
            call = Message("call", index, _body(span.input), span.name, span.call_id, None, span.start)
            kind: Literal["error", "result"] = "error" if span.failed else "result"
            answer = Message(kind, span.index, _body(span.output), span.name, span.call_id, call, span.end)
            timeline += [(latest, len(timeline), call), (end, len(timeline) + 1, answer)]
        elif span.role == "model":
            together.answered(span)
            for message in _news(span, heard):
                timeline.append((latest, len(timeline), message))
            for turn in span.said:
                if turn.role == "agent" and turn.text:
                    message = Message("agent", span.index, turn.text, moment=span.end)
                    timeline.append((end, len(timeline), message))
    timeline.sort(key=lambda entry: entry[:2])
    return [message for _, _, message in timeline]


class _Together:
    """Which calls were given together, as spans come in order."""

    def __init__(self) -> None:
        self._asked: dict[str, list[int]] = {}
        """Of the id of a call, the number of its answer's first call, once that is known."""
        self._running: dict[object, tuple[int, float]] = {}
        """Of a parent, the number of what runs, and until when."""

    def answered(self, span: Span) -> None:
        """A model has answered; later calls with these ids are from this answer."""
        for turn in span.said:
            first: list[int] = []
            self._asked.update({call_id: first for _, _, call_id in turn.calls if call_id})

    def number(self, span: Span, start: float, end: float) -> int:
        """The number of a call."""
        first = self._asked.get(span.call_id or "")
        if first is not None:
            first += [] if first else [span.index]
            return first[0]
        running = self._running.get(span.parent)
        number, until = running if running is not None and start < running[1] else (span.index, end)
        self._running[span.parent] = (number, max(until, end))
        return number


def _in_time(spans: Sequence[Span]) -> list[Span]:
    """Spans by their start; one without a time stays behind the one before it."""
    placed: list[tuple[float, int, Span]] = []
    latest = float("-inf")
    for place, span in enumerate(spans):
        start = as_seconds(span.start)
        latest = latest if start is None else start
        placed.append((latest, place, span))
    return [span for _, _, span in sorted(placed, key=lambda entry: entry[:2])]


def _news(span: Span, heard: Counter[str]) -> list[Message]:
    """What the user has said that no earlier conversation had."""
    texts = Counter(turn.text for turn in span.sent if turn.role == "user" and turn.text)
    found: list[Message] = []
    for text, times in texts.items():
        found += [Message("user", span.index, text, moment=span.start)] * (times - heard[text])
        heard[text] = max(times, heard[text])
    return found


def _longest_conversation(spans: Sequence[Span]) -> list[Message]:
    talking = [span for span in _in_time(spans) if span.role == "model"]
    if not talking:
        return []
    longest = max(talking, key=lambda span: len(span.sent))
    return turn_messages([*longest.sent, *longest.said])


def _body(value: object) -> Body:
    if value is None or isinstance(value, str | dict | list):
        return value
    return as_text(cast("Body", value)) if isinstance(value, int | float | bool) else as_object(cast("Body", value))
