"""A table that cannot fail would be worse than none."""

from __future__ import annotations

import pytest
from tests.census import Census


def census():
    return Census("what", ("loop", "jump"), ("head", "last"), {("jump", "head"): "a loop of nothing"})


def filled():
    made = census()
    made.add([("loop", "head"), ("loop", "last"), ("jump", "last")] * 3)
    return made


def test_a_full_table_passes_and_is_printed():
    made = filled()
    made.check(3)
    assert made.table().splitlines() == [
        "what  head  last",
        "loop     3     3",
        "jump     —     3",
        "— jump × head: a loop of nothing",
    ]


def test_cells_that_are_explained_alike_are_told_together():
    made = Census("what", ("loop",), ("head", "last"), {("loop", "head"): "no loops", ("loop", "last"): "no loops"})
    assert made.table().splitlines()[2:] == ["— loop × head, last: no loops"]


def test_a_cell_below_the_floor_fails():
    with pytest.raises(AssertionError, match="loop × head: 3, less than 4"):
        filled().check(4)


def test_an_explained_cell_that_is_not_empty_fails():
    made = filled()
    made.add([("jump", "head")])
    with pytest.raises(AssertionError, match="jump × head: 1, although a loop of nothing"):
        made.check(1)


def test_a_row_or_a_column_is_explained_at_once():
    made = Census("what", ("loop", "jump"), ("head", "last"), {("*", "head"): "no heads", ("jump", "*"): "no jumps"})
    made.add([("loop", "last")])
    made.check(1)


@pytest.mark.parametrize("cell", [("loop", "tail"), ("lop", "head")])
def test_a_cell_that_is_not_in_the_table_is_an_error(cell):
    with pytest.raises(ValueError, match="no such cell"):
        census().add([cell])
    with pytest.raises(ValueError, match="no such cell"):
        Census("what", ("loop",), ("head",), {cell: "why"})


def test_cells_with_one_reason_are_explained_together():
    never = {
        ("loop", "head"): "no heads",
        ("loop", "last"): "no heads",
        ("jump", "head"): "no heads",
        ("jump", "last"): "no heads",
        ("end", "head"): "no heads",
        ("end", "last"): "no ends",
    }
    made = Census("what", ("loop", "jump", "end"), ("head", "last"), never)
    assert made.table().splitlines()[4:] == [
        "— loop, jump × head, last: no heads",
        "— end × head: no heads",
        "— end × last: no ends",
    ]
