"""One event and its verdict as a line for people, or as an object for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics.visible import clip, display_width, visible
from accord.monitor.verdicts import Blocked, Ok, Unrecognized, Violation

if TYPE_CHECKING:
    from accord.cli.terminal import Screen, Style
    from accord.machine.tables import Machine
    from accord.monitor.verdicts import Verdict

__all__ = ["join_words", "verdict_line", "verdict_object", "word_width"]

_WIDEST_WORD = 40


def word_width(machine: Machine) -> int:
    """How wide the column of words is. It is taken from the protocol: events may still be coming."""
    widths = (display_width(clip(symbol.word, _WIDEST_WORD)) for symbol in machine.symbols)
    return max((*widths, len("end")))


def _in_a_word(verdict: Verdict) -> tuple[str, Style]:
    if isinstance(verdict, Ok):
        return "ok", "good"
    if isinstance(verdict, Violation):
        return "VIOLATION", "error"
    return ("blocked", "warning") if isinstance(verdict, Blocked) else ("unrecognized", "warning")


def verdict_line(screen: Screen, number: int, word: str, verdict: Verdict, width: int) -> str:
    """The event, its verdict, and under a violation what it explains."""
    shown = clip(word, _WIDEST_WORD)
    name, style = _in_a_word(verdict)
    padding = " " * max(width - display_width(shown), 0)
    line = f"{screen.paint('faint', f'{number:>4}')}  {shown}{padding}  {screen.paint(style, name)}"
    if isinstance(verdict, Blocked):
        return f"{line}  {visible(verdict.reason)}"
    if isinstance(verdict, Violation):
        return f"{line}\n{screen.prose(visible(verdict.explain()), ' ' * 6)}"
    return line


def verdict_object(position: int, word: str, verdict: Verdict) -> dict[str, object]:
    """Everything about an event and its verdict; `position` counts from 0."""
    out: dict[str, object] = {"position": position, "event": word, "verdict": _in_a_word(verdict)[0].lower()}
    if isinstance(verdict, Violation):
        return out | {**verdict.to_dict(), "position": position}
    if isinstance(verdict, Blocked):
        out["reason"] = verdict.reason
    if isinstance(verdict, Unrecognized):
        out |= {"expected": verdict.expected, "explanation": verdict.explain()}
    return out


def join_words(words: tuple[str, ...], most: int = 8) -> str:
    """A list of words for a sentence, cut where it becomes too long."""
    shown = [clip(word, _WIDEST_WORD) for word in words[:most]]
    if len(words) > most:
        shown.append(f"{len(words) - most} more")
    return " or ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
