"""What all tests share: their kinds, the volume of the long checks, and health figures shown at the end of the run."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from tests.kinds import KINDS, QUICK, TESTS, kind_of, markers_of
from tests.soaking import LONG, share_of


@pytest.fixture(scope="session")
def soak() -> bool:
    """Whether the long checks run at full volume (`make soak`)."""
    return bool(os.environ.get("ACCORD_SOAK"))


def pytest_configure(config) -> None:
    for path in TESTS.glob("*/test_*.py"):  # said before processes are started, in which nobody would see it
        kind_of(path)
    for kind, what in KINDS.items():
        config.addinivalue_line("markers", f"{kind}: {what}")
    config.addinivalue_line("markers", f"quick: what a change needs at once, of {', '.join(sorted(QUICK))}")


def pytest_ignore_collect(collection_path, config) -> bool | None:
    """Reading tests takes time as well: of a kind that is not asked for none is read."""
    asked = QUICK if config.option.markexpr == "quick" else {config.option.markexpr} & set(KINDS)
    is_folder_of_kind = collection_path.parent == TESTS and collection_path.name in KINDS
    return True if asked and is_folder_of_kind and collection_path.name not in asked else None


def pytest_itemcollected(item) -> None:
    for marker in markers_of(item.path, item.name):
        item.add_marker(marker)


def pytest_collection_modifyitems(config, items) -> None:
    share = os.environ.get("ACCORD_SOAK_SHARE")
    if share:
        kept = share_of(items, share)
        there = set(kept)
        config.hook.pytest_deselected(items=[item for item in items if item not in there])
        items[:] = kept
    elif hasattr(config, "workerinput"):  # several processes: none is to begin with the longest when others are done
        long, short = ([item for item in items if (item.path in LONG) is wanted] for wanted in (True, False))
        half = len(short) // 2
        items[:] = [*long[::2], *short[:half], *long[1::2], *short[half:]]


@pytest.fixture
def tally(record_property):
    """Call it with what was looked at and how much of it; all that says the same is added up after the run."""
    return lambda what, count: record_property("tally", (what, count))


@pytest.fixture
def health(record_property):
    """Call it with a sentence about what a check looked at; the sentences are printed after the run."""
    return lambda sentence: record_property("health", sentence)


def pytest_terminal_summary(terminalreporter) -> None:
    properties = [
        each
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", "") == "call"
        for each in report.user_properties
    ]
    sentences = [value for name, value in properties if name == "health"]
    totals = Counter()
    for name, value in properties:
        if name == "tally":
            totals[value[0]] += value[1]
    if sentences or totals:
        terminalreporter.section("what the checks looked at")
        for sentence in sentences:
            terminalreporter.write_line(sentence)
        for what, count in totals.items():
            terminalreporter.write_line(f"in all, {count:,} {what}")
    not_tested = sorted(
        {
            report.longrepr[2].removeprefix("Skipped: ")
            for report in terminalreporter.stats.get("skipped", [])
            if isinstance(report.longrepr, tuple) and "NOT TESTED" in report.longrepr[2]
        }
    )
    if not_tested:
        terminalreporter.section("NOT TESTED", red=True, bold=True)
        for sentence in not_tested:
            terminalreporter.write_line(sentence, red=True)
