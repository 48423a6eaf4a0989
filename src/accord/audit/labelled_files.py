"""Parquet files with a column of runs and one of labels, as arrays.

Rows of one run mostly stand together, so a file is a row of *segments*, each of one run. Where a run comes back later,
its segments are put together. Labels, and mostly runs too, are dictionary-encoded in the file, and stay so: no text is
made for a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from accord.audit.labelled import Labelled

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from accord.audit.columns import Numbers
    from accord.sources.model import Message

__all__ = ["read_labelled"]


def read_labelled(path: Path, message_of: Callable[[str], Message]) -> Labelled | None:
    """The rows of a file in runs; `None` if it has gaps, which are for the reader that tells where they are."""
    import pyarrow as pa  # noqa: PLC0415 - the extra `audit`
    from pyarrow import parquet  # noqa: PLC0415

    file = parquet.ParquetFile(path, read_dictionary=["run", "label"], memory_map=False)
    codes, lengths, keys = [], [], []
    numbers: dict[str, int] = {}
    for batch in file.iter_batches(1 << 20, columns=["run", "label"], use_threads=False):
        runs, labels = _encoded(pa, batch.column(0)), _encoded(pa, batch.column(1))
        if runs.null_count or labels.null_count or runs.dictionary.null_count or labels.dictionary.null_count:
            return None
        if not len(runs):
            continue
        texts = [str(label) for label in labels.dictionary.to_pylist()]
        known = np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.int32)
        codes.append(known[labels.indices.to_numpy()])
        run = runs.indices.to_numpy()
        begins = np.concatenate([[0], np.flatnonzero(run[1:] != run[:-1]) + 1])
        lengths.append(np.diff(begins, append=len(run)))
        keys.append(runs.dictionary.take(pa.array(run[begins])).cast(pa.large_string()))
    messages = [message_of(text) for text in numbers]
    if not codes:
        nothing: Numbers = np.zeros(0, np.int64)
        return Labelled([], nothing, nothing, np.zeros(0, np.int32), messages)
    return _in_runs(pa.concat_arrays(keys), np.concatenate(lengths), np.concatenate(codes), messages)


def _encoded(pa: Any, column: Any) -> Any:  # noqa: ANN401 - arrays of pyarrow, which has no types
    return column if isinstance(column, pa.DictionaryArray) else column.dictionary_encode()


def _in_runs(keys: Any, lengths: Numbers, codes: Any, messages: list[Message]) -> Labelled:  # noqa: ANN401 - as above
    """Segments put together to runs, in the order in which runs begin."""
    encoded = keys.dictionary_encode()
    run_of = encoded.indices.to_numpy().astype(np.int64)
    runs = len(encoded.dictionary)
    starts = np.cumsum(lengths) - lengths
    if runs < len(run_of):
        order = np.argsort(run_of, kind="stable")
        moved, long = starts[order], lengths[order]
        total = np.zeros(runs, np.int64)
        np.add.at(total, run_of, lengths)
        if not np.array_equal(order, np.arange(len(order))):
            # For each segment its rows, one after the other: where it stands now, counted on from where it will stand.
            codes = codes[np.repeat(moved - (np.cumsum(long) - long), long) + np.arange(len(codes))]
        lengths, starts = total, np.cumsum(total) - total
    return Labelled(encoded.dictionary.to_pylist(), starts, lengths.astype(np.int64), codes, messages)
