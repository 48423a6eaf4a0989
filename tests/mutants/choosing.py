"""A plugin for pytest that runs chosen tests in a chosen order and writes down which fails; only `trying` uses it.

A test that takes far longer than it did without the mistake hangs: that has found the mistake, and ends the process.
"""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import pytest

ASKED = json.loads(Path(os.environ["ACCORD_MUTANTS_ASKED"]).read_text())
ANSWER = Path(os.environ["ACCORD_MUTANTS_ANSWER"])
PLACES = {test: number for number, test in enumerate(ASKED["tests"])}
BEGUN = time.monotonic()
RAN: list[str] = []


def answered(verdict: str, by: str = "") -> None:
    ANSWER.write_text(json.dumps({"verdict": verdict, "by": by, "ran": len(RAN)}))


def hung(test: str) -> None:
    answered("hung", test)
    os._exit(1)


def asked_as(item) -> str | None:
    """What a test was asked as: by its own name, or as one of its file; `None` if it was not."""
    names = (item.nodeid, item.nodeid.partition("::")[0])
    return next((name for name in names if name in PLACES), None)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items) -> None:
    items[:] = sorted((item for item in items if asked_as(item)), key=lambda item: PLACES[asked_as(item)])


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    watching = threading.Timer(ASKED["tests"][asked_as(item)], hung, [item.nodeid])
    watching.daemon = True
    watching.start()
    yield
    watching.cancel()
    RAN.append(item.nodeid)
    if time.monotonic() - BEGUN > ASKED["seconds"]:
        item.session.shouldstop = "no time is left for this mistake"


def pytest_runtest_logreport(report) -> None:
    if report.failed:
        answered("found", report.nodeid)
        os._exit(1)


def pytest_collectreport(report) -> None:
    if report.failed:
        answered("found", f"{report.nodeid} (collecting)")
        os._exit(1)


def pytest_sessionfinish() -> None:
    answered("survived" if RAN else "unreached")
    os._exit(0)
