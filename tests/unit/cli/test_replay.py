from __future__ import annotations

import json

import pytest

ASK = "!Ask.?{Yes.end, No}.!Sorry.end"


def test_a_session_that_keeps_the_contract(accord, write):
    result = accord("replay", write(ASK), "!Ask ?No", "!Sorry", "end")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "   1  !Ask    ok\n   2  ?No     ok\n   3  !Sorry  ok\n   4  end     ok\ncomplete after 4 events\n"
    )


def test_a_violation_halts_and_is_explained(accord, write):
    result = accord("replay", write(ASK), "!Ask", "!Sorry", "?Yes")
    assert result.exit_code == 1
    explanation = (
        "`!Sorry` is not allowed yet. To make it legal, first wait for `?No`; then `!Sorry` may follow. "
        "Allowed now: `?No` or `?Yes`."
    )
    assert result.stdout.splitlines() == [
        "   1  !Ask    ok",
        "   2  !Sorry  VIOLATION",
        f"      {explanation}",
        "   3  ?Yes    blocked  monitor halted after a previous violation",
        "violated after 3 events",
    ]


def test_refusing_goes_on(accord, write):
    result = accord("replay", write(ASK), "--mode", "refuse", "!Ask", "!Sorry", "?Yes")
    assert result.exit_code == 1
    assert result.stdout.endswith("   3  ?Yes    ok\ncomplete after 3 events\n")


def test_what_is_still_owed(accord, write):
    result = accord("replay", write(ASK), "!Ask")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "running after 1 event; still owed: ?No or ?Yes")
    result = accord("replay", write(ASK), "!Ask", "end")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1] == "incomplete after 2 events; still owed: ?No or ?Yes"


def test_a_word_that_was_not_recognised(accord, write):
    result = accord("replay", write(ASK), "!Ask", "?Unrecognized", "?Yes")
    assert result.exit_code == 0
    assert "?Unrecognized  unrecognized" in result.stdout


def test_events_after_the_end_are_refused(accord, write):
    result = accord("replay", write("!a.end"), "!a end !a")
    assert result.exit_code == 1
    assert "blocked  the session is closed" in result.stdout


@pytest.mark.parametrize("arguments", [[], ["-"]])
def test_standard_input(accord, write, arguments):
    result = accord("replay", write(ASK), *arguments, input='!Ask\n{"receive": "Yes"}\n')
    assert result.exit_code == 0
    assert result.stdout.endswith("complete after 2 events\n")


def test_a_bad_line_is_reported_after_the_good_ones(accord, write):
    result = accord("replay", write(ASK), input="!Ask\nhello\n")
    assert (result.exit_code, result.stdout) == (2, "   1  !Ask    ok\n")
    assert result.stderr.startswith("error: line 2: ")


def test_a_bad_argument_is_reported_before_anything_runs(accord, write):
    result = accord("replay", write(ASK), "!Ask", "hello")
    assert (result.exit_code, result.stdout) == (2, "")


def test_partners(accord, write):
    path = write("{B!x.end, C!x.end}")
    assert accord("replay", path, "B!x").exit_code == 0
    result = accord("replay", path, "!x")
    assert result.exit_code == 2
    assert "`!x`: " in result.stderr
    assert "`B` or `C`" in result.stderr


def test_json_lines(accord, write):
    result = accord("replay", write(ASK), "--json", "!Ask", "?Unrecognized", "!Sorry", "?Yes")
    assert result.exit_code == 1
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line.get("verdict") for line in lines] == ["ok", "unrecognized", "violation", "blocked", None]
    assert [line.get("position") for line in lines] == [0, 1, 2, 3, None]
    assert lines[2]["expected"] == ["?No", "?Yes"]
    assert lines[2]["explanation"].startswith("`!Sorry` is not allowed yet")
    assert lines[4] == {"status": "violated", "events": 4, "violations": 1, "owed": []}


def test_one_of_several_protocols(accord, write):
    path = write("protocol P = !a.end\nprotocol Q = ?b.end")
    assert accord("replay", path, "--protocol", "Q", "?b").exit_code == 0
    result = accord("replay", path, "?b")
    assert result.exit_code == 2
    assert "several protocols" in result.stderr


def test_hostile_labels_stay_inert(accord, write):
    path = write('!"\\u001b[31m[red]".end')
    for flags in ([], ["--json"]):
        result = accord("replay", path, *flags, "!\x1b[31m[red]", "?\x1b]0;boo\x07[bold]\u202e")
        assert result.exit_code == 1
        assert not any(c in result.output for c in "\x1b\x07\u202e")
        assert "[bold]" in result.output
    result = accord("replay", path, "\x1b[31m")
    assert result.exit_code == 2
    assert "\x1b" not in result.stderr


def test_a_long_input_is_not_kept(accord, write):
    result = accord("replay", write("rec L.!a.L"), "--json", input="!a !a !a !a !a\n" * 2000)
    assert json.loads(result.stdout.splitlines()[-1]) == {
        "status": "complete",
        "events": 10_000,
        "violations": 0,
        "owed": [],
    }
