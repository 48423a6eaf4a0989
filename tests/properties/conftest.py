"""What the property tests share."""

from __future__ import annotations

import pytest

from accord.monitor import monitor
from tests.properties import generate_data, generate_time


@pytest.fixture(name="crashes_are_no_evidence")
def _crashes_are_no_evidence(monkeypatch):
    """A planted bug that breaks the monitor would be noticed by anything: here it fails the test."""

    def blocked(reason):
        raise AssertionError(f"the planted bug is broken itself: {reason}")

    monkeypatch.setattr(monitor, "Blocked", blocked)


@pytest.fixture(name="only_json")
def _only_json(monkeypatch):
    """Values and keys that JSON can carry: what is none reaches neither a guard nor the studio."""
    carried = [value for value in generate_data.UNHEARD_OF if "nan" not in repr(value)]
    monkeypatch.setattr(generate_data, "UNHEARD_OF", carried)
    monkeypatch.setattr(generate_time, "NO_KEYS", (1,))
