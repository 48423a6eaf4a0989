"""Every way of judging recorded runs says the same, and a wrong one would be noticed."""

from __future__ import annotations

import os
from random import Random

import numpy as np
import pytest

from accord.audit import columns, labelled, labelled_files, steps
from tests.properties.auditing import campaign

SOAK = bool(os.environ.get("ACCORD_SOAK"))
CONTRACTS = 2_000 if SOAK else 80


@pytest.mark.parametrize("seed", range(4 if SOAK else 1))
def test_all_ways_agree(seed, tmp_path, health):
    seen, difference = campaign(Random(seed), CONTRACTS, tmp_path)
    assert difference is None
    for table in seen.tables():
        health(table.table())
        table.check(max(1, CONTRACTS // 150))
    for more in range(1, 9):  # what cannot be judged is rare
        if seen.broken:
            break
        folder = tmp_path / str(more)
        folder.mkdir()
        others, difference = campaign(Random(f"{seed} {more}"), CONTRACTS // 4, folder)
        assert difference is None
        seen.broken += others.broken
    assert seen.broken
    health(seen.sentence())


@pytest.mark.parametrize("few", [0, 10**9])
def test_it_does_not_matter_where_walking_begins(few, tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "_FEW", few)
    monkeypatch.setattr(columns, "_BLOCK", 7)
    monkeypatch.setattr(labelled_files, "_ROWS", 11)
    assert campaign(Random(77), 10, tmp_path)[1] is None


# -- planted bugs ------------------------------------------------------------------------------------------------------


def accepts_what_is_refused(monkeypatch):
    work_out = steps.Steps.work_out

    def wrong(self, row, column):
        code = work_out(self, row, column) & ~1
        self.rows[row][column] = code
        return code

    monkeypatch.setattr(steps.Steps, "work_out", wrong)


def forgets_the_last_run(monkeypatch):
    split = labelled_files._split_last

    def wrong(segments):
        front, last = split(segments)
        return front, None if len(segments.keys) > 3 else last

    monkeypatch.setattr(labelled_files, "_split_last", wrong)


def does_not_see_that_runs_come_back(monkeypatch):
    monkeypatch.setattr(labelled_files._Seen, "are_different", lambda _self: True)


def stands_in_any_order(monkeypatch):
    monkeypatch.setattr(columns, "_longest_first", lambda lengths: np.arange(len(lengths)))


def mistakes_rows_for_each_other(monkeypatch):
    monkeypatch.setattr(steps.Steps, "_key", staticmethod(lambda situation: situation.stage.standing.configurations))


def takes_any_example(monkeypatch):
    monkeypatch.setattr(labelled.np, "lexsort", lambda keys: np.argsort(keys[-1], kind="stable"))


PLANTED = [
    accepts_what_is_refused,
    forgets_the_last_run,
    does_not_see_that_runs_come_back,
    stands_in_any_order,
    mistakes_rows_for_each_other,
    takes_any_example,
]


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_bug_is_found(plant, tmp_path, monkeypatch):
    plant(monkeypatch)
    monkeypatch.setattr(columns, "_FEW", 2)
    try:
        difference = campaign(Random(3), 150, tmp_path)[1]
    except (IndexError, TypeError, AttributeError, ValueError) as error:
        difference = repr(error)
    assert difference is not None
