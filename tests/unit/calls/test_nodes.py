"""What is remembered of where sessions may be has a bound; beyond it everything goes on as before."""

from __future__ import annotations

import pytest

from accord import Guard, ToolCall, compile
from accord.calls import nodes
from accord.calls.nodes import nodes_of
from accord.projection.projection import projection_of

LOOP = "protocol P = rec L.{" + ", ".join(f"!t{n}.?t{n}.L" for n in range(9)) + "}"
ROW = ".".join(f"!t{n}" for n in range(30)) + ".end"


def nothing():
    """A tool."""


@pytest.fixture(name="most", params=[1, 2, 5, 12])
def _most(request, monkeypatch):
    monkeypatch.setattr(nodes, "_MOST", request.param)
    return request.param


def test_so_many_kinds_of_calls_are_remembered(most):
    remembering = nodes_of(projection_of(compile(LOOP), "P"))
    first, again = ([remembering.kind(f"t{n}", f"t{n}") for n in range(9)] for _ in range(2))
    assert [kind.label for kind in first] == [kind.label for kind in again] == [f"t{n}" for n in range(9)]
    assert sum(one is other for one, other in zip(first, again, strict=True)) == min(most, 9)


def held(remembering):
    return sum(1 + len(node.calls.log) for node in remembering._made)


@pytest.mark.parametrize("many", [1, 3])
def test_so_many_places_are_remembered_and_sessions_go_on_from_those_that_are_forgotten(most, many):
    """With so many calls of each message at the same time; some sessions begin before others have ended."""
    contract = compile(ROW)
    remembering = nodes_of(projection_of(contract, None))
    tools = {f"t{n}": nothing for n in range(30)}
    guards = [Guard(contract, tools=tools, patience=99) for _ in range(4)]
    for first in range(0, 30, many):
        for guard in guards:
            batch = [ToolCall(f"t{n}", {}, f"c{n}") for n in range(first, first + many)]
            assert [result.ok for result in guard.run(batch)] == [True] * many
            assert not guard.run([ToolCall("t0" if first else "t29")])[0].ok
            assert held(remembering) <= max(most, many + 1)
    assert [guard.status for guard in guards] == ["complete"] * 4
