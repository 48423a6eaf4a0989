"""One event and its verdict as a line for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics.visible import clip, display_width, visible
from accord.language.details import print_pattern
from accord.monitor.verdicts import CLOSING, TICKING, Blocked, Ok, Violation
from accord.stepping.happenings import Tick
from accord.stepping.wording import LEAST, WIDEST, event_text, time_text, verdict_name

if TYPE_CHECKING:
    from accord.cli.terminal import Screen, Style
    from accord.machine.contract import Contract
    from accord.monitor.verdicts import Verdict
    from accord.stepping.happenings import Happening

__all__ = ["event_width", "verdict_line"]

_TIME_WIDTH = 8
# What stands around an event: its number, spaces, and `VIOLATION`.
_AROUND = 4 + 2 + 2 + 9


def event_width(screen: Screen, contract: Contract, protocol: str | None) -> int:
    """How wide the column of events is. It is taken from the contract: events may still be coming."""
    taken = _AROUND + (_TIME_WIDTH + 2 if contract.stages(protocol).is_timed else 0)
    room = WIDEST if screen.width is None else max(screen.width - taken, LEAST)
    return min(_widest(contract, protocol), room)


def _widest(contract: Contract, protocol: str | None) -> int:
    stages = contract.stages(protocol)
    symbols = stages.standings.machine.symbols
    patterns = [pattern for rule in contract.rules.machines for pattern in rule.patterns]
    slices = stages.sliced is not None or stages.sliced_rules
    if slices or any(symbol.clauses for symbol in symbols) or any(pattern.guards for pattern in patterns):
        return WIDEST  # there will be payloads
    words = [symbol.word for symbol in symbols] or [f"!{print_pattern(pattern)}" for pattern in patterns]
    words.append(TICKING if stages.is_timed else CLOSING)
    return max(display_width(clip(word, WIDEST)) for word in words)


def _in_a_word(verdict: Verdict) -> tuple[str, Style]:
    name = verdict_name(verdict)
    if isinstance(verdict, Violation):
        return name.upper(), "error"
    return name, "good" if isinstance(verdict, Ok) else "warning"


def verdict_line(screen: Screen, number: int, event: Happening, verdict: Verdict, width: int) -> str:
    """The event, its verdict, and under a violation what it explains. A tick has no number: it is no event."""
    shown = event_text(event, min(WIDEST, max(width, LEAST)) if screen.width else WIDEST)
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
