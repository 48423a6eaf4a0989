"""Diagnostics for programs: JSON, SARIF, GitHub."""

import json
import re

import pytest

from accord.diagnostics import Diagnostic, Note, Source, Span
from accord.diagnostics.codes import CODES
from accord.diagnostics.machine_readable import to_github, to_json, to_sarif
from accord.language import examine

TEXT = "!Ask.\n?{Yes, Yes}.Loop"


def findings(text=TEXT, name="dir/a b.accord"):
    return examine(Source(text, name))[1]


def test_json():
    first, second = to_json(findings())
    assert first == {
        "code": "E024",
        "severity": "error",
        "message": "`?Yes` stands twice in one choice",
        "file": "dir/a b.accord",
        "line": 2,
        "column": 8,
        "end_line": 2,
        "end_column": 11,
        "label": "which branch is meant cannot be told",
        "help": "join the two branches and choose after the message they share, or tell them apart by guards",
        "notes": [{"line": 2, "column": 3, "end_line": 2, "end_column": 6, "message": "first branch with it"}],
    }
    assert (second["code"], second["line"], second["column"]) == ("E021", 2, 13)


def test_json_of_nothing():
    assert to_json([]) == []


def test_sarif():
    log = json.loads(json.dumps(to_sarif(findings(), "1.2.3")))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("accord", "1.2.3")
    assert [rule["id"] for rule in driver["rules"]] == ["E021", "E024"]
    assert run["columnKind"] == "unicodeCodePoints"
    for result, finding in zip(run["results"], findings(), strict=True):
        assert result["ruleId"] == finding.code
        assert driver["rules"][result["ruleIndex"]]["id"] == finding.code
        assert result["level"] == "error"
        assert finding.message in result["message"]["text"]
        assert finding.help in result["message"]["text"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "dir/a%20b.accord"
    assert place["region"] == {"startLine": 2, "startColumn": 8, "endLine": 2, "endColumn": 11}
    (related,) = run["results"][0]["relatedLocations"]
    assert related["physicalLocation"]["region"]["startColumn"] == 3
    assert related["message"]["text"] == "first branch with it"


def test_sarif_rules_come_from_the_table_of_codes():
    log = to_sarif([Diagnostic(code, "m", Source("!a"), Span(0, 1)) for code in CODES], "1")
    rules = log["runs"][0]["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == sorted(CODES)
    for rule in rules:
        assert rule["shortDescription"]["text"] == CODES[rule["id"]].title


def test_sarif_of_nothing_is_a_run_without_results():
    (run,) = to_sarif([], "1")["runs"]
    assert run["results"] == []
    assert run["tool"]["driver"]["rules"] == []


def test_warnings_are_warnings_everywhere():
    (finding,) = findings("!p\u0430y")
    assert to_json([finding])[0]["severity"] == "warning"
    assert to_sarif([finding], "1")["runs"][0]["results"][0]["level"] == "warning"
    assert to_github([finding]).startswith("::warning ")


def test_github():
    lines = to_github(findings()).splitlines()
    assert lines[0] == (
        "::error file=dir/a b.accord,line=2,col=8,endLine=2,endColumn=11,title=E024::"
        "`?Yes` stands twice in one choice (help: join the two branches and choose after the message they share, "
        "or tell them apart by guards)"
    )
    assert len(lines) == 2


@pytest.mark.parametrize("hostile", ["\n::set-output name=x::y", "\r", "%0A", "::", ",", ":", "\x1b[31m"])
def test_github_commands_cannot_be_forged(hostile):
    finding = Diagnostic("E013", f"message{hostile}", Source("!a", f"file{hostile}"), Span(0, 1), help=f"help{hostile}")
    shown = to_github([finding])
    assert "\n" not in shown
    assert "\r" not in shown
    assert "\x1b" not in shown
    command = re.fullmatch(r"::error file=([^,:]*),line=1,col=1,endLine=1,endColumn=2,title=E013::(.*)", shown)
    assert command
    if "%" in hostile:
        assert hostile not in shown


def test_columns_count_characters():
    (finding,) = findings("!名前.?😀.X".replace("😀", "é"))
    assert to_json([finding])[0]["column"] == 8


@pytest.mark.parametrize("writer", [to_json, to_github, lambda ds: to_sarif(ds, "1")])
def test_file_names_that_are_not_utf_8_can_be_written(writer):
    # what `os.fsdecode` makes of the bytes b"caf\xe9.accord"
    finding = Diagnostic("E013", "m", Source("!a", "caf\udce9.accord"), Span(0, 1), notes=(Note(Span(0, 1), "n"),))
    assert json.dumps(writer([finding]))
