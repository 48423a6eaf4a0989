"""Events as people and programs write them: words (`!Ask ?Yes B!x end`) and JSON lines (`{"send": "Ask"}`).

Behind a word may stand what it carries and whose decision it is: `!pay {"amount": 3}`, `?Approval by ana`. Such a tail
belongs to the word before it, so any number of events can stand in a row.

Standard input may be endless, so it is read piece by piece and nothing is kept. Each event comes with where it stood,
so that a mistake can be pointed at.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from accord.diagnostics.visible import clip
from accord.errors import UsageError
from accord.language.labels import parse_word
from accord.monitor.events import make_event
from accord.monitor.step import close, step
from accord.monitor.verdicts import CLOSING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TextIO

    from accord.machine.events import Event
    from accord.monitor.step import Mode, Situation
    from accord.monitor.verdicts import Verdict

__all__ = ["Close", "Told", "decode_json", "events_in_arguments", "events_in_stream", "happen", "read_one"]

# What is written is cut into events before any of it is read, and every character that is no space belongs to one of
# them: nothing is passed over in silence. A quote or a brace that is never closed reaches to the end of the text.
_QUOTED: Final = r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)'
_WORD: Final = re.compile(rf'(?:[^\s"{{]|{_QUOTED})+|(?={{)', re.DOTALL)
_BEHIND: Final = re.compile(rf'\s*(?=(?P<payload>{{))|\s+by\s+(?P<by>{_QUOTED}|[^\s"{{!?]+)(?=\s|{{|\Z)', re.DOTALL)
_BRACE: Final = re.compile(rf"{_QUOTED}|[{{}}]", re.DOTALL)

_BY: Final = "by"
_NO_NAME: Final = "behind `by` stands the name of a person, in quotes if it is an odd one"

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


class _Written(NamedTuple):
    """An event as it stands in a text: where it begins and ends, its word, and the text of what stands behind it."""

    start: int
    end: int
    word: str
    payload: str | None
    by: str | None


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    event: str | None = None
    send: str | None = None
    receive: str | None = None
    to: str | None = None
    sender: str | None = None
    payload: dict[str, object] | None = None
    by: str | None = None
    close: bool | None = None


def events_in_arguments(arguments: Iterable[str]) -> Iterator[Told]:
    """The events of command-line arguments: several in one, or one in several."""
    text = "\n".join(arguments)  # which no quoted label can reach across
    for written in _cut(text):
        where = f"`{clip(text[written.start : written.end])}`"
        yield Told(_read(written, where), where)


def events_in_stream(stream: TextIO) -> Iterator[Told]:
    """The events of a text: on each line either words or one JSON object. Empty lines are passed over."""
    for number, text, is_json in _pieces(stream):
        where = f"line {number}"
        if is_json:
            yield Told(_read_json(text, where), where)
        else:
            yield from (Told(_read(written, where), where) for written in _cut(text))


def read_one(text: str) -> Event | Close:
    """The one event in a text. Raises `ValueError` that says what is wrong with it."""
    all_written = _cut(text)
    written = next(all_written, None)
    if written is None:
        raise ValueError("there is no event")
    event = _understand(written)
    if more := next(all_written, None):
        if more.word == _BY:
            raise ValueError(_NO_NAME)
        raise ValueError(f"one event at a time, but `{clip(text[more.start :], 40)}` follows; odd labels are quoted")
    return event


def decode_json(text: str) -> object:
    """A JSON value. Raises `ValueError` that says what is wrong with it."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise ValueError(str(error).removeprefix("JSON is malformed: ")) from None
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def happen(situation: Situation, event: Event | Close, mode: Mode, position: int) -> tuple[Situation, Verdict]:
    """A session after an event or after being closed, and the verdict on it."""
    return close(situation, position) if isinstance(event, Close) else step(situation, event, mode, position)


# -- cutting -----------------------------------------------------------------------------------------------------------


def _cut(text: str) -> Iterator[_Written]:
    """The events in a text, one after the other, right or wrong."""
    position = 0
    while match := _WORD.search(text, position):
        start, end = match.span()
        if start == end:  # an object without a word before it, which is no event
            end = _end_of_object(text, start)
        behind: dict[str, str] = {}
        while (tail := _BEHIND.match(text, end)) and tail.lastgroup and tail.lastgroup not in behind:
            end = _end_of_object(text, tail.end()) if tail["payload"] else tail.end()
            behind[tail.lastgroup] = text[tail.start(tail.lastgroup) : end]
        yield _Written(start, end, match[0] or text[start:end], behind.get("payload"), behind.get("by"))
        position = end


def _end_of_object(text: str, start: int) -> int:
    depth = 0
    for match in _BRACE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if not depth:
            return match.end()
    return len(text)


def _pieces(stream: TextIO) -> Iterator[tuple[int, str, bool]]:
    """Lines with their numbers, and whether they are JSON.

    A very long line of words comes in several pieces, none of which cuts an event.
    """
    number, kept, is_json = 1, "", None
    while piece := stream.readline(_PIECE):
        if not piece.isascii():
            if "\ufeff" in piece[:1] and number == 1 and not kept:
                piece = piece[1:]
            if any("\ud800" <= character <= "\udfff" for character in piece):
                raise UsageError(f"line {number} is not UTF-8")
        text = kept + piece
        kept = ""
        if is_json is None and not text.isspace():
            is_json = text.lstrip().startswith("{")
        if piece.endswith("\n"):
            yield number, text, bool(is_json)
            number, is_json = number + 1, None
            continue
        last = 0
        if not is_json:
            # The last event may go on, and the one before it too: the last may be the beginning of its `by`.
            *_, before, last = (0, 0, *(written.start for written in _cut(text)))
            yield number, text[:before], False
            text, last = text[before:], last - before
        if len(text) - last > _LONGEST:
            raise UsageError(f"line {number}: one event takes more than {_LONGEST} characters")
        kept = text
    if kept:
        yield number, kept, bool(is_json)


# -- reading -----------------------------------------------------------------------------------------------------------


def _understand(written: _Written) -> Event | Close:
    if written.word == CLOSING and written.payload is None and written.by is None:
        return Close()
    if written.word == _BY:
        raise ValueError(_NO_NAME)
    direction, label, partner = parse_word(written.word)
    payload = None
    if written.payload is not None:
        try:
            payload = decode_json(written.payload)
        except ValueError as error:
            raise ValueError(f"the payload is no JSON object: {error}") from None
    by = written.by
    if by is not None and by.startswith('"'):
        try:
            by = str(decode_json(by))
        except ValueError:
            raise ValueError("the quoted name is not valid; the escapes of JSON apply") from None
    return _checked(direction, label, payload, partner, by)


def _checked(*parts: object) -> Event:
    try:
        return make_event(*parts)  # type: ignore[arg-type] # it checks what it is given
    except UsageError as error:
        raise ValueError(str(error)) from None


def _read(written: _Written, where: str) -> Event | Close:
    try:
        return _understand(written)
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from None


def _read_json(text: str, where: str) -> Event | Close:
    try:
        line = msgspec.json.decode(text, type=_Line)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise UsageError(f"{where}: {error}") from None
    except RecursionError:
        raise UsageError(f"{where}: it is nested too deep") from None
    given = [name for name in ("event", "send", "receive", "close") if getattr(line, name) is not None]
    if len(given) != 1 or line.close is False:
        raise UsageError(f'{where}: expected exactly one of "event", "send", "receive" and "close": true')
    if (line.to is not None and line.send is None) or (line.sender is not None and line.receive is None):
        raise UsageError(f'{where}: "to" belongs to "send" and "sender" to "receive"')
    try:
        return _event_of(line)
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from None


def _event_of(line: _Line) -> Event | Close:
    if line.send is not None:
        return _checked("!", line.send, line.payload, line.to, line.by)
    if line.receive is not None:
        return _checked("?", line.receive, line.payload, line.sender, line.by)
    event = Close() if line.event is None else read_one(line.event)
    if line.payload is None and line.by is None:
        return event
    if isinstance(event, Close):
        raise ValueError('closing has no "payload" and no "by"')  # noqa: TRY004 - as for all other faults
    if (event.payload and line.payload is not None) or (event.by is not None and line.by is not None):
        raise ValueError("the payload or the name is given twice")
    payload = event.payload if line.payload is None else line.payload
    return _checked(event.direction, event.label, payload, event.partner, event.by if line.by is None else line.by)
