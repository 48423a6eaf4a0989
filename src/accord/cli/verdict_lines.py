"""One event and its verdict as a line for people, or as an object for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from accord.cli.happenings import Close, Tick
from accord.diagnostics.visible import clip, display_width, visible
from accord.language.details import print_pattern
from accord.language.labels import print_word, quote
from accord.machine.clocks import print_time
from accord.monitor.verdicts import CLOSING, TICKING, Blocked, Ok, Unrecognized, Violation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accord.cli.happenings import Happening
    from accord.cli.terminal import Screen, Style
    from accord.machine.contract import Contract
    from accord.monitor.verdicts import Verdict

__all__ = [
    "event_text",
    "event_width",
    "join_words",
    "json_text",
    "rule_title",
    "time_text",
    "verdict_line",
    "verdict_object",
]

_WIDEST = 40
_LEAST = 16
_TIME_WIDTH = 8
# What stands around an event: its number, spaces, and `VIOLATION`.
_AROUND = 4 + 2 + 2 + 9


def json_text(value: object, width: int = _WIDEST) -> str:
    """A JSON value, safe and clipped."""
    return clip(json.dumps(value, ensure_ascii=False), width)


def time_text(event: Happening) -> str:
    """When it happens, as it is written among events; empty if nobody said."""
    return "" if event.at is None else f"@{print_time(event.at)}"


def event_text(event: Happening, widest: int = _WIDEST) -> str:
    """An event with what it carries, safe and clipped; whose decision it is stays in sight."""
    if isinstance(event, Close | Tick):
        return event.word
    word = clip(print_word(event.direction, event.label, event.partner), _WIDEST)
    by = clip(event.word.removeprefix(print_word(event.direction, event.label, event.partner)), _WIDEST)
    if event.payload:
        word += f" {json_text(event.payload, max(widest - len(word) - len(by) - 1, _LEAST))}"
    return word + by


def event_width(screen: Screen, contract: Contract, protocol: str | None) -> int:
    """How wide the column of events is. It is taken from the contract: events may still be coming."""
    taken = _AROUND + (_TIME_WIDTH + 2 if contract.stages(protocol).is_timed else 0)
    room = _WIDEST if screen.width is None else max(screen.width - taken, _LEAST)
    return min(_widest(contract, protocol), room)


def _widest(contract: Contract, protocol: str | None) -> int:
    stages = contract.stages(protocol)
    symbols = stages.standings.machine.symbols
    patterns = [pattern for rule in contract.rules.machines for pattern in rule.patterns]
    slices = stages.sliced is not None or stages.sliced_rules
    if slices or any(symbol.clauses for symbol in symbols) or any(pattern.guards for pattern in patterns):
        return _WIDEST  # there will be payloads
    words = [symbol.word for symbol in symbols] or [f"!{print_pattern(pattern)}" for pattern in patterns]
    words.append(TICKING if stages.is_timed else CLOSING)
    return max(display_width(clip(word, _WIDEST)) for word in words)


def rule_title(name: str) -> str:
    """A rule as it is called in sentences: its name in quotes, safe and clipped."""
    return f"rule {clip(quote(name), _WIDEST)}"


def _in_a_word(verdict: Verdict) -> tuple[str, Style]:
    if isinstance(verdict, Ok):
        return "ok", "good"
    if isinstance(verdict, Violation):
        return "VIOLATION", "error"
    return ("blocked", "warning") if isinstance(verdict, Blocked) else ("unrecognized", "warning")


def verdict_line(screen: Screen, number: int, event: Happening, verdict: Verdict, width: int) -> str:
    """The event, its verdict, and under a violation what it explains. A tick has no number: it is no event."""
    shown = event_text(event, min(_WIDEST, max(width, _LEAST)) if screen.width else _WIDEST)
    name, style = _in_a_word(verdict)
    padding = " " * max(width - display_width(shown), 0)
    place = screen.paint("faint", f"{'' if isinstance(event, Tick) else number:>4}")
    time = f"{screen.paint('faint', f'{time_text(event):<{_TIME_WIDTH}}')}  " if event.at is not None else ""
    line = f"{place}  {time}{shown}{padding}  {screen.paint(style, name)}"
    if isinstance(verdict, Blocked):
        return f"{line}  {visible(verdict.reason)}"
    if isinstance(verdict, Violation):
        return f"{line}\n{screen.prose(visible(verdict.explain()), ' ' * 6)}"
    return line


def verdict_object(position: int, event: Happening, verdict: Verdict) -> dict[str, object]:
    """Everything about an event and its verdict; `position` counts from 0."""
    out: dict[str, object] = {"position": position, "event": event.word}
    if event.at is not None:
        out["at"] = event.at
    if not isinstance(event, Close | Tick) and event.payload:
        out["payload"] = event.payload
    out["verdict"] = _in_a_word(verdict)[0].lower()
    if isinstance(verdict, Violation):
        return out | {**verdict.to_dict(), "position": position}
    if isinstance(verdict, Blocked):
        out["reason"] = verdict.reason
    if isinstance(verdict, Unrecognized):
        out |= {"expected": verdict.expected, "explanation": verdict.explain()}
    return out


def join_words(words: Iterable[str], most: int = 8) -> str:
    """A list of words for a sentence, cut where it becomes too long."""
    safe = [clip(word, _WIDEST) for word in words]
    shown = safe[:most]
    if len(safe) > most:
        shown.append(f"{len(safe) - most} more")
    return " or ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
