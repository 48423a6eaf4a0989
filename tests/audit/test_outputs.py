"""Reports for programs hold every run, and what runs say does nothing in them."""

from __future__ import annotations

import csv
import io
import json
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner
from pyarrow import parquet

from accord.audit import make_report
from accord.audit.outputs.as_json import write_json
from accord.audit.outputs.junit import write_junit
from accord.audit.outputs.page import write_page
from accord.audit.outputs.sarif import write_sarif
from accord.audit.outputs.tabular import COLUMNS, write_csv, write_parquet
from accord.cli.app import app
from tests.audit import hostile
from tests.audit.recorded import FINE, HASTY, TWICE, chat, write_tau


@pytest.fixture
def report(audited, tmp_path):
    write_tau(tmp_path / "a.json", [FINE, HASTY, TWICE], [1.0, 1.0, 0.0])
    return make_report(audited([tmp_path / "a.json"]))


@pytest.fixture
def hostile_report(audited, tmp_path):
    nasty = tmp_path / f"={hostile.FORMULA[:5]}<b>.json"
    run = [
        {"role": "user", "content": hostile.ALL},
        *chat(f"agent: {hostile.ALL}", "call pay", f"result: {hostile.ALL}"),
    ]
    rows = [
        {"task_id": hostile.FORMULA, "trial": hostile.MARKUP, "reward": 1.0, "traj": run, "info": {}},
        {"task_id": hostile.TERMINAL, "trial": 0, "reward": 0.0, "traj": run, "info": {}},
    ]
    nasty.write_text(json.dumps(rows).replace("\\ud800", ""))
    return make_report(audited([nasty], hostile.CONTRACT), by=["task"])


def written(write, report) -> str:
    stream = io.StringIO()
    write(report, stream)
    return stream.getvalue()


def test_json_has_all_runs(report):
    value = json.loads(written(write_json, report))
    assert [run["status"] for run in value["runs"]] == ["conforming", "violating", "violating"]
    assert set(value["runs"][1]) >= {"run", "file", "status", "violation", "metadata"}
    assert set(value["runs"][1]["violation"]) >= {"clause", "state", "arrived", "allowed", "index", "sentence"}
    assert value["runs"][1]["metadata"]["reward"] == 1.0
    assert value["outcome"]["passed_but_violated"] == 1


def test_junit_is_xml_with_a_case_for_each_run(report, hostile_report):
    suite = ET.fromstring(written(write_junit, report))[0]  # noqa: S314 - our own
    assert [len(case) for case in suite] == [0, 1, 1]
    assert suite.get("failures") == "2"
    cases = ET.fromstring(written(write_junit, hostile_report))[0]  # noqa: S314 - our own
    assert cases[1].get("name").startswith("\\x1b[31m")


def test_sarif_names_clauses_and_places(report, hostile_report):
    for one in (report, hostile_report):
        (run,) = json.loads(written(write_sarif, one))["runs"]
        rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
        assert len(run["results"]) == 2
        assert {result["ruleId"] for result in run["results"]} == rules
        assert all("\x1b" not in result["message"]["text"] for result in run["results"])


def test_csv_has_a_line_for_each_run(report):
    rows = list(csv.DictReader(io.StringIO(written(write_csv, report))))
    assert tuple(rows[0]) == COLUMNS
    assert [(row["run"], row["status"], row["index"]) for row in rows] == [
        ("0/0", "conforming", ""), ("1/0", "violating", "1"), ("2/0", "violating", "3"),
    ]  # fmt: skip


def test_no_cell_is_a_formula_or_moves_the_cursor(hostile_report):
    for row in csv.reader(io.StringIO(written(write_csv, hostile_report))):
        for cell in row:
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
            assert "\x1b" not in cell


def test_parquet_has_a_row_for_each_run(report, tmp_path):
    write_parquet(report, tmp_path / "out.parquet")
    table = parquet.read_table(tmp_path / "out.parquet")
    assert table.column_names == list(COLUMNS)
    assert table.column("status").to_pylist() == ["conforming", "violating", "violating"]
    assert table.column("position").to_pylist() == [None, 0, 2]


def test_the_page_holds_no_markup_of_runs(hostile_report):
    page = written(write_page, hostile_report)
    head, _, rest = page.partition('<script type="application/json" id="data">')
    data, _, script = rest.partition("</script>")
    assert "<" not in data
    assert hostile.MARKUP not in page
    assert "owned" not in head + script
    assert json.loads(data)["violations"][0]["clause"].startswith('rule "<b>bold')
    assert "default-src 'none'" in head
    assert "http" not in script.replace("http-equiv", "")


def test_the_terminal_is_not_moved(hostile_report):
    from accord.cli.audit_lines import print_report
    from accord.cli.terminal import Screen

    lines = []

    class Kept(Screen):
        def print(self, text: str = "") -> None:
            lines.append(text)

    print_report(Kept(err=False, colour=False, width=80), hostile_report)
    text = "\n".join(lines)
    assert not {"\x1b", "\x07", "\u202e", "\x00"} & set(text)
    assert "\\x1b[31mred" in text


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.fixture
def command(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "c.accord").write_text(
        'events { Yes when user says "yes"\nPay when call pay }\nrule "r" { before Pay require Yes }\n'
    )
    write_tau(tmp_path / "bad.json", [FINE, HASTY])
    write_tau(tmp_path / "good.json", [TWICE])
    (tmp_path / "broken.jsonl").write_text('{"messages": []}\n{\n')
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, ["audit", "c.accord", *arguments], catch_exceptions=False)


def test_exit_statuses(command):
    assert command("good.json").exit_code == 0
    assert command("bad.json").exit_code == 1
    assert command("good.json", "broken.jsonl").exit_code == 0
    strict = command("good.json", "broken.jsonl", "--strict")
    assert (strict.exit_code, "--strict makes that an error" in strict.stderr) == (2, True)
    assert command("nothing.json").exit_code == 2
    assert command("good.json", "--by", "modell").exit_code == 2
    assert command("good.json", "--no-cache", "--cache", "x").exit_code == 2
    assert command("good.json", "--address", "x").exit_code == 2


def test_every_output_is_written_at_once(command, tmp_path):
    outputs = [
        ("--html", "o.html"),
        ("--csv", "o.csv"),
        ("--junit", "o.xml"),
        ("--sarif", "o.sarif"),
        ("--parquet", "o.pq"),
    ]
    done = command("bad.json", "--json", *(word for pair in outputs for word in pair))
    assert json.loads(done.stdout)["total"]["violating"] == 2
    assert all((tmp_path / name).stat().st_size > 100 for _, name in outputs)
    missing = command("bad.json", "--csv", "no/such/folder.csv")
    assert (missing.exit_code, "cannot write" in missing.stderr) == (2, True)


def test_the_second_time_comes_from_the_cache(command):
    assert json.loads(command("bad.json", "--json").stdout)["run_info"]["files_from_cache"] == 0
    assert json.loads(command("bad.json", "--json").stdout)["run_info"]["files_from_cache"] == 1
    assert json.loads(command("bad.json", "--json", "--no-cache").stdout)["run_info"]["files_from_cache"] == 0
