"""What is known of one run in a file: its fingerprint, the digests of its events, its violations.

A run is known by its `example_id`, or else by its `run_id`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accord.trace.baselines import Baseline
    from accord.trace.events import RunId, RunKey
    from accord.trace.violations import Violation

__all__ = ["Kind", "RunSummary", "TraceSummary", "run_name"]

Kind = Literal["events", "records", "baseline"]


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run. `hashes` are those of its events, if they are known.

    `violations` are the first ones, `places` are those of all: by code the numbers of events.
    """

    key: str
    run_id: RunId = None
    example_id: RunId = None
    events: int = 0
    fingerprint: str | None = None
    hashes: tuple[str, ...] = ()
    violations: tuple[Violation, ...] = ()
    places: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @property
    def violation_count(self) -> int:
        """How many violations there are."""
        return sum(map(len, self.places.values()))


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """All runs of a file, in the order of their beginning."""

    name: str
    kind: Kind
    runs: dict[str, RunSummary] = field(default_factory=dict)
    baseline: Baseline | None = None


def run_name(run: RunKey) -> str:
    """What a run is called."""
    run_id, example_id = run
    name = example_id if example_id is not None else run_id
    return "(run)" if name is None else str(name)
