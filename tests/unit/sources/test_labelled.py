"""Rows of labels, in CSV and in Parquet."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.recorded import read

from accord.sources import Broken, detect
from accord.sources.labelled import message_of

ROWS = [
    ("r1", "!search", '{"to": "JFK"}'),
    ("r2", "!search", ""),
    ("r1", "?search", None),
    ("r2", '?"2nd try"', None),
    ("r1", "Approved", None),
]


def as_csv(rows, header="run,label,payload"):
    lines = [header]
    for row in rows:
        cells = ['"{}"'.format((cell or "").replace('"', '""')) for cell in row]
        lines.append(",".join(cells))
    return "\n".join(lines).encode()


def as_parquet(rows, **types):
    columns = list(zip(*rows, strict=True))
    names = ["run", "label", "payload"][: len(columns)]
    table = pa.table({n: pa.array(c, types.get(n)) for n, c in zip(names, columns, strict=True)})
    sink = io.BytesIO()
    parquet.write_table(table, sink)
    return sink.getvalue()


def told(runs):
    return {run.key: [(m.kind, m.name, m.payload, m.index) for m in run.messages] for run in runs}


EXPECTED = {
    "r1": [
        ("call", "search", {"to": "JFK"}, 0),
        ("result", "search", {"error": None}, 1),
        ("event", "Approved", {}, 2),
    ],
    "r2": [("call", "search", {}, 0), ("result", "2nd try", {"error": None}, 1)],
}


@pytest.mark.parametrize("data", [as_csv(ROWS), as_parquet(ROWS)], ids=["csv", "parquet"])
def test_rows_are_put_together_to_runs(data):
    assert told(read(data)) == EXPECTED


def test_formats_are_recognised():
    assert detect(as_csv(ROWS)).name == "csv"
    assert detect(b'"label","run"\n').name == "csv"
    assert detect(as_parquet(ROWS)).name == "parquet"
    assert detect(b"label,runs\n") is None


@pytest.mark.parametrize(
    ("label", "kind", "name"),
    [
        ("!a", "call", "a"),
        ("?a", "result", "a"),
        ("a", "event", "a"),
        ("B!a", "event", "B!a"),
        ('!"x y"', "call", "x y"),
        ('!"x', "event", '!"x'),
        ("!", "event", "!"),
    ],
)
def test_labels(label, kind, name):
    message = message_of(label, 4)
    assert (message.kind, message.name, message.index) == (kind, name, 4)


def test_columns_of_objects_and_numbers():
    rows = [(1, "!a", {"x": 1}), (1, "?a", {"x": 2})]
    (run,) = read(as_parquet(rows))
    assert run.key == "1"
    assert [message.payload["x"] for message in run.messages] == [1, 2]


def test_times():
    (run,) = read(b"run,label,at\nr,!a,1.5\nr,!b,\nr,!c,1970-01-01T00:00:10Z\n")
    assert [message.at for message in run.messages] == [1.5, None, 10.0]


def test_broken_rows_are_told_and_the_rest_is_read():
    runs = read(as_csv([("r", "!a", ""), ("", "!a", ""), ("r", "", ""), ("r", "!a", "[1]"), ("whole", "!b", "")]))
    broken = [(run.line, run.reason) for run in runs if isinstance(run, Broken)]
    left_out = "; run r is left out"
    told = ["`run` is empty", f"`label` is empty{left_out}", f"`payload` is no JSON object{left_out}"]
    assert broken == [(3, told[0]), (4, told[1]), (5, told[2])]
    assert [run.key for run in runs if not isinstance(run, Broken)] == ["whole"]
    runs = read(as_parquet([("r", "!a", None), (None, "!a", None)]))
    assert [run.reason for run in runs if isinstance(run, Broken)] == ["row 1: `run` is empty"]


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("csv", b"run,labels\n1,!a\n", "no column `label`; there are `run`, `labels`"),
        ("csv", b"", "no column `run`; there are "),
        ("csv", b'run,label\n1,"!a', "no CSV: unexpected end of data"),
        ("csv", b"run,label\n1,\xff\n", "it is not UTF-8"),
        ("parquet", b"PAR1 and no more", "no Parquet: "),
        ("parquet", b"PAR1", "no Parquet: "),
    ],
)
def test_damaged_files(name, data, reason):
    found = read(data, name)
    assert len([run for run in found if isinstance(run, Broken)]) == 1
    assert found[-1].reason.startswith(reason) or found[0].reason.startswith(reason)
    sink = io.BytesIO()
    parquet.write_table(pa.table({"x": [1]}), sink)
    assert read(sink.getvalue(), "parquet")[0].reason == "no column `run`; there are `x`"


def test_a_byte_that_is_no_text_breaks_its_run_alone():
    rows = b'run,label,payload\na,!x,\nb,!x\xff,\na,!y,\nb,!y,\n\xff,!x,\nc,!x,"{""t"": ""\xc3\xa4""}"\n'
    runs = read(rows, "csv")
    assert [(run.line, run.reason) for run in runs if isinstance(run, Broken)] == [
        (3, "it is not UTF-8; run b is left out"),
        (6, "it is not UTF-8"),
    ]
    whole = {run.key: [m.name for m in run.messages] for run in runs if not isinstance(run, Broken)}
    assert whole == {"a": ["x", "y"], "c": ["x"]}
