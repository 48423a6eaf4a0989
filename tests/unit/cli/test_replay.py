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
    explanation = "`Sorry` is not allowed yet: first wait for `No`, then `Sorry`."
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
    assert lines[2]["explanation"].startswith("`Sorry` is not allowed yet")
    end = {"status": "violated", "events": 4, "violations": 1, "owed": [], "owed_by_rules": [], "next_due": None}
    assert lines[4] == end


PAY = """
    protocol P = ?Quote(total as t).{!Pay(amount <= t), end}.?Approval by human.end
    rule "file it" { after Pay require Approval }
"""


def test_payload_and_person(accord, write):
    result = accord("replay", write(PAY), '?Quote {"total": 5} !Pay {"amount": 3}', "?Approval by ana", "end")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        '   1  ?Quote {"total": 5}                       ok',
        '   2  !Pay {"amount": 3}                        ok',
        "   3  ?Approval by ana                          ok",
        "   4  end                                       ok",
        "complete after 4 events",
    ]


def test_payload_and_person_in_lines(accord, write):
    lines = [
        '{"receive": "Quote", "payload": {"total": 5}}',
        '{"event": "!Pay {\\"amount\\": 9}"}',
        '!Pay {"amount": 3}',
        '{"receive": "Approval"}',
        '{"receive": "Approval", "by": "ana"}',
    ]
    result = accord("replay", write(PAY), "--json", "--mode", "refuse", input="\n".join(lines))
    assert result.exit_code == 1
    told = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line.get("verdict") for line in told] == ["ok", "violation", "ok", "violation", "ok", None]
    assert told[1]["payload"] == {"amount": 9}
    assert "`amount` is 9 and the register holds 5" in told[1]["explanation"]
    assert "payload" not in told[3]
    assert told[4]["event"] == "?Approval by ana"


def test_data_that_is_refused(accord, write):
    result = accord("replay", write(PAY), '?Quote {"total": 5} !Pay {"amount": 9}')
    assert result.exit_code == 1
    assert "`amount <= t` does not hold: `amount` is 9" in result.stdout


def test_data_that_nothing_can_hold(accord, write):
    deep = "[" * 70 + "]" * 70
    result = accord("replay", write(PAY), f'?Quote {{"total": {deep}}}')
    assert result.exit_code == 2
    assert "nested deeper than" in result.stderr


def test_rules_are_owed(accord, write):
    path = write(PAY)
    result = accord("replay", path, '?Quote {"total": 5} !Pay {"amount": 3}')
    assert result.exit_code == 0
    owed = 'still owed: ?Approval by human; still owed by rule "file it"'
    assert result.stdout.splitlines()[-1] == f"running after 2 events; {owed}"
    result = accord("replay", path, "--json", '?Quote {"total": 5} !Pay {"amount": 3} end')
    assert result.exit_code == 1
    assert json.loads(result.stdout.splitlines()[-1]) == {
        "status": "incomplete",
        "events": 3,
        "violations": 1,
        "owed": ["?Approval by human"],
        "owed_by_rules": ["file it"],
        "next_due": None,
    }


def test_rules_alone(accord, write):
    path = write('rule "limit" { at most 1 Pay }\nrule "file it" { after each Pay require File }')
    result = accord("replay", path, "!Anything !Pay !File end")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "complete after 4 events")
    result = accord("replay", path, "!Pay !Pay")
    assert result.exit_code == 1
    assert "`Pay` is refused by the rule `limit`" in result.stdout
    result = accord("replay", path, "!Pay")
    assert result.stdout.splitlines()[-1] == 'running after 1 event; still owed by rule "file it"'
    assert accord("replay", path, "--protocol", "P", "!Pay").exit_code == 2


def test_large_data_is_clipped(accord, write):
    path = write("rec L.!a.L")
    name = "n" * 500
    result = accord("replay", path, input=f'!a {{"x": "{"y" * 100_000}"}} by {name}\n!{"z" * 500} {{"x": 1}} by ana\n')
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) < 300
    assert lines[0].startswith('   1  !a {"x": "yyyyyy')
    assert " by nnn" in lines[0]
    assert '… {"x": 1} by ana  VIOLATION' in lines[1]


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


def test_hostile_data_stays_inert(accord, write):
    hostile = '"\\u001b[31m\\u202e[bold]"'
    path = write('protocol P = !a(x == 1).end\nrule "\\u001b[32m" { after a require "\\u001b[33m" }')
    raw = '"\u202e"'
    for flags in ([], ["--json"]):
        for event in (
            f"!a {{{hostile}: 1}}",
            f'!a {{"x": {hostile}}}',
            f"!a by {hostile}",
            f"!a {{{raw}: 1}} by {raw}",
        ):
            result = accord("replay", path, *flags, event, '!a {"x": 1}')
            assert result.exit_code == 1
            assert not any(c in result.output for c in "\x1b\u202e")


def test_a_long_input_is_not_kept(accord, write):
    result = accord("replay", write("rec L.!a.L"), "--json", input="!a !a !a !a !a\n" * 2000)
    assert json.loads(result.stdout.splitlines()[-1]) == {
        "status": "complete",
        "events": 10_000,
        "violations": 0,
        "owed": [],
        "owed_by_rules": [],
        "next_due": None,
    }


TIMED = "protocol A = !Ask.?{Yes, No.end} within 24h else !Remind.!Go.end"
SLICED = """
protocol Order = each order_id: !create.?paid within 1h else !remind.!ship.end
rule "in time" { each order_id: within 30m after create require paid }
"""


class TestTime:
    def test_events_with_their_times(self, accord, write):
        result = accord("replay", write(TIMED), "@2 !Ask @90000 tick", "@90001 !Remind")
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout.splitlines() == [
            "   1  @2        !Ask     ok",
            "      @90000    tick     ok",
            "   2  @90001    !Remind  ok",
            "running after 2 events; still owed: !Go",
        ]

    def test_what_is_due_next(self, accord, write):
        result = accord("replay", write(TIMED), "@2 !Ask")
        assert result.stdout.splitlines()[-1] == (
            "running after 1 event; still owed: ?No or ?Yes; next due: 86402 (in 24h)"
        )

    def test_a_deadline_that_runs_from_the_start(self, accord, write):
        path = write("?a within 5s else end")
        assert "next due: 15 (in 4s)" in accord("replay", path, "--at", "10", "@11 tick").stdout
        assert "next due: 16 (in 5s)" in accord("replay", path, "@11 tick").stdout
        assert accord("replay", path, "--at", "10", "@16 ?a").exit_code == 1

    def test_a_violation_by_time_alone(self, accord, write):
        result = accord("replay", write('rule "r" { within 5s after a require b }'), "@0 !a @6 tick @7 !c")
        assert result.exit_code == 1
        assert "      @6        tick  VIOLATION" in result.stdout
        assert "is overdue: it was due until 5, and it is 6, 1s later" in result.stdout
        assert "   2  @7        !c    blocked" in result.stdout
        assert result.stdout.endswith("violated after 2 events\n")

    def test_json(self, accord, write):
        told = '{"send": "Ask", "at": 2}\n{"tick": 3.5}\n{"receive": "Yes", "at": 4}'
        lines = accord("replay", write(TIMED), "--json", input=told).stdout.splitlines()
        assert [json.loads(line) for line in lines] == [
            {"position": 0, "event": "!Ask", "at": 2, "verdict": "ok"},
            {"position": 1, "event": "tick", "at": 3.5, "verdict": "ok"},
            {"position": 1, "event": "?Yes", "at": 4, "verdict": "ok"},
            {
                "status": "running",
                "events": 2,
                "violations": 0,
                "owed": ["!Go"],
                "owed_by_rules": [],
                "next_due": None,
            },
        ]

    @pytest.mark.parametrize("event", ["!Ask", "end"])
    def test_an_event_without_its_time(self, accord, write, event):
        result = accord("replay", write(TIMED), "@1 !Ask", event)
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"`{event}`: the contract uses time, so everything says when it happens: `@12.5" in result.stderr

    def test_a_line_without_its_time(self, accord, write):
        result = accord("replay", write(TIMED), input='@1 !Ask\n{"receive": "Yes"}\n')
        assert (result.exit_code, result.stdout) == (2, "   1  @1        !Ask     ok\n")
        assert 'error: line 2: the contract uses time, so everything says when it happens: `@12.5 ?Yes`, or "at"' in (
            result.stderr
        )

    def test_time_that_goes_back(self, accord, write):
        result = accord("replay", write(TIMED), "@5 !Ask @4 ?Yes")
        assert result.exit_code == 2
        assert "`@4 ?Yes`: time does not go back" in result.stderr

    @pytest.mark.parametrize("at", ["x", "", "1e999", "nan"])
    def test_a_start_that_is_no_time(self, accord, write, at):
        result = accord("replay", write(TIMED), "--at", at, "@5 !Ask")
        assert result.exit_code == 2
        assert "--at: " in result.stderr

    def test_a_contract_without_time_takes_times(self, accord, write):
        result = accord("replay", write(ASK), "--at", "3", "@9 !Ask @5 tick @4 ?Yes")
        assert result.exit_code == 0
        assert "   1  @9        !Ask    ok" in result.stdout


class TestSlices:
    def test_what_is_not_finished(self, accord, write):
        events = [f'@{n} !create {{"order_id": "o-{n}"}}' for n in range(10)]
        result = accord("replay", write(SLICED), *events, '@20 ?paid {"order_id": "o-3"}')
        assert result.exit_code == 0
        assert result.stdout.splitlines()[-1] == (
            "running after 11 events; still owed: !ship or ?paid; "
            'not finished: order_id "o-0", "o-1", "o-2", "o-3", "o-4", "o-5", "o-6", "o-7" and 2 more; '
            'still owed by rule "in time" (9 instances); next due: 1800 (in 29m 40s)'
        )

    def test_json(self, accord, write):
        events = ['@1 !create {"order_id": [1]}', '@2 !create {"order_id": 2}', '@3 ?paid {"order_id": 2}']
        end = json.loads(accord("replay", write(SLICED), "--json", *events).stdout.splitlines()[-1])
        assert end == {
            "status": "running",
            "events": 3,
            "violations": 0,
            "owed": ["!ship", "?paid"],
            "owed_by_rules": ["in time"],
            "next_due": 1801,
            "unfinished": {"count": 2, "keys": [2, [1]]},
        }

    def test_all_finished(self, accord, write):
        events = '@1 !create {"order_id": 1} @2 ?paid {"order_id": 1} @3 !ship {"order_id": 1}'
        assert accord("replay", write(SLICED), events).stdout.endswith("complete after 3 events\n")

    def test_hostile_keys(self, accord, write):
        event = json.dumps({"send": "create", "at": 1, "payload": {"order_id": "\x1b[31m\u202e\n" + "x" * 500}})
        result = accord("replay", write(SLICED), input=event + "\n")
        assert result.exit_code == 0
        assert not any(hidden in result.stdout for hidden in "\x1b\u202e")
        assert len(result.stdout.splitlines()) == 2
        assert max(map(len, result.stdout.splitlines())) < 250
