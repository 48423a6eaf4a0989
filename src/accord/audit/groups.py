"""Runs counted by what is known about them: any key of their metadata, and the label of how they turned out.

One pass over the verdicts in columns. A key may have as many values as there are runs, so values beyond a bound are
counted together.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from accord.audit.results import letters
from accord.audit.tally import OTHERS
from accord.diagnostics import did_you_mean
from accord.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from accord.audit.results import Chunk

__all__ = ["OUTCOMES", "CrossTab", "Row", "Tables", "has_passed", "make_tables", "text_of"]

OUTCOMES = ("reward", "outcome", "utility", "success", "passed", "resolved", "score")
"""Keys under which recorders say how a run turned out, in the order in which they are looked for."""

_PASSED = {"pass", "passed", "success", "succeeded", "ok", "true", "yes", "resolved", "completed", "1", "1.0"}
_MOST_VALUES = 1_000


class Row(NamedTuple):
    """How many runs of one value have each status."""

    value: str
    statuses: dict[str, int]

    @property
    def runs(self) -> int:
        """How many runs there are of this value."""
        return sum(self.statuses.values())


class CrossTab(NamedTuple):
    """How runs turned out, against what the contract says of them."""

    key: str
    rows: tuple[Row, ...]
    passed: int
    passed_but_violated: int


class Tables(NamedTuple):
    """The tables that were asked for, and the outcomes, if there are any."""

    by: dict[str, tuple[Row, ...]]
    outcome: CrossTab | None
    keys: tuple[str, ...]
    """The keys of the metadata, sorted."""


def has_passed(value: object) -> bool:
    """Whether an outcome says that the run did what it was to do."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value >= 1
    return isinstance(value, str) and value.strip().lower() in _PASSED


def make_tables(chunks: Iterable[tuple[Chunk, str]], by: Sequence[str], outcome: str | None) -> Tables:
    """Count runs by the keys of `by` (without any, by `model` if runs have one) and by outcome.

    The key `file` is the file that a run is in. Raises `UsageError` for a key that no run has.
    """
    wanted = [*(by or ("model",)), *([outcome] if outcome else OUTCOMES)]
    counts: dict[str, Counter[tuple[str, str]]] = {key: Counter() for key in wanted}
    values: dict[str, dict[Any, str]] = {key: {} for key in wanted}
    passed: dict[str, Counter[tuple[bool, str]]] = {key: Counter() for key in wanted}
    keys: set[str] = set()
    without: Counter[str] = Counter()
    for chunk, file in chunks:
        here = Counter(chunk.status)
        if "file" in counts:
            text = _text_of(file, values["file"])
            counts["file"].update({(text, letter): number for letter, number in here.items()})
        if not chunk.metadata:
            without += here
            continue
        for metadata, letter in zip(chunk.metadata, chunk.status, strict=True):
            if len(keys) < _MOST_VALUES:
                keys.update(metadata)
            for key in wanted:
                if key == "file":
                    continue
                value = metadata.get(key)
                text = _text_of(value, values[key])
                counts[key][text, letter] += 1
                passed[key][has_passed(value), letter] += 1
    for key in wanted:
        for letter, number in without.items() if key != "file" else ():
            counts[key]["", letter] += number
    _check_keys([*by, *([outcome] if outcome else [])], counts, keys)
    asked = by or (["model"] if _is_known(counts["model"]) else [])
    found = next((key for key in ([outcome] if outcome else OUTCOMES) if _is_known(counts[key])), None)
    tab = None
    if found is not None:
        violated = passed[found][True, "v"]
        total = sum(number for (fine, _), number in passed[found].items() if fine)
        tab = CrossTab(found, _rows(counts[found]), total, violated)
    return Tables({key: _rows(counts[key]) for key in asked}, tab, tuple(sorted(keys)))


def _check_keys(by: Sequence[str], counts: dict[str, Counter[tuple[str, str]]], keys: set[str]) -> None:
    for key in by:
        if counts[key] and not _is_known(counts[key]):
            meant = did_you_mean(key, keys)
            known = ", ".join(f"`{name}`" for name in ("file", *sorted(keys)[:20]))
            hint = f"did you mean `{meant}`?" if meant else f"they have {known}"
            raise UsageError(f"no run has a `{key}`; {hint}")


def _text_of(value: object, known: dict[Any, str]) -> str:
    """A value as reports print it; nothing if there is none."""
    if value is None:
        return ""
    key = (type(value), value) if isinstance(value, str | int | float | bool) else json.dumps(value)
    text = known.get(key)
    if text is None:
        if len(known) >= _MOST_VALUES:
            return OTHERS
        text = known[key] = text_of(value)
    return text


def text_of(value: object) -> str:
    """A value of metadata as reports print it; nothing if there is none."""
    if value is None or isinstance(value, str):
        return value or ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else json.dumps(value)


def _is_known(counts: Counter[tuple[str, str]]) -> bool:
    return any(value for value, _ in counts)


def _rows(counts: Counter[tuple[str, str]]) -> tuple[Row, ...]:
    """The values with the most runs first; those of equally many by name."""
    found: dict[str, dict[str, int]] = {}
    for (value, letter), number in counts.items():
        statuses = found.setdefault(value, dict.fromkeys(letters.values(), 0))
        statuses[letters[letter]] += number
    rows = [Row(value, statuses) for value, statuses in found.items()]
    return tuple(sorted(rows, key=lambda row: (-row.runs, row.value)))
