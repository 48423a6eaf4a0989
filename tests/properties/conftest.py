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
    """Values and keys that JSON can carry: neither a guard nor the studio takes others."""
    carried = [value for value in generate_data.UNHEARD_OF if "nan" not in repr(value)]
    monkeypatch.setattr(generate_data, "UNHEARD_OF", carried)
    monkeypatch.setattr(generate_time, "NO_KEYS", (1,))


@pytest.fixture(name="only_what_ledgers_hold")
def _only_what_ledgers_hold(monkeypatch, only_json):
    """No integers beyond 64 bits: ledgers describe them, and a session is not replayed from a description."""
    held = [value for value in generate_data.UNHEARD_OF if value != 10**400]
    monkeypatch.setattr(generate_data, "UNHEARD_OF", held)
