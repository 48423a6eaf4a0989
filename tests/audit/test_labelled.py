"""Labelled files that are judged in columns, and those that are not: the same comes out."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest
from pyarrow import parquet

from accord import compile
from accord.audit import worker
from accord.audit.judging import is_for_columns
from accord.audit.worker import Job, judge_file
from tests.properties.auditing import comparable, judged

ROWS = [
    ("r1", "!search"), ("r1", "?search"), ("r1", "done"), ("r2", "!book"), ("r2", "?book"), ("r1", "!book"),
    ("r3", "?search"), ("r3", "!mystery"), ("r3", "!search"), ("r4", "?Unrecognized"), ("r5", "noise"), ("r5", "!book"),
]  # fmt: skip

EVENTS = """
events {
    Look   when call search
    Saw    when result of search
    ignore when event noise
    Book   when call book
    Other  otherwise
}
"""

CONTRACTS = {
    "labels": "!search.?search.!book.end",
    "rules": 'rule "r" { before book require search }\nrule "never" { after x forbid y }',
    "events": EVENTS + 'rule "r" { before each Book require Look }',
    "protocol": EVENTS.replace("Other  otherwise", "") + "protocol P = rec L.{!Look.L, ?Saw.L, !Book.L, end}",
    "gates": "?done by human.!book.end",
}


def write(path, rows, **columns):
    table = pa.table({"run": [run for run, _ in rows], "label": [label for _, label in rows], **columns})
    parquet.write_table(table, path)


def ways(contract, path, tmp_path):
    job = Job(compile(contract))
    return [
        judged(way, job, path, tmp_path)
        for way in (worker._judge_in_columns, worker._judge_by_table, worker._judge_by_steps)
    ]


@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=CONTRACTS)
@pytest.mark.parametrize("together", [True, False], ids=["together", "scattered"])
def test_events_blocks_mean_the_same_in_columns(contract, together, tmp_path):
    path = tmp_path / "a.parquet"
    write(path, sorted(ROWS, key=lambda row: row[0]) if together else ROWS)
    columns, table, steps = ways(contract, path, tmp_path)
    assert columns is not None
    assert columns[0] == table[0] == steps[0]
    assert comparable(columns[1]) == comparable(table[1]) == comparable(steps[1])
    assert len({verdict.status for verdict in columns[0]}) >= 1


def test_numbers_and_dictionaries_are_runs_too(tmp_path):
    numbers = [(int(run[1:]), label) for run, label in ROWS]
    write(tmp_path / "numbers.parquet", numbers)
    encoded = pa.array([run for run, _ in ROWS]).dictionary_encode()
    table = pa.table({"run": encoded, "label": pa.array([label for _, label in ROWS]).dictionary_encode()})
    parquet.write_table(table, tmp_path / "encoded.parquet")
    for name in ("numbers", "encoded"):
        columns, by_table, _ = ways(CONTRACTS["labels"], tmp_path / f"{name}.parquet", tmp_path)
        assert columns[0] == by_table[0]
        assert len(columns[0]) == 5


ODD = {
    "a payload": {"payload": ["{}"] * len(ROWS)},
    "no run": {"run": [None, *(run for run, _ in ROWS[1:])]},
    "an empty label": {"label": ["", *(label for _, label in ROWS[1:])]},
    "runs that are no names": {"run": [1.5] * len(ROWS)},
}


@pytest.mark.parametrize("columns", ODD.values(), ids=ODD)
def test_what_has_to_be_looked_at_row_by_row_is_not_for_columns(columns, tmp_path):
    path = tmp_path / "a.parquet"
    table = {"run": [run for run, _ in ROWS], "label": [label for _, label in ROWS], **columns}
    parquet.write_table(pa.table(table), path)
    in_columns, table, _ = ways(CONTRACTS["labels"], path, tmp_path)
    assert in_columns is None
    assert table is not None
    stream = io.BytesIO()
    judge_file(Job(compile(CONTRACTS["labels"])), str(path), stream)  # which goes on by itself
    assert stream.getvalue().count(b"\n") >= 2


def test_a_file_without_rows_has_no_runs(tmp_path):
    parquet.write_table(
        pa.table({"run": pa.array([], pa.string()), "label": pa.array([], pa.string())}), tmp_path / "a.parquet"
    )
    columns, table, _ = ways(CONTRACTS["labels"], tmp_path / "a.parquet", tmp_path)
    assert columns[0] == table[0] == []


def test_the_rest_of_a_run_is_not_taken_for_one_that_cannot_be_judged(tmp_path):
    rows = [("r1", "!a"), ("r2", "!a"), ("r1", "!b"), ("r2", "!b")]
    write(tmp_path / "f.parquet", rows)  # begun with `!b`, it could be with either partner
    found = ways("{B!b.end, C!b.end, !a.!b.end}", tmp_path / "f.parquet", tmp_path)
    assert [verdict.status for verdict in found[0][0]] == ["conforming", "conforming"]


def test_contracts_that_look_further_are_not_for_columns():
    assert is_for_columns(compile("!a.?b.end"))
    assert not is_for_columns(compile("!a(x == 1).end"))
    assert not is_for_columns(compile("!a within 3s else (!b.end).end"))
    assert not is_for_columns(compile('rule "r" { each id: at most 1 a }'))
    assert not is_for_columns(compile('events { A when call a where x == 1 }\nrule "r" { at most 1 A }'))


def test_a_counter_without_end_is_judged_without_the_table(tmp_path, monkeypatch):
    """`after each` counts as far as runs go; past the bound on rows the monitor's own steps are taken."""
    monkeypatch.setattr("accord.audit.steps._MOST_ROWS", 20)
    write(tmp_path / "a.parquet", [("r", "!q")] * 50 + [("s", "!q"), ("s", "?a")])
    contract = 'rule "r" { after each q require ?a }'
    columns, table, steps = ways(contract, tmp_path / "a.parquet", tmp_path)
    assert columns is None
    assert table is None
    assert [verdict.status for verdict in steps[0]] == ["incomplete", "conforming"]
