"""One entry of a ledger as lines for people, or as an object for programs.

Everything in an entry may come from an agent or from whoever talked to it, so all of it is clipped and made visible.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec

from accord.diagnostics.visible import clip, display_width
from accord.ledger.entries import AttemptEntry, BeginEntry, NoteEntry
from accord.stepping.wording import json_text

if TYPE_CHECKING:
    from accord.cli.terminal import Screen, Style
    from accord.ledger.chain import Sound
    from accord.ledger.entries import Entry

__all__ = ["VERDICTS", "entry_object", "entry_text"]

VERDICTS: dict[str, tuple[str, Style]] = {
    "ok": ("ok", "good"),
    "violation": ("VIOLATION", "error"),
    "blocked": ("blocked", "warning"),
    "unrecognized": ("unrecognized", "warning"),
    "misuse": ("misuse", "warning"),
}

_IN_A_PIPE = 100
_NUMBER = 6
_VERDICT = 12
_NARROW, _WIDE = 80, 100
_LONGEST_WORD = 40
_LEAST = 12
_LONGEST_EXPLANATION = 4000


def entry_object(sound: Sound) -> str:
    """All of an entry and its hash, on one line of ASCII."""
    return json.dumps({"hash": sound.hash, **msgspec.json.decode(sound.body)})


def entry_text(screen: Screen, entry: Entry) -> str:
    """An entry on one line, with what is to be said about it below."""
    number = screen.paint("faint", f"{entry.seq:>{_NUMBER}}")
    width = screen.width or _IN_A_PIPE
    if isinstance(entry, BeginEntry):
        rest = f", version {entry.version}, {'with' if entry.keyed else 'without'} a key"
        name = clip(entry.id, max(width - _NUMBER - len("  ledger ") - len(rest), _LEAST))
        return f"{number}  {screen.paint('strong', f'ledger {name}')}{rest}"
    session_width = 24 if width >= _WIDE else 16 if width >= _NARROW else 8
    if isinstance(entry, NoteEntry):
        session = screen.paint("faint", _padded(_session(entry.session, session_width), session_width))
        what = clip(entry.what, _LONGEST_WORD)
        line = f"{number}  {session}  {screen.paint('strong', what)}"
        room = max(width - _NUMBER - 2 - session_width - 2 - display_width(what) - 1, _LEAST)
        detail = json_text(entry.detail, _LONGEST_EXPLANATION)
        if display_width(detail) <= room:
            return f"{line} {detail}"
        return f"{line}\n{screen.prose(detail, ' ' * (_NUMBER + 2))}"
    if not isinstance(entry, AttemptEntry):
        told = f"a crash had left {entry.bytes:,} bytes of a line; they were cut off"
        return f"{number}  {screen.paint('warning', told)}"
    event_width = max(width - _NUMBER - 2 - session_width - 2 - 2 - _VERDICT, _LEAST)
    event = _event(entry, event_width)
    name, style = VERDICTS[entry.verdict]
    session = screen.paint("faint", _padded(_session(entry.session, session_width), session_width))
    line = f"{number}  {session}  {_padded(event, event_width)}  {screen.paint(style, name)}"
    return "\n".join((line, *_below(screen, entry, width)))


def _event(entry: AttemptEntry, width: int) -> str:
    word = _text(entry.event, min(width, _LONGEST_WORD))
    carried = entry.given if entry.verdict == "misuse" else entry.payload
    room = width - display_width(word) - 1
    if not carried or room < _LEAST:
        return word
    return f"{word} {json_text(carried, room)}"


def _below(screen: Screen, entry: AttemptEntry, width: int) -> list[str]:
    indent = " " * (_NUMBER + 2)
    facts = []
    if entry.at is not None:
        facts.append(f"at {_text(entry.at, _LONGEST_WORD)}")
    if entry.by is not None and display_width(_text(entry.event, width)) > _LONGEST_WORD:  # else the word shows it
        facts.append(f"by {_text(entry.by, _LONGEST_WORD)}")
    if entry.meta:
        facts.append(f"meta {json_text(entry.meta, max(width - len(indent) - 5, _LEAST))}")
    lines = [screen.paint("faint", indent + fact) for fact in facts]
    if entry.explanation is not None:
        lines.append(screen.prose(_text(entry.explanation, _LONGEST_EXPLANATION), indent))
    return lines


def _session(name: object, width: int) -> str:
    """The name of a session; of `CONVERSATION/ROLE` the role is what tells entries apart, so the rest is cut first."""
    whole = _text(name, width)
    if not isinstance(name, str) or "/" not in name or not whole.endswith("…"):
        return whole
    before, _, role = name.rpartition("/")
    shown = clip(role, width - 4)
    return f"{clip(before, width - display_width(shown) - 1)}/{shown}"


def _text(value: object, width: int) -> str:
    """A text, a number or a mark, safe and clipped."""
    return clip(value, width) if isinstance(value, str) else json_text(value, width)


def _padded(text: str, width: int) -> str:
    return text + " " * max(width - display_width(text), 0)
