"""The `events` block as plain JSON values and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from accord.errors import UsageError
from accord.language.clauses import Guard, Value
from accord.language.events import DIRECTIONS, SPEAKERS, EventLine, Events, Named, Says
from accord.language.json_objects import ObjectReader, check_text
from accord.language.labels import normalise

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.canonical import Json
    from accord.language.clauses import Clause
    from accord.language.events import NamedKind, Origin

__all__ = ["events_from_json", "events_to_json"]

_OTHERWISE = "otherwise"
_AS_NAMED = "as named otherwise"


def events_to_json(events: Events, clause_to_json: Callable[[Clause], Json]) -> list[Json]:
    """The lines of a block."""
    return [_line_to_json(line, clause_to_json) for line in events.lines]


def _line_to_json(line: EventLine, clause_to_json: Callable[[Clause], Json]) -> Json:
    if line.as_named:
        return {"when": _AS_NAMED}
    written: dict[str, Json] = {"label": line.label, "when": _OTHERWISE if line.origin is None else line.origin.kind}
    if isinstance(line.origin, Says):
        written["matches" if line.origin.is_pattern else "says"] = line.origin.text
    elif line.origin is not None:
        written["names"] = list(line.origin.names)
    if line.guards:
        written["where"] = [clause_to_json(guard) for guard in line.guards]
    return written


def events_from_json(reader: ObjectReader, clause_from_json: Callable[[object, str], Clause]) -> Events:
    """The block in an object of kind `events`."""
    return Events(tuple(_line(item, at, clause_from_json) for item, at in reader.many("lines")))


def _line(value: object, at: str, clause_from_json: Callable[[object, str], Clause]) -> EventLine:
    reader = ObjectReader(value, at)
    if reader.value.get("when") == _AS_NAMED:
        reader.read.add("when")
        reader.done()
        return EventLine(None, None, as_named=True)
    reader.read.add("label")
    label = None if reader.value.get("label") is None else reader.label()
    origin = _origin(reader)
    clauses = [clause_from_json(clause, where) for clause, where in reader.many("where", optional=True)]
    guards = tuple(clause for clause in clauses if isinstance(clause, Guard) and isinstance(clause.operand, Value))
    if len(guards) != len(clauses):
        raise UsageError(f"events have no registers - at `{at}.where`")
    if origin is None and guards:
        raise UsageError(f"`otherwise` takes whatever is left, without guards - at `{at}.where`")
    reader.done()
    return EventLine(label, origin, guards)


def _origin(reader: ObjectReader) -> Origin | None:
    kind = reader.text("when")
    if kind == _OTHERWISE:
        return None
    if kind in SPEAKERS:
        is_pattern = "matches" in reader.value
        text = reader.text("matches" if is_pattern else "says")
        return Says(kind, text, is_pattern)
    if kind not in DIRECTIONS:
        raise UsageError(f"unknown kind of message {kind!r} - at `{reader.at}.when`")
    names = []
    for name, at in reader.many("names"):
        if not isinstance(name, str) or not name:
            raise UsageError(f"expected a name, got {name!r} - at `{at}`")
        check_text(name, at)
        names.append(normalise(name))
    return Named(cast("NamedKind", kind), tuple(names))
