"""Contracts of tables that were made elsewhere."""

from __future__ import annotations

import pickle

import pytest

from accord import Monitor, UsageError
from accord.machine.given import contract_of
from accord.machine.tables import END_STATE, Machine, Plain, Symbol

GO = Symbol("!", "go")


def test_it_runs_like_any_other():
    contract = contract_of(Machine((GO,), (Plain(((0, 1),)), END_STATE)), "going")
    monitor = Monitor(contract)
    assert (repr(monitor.send("go")), monitor.status) == ("Ok()", "complete")
    assert pickle.loads(pickle.dumps(contract)) == contract  # noqa: S301 - our own
    assert repr(contract) == "<Contract (bare) from going>"
    with pytest.raises(UsageError, match="has no text"):
        contract.to_json()


@pytest.mark.parametrize(
    ("states", "complaint"),
    [
        ((), "a state at least"),
        ((Plain(((1, 0),)),), "a symbol that the machine does not have"),
        ((Plain(((0, 1),)),), "a state that the machine does not have"),
        ((Plain(((0, 0), (0, 1))), END_STATE), "two edges for one symbol"),
    ],
)
def test_tables_that_are_none(states, complaint):
    with pytest.raises(UsageError, match=complaint):
        contract_of(Machine((GO,), states), "broken")
