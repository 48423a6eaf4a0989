"""Formats that a mapping describes: which records make a run, and what of a record is which message.

A mapping is a small YAML file, so that runs in a format of one's own need no code.
`docs/reference/sources.md` describes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast

from accord.projection.open_calls import OpenCalls
from accord.sources.metadata import scalars
from accord.sources.model import Broken, Message, Run
from accord.sources.reader import Reader
from accord.sources.records import Keys, Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from accord.projection.bodies import Body
    from accord.sources.model import Kind
    from accord.sources.moments import Moment
    from accord.sources.sketch import Sketch

__all__ = ["FILE", "RECORD", "KindOf", "Mapping", "Path", "mapped_reader"]

Path: TypeAlias = tuple[str, ...]
"""Where a field stands in a record; a number leads into a list."""

FILE, RECORD = "file", "record"


@dataclass(frozen=True, slots=True)
class KindOf:
    """What a message of a record is, if its fields have the values of `where`."""

    kind: Kind
    where: tuple[tuple[Path, tuple[object, ...]], ...] = ()
    name: Path | None = None
    body: Path | None = None
    id: Path | None = None
    at: Path | None = None


@dataclass(frozen=True, slots=True)
class Mapping:
    """How records are read. `runs` is `file`, `record`, or the field whose values tell runs apart.

    `together` is the field of calls that has the same value for all that a model asked for in one answer.
    """

    kinds: tuple[KindOf, ...]
    runs: str | Path = FILE
    messages: Path | None = None
    together: Path | None = None
    key: tuple[Path, ...] = ()
    metadata: dict[str, Path] = field(default_factory=dict)


_RECORDS = Shape(cast("type[dict[str, Any]]", dict[str, Any]))
_NOTHING = object()


def mapped_reader(
    mapping: Mapping, name: str, recognises: Callable[[Sketch], bool] = lambda _sketch: False, version: int = 1
) -> Reader:
    """The reader of what a mapping describes."""

    def read(stream: BinaryIO, file: str) -> Iterator[Run | Broken]:
        return _read(mapping, stream, file)

    return Reader(name, version, recognises, read)


class _Open:
    """A run that is being read."""

    def __init__(self, line: int | None, key: str) -> None:
        self.line = line
        self.key = key
        self.records = 0
        self.messages: list[Message] = []
        self.calls = {False: OpenCalls[Message](), True: OpenCalls[Message]()}
        self.parts: dict[Path, object] = {}
        self.answer: tuple[object, int] = (_NOTHING, 0)
        """What the last answer of the model is called, and the number of its first call."""


def _read(mapping: Mapping, stream: BinaryIO, file: str) -> Iterator[Run | Broken]:
    keys = Keys()
    runs: dict[str, _Open] = {}
    for record in _RECORDS.records(stream, file):
        if isinstance(record, Broken):
            yield record
            continue
        value = record.value
        key = _run_of(mapping, value, record.place)
        if key is None:
            yield Broken(file, record.line, f"record {record.place}: no `{'.'.join(mapping.runs)}` that tells its run")
            continue
        run = runs.get(key)
        if run is None:
            run = runs[key] = _Open(record.line, key)
        _add(mapping, run, value)
        if mapping.runs == RECORD:
            yield _closed(mapping, runs.pop(key), file, keys)
    for run in runs.values():
        yield _closed(mapping, run, file, keys)


def _run_of(mapping: Mapping, record: dict[str, Any], place: int) -> str | None:
    if mapping.runs == FILE:
        return "0"
    if mapping.runs == RECORD:
        return str(place)
    value = _at(record, cast("Path", mapping.runs))
    return str(value) if isinstance(value, str | int | float) else None


def _closed(mapping: Mapping, run: _Open, file: str, keys: Keys) -> Run:
    parts = [run.parts[path] for path in mapping.key if path in run.parts]
    key = "/".join(str(part) for part in parts) or run.key
    told = {name: run.parts.get(path) for name, path in mapping.metadata.items()}
    return Run(keys.unique(key), file, run.messages, run.line, scalars(told))


def _add(mapping: Mapping, run: _Open, record: dict[str, Any]) -> None:
    for path in (*mapping.key, *mapping.metadata.values()):
        value = _at(record, path)
        if path not in run.parts and isinstance(value, str | int | float):
            run.parts[path] = value
    held = record if mapping.messages is None else _at(record, mapping.messages)
    for message in held if isinstance(held, list) else [held]:
        if isinstance(message, dict):
            _add_message(mapping, run, message)
        run.records += 1


def _add_message(mapping: Mapping, run: _Open, recorded: dict[str, Any]) -> None:
    for line in mapping.kinds:
        if all(_at(recorded, path) in values for path, values in line.where):
            break
    else:
        return
    kind, name, call_id = line.kind, _text(recorded, line.name), _text(recorded, line.id)
    body = None if line.body is None else _at(recorded, line.body)
    moment = None if line.at is None else _at(recorded, line.at)
    number = _number(mapping, run, recorded) if kind == "call" else run.records
    message = Message(kind, number, _body(body), name, call_id, None, _moment(moment))
    if kind in {"call", "user call"}:
        run.calls[kind == "user call"].add(message)
    elif kind in {"result", "error"}:
        message.answers = run.calls[False].answer(call_id, name) or run.calls[True].answer(call_id, name)
    run.messages.append(message)


def _number(mapping: Mapping, run: _Open, recorded: dict[str, Any]) -> int:
    """The number of a call: that of the first of its answer."""
    called = _NOTHING if mapping.together is None else _at(recorded, mapping.together)
    if called is _NOTHING or called is None:
        return run.records
    if run.answer[0] != called:
        run.answer = called, run.records
    return run.answer[1]


def _at(record: object, path: Path) -> object:
    here: object = record
    for segment in path:
        if isinstance(here, dict) and segment in here:
            here = here[segment]
        elif isinstance(here, list) and segment.isdecimal() and len(segment) < 10 and int(segment) < len(here):
            here = here[int(segment)]
        else:
            return _NOTHING
    return here


def _text(record: dict[str, Any], path: Path | None) -> str | None:
    value = None if path is None else _at(record, path)
    return value if isinstance(value, str) and value else None


def _body(value: object) -> Body:
    return cast("Body", None if value is _NOTHING else value)


def _moment(value: object) -> Moment:
    return value if isinstance(value, str | int | float) and not isinstance(value, bool) else None
