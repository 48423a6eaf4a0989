"""Baselines: what was accepted, to hold the next runs against.

A baseline is a small JSON file that stands in the repository beside the tests: for each run its fingerprint and the
digests of its events, so that drift can be located, and the violations that are known, by code and place. It holds no
payloads.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from accord.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accord.trace.run_summary import RunSummary
    from accord.trace.violations import Violation

__all__ = ["AcceptedRun", "Baseline", "make_baseline", "new_violations", "read_baseline", "write_baseline"]

FORMAT = 1

Place = tuple[str, int]
"""The code of a violation and the number of its event."""


@dataclass(frozen=True, slots=True)
class AcceptedRun:
    """What was accepted of a run."""

    fingerprint: str | None
    events: int
    hashes: tuple[str, ...] = ()
    violations: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class Baseline:
    """What was accepted, by run."""

    runs: dict[str, AcceptedRun] = field(default_factory=dict)


def make_baseline(runs: Iterable[RunSummary], before: Baseline | None = None) -> Baseline:
    """A baseline of runs as they are now; runs of an earlier one that are not among them stay."""
    found = {} if before is None else dict(before.runs)
    for run in runs:
        places = tuple(sorted(_places(run)))
        found[run.key] = AcceptedRun(run.fingerprint, run.events, run.hashes, places)
    return Baseline(found)


def _places(run: RunSummary) -> Iterator[Place]:
    return ((code, seq) for code, seqs in run.places.items() for seq in seqs)


def new_violations(
    run: RunSummary, baseline: Baseline | None, key: str | None = None
) -> tuple[tuple[Violation, ...], int]:
    """The violations of a run that are not known, and how many there are, which may be more than are kept.

    Known is one of the same code at the same place. `key` is the name of the run in the baseline, if it is another one.
    """
    accepted = None if baseline is None else baseline.runs.get(run.key if key is None else key)
    if accepted is None or not accepted.violations:
        return run.violations, run.violation_count
    known = Counter(accepted.violations)
    matched = (known & Counter(_places(run))).total()
    found = []
    for violation in run.violations:
        place = violation.code, violation.event_seq
        if known[place]:
            known[place] -= 1
        else:
            found.append(violation)
    return tuple(found), run.violation_count - matched


def write_baseline(baseline: Baseline) -> str:
    """The text of a baseline, sorted, one run after the other, so that its changes can be read."""
    runs = {
        key: {
            "fingerprint": run.fingerprint,
            "events": run.events,
            "hashes": [hash_[:16] for hash_ in run.hashes],
            "violations": [list(place) for place in run.violations],
        }
        for key, run in sorted(baseline.runs.items())
    }
    lines = ",\n".join(f"    {json.dumps(key)}: {json.dumps(run)}" for key, run in runs.items())
    body = f"{{\n{lines}\n  }}" if runs else "{}"
    return f'{{\n  "accord_trace_baseline": {FORMAT},\n  "runs": {body}\n}}\n'


def read_baseline(value: dict[str, Any], name: str) -> Baseline:
    """The baseline in a JSON value; `UsageError` if it is none."""
    version, runs = value.get("accord_trace_baseline"), value.get("runs")
    if type(version) is not int or version != FORMAT:
        raise UsageError(f"{name}: a baseline of format {version!r:.40}; this accord reads format {FORMAT}")
    if not isinstance(runs, dict):
        raise UsageError(f"{name}: a baseline has `runs`")
    return Baseline({key: _run(run, f"{name}: run `{key[:80]}`") for key, run in runs.items()})


def _run(value: Any, where: str) -> AcceptedRun:  # noqa: ANN401 - any JSON
    if not isinstance(value, dict):
        raise UsageError(f"{where} is no object")
    fingerprint, events = value.get("fingerprint"), value.get("events", 0)
    hashes, violations = value.get("hashes", []), value.get("violations", [])
    fine = (
        isinstance(fingerprint, str | None)
        and type(events) is int
        and isinstance(hashes, list)
        and all(isinstance(hash_, str) for hash_ in hashes)
        and isinstance(violations, list)
        and all(_is_place(place) for place in violations)
    )
    if not fine:
        raise UsageError(f"{where} cannot be read")
    return AcceptedRun(fingerprint, events, tuple(hashes), tuple((code, seq) for code, seq in violations))


def _is_place(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and type(value[1]) is int
