"""Refusals in words: what is wrong, what is allowed, and the shortest way to make the refused action legal.

The sentences are read by people and by models. Labels in them may come from anywhere, so they are clipped and made
visible before they are quoted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import did_you_mean
from accord.diagnostics.visible import clip
from accord.language.labels import print_word
from accord.machine.paths import NOT_DECIDED, shortest_way

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accord.language.tree import Direction
    from accord.machine.standing import Standing
    from accord.machine.tables import Symbol

__all__ = ["explain_closing", "explain_refusal"]

_MOST_LISTED = 8


def _quote(word: str) -> str:
    return f"`{clip(word)}`"


def _list(words: Iterable[str]) -> str:
    quoted = [_quote(word) for word in words]
    if len(quoted) > _MOST_LISTED:
        quoted = [*quoted[:_MOST_LISTED], f"{len(quoted) - _MOST_LISTED} more"]
    if len(quoted) < 2:
        return "".join(quoted)
    return f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def _do(symbol: Symbol) -> str:
    """One step of a way, as something to do: the agent sends, and waits for what it receives."""
    if symbol.direction == "!":
        return f"send {_quote(symbol.word)}" + (f" to {symbol.partner}" if symbol.partner else "")
    return f"wait for {_quote(symbol.word)}" + (f" from {symbol.partner}" if symbol.partner else "")


def _way(way: tuple[Symbol, ...]) -> str:
    steps = [_do(symbol) for symbol in way]
    if len(steps) > _MOST_LISTED:
        half = _MOST_LISTED // 2
        steps = [*steps[:half], f"{len(steps) - _MOST_LISTED} more steps", *steps[-half:]]
    return ", then ".join(steps)


def explain_refusal(standing: Standing, direction: Direction, label: str, partner: str | None, reason: str = "") -> str:
    """Why an event was refused in a standing, and what would make it legal."""
    got = _quote(print_word(direction, label, partner))
    allowed = standing.allowed
    if reason:
        return f"{got} is refused: {reason}."
    if not allowed:
        return f"{got} is not allowed: the session is over and nothing more may happen."
    now = f"Allowed now: {_list(allowed)}{' or ending the session' if standing.complete else ''}."
    way = shortest_way(standing, direction, label, partner)
    if way is None:
        return f"{got} is not allowed{_never(standing, direction, label)}. {now}"
    if way == NOT_DECIDED:
        return f"{got} is not allowed now. {now}"
    return f"{got} is not allowed yet. To make it legal, first {_way(way)}; then {got} may follow. {now}"


def _never(standing: Standing, direction: Direction, label: str) -> str:
    machine = standing.standings.machine
    if label not in machine.labels:
        meant = did_you_mean(label, machine.labels)
        hint = f" (did you mean {_quote(meant)}?)" if meant else ""
        return f": this protocol has no message {_quote(label)}{hint}"
    if not any(s.label == label and s.direction == direction for s in machine.symbols):
        return ": in this protocol it goes the other way"
    return ": it can no longer happen in this session"


def explain_closing(standing: Standing) -> str:
    """Why a session cannot be closed yet."""
    return f"The session cannot end here: still owed is {_list(standing.allowed)}."
