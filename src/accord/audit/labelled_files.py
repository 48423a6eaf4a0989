"""Parquet files with a column of runs and one of labels, as arrays, a piece at a time.

Rows of one run mostly stand together, so a piece is a row of *segments*, each of one run, and the last one waits for
what the next piece begins with. Where a run comes back later, the file has to be taken as one piece, in which segments
are put together. Labels, and mostly runs too, are dictionary-encoded in the file, and stay so: no row has a text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from accord.errors import AccordError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import BinaryIO

    from accord.audit.columns import Numbers, Small
    from accord.sources.model import Message

__all__ = ["Labelled", "NotInPiecesError", "read_pieces", "read_whole"]

_ROWS = 1 << 20
"""Rows of a piece."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """Rows in runs: those of run `r` are `codes[starts[r] : starts[r] + lengths[r]]`."""

    keys: Sequence[str]
    starts: Numbers
    lengths: Numbers
    codes: Small
    """For each row which of `messages` it is."""
    messages: Sequence[Message]


class NotInPiecesError(AccordError):
    """The rows of a run are not together, or have gaps."""


class _Segments(NamedTuple):
    """Neighbouring rows of the same run: the runs, how many rows each, and the labels of all rows."""

    keys: Any
    """An array of pyarrow."""
    lengths: Numbers
    codes: Small


class _Numbering:
    """Labels by number, in the order in which they come."""

    def __init__(self, message_of: Callable[[str], Message]) -> None:
        self._message_of = message_of
        self._numbers: dict[str, int] = {}
        self.messages: list[Message] = []

    def number(self, label: str) -> int:
        known = self._numbers.get(label)
        if known is None:
            known = self._numbers[label] = len(self.messages)
            self.messages.append(self._message_of(label))
        return known


def read_pieces(stream: BinaryIO, message_of: Callable[[str], Message]) -> Iterator[Labelled]:
    """The runs of a file, some thousand at a time.

    Raises `NotInPiecesError`, perhaps not before the end, if that is not all of the runs.
    """
    numbering, seen = _Numbering(message_of), _Seen()
    left: _Segments | None = None
    for segments in _segments(stream, numbering):
        joined = segments if left is None else _join(left, segments)
        whole, left = _split_last(joined)
        if len(whole.keys):
            seen.add(whole.keys)
            yield _labelled(whole, numbering)
    if left is not None:
        seen.add(left.keys)
        yield _labelled(left, numbering)
    if not seen.are_different():
        raise NotInPiecesError("the rows of a run are not together")


class _Seen:
    """The keys that have been there, as compact as they can be: a hash each, or nothing while they are ascending."""

    def __init__(self) -> None:
        self._ascending: list[Any] | None = []
        self._hashes: list[Numbers] = []

    def add(self, keys: Any) -> None:  # noqa: ANN401 - an array of pyarrow
        """Note the keys of a piece."""
        if self._ascending is None:
            self._hashes.append(_hashes(keys))
            return
        self._ascending.append(keys)
        if not _is_ascending(keys) or not _is_ascending(_ends(self._ascending)):
            self._hashes = [_hashes(array) for array in self._ascending]
            self._ascending = None

    def are_different(self) -> bool:
        """Whether no key has been there twice. Two of one hash count as the same; as one piece they are told apart."""
        if self._ascending is not None:
            return True
        hashes = np.sort(np.concatenate(self._hashes))
        return not bool((hashes[1:] == hashes[:-1]).any())


def _is_ascending(keys: Any) -> bool:  # noqa: ANN401 - an array of pyarrow
    from pyarrow import compute  # noqa: PLC0415 - the extra `audit`

    return len(keys) < 2 or bool(compute.all(compute.greater(keys[1:], keys[:-1])).as_py())


def _ends(arrays: list[Any]) -> Any:  # noqa: ANN401 - arrays of pyarrow
    """The last key of the array before the last, and the first of the last."""
    import pyarrow as pa  # noqa: PLC0415 - the extra `audit`

    return arrays[-1][:1] if len(arrays) < 2 else pa.concat_arrays([arrays[-2][-1:], arrays[-1][:1]])


def _hashes(keys: Any) -> Numbers:  # noqa: ANN401 - an array of pyarrow
    return np.fromiter(map(hash, keys.to_pylist()), np.int64, len(keys))


def read_whole(stream: BinaryIO, message_of: Callable[[str], Message]) -> Labelled:
    """All runs of a file, in the order in which they begin."""
    numbering = _Numbering(message_of)
    found = list(_segments(stream, numbering))
    run_of: dict[str, int] = {}
    keys = [key for segments in found for key in segments.keys.to_pylist()]
    runs = np.array([run_of.setdefault(key, len(run_of)) for key in keys], np.int64)
    nothing = np.zeros(0, np.int64)
    lengths = np.concatenate([nothing, *(segments.lengths for segments in found)])
    codes = np.concatenate([np.zeros(0, np.int8), *(segments.codes for segments in found)])
    starts = np.cumsum(lengths) - lengths
    order = np.argsort(runs, kind="stable")
    moved, long = starts[order], lengths[order]
    # For each segment its rows, one after the other: where it stands now, counted on from where it will stand.
    codes = codes[np.repeat(moved - (np.cumsum(long) - long), long) + np.arange(len(codes))]
    total = np.bincount(runs, weights=lengths, minlength=len(run_of)).astype(np.int64)
    return Labelled(list(run_of), np.cumsum(total) - total, total, codes, numbering.messages)


def _segments(stream: BinaryIO, numbering: _Numbering) -> Iterator[_Segments]:
    import pyarrow as pa  # noqa: PLC0415 - the extra `audit`
    from pyarrow import parquet  # noqa: PLC0415

    stream.seek(0)
    file = parquet.ParquetFile(stream, read_dictionary=["run", "label"])
    _check_columns(pa, file)
    for batch in file.iter_batches(_ROWS, columns=["run", "label"], use_threads=False):
        runs, labels = _encoded(pa, batch.column("run")), _encoded(pa, batch.column("label"))
        if runs.null_count or labels.null_count or runs.dictionary.null_count or labels.dictionary.null_count:
            raise NotInPiecesError("a row has no run or no label")
        if not len(runs):
            continue
        if _has_empty(runs) or _has_empty(labels):
            raise NotInPiecesError("a row has no run or no label")
        known = np.array([numbering.number(str(label)) for label in labels.dictionary.to_pylist()], np.int32)
        codes = labels.indices.to_numpy()
        if len(numbering.messages) < 128:  # bytes suffice, and the less memory is read, the faster it is
            codes = codes.astype(np.int8)
            known = known.astype(np.int8)
        if not np.array_equal(known, np.arange(len(known))):  # mostly the numbers are the same as before
            codes = known[codes]
        run = runs.indices.to_numpy()
        begins = np.concatenate([[0], np.flatnonzero(run[1:] != run[:-1]) + 1])
        keys = runs.dictionary.take(pa.array(run[begins])).cast(pa.large_string())
        yield _Segments(keys, np.diff(begins, append=len(run)), codes)


def _check_columns(pa: Any, file: Any) -> None:  # noqa: ANN401 - pyarrow has no types
    """Refuse what the reader that looks at each row would look at: payloads, and runs and labels of odd types."""
    schema = file.schema_arrow
    if not {"run", "label"} <= set(schema.names) or "payload" in schema.names:
        raise NotInPiecesError("the columns are others")
    for name in ("run", "label"):
        kind = schema.field(name).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        texts = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        if not texts and not (name == "run" and pa.types.is_integer(kind)):
            raise NotInPiecesError("the columns are of other types")


def _has_empty(column: Any) -> bool:  # noqa: ANN401 - an array of pyarrow
    import pyarrow as pa  # noqa: PLC0415 - the extra `audit`
    from pyarrow import compute  # noqa: PLC0415

    values = column.dictionary
    if pa.types.is_integer(values.type):
        return False
    return bool(compute.min(compute.binary_length(values)).as_py() == 0)


def _encoded(pa: Any, column: Any) -> Any:  # noqa: ANN401 - arrays of pyarrow, which has no types
    return column if isinstance(column, pa.DictionaryArray) else column.dictionary_encode()


def _join(left: _Segments, right: _Segments) -> _Segments:
    """One run and what follows it."""
    import pyarrow as pa  # noqa: PLC0415 - the extra `audit`

    codes = np.concatenate([left.codes, right.codes])
    if left.keys[0].as_py() != right.keys[0].as_py():
        keys = pa.concat_arrays([left.keys, right.keys])
        return _Segments(keys, np.concatenate([left.lengths, right.lengths]), codes)
    lengths = right.lengths.copy()
    lengths[0] += left.lengths[0]
    return _Segments(right.keys, lengths, codes)


def _split_last(segments: _Segments) -> tuple[_Segments, _Segments]:
    """All runs but the last one, and the last one."""
    cut = len(segments.codes) - int(segments.lengths[-1])
    front = _Segments(segments.keys[:-1], segments.lengths[:-1], segments.codes[:cut])
    return front, _Segments(segments.keys[-1:], segments.lengths[-1:], segments.codes[cut:])


def _labelled(segments: _Segments, numbering: _Numbering) -> Labelled:
    starts = np.cumsum(segments.lengths) - segments.lengths
    return Labelled(segments.keys.to_pylist(), starts, segments.lengths, segments.codes, numbering.messages)
