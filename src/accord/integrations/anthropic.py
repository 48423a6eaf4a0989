"""What the Anthropic SDK returns, as an `LLMResponse`: messages.

Read by the names of attributes, or of keys in plain JSON, so nothing is imported. INVARIANT: a block that asks the
program to do something is a tool call or an error, never left out.
"""

from __future__ import annotations

from accord.errors import UsageError
from accord.integrations.exchange import LLMResponse, ToolCall
from accord.integrations.reading import is_cut_off, items, kind, part, text, text_or_none, tool_call

__all__ = ["adapt_message"]

# What Anthropic has run itself, or the model says to itself: there is nothing in it for the program to do.
_NOT_FOR_US = frozenset({"container_upload", "mcp_tool_use", "redacted_thinking", "server_tool_use", "thinking"})
_RUN_BY_ANTHROPIC = "_tool_result"


def adapt_message(raw: object) -> LLMResponse:
    """What `client.messages.create` returned.

    What Anthropic has run itself (a web search, say) is left out; an unknown block is a `UsageError`. If the model was
    cut off (`stop_reason` is `max_tokens`, say), its calls do not run.
    """
    said: list[str] = []
    calls: list[ToolCall] = []
    blocks = items(raw, "content")
    cut_off = is_cut_off(text_or_none(raw, "stop_reason"))
    for block in blocks:
        which = kind(block)
        if which == "text":
            said.append(text(block, "text"))
        elif which == "tool_use":
            calls.append(tool_call(text(block, "name"), part(block, "input"), text(block, "id"), cut_off=cut_off))
        elif which not in _NOT_FOR_US and not which.endswith(_RUN_BY_ANTHROPIC):
            raise UsageError(f"the message holds a `{which}`; write an adapter of your own for it")
    return LLMResponse(content="".join(said) if said else None, tool_calls=calls, raw=raw)
