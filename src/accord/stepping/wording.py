"""Events and verdicts in words: as text for people, safe and clipped, and as an object for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from accord.diagnostics.visible import clip
from accord.language.labels import print_word, quote
from accord.machine.clocks import print_time
from accord.monitor.verdicts import Blocked, Ok, Unrecognized, Violation
from accord.stepping.happenings import Close, Tick

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accord.monitor.verdicts import Verdict
    from accord.stepping.happenings import Happening

__all__ = [
    "LEAST",
    "WIDEST",
    "event_text",
    "join_words",
    "json_text",
    "rule_title",
    "time_text",
    "verdict_name",
    "verdict_object",
]

WIDEST = 40
LEAST = 16


def json_text(value: object, width: int = WIDEST) -> str:
    """A JSON value, safe and clipped."""
    return clip(json.dumps(value, ensure_ascii=False), width)


def time_text(event: Happening) -> str:
    """When it happens, as it is written among events; empty if nobody said."""
    return "" if event.at is None else f"@{print_time(event.at)}"


def event_text(event: Happening, widest: int = WIDEST) -> str:
    """An event with what it carries, safe and clipped; whose decision it is stays in sight."""
    if isinstance(event, Close | Tick):
        return event.word
    word = clip(print_word(event.direction, event.label, event.partner), WIDEST)
    by = clip(event.word.removeprefix(print_word(event.direction, event.label, event.partner)), WIDEST)
    if event.payload:
        word += f" {json_text(event.payload, max(widest - len(word) - len(by) - 1, LEAST))}"
    return word + by


def rule_title(name: str) -> str:
    """A rule as it is called in sentences: its name in quotes, safe and clipped."""
    return f"rule {clip(quote(name), WIDEST)}"


def verdict_name(verdict: Verdict) -> str:
    """The kind of a verdict, in a word."""
    if isinstance(verdict, Ok):
        return "ok"
    if isinstance(verdict, Violation):
        return "violation"
    return "blocked" if isinstance(verdict, Blocked) else "unrecognized"


def verdict_object(position: int, event: Happening, verdict: Verdict) -> dict[str, object]:
    """Everything about an event and its verdict; `position` counts from 0."""
    out: dict[str, object] = {"position": position, "event": event.word}
    if event.at is not None:
        out["at"] = event.at
    if not isinstance(event, Close | Tick) and event.payload:
        out["payload"] = event.payload
    out["verdict"] = verdict_name(verdict)
    if isinstance(verdict, Violation):
        return out | {**verdict.to_dict(), "position": position}
    if isinstance(verdict, Blocked):
        out["reason"] = verdict.reason
    if isinstance(verdict, Unrecognized):
        out |= {"expected": verdict.expected, "explanation": verdict.explain()}
    return out


def join_words(words: Iterable[str], most: int = 8) -> str:
    """A list of words for a sentence, cut where it becomes too long."""
    safe = [clip(word, WIDEST) for word in words]
    shown = safe[:most]
    if len(safe) > most:
        shown.append(f"{len(safe) - most} more")
    return " or ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
