"""What a model has proposed, and whether it is still that which people are asked about.

Between a question and its answer anybody who may call `update_state` can put other arguments in the message of the
model, or move the session; LangGraph then runs the hook that asks on the new state, with the old answer. So the node of
the model leaves a sealed note of its calls and of the session as it stood then, and a program that steps beside the
agent takes it off. Where the note does not fit, nobody has been shown what is asked about now.

A turn that was begun by a version that left no notes has nothing under our key, and is taken as it is.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage

from accord.canonical import encode
from accord.langchain.sealing import Proposed, open_proposed, seal_proposed
from accord.projection.plain import NotPlainError, plainly

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from langchain_core.messages import BaseMessage

    from accord.langchain.sealing import Where
    from accord.langchain.sessions import Settings

__all__ = ["MOVED", "NOTHING_YET", "has_changed", "has_note", "note_of", "was_moved"]

MOVED = None
"""Somebody has moved the session beside the agent."""
NOTHING_YET = ""
"""A hook has taken notice of that, and the model has proposed nothing since."""


def note_of(
    messages: Sequence[BaseMessage], state: Mapping[str, Any], where: Where, settings: Settings, contract: str
) -> str | None:
    """The note of what a model has just proposed; `None` if it has called nothing."""
    calls = _digest_of(messages)
    if calls is None:
        return None
    session = _session(state, settings)
    proposed = Proposed(thread=where.thread, agent=where.agent, contract=contract, calls=calls, session=session)
    return seal_proposed(proposed, settings.secret)


def has_changed(state: Mapping[str, Any], where: Where, settings: Settings, contract: str) -> bool:
    """Whether the calls that wait, or the session, are not those that the model has left."""
    if not has_note(state, settings):
        return False
    text = state[settings.keys.proposed]
    if text is MOVED or text == NOTHING_YET:
        return True
    proposed = open_proposed(text, where, contract, settings.secret)
    return (proposed.calls, proposed.session) != (_digest_of(state["messages"]), _session(state, settings))


def was_moved(state: Mapping[str, Any], settings: Settings) -> bool:
    """Whether somebody has moved the session since a hook last took notice of it."""
    return has_note(state, settings) and state[settings.keys.proposed] is MOVED


def has_note(state: Mapping[str, Any], settings: Settings) -> bool:
    """Whether the turn was begun by a version that leaves notes."""
    return settings.keys.proposed in state


def _digest_of(messages: Sequence[BaseMessage]) -> str | None:
    """The digest of the calls of the last answer; `None` if it has none."""
    last = next((message for message in reversed(messages) if isinstance(message, AIMessage)), None)
    if last is None or not last.tool_calls:
        return None
    try:
        calls = plainly({"calls": [[call["id"], call["name"], call["args"]] for call in last.tool_calls]})
    except NotPlainError as wrong:
        return f"not JSON: {wrong}"  # such calls are refused, so nobody is asked about them
    return hashlib.sha256(encode(calls)).hexdigest()


def _session(state: Mapping[str, Any], settings: Settings) -> str:
    return hashlib.sha256(str(state.get(settings.keys.session)).encode("utf-8", "surrogatepass")).hexdigest()
