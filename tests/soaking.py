"""The long checks at full volume, in parts that take less than an hour each: `make soak PART=protocols`.

A part is some files. One that would take longer is run in shares, one after the other: of all its tests every second,
or every third. A share can be run alone too: `PART=protocols/2`. Without a name all parts are run in turn.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Part:
    """Files of long checks; how many shares they are run in, and the minutes that each takes on two quiet cores."""

    minutes: int
    files: tuple[str, ...]
    shares: int = 1


PARTS = {
    "protocols": Part(
        20,
        (
            "tests/properties/test_differential.py",
            "tests/properties/test_shortcut.py",
            "tests/properties/test_ways.py",
            "tests/properties/test_ways_through_people.py",
            "tests/fuzz/test_parser.py",
            "tests/unit/test_templates.py",
        ),
        shares=3,
    ),
    "time": Part(
        15,
        (
            "tests/properties/test_differential_time.py",
            "tests/properties/test_long_runs.py",
            "tests/faults/test_threads_time.py",
            "tests/unit/monitor/test_hostile_time.py",
            "tests/unit/monitor/test_snapshot_time.py",
        ),
    ),
    "choreographies": Part(
        15,
        (
            "tests/properties/test_choreography.py",
            "tests/fuzz/test_globals.py",
        ),
    ),
    "agents": Part(
        25,
        (
            "tests/properties/test_agents.py",
            "tests/properties/test_trees.py",
            "tests/faults/test_agent_cancellation.py",
            "tests/stores/test_agent_kills.py",
            "tests/stores/test_agent_transports.py",
        ),
    ),
    "lint": Part(
        20,
        (
            "tests/spec/agents/test_codes.py",
            "tests/spec/agents/test_mutants.py",
            "tests/spec/agents/test_random_agents.py",
            "tests/fuzz/test_lint.py",
        ),
    ),
    "guard": Part(
        10,
        (
            "tests/properties/test_guard.py",
            "tests/properties/test_fast_path.py",
            "tests/faults/test_guard_races.py",
            "tests/faults/test_interrupts_everywhere.py",
            "tests/agents/test_interrupts_everywhere.py",
            "tests/faults/test_tool_races.py",
            "tests/faults/test_threads.py",
            "tests/stores/test_guard_crashes.py",
            "tests/unit/monitor/test_rule_threads.py",
        ),
    ),
    "lives": Part(
        30,
        ("tests/lives/test_lives.py", "tests/lives/test_faults.py"),
        shares=16,
    ),
    "stores": Part(
        10,
        ("tests/stores/test_conformance.py", "tests/agents/test_trail.py"),
    ),
    "ledger": Part(
        10,
        (
            "tests/properties/test_ledger_edits.py",
            "tests/properties/test_ledger_forgeries.py",
            "tests/properties/test_ledger_volume.py",
            "tests/faults/test_ledger_crashes.py",
        ),
    ),
    "audit": Part(
        25,
        (
            "tests/audit/test_engines.py",
            "tests/audit/test_slow_reading.py",
            "tests/properties/test_audit.py",
            "tests/properties/test_events.py",
            "tests/fuzz/test_sources.py",
            "tests/unit/projection/test_payloads.py",
            "tests/unit/sources/test_model.py",
        ),
    ),
    "traces": Part(
        1,
        ("tests/fuzz/test_traces.py", "tests/properties/test_drift.py"),
    ),
    "surfaces": Part(
        25,
        ("tests/surfaces/test_surfaces.py",),
        shares=4,
    ),
    "studio": Part(
        10,
        (
            "tests/properties/test_studio.py",
            "tests/properties/test_studio_edits.py",
            "tests/fuzz/test_studio.py",
        ),
    ),
}


def share_of(items: list, share: str) -> list:
    """What belongs to one share, such as `2/3`: neighbours, which take about as long, go to different ones."""
    number, many = map(int, share.split("/"))
    return items[number - 1 :: many]


LONG = frozenset(ROOT / file for part in PARTS.values() for file in part.files)
"""The files with long checks, which take their time in samples too."""


def runs_of(wanted: str) -> list[tuple[str, str]]:
    """The parts and shares that a name stands for; `SystemExit` with all names if there is no such part."""
    name, _, number = wanted.partition("/")
    if wanted and (name not in PARTS or (number and number not in map(str, range(1, PARTS[name].shares + 1)))):
        told = "\n".join(f"  {line}" for line in listing())
        raise SystemExit(f"there is no part `{wanted}` of the long checks; there are\n{told}")
    return [
        (part, f"{share}/{PARTS[part].shares}")
        for part in ([name] if wanted else PARTS)
        for share in range(1, PARTS[part].shares + 1)
        if not number or int(number) == share
    ]


def listing() -> list[str]:
    """A line about each part."""
    widest = max(map(len, PARTS))
    return [
        f"{name:{widest}}  about {part.minutes} minutes{f' for each of {part.shares} shares' * (part.shares > 1)}"
        for name, part in PARTS.items()
    ]


def main(wanted: str, options: list[str]) -> int:
    """Run them; whether one has failed, as an exit code."""
    failed = []
    for name, share in runs_of(wanted):
        part = PARTS[name]
        print(f"\n{name}, share {share}: about {part.minutes} minutes", flush=True)  # noqa: T201 - the command's output
        environment = {**os.environ, "ACCORD_SOAK": "1", "ACCORD_SOAK_SHARE": share}
        command = [sys.executable, "-m", "pytest", "-q", *options, *part.files]
        if subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode:
            failed.append(f"{name}/{share.partition('/')[0]}")
    if failed:
        print(f"\nfailed: {', '.join(failed)}")  # noqa: T201
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
