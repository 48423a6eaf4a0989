"""The packages that mistakes are planted in, the tests that could find them, and those that are never asked.

The tests of a part are many more than those beside its code: which of them execute a line, the map says (`nearest`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "accord"
KEPT = ROOT / ".mutants"  # maps and verdicts; ignored by git


@dataclass(frozen=True)
class Part:
    """Paths below `src/accord`, and patterns of test files below `tests`.

    `last` are tests, or files of them, that are asked without a map about what lives through all others: those that
    look at everything and take long, and those that cannot be measured.
    """

    sources: tuple[str, ...]
    tests: tuple[str, ...]
    last: tuple[str, ...] = ()

    def modules(self, source: Path = SOURCE) -> list[Path]:
        """The files that mistakes are planted in."""
        found: set[Path] = set()
        for name in self.sources:
            place = source / name
            found |= set(place.rglob("*.py")) if place.is_dir() else {place}
        return sorted(found)


PARTS = {
    "guard": Part(
        ("integrations/guard", "calls"),
        (
            "unit/integrations/*",
            "unit/calls/*",
            "unit/cli/test_events.py",
            "unit/cli/test_review.py",
            "unit/trace/test_validation.py",
            "audit/test_ends.py",
            "studio/test_desk.py",
            "studio/test_runs.py",
            "faults/test_guard_*",
            "faults/test_tool_*",
            "properties/test_guard.py",
            "properties/test_fast_path.py",
            "properties/test_ways_through_people.py",
            "surfaces/test_rows.py",
            "kept/*",
            "agents/*",
        ),
        (
            "faults/test_guard_interrupts.py",
            "stores/test_guard_crashes.py::test_kill_9_runs_nothing_twice_and_loses_nothing_that_was_settled[sqlite]",
            "properties/test_guard.py::test_guards_decide_as_the_reference_does",
            "properties/test_fast_path.py::test_both_say_and_hold_the_same",
            "surfaces/test_surfaces.py::test_every_surface_says_what_the_reference_says[1]",
        ),
    ),
    "projection": Part(
        ("projection",),
        ("unit/projection/*", "unit/integrations/*", "unit/sources/*", "properties/test_events.py", "surfaces/*"),
    ),
    "langchain": Part(
        ("langchain",),
        ("agents/*", "examples/test_langchain*", "properties/test_shortcut.py", "kept/*"),
        ("surfaces/test_surfaces.py::test_every_surface_says_what_the_reference_says[1]",),
    ),
    "sessions": Part(
        ("session", "monitor"),
        (
            "unit/session/*",
            "unit/monitor/*",
            "spec/*",
            "properties/test_sessions.py",
            "faults/test_threads*",
        ),
    ),
    "agents": Part(
        ("agents/runtime",),
        (
            "unit/agents/*",
            "examples/test_agents.py",
            "properties/test_agents.py",
            "properties/test_trees.py",
            "properties/test_schedules.py",
            "faults/test_agent_*",
            "stores/test_agent_*",
        ),
    ),
    "trace": Part(
        ("trace",),
        (
            "unit/trace/*",
            "examples/test_traces.py",
            "unit/cli/test_trace.py",
            "properties/test_traces.py",
            "properties/test_fingerprints.py",
            "properties/test_drift.py",
            "fuzz/test_traces.py",
        ),
    ),
    "audits": Part(
        ("audit", "sources"),
        (
            "audit/*",
            "sources/*",
            "unit/sources/*",
            "unit/cli/test_audit.py",
            "unit/cli/test_events.py",
            "properties/test_audit.py",
            "fuzz/test_sources.py",
        ),
    ),
    "stores": Part(
        ("stores", "ledger"),
        (
            "unit/stores/*",
            "unit/ledger/*",
            "unit/session/*",
            "unit/integrations/test_stored.py",
            "unit/cli/test_ledger.py",
            "unit/cli/test_sessions.py",
            "unit/cli/test_verify.py",
            "stores/test_conformance.py",
            "stores/test_planted.py",
            "properties/test_ledger_*",
            "faults/test_ledger_*",
            "faults/test_finalizers.py",
        ),
    ),
}

NEVER = {
    "browser/*": "they start a browser",
    "audit/test_engines.py": "they start Ray and Spark",
    "audit/test_page.py": "it starts a browser",
    "stores/test_agent_kills.py": "they kill processes, which no coverage sees",
    "stores/test_guard_crashes.py": "they kill processes, which no coverage sees",
    "stores/test_servers.py": "they start and stop servers",
    "faults/test_ledger_crashes.py": "they kill processes, which no coverage sees",
    "faults/test_guard_interrupts.py": "they trace lines themselves",
    "faults/test_threads*": "they trace lines themselves",
    "properties/test_differential*": "they run for long",
    "properties/test_planted_time.py": "it plants mistakes itself, and runs for long",
    "spec/agents/*": "they look at the text of agents, and run for long",
}

NOT_MEASURED = {"test_cancelled_at_random_points": "throws into threads, wherever they are: into coverage too"}
"""Single tests of files that are measured."""


def files_for(names: list[str]) -> list[str]:
    """The test files of some parts, relative to `tests`, without those that are never asked."""
    tests = ROOT / "tests"
    files = sorted(path.relative_to(tests).as_posix() for path in tests.rglob("test_*.py"))
    wanted = [pattern for name in names for pattern in PARTS[name].tests]
    return [
        file
        for file in files
        if any(fnmatch(file, pattern) for pattern in wanted) and not any(fnmatch(file, pattern) for pattern in NEVER)
    ]
