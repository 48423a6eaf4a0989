"""What all tests share: the volume of the long checks, and health figures shown at the end of the run."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="session")
def soak() -> bool:
    """Whether the long checks run at full volume (`make soak`)."""
    return bool(os.environ.get("ACCORD_SOAK"))


@pytest.fixture
def health(record_property):
    """Call it with a sentence about what a check looked at; the sentences are printed after the run."""
    return lambda sentence: record_property("health", sentence)


def pytest_terminal_summary(terminalreporter) -> None:
    sentences = [
        value
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", "") == "call"
        for name, value in report.user_properties
        if name == "health"
    ]
    if sentences:
        terminalreporter.section("what the checks looked at")
        for sentence in sentences:
            terminalreporter.write_line(sentence)
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
