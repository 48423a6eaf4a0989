"""What a program that uses accord needs for its own tests.

`StoreConformance` is what every store has to pass, `StoreHarness` what it needs to know of yours. `FaultyStore` wraps a
store and breaks it on purpose. `EverySchedule`, `FreshSchedules` and `RandomSchedule` decide which agent moves next.
`servers` starts PostgreSQL and Redis on loopback. pytest is needed for the suite only. `assert_conforms` holds a trace
to a contract; the fixture `accord_trace` is in `pytest_plugin`, which pytest finds.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accord.testing.agreement import check_session
    from accord.testing.conformance import StoreConformance
    from accord.testing.faulty import Fault, FaultyStore
    from accord.testing.harness import StoreHarness
    from accord.testing.schedules import EverySchedule, FreshSchedules, RandomSchedule
    from accord.testing.traces import TraceCase, assert_conforms

__all__ = [
    "EverySchedule",
    "Fault",
    "FaultyStore",
    "FreshSchedules",
    "RandomSchedule",
    "StoreConformance",
    "StoreHarness",
    "TraceCase",
    "assert_conforms",
    "check_session",
]

_HOME = {
    "EverySchedule": "accord.testing.schedules",
    "Fault": "accord.testing.faulty",
    "FaultyStore": "accord.testing.faulty",
    "FreshSchedules": "accord.testing.schedules",
    "RandomSchedule": "accord.testing.schedules",
    "StoreConformance": "accord.testing.conformance",
    "StoreHarness": "accord.testing.harness",
    "TraceCase": "accord.testing.traces",
    "assert_conforms": "accord.testing.traces",
    "check_session": "accord.testing.agreement",
}


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'accord.testing' has no attribute {name!r}")
    if name == "StoreConformance":
        import pytest  # noqa: PLC0415 - only the suite needs it

        rewritten = ("accord.testing.conformance", "accord.testing.agreement")
        pytest.register_assert_rewrite(*(module for module in rewritten if module not in sys.modules))
    return getattr(import_module(home), name)
