"""Refusals in words: what is wrong, what is allowed, and the shortest way to make the refused action legal.

The sentences are read by people and by models. Labels and payloads in them may come from anywhere, so they are clipped
and made visible before they are quoted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import did_you_mean
from accord.diagnostics.visible import clip
from accord.machine.paths import NOT_DECIDED, shortest_way
from accord.machine.standing import OpenStanding
from accord.machine.tables import Symbol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accord.machine.events import Event
    from accord.machine.standing import Standing
    from accord.monitor.refusals import Refusal

__all__ = ["explain", "list_words"]

_MOST_LISTED = 8


def explain(refusal: Refusal) -> str:
    """A refusal in words."""
    if refusal.event is None:
        return _closing(refusal)
    got = _quote(refusal.event.word)
    now = _now(refusal)
    if refusal.rule is not None:
        machine = refusal.rule.machine
        rule = f"the rule {_quote(machine.rule.name)} ({_quote(machine.text)})"
        seen = machine.describe(refusal.rule.state)
        if refusal.reasons:
            why = _reasons(refusal.reasons)
            return f"{got} is refused by {rule}: whether it applies cannot be told, because {why}.{now}"
        return f"{got} is refused by {rule}: {seen}.{_way_out(refusal, got)}{now}"
    standing = refusal.stage.standing
    if refusal.reasons:
        return f"{got} is refused: {_reasons(refusal.reasons)}.{now}"
    if not standing.symbols and not isinstance(standing, OpenStanding):
        return f"{got} is not allowed: the session is over and nothing more may happen."
    way_out = _way_out(refusal, got)
    if way_out:
        return f"{got} is not allowed yet.{way_out}{now}"
    return f"{got} is not allowed{_never(standing, refusal.event)}.{now}"


def _quote(word: str) -> str:
    # A backtick inside would end the quotation, and hostile text could go on in our name.
    inert = word.replace("`", "'")
    return f"`{clip(inert)}`"


def list_words(words: Iterable[str]) -> str:
    """Words as a sentence lists them: quoted, clipped, and not too many."""
    quoted = [_quote(word) for word in words]
    if len(quoted) > _MOST_LISTED:
        quoted = [*quoted[:_MOST_LISTED], f"{len(quoted) - _MOST_LISTED} more"]
    if len(quoted) < 2:
        return "".join(quoted)
    return f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def _now(refusal: Refusal) -> str:
    if isinstance(refusal.stage.standing, OpenStanding):
        return ""
    words = refusal.stage.allowed
    options = [list_words(words)] if words else []
    options += ["ending the session"] if refusal.stage.complete else []
    return f" Allowed now: {' or '.join(options) or 'nothing'}."


def _reasons(reasons: tuple[str, ...]) -> str:
    shown = list(reasons[:_MOST_LISTED])
    if len(reasons) > len(shown):
        shown.append(f"{len(reasons) - len(shown)} more reasons")
    return "; or ".join(shown)


def _wanted(event: Event) -> Symbol:
    return Symbol(event.direction, event.label, event.partner, (), event.by is not None)


def _way_out(refusal: Refusal, got: str) -> str:
    assert refusal.event is not None  # noqa: S101 - closing is explained elsewhere
    stage = refusal.stage
    way = shortest_way(stage.standing, stage.rules, _wanted(refusal.event), refusal.fits)
    if way is None or way == NOT_DECIDED or not way:
        return ""
    return f" To make it legal, first {_steps(way)}; then {got} may follow."


def _do(symbol: Symbol) -> str:
    """One step of a way, as something to do: the agent sends, and waits for what it receives."""
    verb, preposition = ("send", "to") if symbol.direction == "!" else ("wait for", "from")
    return f"{verb} {_quote(symbol.word)}" + (f" {preposition} {symbol.partner}" if symbol.partner else "")


def _steps(way: tuple[Symbol, ...]) -> str:
    steps = [_do(symbol) for symbol in way]
    if len(steps) > _MOST_LISTED:
        half = _MOST_LISTED // 2
        steps = [*steps[:half], f"{len(steps) - _MOST_LISTED} more steps", *steps[-half:]]
    return ", then ".join(steps)


def _never(standing: Standing, event: Event) -> str:
    machine = standing.standings.machine
    if event.label not in machine.labels:
        meant = did_you_mean(event.label, machine.labels)
        hint = f" (did you mean {_quote(meant)}?)" if meant else ""
        return f": this protocol has no message {_quote(event.label)}{hint}"
    numbers = machine.by_event.get((event.direction, event.label), ())
    if not numbers:
        return ": in this protocol it goes the other way"
    partners = sorted({machine.symbols[number].partner or "" for number in numbers})
    if event.partner is not None and not {"", event.partner} & set(partners):
        return f": in this protocol it is with {list_words(partners)}, not with {_quote(event.partner)}"
    way = shortest_way(standing, (), _wanted(event))
    return " now" if way == NOT_DECIDED else ": it can no longer happen in this session"


def _closing(refusal: Refusal) -> str:
    if refusal.rule is None:
        return f"The session cannot end here: still owed is {list_words(refusal.stage.allowed)}."
    owing = [node for node in refusal.stage.rules if node.owes]
    rules = "; ".join(f"{_quote(n.machine.rule.name)} ({_quote(n.machine.text)})" for n in owing[:_MOST_LISTED])
    return f"The session cannot end here: still owed by {rules}."
