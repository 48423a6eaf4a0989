"""Verdicts as a table, for spreadsheets (CSV) and for everything that reads columns (Parquet).

A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula. What comes from runs is text, so such a
cell of a CSV file gets an apostrophe in front. Parquet has types and needs none.
"""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

from accord.diagnostics.visible import visible
from accord.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import TextIO

    from accord.audit.model import Verdict
    from accord.audit.report import Report

__all__ = ["COLUMNS", "write_csv", "write_parquet"]

COLUMNS = (
    "file", "run", "line", "status", "events", "refused", "followed",
    "clause", "state", "arrived", "index", "position", "sentence", "metadata",
)  # fmt: skip

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")
_ROWS = 10_000


def _row(verdict: Verdict) -> tuple[Any, ...]:
    breach = verdict.breach
    found: tuple[Any, ...] = (None,) * 6
    if breach is not None:
        what = breach.what
        found = what.clause, what.state, what.arrived, breach.index, breach.position, what.sentence
    metadata = json.dumps(verdict.metadata) if verdict.metadata else None
    facts = verdict.file, verdict.run, verdict.line, verdict.status, verdict.events, verdict.refused, verdict.followed
    return *facts, *found, metadata


def write_csv(report: Report, stream: TextIO) -> None:
    """Write one line for each run."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for verdict in report.audit.verdicts():
        writer.writerow([_cell(value) for value in _row(verdict)])


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = visible(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def write_parquet(report: Report, path: Path) -> None:
    """Write one row for each run. Raises `UsageError` if pyarrow is not there."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - the extra `audit`
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError:
        raise UsageError("writing Parquet needs PyArrow: pip install 'accord-contracts[audit]'") from None
    numbers = {"line", "events", "refused", "followed", "index", "position"}
    schema = pa.schema([(name, pa.int64() if name in numbers else pa.string()) for name in COLUMNS])
    with parquet.ParquetWriter(path, schema) as writer:
        rows: list[tuple[Any, ...]] = []

        def flush() -> None:
            columns = zip(*rows, strict=True)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            rows.clear()

        for verdict in report.audit.verdicts():
            rows.append(tuple(_unicode(value) for value in _row(verdict)))
            if len(rows) >= _ROWS:
                flush()
        if rows:
            flush()


def _unicode(value: object) -> object:
    """Half of a surrogate pair cannot be written."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
