from __future__ import annotations

import json

import pytest

HOSTILE = '!"x\\u001b[31m[red]boo[/red]".end'


def test_a_clean_file(accord, write):
    result = accord("check", write("!a.end"))
    assert (result.exit_code, result.stdout, result.stderr) == (0, "1 file is fine\n", "")


def test_a_folder_is_searched_and_sorted(accord, write, tmp_path):
    write("!a.X", "b/z.accord")
    write("!a.Y", "b/a.accord")
    write("!a.end", "c.accord")
    write("!a.Z", "ignored.txt")
    write("!a.Z", ".venv/hidden.accord")
    result = accord("check", tmp_path)
    assert result.exit_code == 1
    assert result.stdout.index("`Y`") < result.stdout.index("`X`")
    assert "`Z`" not in result.stdout
    assert result.stdout.endswith("\n2 errors in 2 of 3 files\n")


def test_a_file_named_twice_is_checked_once(accord, write, tmp_path):
    path = write("!a.X")
    result = accord("check", path, tmp_path, path)
    assert result.stdout.endswith("1 error in 1 of 1 file\n")


def test_warnings_count_as_findings(accord, write):
    result = accord("check", write("!p\u0430y.end"))
    assert result.exit_code == 1
    assert result.stdout.endswith("1 warning in 1 of 1 file\n")


@pytest.mark.parametrize("name", ["missing.accord", "missing/folder"])
def test_a_missing_path_is_wrong_usage(accord, tmp_path, name):
    result = accord("check", tmp_path / name)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "no such file or folder" in result.stderr


def test_a_folder_without_contracts_is_wrong_usage(accord, tmp_path):
    result = accord("check", tmp_path)
    assert result.exit_code == 2
    assert "no .accord file" in result.stderr


def test_standard_input(accord):
    assert accord("check", "-", input="!a.end").exit_code == 0
    result = accord("check", "-", input="!a.X")
    assert result.exit_code == 1
    assert "<stdin>:1:4" in result.stdout


def test_bytes_that_are_no_text(accord, write):
    for result in (accord("check", write(b"!a.\xff")), accord("check", "-", input=b"!a.\xff")):
        assert result.exit_code == 1
        assert "E017" in result.stdout
        assert "byte 3 is not UTF-8" in result.stdout


def test_what_only_compiling_finds(accord, write, monkeypatch):
    from accord.choreography import compiling
    from accord.limits import Limits

    compile_document = compiling.compile_document
    monkeypatch.setattr(compiling, "compile_document", lambda d, _: compile_document(d, Limits(states=2)))
    result = accord("check", write("!a.!b.!c.end"))
    assert result.exit_code == 1
    assert "E028" in result.stdout


def test_json(accord, write):
    path = write(f"{HOSTILE[:-4]}.X")
    result = accord("check", path, "--format", "json")
    found = json.loads(result.stdout)
    assert [(f["code"], f["severity"], f["file"]) for f in found] == [
        ("W015", "warning", str(path)),
        ("E021", "error", str(path)),
    ]
    assert result.stdout.isascii()
    assert "\x1b" not in result.stdout
    assert json.loads(accord("check", write("end"), "--format", "json").stdout) == []


def test_sarif(accord, write):
    path = write("!a.X")
    log = json.loads(accord("check", path, "--format", "sarif").stdout)
    assert log["version"] == "2.1.0"
    assert [r["ruleId"] for r in log["runs"][0]["results"]] == ["E021"]


def test_github(accord, write):
    result = accord("check", write("!a.X"), "--format", "github")
    assert result.stdout.startswith("::error file=")
    assert result.exit_code == 1
    assert accord("check", write("end"), "--format", "github").stdout == ""


@pytest.mark.parametrize("format_", ["text", "json", "sarif", "github"])
def test_hostile_labels_stay_inert(accord, write, format_):
    result = accord("check", write(HOSTILE), "--format", format_)
    assert "\x1b" not in result.output
    assert "[red]boo[/red]" in result.output


def test_findings_in_data_and_rules(accord, write):
    fine = 'protocol P = !a(x as r).!b(x == r).?ok by human.end\n// why\nrule "r" { before b // really\nrequire a }'
    result = accord("check", write(fine))
    assert (result.exit_code, result.stdout) == (0, "1 file is fine\n")
    never = 'protocol P = !a.end\nrule "r" { before a require b }'
    for wrong, code in (("!b(x == r).end", "E040"), ("!ok by human.end", "E046"), (never, "W051")):
        result = accord("check", write(wrong))
        assert result.exit_code == 1
        assert f"[{code}]" in result.stdout
