"""Events as people and programs write them: words (`!Ask ?Yes B!x end`) and JSON lines (`{"send": "Ask"}`).

Behind a word may stand what it carries and whose decision it is: `!pay {"amount": 3}`, `?Approval by ana`. In front of
it may stand when it happens: `@12.5 !Ask`, `@20 tick`. All of that belongs to the one word, so any number of events can
stand in a row, and none depends on those before.

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
from accord.machine.events import Event
from accord.monitor.events import make_event
from accord.monitor.verdicts import CLOSING, TICKING
from accord.stepping.happenings import Close, Happening, Tick, Told, read_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TextIO

    from accord.machine.clocks import Time

__all__ = ["decode_json", "events_in_arguments", "events_in_stream", "read_one"]

# What is written is cut into events before any of it is read, and every character that is no space belongs to one of
# them: nothing is passed over in silence. A quote or a brace that is never closed reaches to the end of the text.
_QUOTED: Final = r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)'
_WORD: Final = re.compile(rf'(?:[^\s"{{]|{_QUOTED})+|(?={{)', re.DOTALL)
_TIME: Final = re.compile(r'\s*(?P<at>@[^\s"{]*)')
_BEHIND: Final = re.compile(rf'\s*(?=(?P<payload>{{))|\s+by\s+(?P<by>{_QUOTED}|[^\s"{{!?]+)(?=\s|{{|\Z)', re.DOTALL)
_BRACE: Final = re.compile(rf"{_QUOTED}|[{{}}]", re.DOTALL)

_AT: Final = "@"
_BY: Final = "by"
_NO_NAME: Final = "behind `by` stands the name of a person, in quotes if it is an odd one"

_PIECE = 1 << 16
_LONGEST = 1 << 20


class _Written(NamedTuple):
    """An event as it stands in a text: where it begins and ends, its word, and the text of what stands around it."""

    start: int
    end: int
    at: str | None
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
    tick: int | float | None = None
    at: int | float | None = None


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


def read_one(text: str) -> Happening:
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


# -- cutting -----------------------------------------------------------------------------------------------------------


def _cut(text: str) -> Iterator[_Written]:
    """The events in a text, one after the other, right or wrong."""
    position = 0
    while True:
        time = _TIME.match(text, position)
        match = _WORD.search(text, time.end() if time else position)
        if time and (match is None or match[0].startswith(_AT)):  # a time and nothing that happens then
            position = time.end()
            yield _Written(time.start("at"), position, time["at"], "", None, None)
            continue
        if match is None:
            return
        start, end = match.span()
        if start == end:  # an object without a word before it, which is no event
            end = _end_of_object(text, start)
        word = text[start:end]
        behind: dict[str, str] = {}
        while (tail := _BEHIND.match(text, end)) and tail.lastgroup and tail.lastgroup not in behind:
            end = _end_of_object(text, tail.end()) if tail["payload"] else tail.end()
            behind[tail.lastgroup] = text[tail.start(tail.lastgroup) : end]
        at = time["at"] if time else None
        yield _Written(time.start("at") if time else start, end, at, word, behind.get("payload"), behind.get("by"))
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


def _understand(written: _Written) -> Happening:
    at = None if written.at is None else _time(written.at)
    if not written.word:
        raise ValueError(f"behind `{clip(written.at or '', 40)}` stands what happens then: an event, `tick` or `end`")
    if written.word in {CLOSING, TICKING} and written.payload is None and written.by is None:
        if at is None and written.word == TICKING:
            raise ValueError("`tick` needs the time in front of it: `@20 tick`")
        return Close(at) if written.word == CLOSING else Tick(at)
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
    return _checked(direction, label, payload, partner, by, at)


def _time(text: str) -> Time:
    if any(sign in text for sign in "!?"):
        raise ValueError("a time stands apart from what happens then: `@12.5 !Ask`")
    return read_time(text.removeprefix(_AT))


def _checked(*parts: object) -> Event:
    try:
        return make_event(*parts)  # type: ignore[arg-type] # it checks what it is given
    except UsageError as error:
        raise ValueError(str(error)) from None


def _read(written: _Written, where: str) -> Happening:
    try:
        return _understand(written)
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from None


def _read_json(text: str, where: str) -> Happening:
    try:
        line = msgspec.json.decode(text, type=_Line)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise UsageError(f"{where}: {error}") from None
    except RecursionError:
        raise UsageError(f"{where}: it is nested too deep") from None
    given = [name for name in ("event", "send", "receive", "close", "tick") if getattr(line, name) is not None]
    if len(given) != 1 or line.close is False:
        raise UsageError(f'{where}: expected exactly one of "event", "send", "receive", "close": true and "tick": 20')
    if (line.to is not None and line.send is None) or (line.sender is not None and line.receive is None):
        raise UsageError(f'{where}: "to" belongs to "send" and "sender" to "receive"')
    try:
        return _event_of(line)
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from None


def _event_of(line: _Line) -> Happening:
    if line.send is not None:
        return _checked("!", line.send, line.payload, line.to, line.by, line.at)
    if line.receive is not None:
        return _checked("?", line.receive, line.payload, line.sender, line.by, line.at)
    event: Happening = Close() if line.close else Tick(line.tick) if line.event is None else read_one(line.event)
    if isinstance(event, Event):
        if (event.payload and line.payload is not None) or (event.by is not None and line.by is not None):
            raise ValueError("the payload or the name is given twice")
        payload = event.payload if line.payload is None else line.payload
        by = event.by if line.by is None else line.by
        event = _checked(event.direction, event.label, payload, event.partner, by, event.at)
    elif line.payload is not None or line.by is not None:
        raise ValueError(f'`{event.word}` has no "payload" and no "by"')
    if line.at is None:
        return event
    if event.at is not None:
        raise ValueError("the time is given twice")
    return event._replace(at=line.at)
