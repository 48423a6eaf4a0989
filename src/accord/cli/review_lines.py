"""Questions to people as lines.

A person decides by what is shown here, and all of it may come from an agent that wants a yes. So payloads are shown
whole or it is said that they are not, everything hidden is made visible, and whatever is longer than a line is broken
here and not by the terminal: no text can pose as one of our own lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from accord.diagnostics.visible import clip, display_width, visible
from accord.integrations.guard.words import moment_text
from accord.language.labels import print_word
from accord.monitor.wording import span_text
from accord.stepping.wording import json_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.calls.entries import Out
    from accord.cli.terminal import Screen, Style
    from accord.integrations.guard.reading import GuardedSession, ReviewStanding
    from accord.integrations.guard.state import Review
    from accord.machine.clocks import Time

__all__ = [
    "action_text",
    "fact",
    "guard_facts",
    "payload_lines",
    "review_facts",
    "review_line",
]

STYLES: dict[ReviewStanding, Style] = {
    "open": "strong",
    "allowed": "good",
    "used": "good",
    "denied": "error",
    "expired": "warning",
}

_IN_A_PIPE = 100
_NAME = 9
_NARROW = 90
_ID = 11
_STATE = 7
_DUE = 10
_LEAST = 20
_LONGEST_TEXT = 4000
_LONGEST_WORD = 200
_MOST_SHOWN = 50_000
_CALLS_SHOWN = 5


def review_line(screen: Screen, session: GuardedSession, review: Review, at: Time) -> str:
    """A review on one line: where it is, what it is called, how it stands, how long that lasts, the action."""
    width = screen.width or _IN_A_PIPE
    key_width = 16 if width < _NARROW else 24
    state = session.standing(review, at)
    due = ""
    if state in {"open", "allowed"} and review.expires is not None:
        due = span_text(review.expires - session.moment(at))
    left = f"{_padded(clip(session.key, key_width), key_width)}  {_padded(clip(review.id, _ID), _ID)}  "
    middle = f"{screen.paint(STYLES[state], state)}{' ' * (_STATE - len(state))}  {due:<{_DUE}}  "
    taken = display_width(left) + _STATE + 2 + _DUE + 2
    word = clip(action_text(review), max(width - taken, _LEAST))
    room = width - taken - display_width(word) - 1
    carried = f" {json_text(dict(review.payload), room)}" if review.payload and room >= _LEAST // 2 else ""
    return f"{left}{middle}{word}{carried}".rstrip()


def review_facts(screen: Screen, session: GuardedSession, review: Review, at: Time) -> list[str]:
    """What a person should know before deciding, in lines."""
    state = session.standing(review, at)
    now = session.moment(at)
    lines = [
        *fact(screen, "review", visible(review.id)),
        *fact(screen, "session", f"{visible(session.key)} ({session.status})"),
        *fact(screen, "state", state, STYLES[state]),
        *fact(screen, "action", action_text(review), "strong"),
    ]
    if review.name != review.label:
        lines += fact(screen, "tool", clip(review.name, _LONGEST_WORD))
    lines += fact(screen, "question", _question(review))
    lines += fact(screen, "opened", _moment(review.opened, now))
    lines += fact(screen, "expires", _moment(review.expires, now))
    if review.by is not None:
        lines += fact(screen, "decided", f"by {clip(review.by, _LONGEST_WORD)} {_moment(review.decided, now)}".rstrip())
        lines += fact(screen, "reason", clip(review.reason or "", _LONGEST_TEXT))
    lines.append(screen.paint("faint", "payload"))
    lines += payload_lines(screen, review.payload)
    if review.modified is not None:
        lines.append(screen.paint("warning", "to be used instead"))
        lines += payload_lines(screen, review.modified)
    return lines


def guard_facts(screen: Screen, session: GuardedSession, at: Time, *, leave_out: Review | None = None) -> list[str]:
    """Whether a session is stopped, which calls have not returned, and who was asked for what else."""
    lines = []
    if session.stopped is not None:
        lines += fact(screen, "stopped", clip(session.stopped, _LONGEST_TEXT), "error")
    lines += _some(screen, "out", [_out_text(screen, out) for out in session.out])
    waiting = [review for review in session.open_reviews(at) if review != leave_out]
    name = "waiting" if leave_out is None else "also open"
    lines += _some(
        screen, name, [f"review {clip(review.id, _LEAST)} about {_carried(screen, review)}" for review in waiting]
    )
    return lines


def fact(screen: Screen, name: str, value: str, style: Style | None = None) -> list[str]:
    """A name and what there is to say, which must be safe; nothing if that is nothing."""
    if not value:
        return []
    room = None if screen.width is None else max(screen.width - _NAME - 1, _LEAST)
    first, *rest = [part if style is None else screen.paint(style, part) for part in _folded(value, room, words=True)]
    indent = " " * (_NAME + 1)
    return [f"{screen.paint('faint', f'{name:<{_NAME}}')} {first}", *[indent + part for part in rest]]


def payload_lines(screen: Screen, payload: Mapping[str, object]) -> list[str]:
    """A payload, with a bar in front of each line so that it cannot be taken for anything else.

    A line that goes on has a broken bar.
    """
    # Not `json`: that recurses in Python, and what is kept may be nested as deep as msgspec reads it.
    text = msgspec.json.format(msgspec.json.encode(payload), indent=2).decode()
    room = None if screen.width is None else max(screen.width - 4, _LEAST)
    lines = []
    for line in text[:_MOST_SHOWN].split("\n"):
        first, *rest = _folded(visible(line), room)
        lines.append(f"{screen.paint('faint', '  │')} {first}")
        lines += [f"{screen.paint('faint', '  ┊')} {part}" for part in rest]
    if len(text) > _MOST_SHOWN:
        more = f"{len(text) - _MOST_SHOWN:,} more characters are NOT shown; --json prints all of it"
        lines.append(screen.paint("error", more))
    return lines


def action_text(review: Review) -> str:
    """The action as a contract writes it, safe and clipped."""
    return clip(print_word("!", review.label), _LONGEST_WORD)


def _question(review: Review) -> str:
    if review.gate is None:
        return "may the agent go on? It was refused this again and again, and no tool runs until somebody decides"
    gate = clip(print_word("?", review.gate), _LONGEST_WORD)
    return f"may this happen, once, with exactly this payload? To allow it is the step {gate} by human"


def _carried(screen: Screen, review: Review) -> str:
    room = (screen.width or _IN_A_PIPE) // 2
    word = clip(print_word("!", review.label), room)
    return f"{word} {json_text(dict(review.payload), room)}" if review.payload else word


def _out_text(screen: Screen, out: Out) -> str:
    room = (screen.width or _IN_A_PIPE) // 2
    word = clip(print_word("!", out.events[-1].label if out.events else out.name), room)
    carried = f" {json_text(dict(out.arguments), room)}" if out.arguments else ""
    begun = "has not returned" if out.started else "may run, and has not begun"
    if out.lost is not None:
        begun = f"failed, and nobody knows whether it has happened ({clip(out.lost, room)})"
    return f"{word}{carried} {begun} (call {clip(out.ticket, _LEAST * 2)})"


def _some(screen: Screen, name: str, texts: list[str]) -> list[str]:
    lines: list[str] = []
    for text in texts[:_CALLS_SHOWN]:
        lines += fact(screen, "" if lines else name, text)
    if len(texts) > _CALLS_SHOWN:
        lines += fact(screen, "", f"{len(texts) - _CALLS_SHOWN:,} more")
    return lines


def _moment(time: Time | None, now: Time) -> str:
    """A time, and how far it is from now."""
    if time is None:
        return ""
    shown = moment_text(time)
    if time == now:
        return f"{shown} (now)"
    return f"{shown} ({f'in {span_text(time - now)}' if time > now else f'{span_text(now - time)} ago'})"


def _folded(text: str, room: int | None, *, words: bool = False) -> list[str]:
    """Safe text in pieces that are no wider than a line; broken behind a space, if it is prose and has one."""
    if room is None or display_width(text) <= room:
        return [text]
    pieces, piece, taken = [], "", 0
    for character in text:
        wide = display_width(character)
        if taken + wide > room:
            end = piece.rfind(" ") + 1 if words else 0
            pieces.append(piece[: end or len(piece)])
            piece = piece[end:] if end else ""
            taken = display_width(piece)
        piece += character
        taken += wide
    return [*pieces, piece]


def _padded(text: str, width: int) -> str:
    return text + " " * max(width - display_width(text), 0)
