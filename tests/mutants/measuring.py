"""A plugin for pytest that writes down which lines each test executes, and how long it takes; for `nearest` alone."""

from __future__ import annotations

import json
import os
import warnings
from collections import defaultdict
from pathlib import Path

import coverage
import pytest

from tests.mutants.parts import NOT_MEASURED

PLACE = Path(os.environ["ACCORD_MUTANTS_MAP"])
COVERAGE = coverage.Coverage(
    data_file=str(PLACE), source=[os.environ["ACCORD_MUTANTS_SOURCE"]], config_file=False, messages=False
)
SECONDS: defaultdict[str, float] = defaultdict(float)
NOT_PASSED: dict[str, str] = {}


def pytest_configure() -> None:
    COVERAGE.start()


def pytest_collection_modifyitems(items) -> None:
    for item in items:
        if why := NOT_MEASURED.get(item.name.partition("[")[0]):
            NOT_PASSED[item.nodeid] = why
    items[:] = [item for item in items if item.nodeid not in NOT_PASSED]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    COVERAGE.switch_context(item.nodeid)
    yield
    COVERAGE.switch_context("")


def pytest_runtest_logreport(report) -> None:
    SECONDS[report.nodeid] += report.duration
    if not report.passed:
        NOT_PASSED[report.nodeid] = report.outcome


def pytest_sessionfinish() -> None:
    COVERAGE.stop()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", coverage.exceptions.CoverageWarning)  # that a file uses nothing of accord
        COVERAGE.save()
    PLACE.with_suffix(".json").write_text(json.dumps({"seconds": SECONDS, "not_passed": NOT_PASSED}))


def pytest_unconfigure() -> None:
    os._exit(0)  # whatever tests have left running
