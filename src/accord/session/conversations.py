"""Many sessions of one protocol at once, each with a conversation id of its own.

The first message of a conversation opens its session. What is refused opens nothing, so nobody can fill the memory with
conversations that never began; how many there may be is bounded by `Limits.instances`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.choreography.compiling import compile_contract
from accord.errors import UsageError
from accord.machine.contract import Contract
from accord.monitor.verdicts import OK, Blocked
from accord.session.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from accord.machine.clocks import Time
    from accord.monitor.step import Mode
    from accord.monitor.verdicts import Verdict

__all__ = ["Conversations"]


class Conversations:
    """The sessions of one protocol, by conversation id.

    Example:
        >>> calls = Conversations("protocol P { A -> B: Ask; B -> A: Answer }", mode="refuse")
        >>> calls.observe("c1", "A", "B", "Ask"), calls.observe("c2", "B", "A", "Answer"), len(calls)
        (Ok(), Violation(expected=['A -> B: Ask'], got='B -> A: Answer'), 1)
    """

    def __init__(self, contract: str | Path | Contract, *, protocol: str | None = None, mode: Mode = "halt") -> None:
        self._contract = contract if isinstance(contract, Contract) else compile_contract(contract)
        self._protocol = Session(self._contract, protocol=protocol, mode=mode).protocol
        self._mode: Mode = mode
        self._sessions: dict[str, Session] = {}

    def observe(
        self,
        conversation: str,
        sender: str,
        receiver: str,
        label: str | None = None,
        payload: Mapping[str, object] | None = None,
        by: str | None = None,
        at: Time | None = None,
    ) -> Verdict:
        """Somebody has seen a message of a conversation; the first one opens its session."""
        if type(conversation) is not str or not conversation:
            raise UsageError(f"a conversation id is a non-empty `str`, got {conversation!r}")
        known = self._sessions.get(conversation)
        if known is not None:
            return known.observe(sender, receiver, label, payload, by, at)
        if len(self._sessions) >= self._contract.limits.instances:
            return Blocked(f"there are {len(self._sessions)} conversations already; forget() those that are over")
        fresh = Session(self._contract, protocol=self._protocol, mode=self._mode, at=at)
        verdict = fresh.peek(sender, receiver, label, payload, by, at)
        if verdict is not OK and verdict != OK:
            return verdict
        # Whoever comes second joins the conversation that the first one opened.
        return self._sessions.setdefault(conversation, fresh).observe(sender, receiver, label, payload, by, at)

    def __getitem__(self, conversation: str) -> Session:
        """The session of a conversation that has begun; `KeyError` if none has."""
        return self._sessions[conversation]

    def __contains__(self, conversation: object) -> bool:
        return conversation in self._sessions

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._sessions))

    def __len__(self) -> int:
        return len(self._sessions)

    def forget(self, conversation: str) -> None:
        """Let a conversation go; the same id then opens a new one."""
        self._sessions.pop(conversation, None)
