"""What people are shown beside a question: what tools have returned since somebody last answered.

Whoever is asked "may it go on?" decides on that. It is shown as far as it is short enough to be read, and without what
the rules of the middleware hide. INVARIANT: what is hidden is taken out before anything is cut, so that no half of it
is left.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from langchain_core.messages import AIMessage, ToolMessage

from accord.diagnostics.visible import clip
from accord.projection.plain import NotPlainError, plainly

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from langchain_core.messages import AnyMessage

    from accord.integrations.guard.state import Desk
    from accord.trace.redaction import Redaction

__all__ = ["NOTHING", "Evidence", "gather"]

_MOST = 20
"""Results that are shown, the last ones."""
_LONGEST = 2000
"""Characters of one."""


class Evidence(NamedTuple):
    """Results, each with its call, the last one last; and how many stood before them."""

    results: tuple[dict[str, Any], ...]
    earlier: int

    def shown(self) -> dict[str, Any]:
        """What a question shows of it."""
        shown: dict[str, Any] = {}
        if self.results:
            shown["results"] = [_short(result) for result in self.results]
        if self.earlier:
            shown["earlier"] = self.earlier
        return shown

    def under(self, redaction: Redaction, actions: Iterable[dict[str, Any] | None]) -> tuple[Evidence, list[Any]]:
        """The same, and the actions that are asked about, without what must not be seen."""
        documents = [{"action": action, "results": list(self.results)} for action in actions]
        cover = redaction.cover(documents)
        redacted = [redaction.redact(document, cover) for document in documents]
        return self._replace(results=tuple(redacted[0]["results"])), [each["action"] for each in redacted]


NOTHING = Evidence((), 0)


def gather(messages: Sequence[AnyMessage], desk: Desk) -> Evidence:
    """What has returned since a person last answered, as far as it stands among the messages."""
    tickets = [done.ticket for done in desk.done]
    if desk.seen in tickets:
        tickets = tickets[tickets.index(desk.seen) + 1 :]
    wanted = dict.fromkeys(tickets[-_MOST:])
    if not wanted:
        return NOTHING
    asked: dict[str, Any] = {}
    found: dict[str, dict[str, Any]] = {}
    for message in messages:
        if isinstance(message, AIMessage):
            asked.update({call["id"]: call["args"] for call in message.tool_calls if call["id"] in wanted})
        elif isinstance(message, ToolMessage) and message.tool_call_id in wanted:
            call = message.tool_call_id
            found[call] = {
                "tool": message.name,
                "call_id": call,
                "arguments": _plain(asked.get(call, {})),
                "result": _read(str(message.text)),
            }
    return Evidence(tuple(found[ticket] for ticket in wanted if ticket in found), len(tickets) - len(wanted))


def _read(text: str) -> object:
    """A result as the value that it is, so that rules can name places in it."""
    if text[:1] not in ("{", "["):
        return text
    try:
        return _plain(json.loads(text))
    except (ValueError, RecursionError):
        return text


def _plain(value: object) -> object:
    try:
        return plainly({"": value})[""]
    except NotPlainError:
        return clip(str(value), _LONGEST)


def _short(result: dict[str, Any]) -> dict[str, Any]:
    return {name: _cut(value) for name, value in result.items()}


def _cut(value: object) -> object:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return value if len(text) <= _LONGEST else clip(text, _LONGEST)
