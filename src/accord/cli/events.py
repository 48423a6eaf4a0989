"""Events as people and programs write them: words (`!Ask ?Yes B!x end`) and JSON lines (`{"send": "Ask"}`).

Standard input may be endless, so it is read piece by piece and nothing is kept. Each event comes with where it stood,
so that a mistake can be pointed at.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from accord.diagnostics.visible import clip
from accord.errors import UsageError
from accord.language.labels import is_name, normalise, parse_word
from accord.monitor.step import Event, close, step
from accord.monitor.verdicts import CLOSING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TextIO

    from accord.language.tree import Direction
    from accord.monitor.step import Mode, Place
    from accord.monitor.verdicts import Verdict

__all__ = ["Close", "Told", "events_in_arguments", "events_in_stream", "happen", "read_word"]

# A run without spaces, except that quotes may hold some. A quote that is never closed reaches to the end of the text,
# so every character that is no space belongs to a word and nothing is passed over in silence.
_WORD: Final = re.compile(r'(?:[^\s"]|"(?:[^"\\]|\\.)*+(?:"|\\?\Z))+', re.DOTALL)

_PIECE = 1 << 16
_LONGEST = 1 << 20


class Close(NamedTuple):
    """The session is closed: nothing more will come."""

    @property
    def word(self) -> str:
        """As it is written among events."""
        return CLOSING


class Told(NamedTuple):
    """Something that is said to have happened, and where that was said."""

    event: Event | Close
    where: str


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    event: str | None = None
    send: str | None = None
    receive: str | None = None
    to: str | None = None
    sender: str | None = None
    close: bool | None = None


def events_in_arguments(arguments: Iterable[str]) -> Iterator[Told]:
    """The events of command-line arguments, each of which may hold several words."""
    for argument in arguments:
        for match in _WORD.finditer(argument):
            where = f"`{clip(match[0])}`"
            yield Told(_read(match[0], where), where)


def events_in_stream(stream: TextIO) -> Iterator[Told]:
    """The events of a text: on each line either words or one JSON object. Empty lines are passed over."""
    for number, text in _pieces(stream):
        where = f"line {number}"
        if text.lstrip().startswith("{"):
            yield Told(_read_json(text, where), where)
        else:
            yield from (Told(_read(match[0], where), where) for match in _WORD.finditer(text))


def read_word(word: str) -> Event | Close:
    """One word. Raises `ValueError` that says what is wrong with it."""
    if word == CLOSING:
        return Close()
    direction, label, partner = parse_word(word)
    return _event(direction, label, partner)


def happen(place: Place, event: Event | Close, mode: Mode) -> tuple[Place, Verdict]:
    """Where a session is after an event or after being closed, and the verdict on it."""
    return close(place) if isinstance(event, Close) else step(place, event, mode)


def _pieces(stream: TextIO) -> Iterator[tuple[int, str]]:
    """Lines with their numbers. A very long line of words comes in several pieces, none of which cuts a word."""
    number, kept = 1, ""
    while piece := stream.readline(_PIECE):
        if not piece.isascii():
            if "\ufeff" in piece[:1] and number == 1 and not kept:
                piece = piece[1:]
            if any("\ud800" <= character <= "\udfff" for character in piece):
                raise UsageError(f"line {number} is not UTF-8")
        text = kept + piece
        kept = ""
        if piece.endswith("\n"):
            yield number, text
            number += 1
            continue
        if not text.lstrip().startswith("{"):
            *_, last = (0, *(match.start() for match in _WORD.finditer(text)))
            yield number, text[:last]
            text = text[last:]
        if len(text) > _LONGEST:
            raise UsageError(f"line {number}: one event takes more than {_LONGEST} characters")
        kept = text
    yield number, kept


def _read(word: str, where: str) -> Event | Close:
    try:
        return read_word(word)
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from None


def _read_json(text: str, where: str) -> Event | Close:
    try:
        line = msgspec.json.decode(text, type=_Line)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise UsageError(f"{where}: {error}") from None
    given = [name for name in ("event", "send", "receive", "close") if getattr(line, name) is not None]
    if len(given) != 1 or line.close is False:
        raise UsageError(f'{where}: expected exactly one of "event", "send", "receive" and "close": true')
    if (line.to is not None and line.send is None) or (line.sender is not None and line.receive is None):
        raise UsageError(f'{where}: "to" belongs to "send" and "sender" to "receive"')
    if line.close:
        return Close()
    if line.event is not None:
        return _read(line.event, where)
    try:
        if line.send is not None:
            return _event("!", line.send, line.to)
        return _event("?", line.receive or "", line.sender)
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from None


def _event(direction: Direction, label: str, partner: str | None) -> Event:
    if not label:
        raise ValueError("a label has at least one character")
    if partner is not None and not is_name(partner):
        raise ValueError(f"`{partner}` is no role name")
    return Event(direction, normalise(label), partner)
