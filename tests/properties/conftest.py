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
    """Values and keys that go everywhere: guards and the studio take no NaN, and ledgers only describe huge numbers."""
    carried = [value for value in generate_data.UNHEARD_OF if "nan" not in repr(value) and value != 10**400]
    monkeypatch.setattr(generate_data, "UNHEARD_OF", carried)
    monkeypatch.setattr(generate_time, "NO_KEYS", (1,))
