"""What is said in a conversation, heard once.

A message is known by its id, and new ones stand behind those that are known: a session remembers the last few it has
seen, so a turn that is run again, a history that was summed up and a state that somebody has updated say nothing twice.
What the user says is heard when a turn begins. Messages of the user that appear later come from tools and other
middlewares, so nobody has said them. What the agent says is heard from its model alone.
"""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from langchain_core.messages import AIMessage, HumanMessage

from accord.integrations.guard.decisions import Change, Remark
from accord.integrations.guard.restarting import begin_turn
from accord.integrations.guard.speaking import event_of_text, hears, say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from langchain_core.messages import AnyMessage

    from accord.integrations.guard.decisions import Noted
    from accord.integrations.guard.policy import Policy
    from accord.integrations.guard.state import State
    from accord.language.events import Speaker
    from accord.machine.clocks import Time

__all__ = ["Hearing"]

_REMEMBERED = 32
"""Messages that a session knows."""
_KEY = 12
"""So much of a digest tells messages of a thread apart."""
_UNNAMED = b"\xff"
"""Stands before what is said by a message without an id; no id begins like that."""


class _New(NamedTuple):
    """A message that a session does not know, and what it will be known by."""

    key: str
    message: AnyMessage


class Hearing:
    """What a policy listens for among the messages of a thread."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.users = hears(policy.contract, policy.protocol, "user")
        self.agents = hears(policy.contract, policy.protocol, "agent")
        self.turns = self.users or policy.when_over == "restart"
        """Whether it matters that a user speaks."""

    def user(self, state: State, messages: Sequence[AnyMessage], at: Time | None) -> Change[None]:
        """A turn begins: what the user has said since the last one."""
        new = _new_messages(messages, state.desk.heard)
        said = [each for each in new if _is_of_user(each.message)]
        notes: list[Noted | Remark] = []
        if said:
            begun = begin_turn(self._policy, state, at)
            state = begun.state
            notes += begun.notes
        for each in said:
            change = self._say(state, "user", each, at)
            state = change.state
            notes += change.notes
        return Change(_known(state, new), tuple(notes), None)

    def agent(self, state: State, messages: Sequence[AnyMessage], at: Time | None) -> Change[None]:
        """The model has answered: what it says, which comes before what it calls."""
        new = _new_messages(messages, state.desk.heard)
        answer = next((each for each in reversed(new) if isinstance(each.message, AIMessage)), None)
        if answer is None or not self._is_event("agent", answer.message):
            return Change(state, (), None)
        change = self._say(state, "agent", answer, at)
        return Change(_known(change.state, new), change.notes, None)

    def nobody(self, state: State, messages: Sequence[AnyMessage]) -> Change[None]:
        """Messages that have appeared since the turn began are known from now on; none of them is the user's."""
        new = _new_messages(messages, state.desk.heard)
        stray = [each.message.id for each in new if _is_of_user(each.message)]
        notes = (Remark("not said by the user", {"messages": stray}),) if stray else ()
        return Change(_known(state, new), notes, None)

    def has_strays(self, state: State, messages: Sequence[AnyMessage]) -> bool:
        """Whether there are messages in the user's name that the user has not sent."""
        return self.users and any(_is_of_user(each.message) for each in _new_messages(messages, state.desk.heard))

    def hears_answer(self, messages: Sequence[AnyMessage]) -> bool:
        """Whether the last answer of the model is an event."""
        if not self.agents:
            return False
        answer = next((each for each in reversed(messages) if isinstance(each, AIMessage)), None)
        return answer is not None and self._is_event("agent", answer)

    def _is_event(self, kind: Speaker, message: AnyMessage) -> bool:
        text = str(message.text)
        return bool(text) and event_of_text(self._policy.contract, self._policy.protocol, kind, text) is not None

    def _say(self, state: State, kind: Speaker, new: _New, at: Time | None) -> Change[object]:
        text = str(new.message.text)
        if not text:
            return Change(state, (), None)
        meta: dict[str, object] = {"message": new.message.id or new.key}
        return say(self._policy, state, kind, text, None, at, meta)  # type: ignore[return-value] # a verdict is any


def _is_of_user(message: AnyMessage) -> bool:
    """Whether the user has said it; a summary of the conversation only looks like that."""
    return isinstance(message, HumanMessage) and message.additional_kwargs.get("lc_source") != "summarization"


def _known(state: State, new: Sequence[_New]) -> State:
    if not new:
        return state
    heard = (*state.desk.heard, *(each.key for each in new))[-_REMEMBERED:]
    return state._replace(desk=state.desk._replace(heard=heard))


def _new_messages(messages: Sequence[AnyMessage], heard: Sequence[str]) -> list[_New]:
    """The messages behind the last one that is known, in order; all of them if none is."""
    known = set(heard)
    new: list[_New] = []
    for each in _from_the_end(messages):
        if each.key in known:
            break
        new.append(each)
    return new[::-1]


def _from_the_end(messages: Sequence[AnyMessage]) -> Iterator[_New]:
    """Messages with their keys, the last one first. One without an id is the n-th that says this."""
    counts: Counter[tuple[str, str]] | None = None
    for message in reversed(messages):
        if message.id:
            yield _New(_digest(message.id), message)
            continue
        if counts is None:
            counts = Counter((each.type, str(each.text)) for each in messages if not each.id)
        says = (message.type, str(message.text))
        yield _New(_digest(f"{counts[says]} {says[0]} {says[1]}", _UNNAMED), message)
        counts[says] -= 1


def _digest(text: str, kind: bytes = b"") -> str:
    return sha256(kind + text.encode("utf-8", "replace")).hexdigest()[:_KEY]
