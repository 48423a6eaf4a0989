"""Any SDK: a model's calls and an agent's tools, each checked against the session's contract before it happens.

`exchange` holds what passes between a model and its tools, `payloads` what a contract sees of it. `MonitoredClient`
wraps the call of a model, `ToolMiddleware` the running of tools. `openai` and `anthropic` read the answers of those
SDKs, without importing them. `langfuse` records a session in Langfuse; it is imported by whoever wants that.
"""

from __future__ import annotations

from accord.integrations.anthropic import adapt_message
from accord.integrations.client import MonitoredClient
from accord.integrations.exchange import LLMResponse, ToolCall, ToolResult
from accord.integrations.guard import LET_RUN, Decision, Guard, Review
from accord.integrations.middleware import ToolMiddleware
from accord.integrations.openai import adapt_chat_completion, adapt_response

__all__ = [
    "LET_RUN",
    "Decision",
    "Guard",
    "LLMResponse",
    "MonitoredClient",
    "Review",
    "ToolCall",
    "ToolMiddleware",
    "ToolResult",
    "adapt_chat_completion",
    "adapt_message",
    "adapt_response",
]
