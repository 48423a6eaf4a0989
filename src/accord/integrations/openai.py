"""What the OpenAI SDK returns, as an `LLMResponse`: chat completions and responses.

Read by the names of attributes, or of keys in plain JSON, so nothing is imported, and whatever speaks the same language
will do. INVARIANT: a part of a response that asks the program to do something is a tool call or an error, never left
out.
"""

from __future__ import annotations

from accord.errors import UsageError
from accord.integrations.exchange import LLMResponse, ToolCall
from accord.integrations.reading import is_cut_off, items, kind, parse_arguments, part, text, text_or_none, tool_call

__all__ = ["adapt_chat_completion", "adapt_response"]

# What OpenAI has run itself, or says about itself: there is nothing in it for the program to do.
_NOT_FOR_US = frozenset(
    {
        "additional_tools",
        "code_interpreter_call",
        "compaction",
        "file_search_call",
        "image_generation_call",
        "mcp_call",
        "mcp_list_tools",
        "reasoning",
        "web_search_call",
    }
)


def adapt_chat_completion(raw: object) -> LLMResponse:
    """What `client.chat.completions.create` returned.

    The text of a refusal is its content. A custom tool gets its text as the argument `input`. If the model was cut off
    (`finish_reason` is `length` or `content_filter`), its calls do not run.
    """
    choices = items(raw, "choices")
    if len(choices) != 1:
        raise UsageError(f"a completion with one choice is expected, got {len(choices)}")
    message = part(choices[0], "message")
    if message is None:
        raise UsageError("a choice with a `message` is expected; what a stream gives bit by bit has to be put together")
    content = text_or_none(message, "content")
    cut_off = is_cut_off(part(choices[0], "finish_reason"))
    calls = [_chat_call(call, cut_off) for call in items(message, "tool_calls")] if part(message, "tool_calls") else []
    function = part(message, "function_call")
    if function is not None:  # as it was before there were several
        calls.append(_function_call(function, None, cut_off))
    if content is None and not calls:
        content = text_or_none(message, "refusal")
    return LLMResponse(content=content, tool_calls=calls, raw=raw)


def _chat_call(call: object, cut_off: bool) -> ToolCall:
    identity = text_or_none(call, "id")
    which = kind(call)
    if which == "function":
        return _function_call(part(call, "function"), identity, cut_off)
    if which == "custom":
        custom = part(call, "custom")
        return tool_call(text(custom, "name"), {"input": text(custom, "input")}, identity, cut_off=cut_off)
    raise UsageError(f"a tool call is `function` or `custom`, got `{which}`; write an adapter of your own for it")


def _function_call(function: object, identity: str | None, cut_off: bool) -> ToolCall:
    arguments = parse_arguments(text(function, "arguments"))
    return tool_call(text(function, "name"), arguments, identity, cut_off=cut_off)


def adapt_response(raw: object) -> LLMResponse:
    """What `client.responses.create` returned.

    What OpenAI has run itself (a web search, say) is left out. Whatever else is neither a message nor a call of a
    function or a custom tool is a `UsageError`. If the model was cut off (`status` is `incomplete`), its calls do not
    run.
    """
    status = text_or_none(raw, "status")
    if status not in {None, "completed", "incomplete"}:
        raise UsageError(f"a response that is done is expected, got one that is `{status}`")
    said: list[str] = []
    calls: list[ToolCall] = []
    for item in items(raw, "output"):
        which = kind(item)
        cut_off = is_cut_off(status) or is_cut_off(part(item, "status"))
        if which == "message":
            said += [_said(piece) for piece in items(item, "content")]
        elif which == "function_call":
            arguments = parse_arguments(text(item, "arguments"))
            calls.append(tool_call(text(item, "name"), arguments, text(item, "call_id"), cut_off=cut_off))
        elif which == "custom_tool_call":
            arguments = {"input": text(item, "input")}
            calls.append(tool_call(text(item, "name"), arguments, text(item, "call_id"), cut_off=cut_off))
        elif which not in _NOT_FOR_US:
            raise UsageError(f"the response holds a `{which}`; write an adapter of your own for it")
    return LLMResponse(content="".join(said) if said else None, tool_calls=calls, raw=raw)


def _said(piece: object) -> str:
    which = kind(piece)
    if which not in {"output_text", "refusal"}:
        raise UsageError(f"a part of a message is `output_text` or `refusal`, got `{which}`")
    return text(piece, "text" if which == "output_text" else "refusal")
