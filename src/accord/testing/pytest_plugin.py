"""The plugin for pytest: the fixture `accord_trace`, and `--accord-update`.

It is found by pytest where accord is installed, and imports nothing of accord before a test asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from accord.testing.traces import TraceCase

__all__ = ["accord_trace", "pytest_addoption"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--accord-update`."""
    group = parser.getgroup("accord")
    group.addoption(
        "--accord-update",
        action="store_true",
        default=False,
        help="accept the traces of this run as the snapshots that later runs are held to",
    )


@pytest.fixture
def accord_trace(request: pytest.FixtureRequest) -> TraceCase:
    """The trace of this test: record with `accord_trace.recorder` or run `accord_trace.probe(…)`, then assert.

    `assert_conforms(contract)` holds it to a contract, `assert_unchanged()` to the snapshot in `__accord__` beside the
    test file.
    """
    from accord.testing.traces import TraceCase  # noqa: PLC0415 - loaded by tests that ask for it

    node = request.node
    name = node.nodeid.rpartition("/")[2]
    return TraceCase(name, node.path.parent / "__accord__", update=request.config.getoption("--accord-update"))
