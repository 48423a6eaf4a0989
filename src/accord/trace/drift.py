"""Drift: what is different between the runs that were accepted and those that are there now.

Runs are matched by name. A run that is gone and a fingerprint that is lost are drift; a run that is new is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from accord.trace.run_summary import RunSummary, TraceSummary

__all__ = ["Comparison", "compare"]

Status = Literal["same", "drift", "lost", "vanished", "new", "unknown"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One run, in both. `place` is the first event in which it differs, if that can be told."""

    key: str
    status: Status
    base: RunSummary | None = None
    candidate: RunSummary | None = None
    place: int | None = None

    @property
    def is_drift(self) -> bool:
        """Whether something that was accepted is no longer so."""
        return self.status in {"drift", "lost", "vanished"}

    @property
    def text(self) -> str:
        """In words."""
        if self.status == "same":
            return "the same"
        if self.status == "vanished":
            return "the run is gone"
        if self.status == "lost":
            return "the run has no fingerprint any more"
        if self.status == "new":
            return "the run is new"
        if self.status == "unknown":
            return "the run had no fingerprint before"
        if self.place is None:
            return "it differs, and the events are not known"
        ends = [run.events for run in (self.base, self.candidate) if run is not None]
        if self.place >= min(ends):
            more = "ends earlier" if self.candidate is not None and self.candidate.events == min(ends) else "goes on"
            return f"the same up to event {self.place}, where it {more}"
        return f"it differs from event {self.place} on"


def compare(base: TraceSummary, candidate: TraceSummary) -> list[Comparison]:
    """Every run of both, those of the base first."""
    matched = _matched(base, candidate)
    found = [_compared(key, run, candidate.runs.get(matched[key])) for key, run in base.runs.items()]
    taken = set(matched.values())
    found += [Comparison(key, "new", None, run) for key, run in candidate.runs.items() if key not in taken]
    return found


def _matched(base: TraceSummary, candidate: TraceSummary) -> dict[str, str]:
    """Which run of the candidate belongs to which of the base."""
    if len(base.runs) == len(candidate.runs) == 1:
        ((one, old),), ((other, new),) = base.runs.items(), candidate.runs.items()
        if old.example_id is None and new.example_id is None:  # the ids of runs change from run to run
            return {one: other}
    return {key: key for key in base.runs}


def _compared(key: str, base: RunSummary, candidate: RunSummary | None) -> Comparison:
    if candidate is None:
        return Comparison(key, "vanished", base)
    if base.fingerprint is None:
        return Comparison(key, "unknown" if candidate.fingerprint else "same", base, candidate)
    if candidate.fingerprint is None:
        return Comparison(key, "lost", base, candidate)
    if base.fingerprint == candidate.fingerprint:
        return Comparison(key, "same", base, candidate)
    return Comparison(key, "drift", base, candidate, _first_difference(base, candidate))


def _first_difference(base: RunSummary, candidate: RunSummary) -> int | None:
    if base.fingerprint and candidate.fingerprint and _algorithm(base) != _algorithm(candidate):
        return None
    if not (base.hashes or not base.events) or not (candidate.hashes or not candidate.events):
        return None
    for place, (one, other) in enumerate(zip(base.hashes, candidate.hashes, strict=False)):
        if not (one.startswith(other) or other.startswith(one)):  # a baseline keeps the beginnings of digests
            return place
    if len(base.hashes) != len(candidate.hashes):
        return min(len(base.hashes), len(candidate.hashes))
    return None


def _algorithm(run: RunSummary) -> str:
    return (run.fingerprint or "").partition(":")[0]
