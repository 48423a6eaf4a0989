"""Rows of labels: Parquet or CSV with the columns `run` and `label`, and if there are any `payload` (JSON) and `at`.

A label is written as events are: `!x` is a call of `x`, `?x` what came of it; a label alone is an event of that name.
Rows of a run need not stand together, so a file is held as a whole. A run of which a row cannot be read is left out:
judged without that row, it would be another run.
"""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Any, BinaryIO

from accord.errors import UsageError
from accord.language.labels import parse_word
from accord.projection.bodies import decoded
from accord.sources.model import Broken, Message, Run
from accord.sources.reader import Reader
from accord.sources.records import whole

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from accord.sources.model import Kind
    from accord.sources.sketch import Sketch

__all__ = ["CSV", "PARQUET", "message_of", "read_parquet"]

_WANTED = ("run", "label")
_COLUMNS = (*_WANTED, "payload", "at")
_MAGIC = b"PAR1"
_HALF = re.compile("[\udc80-\udcff]")


def message_of(label: str, index: int = 0) -> Message:
    """The message that a label stands for."""
    if label[:1] in {"!", "?"}:
        try:
            direction, name, _ = parse_word(label)
        except ValueError:
            return Message("event", index, None, label)
        kind: Kind = "call" if direction == "!" else "result"
        return Message(kind, index, None, name, labelled=True)
    return Message("event", index, None, label)


class _Rows:
    """Runs put together from rows."""

    def __init__(self) -> None:
        self.runs: dict[str, list[Message]] = {}
        self.lines: dict[str, int] = {}
        self.damaged: set[str] = set()

    def add(self, number: int, row: tuple[object, ...]) -> str | None:
        """Take a row of `run`, `label`, `payload` and `at`; why it cannot be taken, if it cannot."""
        run, label, payload, at = row
        if run is None or run == "":
            return "`run` is empty"
        key = str(run)
        if not _is_text(key):
            return "it is not UTF-8"
        problem = self._take(key, number, label, payload, at)
        if problem is None:
            return None
        self.damaged.add(key)
        return f"{problem}; run {key} is left out"

    def _take(self, key: str, number: int, label: object, payload: object, at: object) -> str | None:
        if not isinstance(label, str) or not label:
            return "`label` is empty"
        if not _is_text(label, payload, at):
            return "it is not UTF-8"
        messages = self.runs.setdefault(key, [])
        self.lines.setdefault(key, number)
        message = message_of(label, len(messages))
        if payload is not None and payload != "":
            value = decoded(payload)
            if not isinstance(value, dict):
                return "`payload` is no JSON object"
            message.body = value
        if isinstance(at, str | int | float) and at != "":
            message.moment = at if not isinstance(at, str) else _number(at)
        messages.append(message)
        return None

    def read(self, rows: Iterable[tuple[int, tuple[object, ...]]], file: str, *, lined: bool) -> Iterator[Run | Broken]:
        for number, row in rows:
            problem = self.add(number, row)
            if problem is not None:
                yield Broken(file, number if lined else None, problem if lined else f"row {number}: {problem}")
        for key in self.damaged:
            self.runs.pop(key, None)
        for key, messages in self.runs.items():
            yield Run(key, file, messages, self.lines[key] if lined else None)


def _is_text(*values: object) -> bool:
    """Whether no value has a byte that is no UTF-8; such bytes are read as halves of surrogate pairs."""
    return not any(isinstance(value, str) and not value.isascii() and _HALF.search(value) for value in values)


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text  # a date, perhaps


def _missing(names: list[str]) -> str | None:
    """Which column is missing, in words."""
    for name in _WANTED:
        if name not in names:
            return f"no column `{name}`; there are {', '.join(f'`{known}`' for known in names[:20])}"
    return None


def _read_csv(stream: BinaryIO, file: str) -> Iterator[Run | Broken]:
    text = io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="")
    reader = csv.reader(text, strict=True)
    try:
        header = next(reader, [])
        missing = _missing(header)
        if missing is not None:
            yield Broken(file, 1, missing)
            return
        places = [header.index(name) if name in header else None for name in _COLUMNS]
        broken: list[Broken] = []
        yield from _Rows().read(_csv_rows(reader, places, file, broken), file, lined=True)
        yield from broken
    except csv.Error as error:
        yield Broken(file, reader.line_num, f"no CSV: {error}")
    finally:
        text.detach()


def _csv_rows(
    reader: Any,  # noqa: ANN401 - a reader of the module csv, whose class has no name
    places: list[int | None],
    file: str,
    broken: list[Broken],
) -> Iterator[tuple[int, tuple[object, ...]]]:
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            broken.append(Broken(file, reader.line_num, f"no CSV: {error}"))
            continue
        if row:
            values = tuple(row[at] if at is not None and at < len(row) else None for at in places)
            yield reader.line_num, values


def _read_parquet(stream: BinaryIO, file: str) -> Iterator[Run | Broken]:
    return read_parquet(stream, file)


def read_parquet(stream: BinaryIO, file: str, only: Collection[str] | None = None) -> Iterator[Run | Broken]:
    """The runs of a Parquet file; with `only`, those of these keys, and no more than their rows is held."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - the extra `audit`
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError:
        raise UsageError(f"{file}: reading Parquet needs PyArrow: pip install 'accord-contracts[audit]'") from None
    try:
        table = parquet.ParquetFile(pa.BufferReader(whole(stream)))
        names = table.schema_arrow.names
        missing = _missing(names)
        if missing is not None:
            yield Broken(file, None, missing)
            return
        yield from _Rows().read(_parquet_rows(table, names, only), file, lined=False)
    except (pa.ArrowException, OSError, ValueError) as error:
        yield Broken(file, None, f"no Parquet: {str(error).splitlines()[0] if str(error) else type(error).__name__}")


def _parquet_rows(
    table: Any,  # noqa: ANN401 - a file of pyarrow, which has no types
    names: list[str],
    only: Collection[str] | None,
) -> Iterator[tuple[int, tuple[object, ...]]]:
    columns = [name for name in _COLUMNS if name in names]
    number = 0
    for batch in table.iter_batches(1 << 16, columns=columns):
        if only is not None:
            batch = _rows_of(batch, only)  # noqa: PLW2901 - the rest of it is not looked at
        held = {name: batch.column(name).to_pylist() for name in columns}
        nothing = [None] * batch.num_rows
        for row in zip(*(held.get(name, nothing) for name in _COLUMNS), strict=True):
            yield number, row
            number += 1


def _rows_of(batch: Any, only: Collection[str]) -> Any:  # noqa: ANN401 - rows of pyarrow, which has no types
    import pyarrow as pa  # noqa: PLC0415 - the extra `audit`
    from pyarrow import compute  # noqa: PLC0415

    wanted = pa.array(sorted(only), pa.string())
    return batch.filter(compute.is_in(batch.column("run").cast(pa.string()), value_set=wanted))


def _is_csv(sketch: Sketch) -> bool:
    names = sketch.first_line[:10_000].decode("utf-8", "replace").strip().split(",")
    return set(_WANTED) <= {name.strip('" ') for name in names}


def _is_parquet(sketch: Sketch) -> bool:
    return sketch.start == _MAGIC


CSV = Reader("csv", 2, _is_csv, _read_csv)
PARQUET = Reader("parquet", 2, _is_parquet, _read_parquet)
