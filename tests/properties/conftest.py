"""What the property tests share."""

from __future__ import annotations

import pytest

from accord.monitor import monitor


@pytest.fixture(name="crashes_are_no_evidence")
def _crashes_are_no_evidence(monkeypatch):
    """A planted bug that breaks the monitor would be noticed by anything: here it fails the test."""

    def blocked(reason):
        raise AssertionError(f"the planted bug is broken itself: {reason}")

    monkeypatch.setattr(monitor, "Blocked", blocked)
