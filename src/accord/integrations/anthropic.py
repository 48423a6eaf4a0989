"""What the Anthropic SDK returns, as an `LLMResponse`: messages.

Read by the names of attributes, or of keys in plain JSON, so nothing is imported. INVARIANT: a block that asks the
program to do something is a tool call or an error, never left out.
"""

from __future__ import annotations

from accord.errors import UsageError
from accord.integrations.exchange import LLMResponse, ToolCall
from accord.integrations.reading import items, kind, part, text, text_or_none, tool_call

__all__ = ["adapt_message"]

# What Anthropic has run itself, or the model says to itself: there is nothing in it for the program to do.
_NOT_FOR_US = frozenset({"container_upload", "mcp_tool_use", "redacted_thinking", "server_tool_use", "thinking"})
_RUN_BY_ANTHROPIC = "_tool_result"

# The model was cut off, so the last block may be half of what it was to be.
_CUT_OFF = frozenset({"max_tokens", "model_context_window_exceeded"})


def adapt_message(raw: object) -> LLMResponse:
    """What `client.messages.create` returned.

    What Anthropic has run itself (a web search, say) is left out; an unknown block is a `UsageError`. If the model was
    cut off in a tool call, the arguments of that call are unknown, so they are `None` and it will not be run.
    """
    said: list[str] = []
    calls: list[ToolCall] = []
    blocks = items(raw, "content")
    cut_off = text_or_none(raw, "stop_reason") in _CUT_OFF
    for number, block in enumerate(blocks, start=1):
        which = kind(block)
        if which == "text":
            said.append(text(block, "text"))
        elif which == "tool_use":
            whole = not (cut_off and number == len(blocks))
            arguments = part(block, "input") if whole else None
            calls.append(tool_call(text(block, "name"), arguments, text(block, "id")))
        elif which not in _NOT_FOR_US and not which.endswith(_RUN_BY_ANTHROPIC):
            raise UsageError(f"the message holds a `{which}`; write an adapter of your own for it")
    return LLMResponse(content="".join(said) if said else None, tool_calls=calls, raw=raw)
