from __future__ import annotations

import pytest

from accord.choreography.compiling import compile_contract
from accord.cli.stepper import HELP, PROMPT, Stepper, respond
from accord.machine.events import Event
from accord.monitor.step import begin, status
from accord.stepping.holdings import registers_of
from accord.stepping.moves import actions, occupied

ASK = "!Ask.?{Yes.end, No}.!Sorry.end"
PAY = """
    ?Quote(total as t, items into seen)
    .!Pay(amount > 0, amount <= t, to.name != null, to.iban matches "^DE")
    .?Approval by human
    .end
"""


def stepper(text=ASK, mode="refuse"):
    return Stepper(begin(compile_contract(text), None), mode)


def typed(start, *lines):
    answer = None
    for line in lines:
        answer = respond(start, line)
        start = answer.stepper
    return answer


def prompts(start, *lines):
    """The prompt before each line and after the last one."""
    found = [start.prompt]
    for line in lines:
        start = respond(start, line).stepper
        found.append(start.prompt)
    return found


def words(situation):
    return [symbol.word for symbol in actions(situation)]


def test_a_number_does_that_action():
    answer = typed(stepper(), "1", "2")
    assert [turn.event.word for turn in answer.stepper.turns] == ["!Ask", "?Yes"]
    assert status(answer.stepper.situation) == "complete"
    assert (answer.message, answer.style) == ("?Yes is ok", "good")


@pytest.mark.parametrize("line", ["0", "3", "99999999999999999999"])
def test_a_number_that_is_none(line):
    answer = typed(stepper(), "1", line)
    assert answer.message.startswith("there is no action")
    assert len(answer.stepper.turns) == 1


def test_a_wrong_event_is_explained_and_changes_nothing():
    answer = typed(stepper(), "!Sorry")
    assert answer.style == "error"
    assert answer.message.startswith("`Sorry` is not allowed yet")
    assert words(answer.stepper.situation) == ["!Ask"]


def test_in_mode_halt_a_wrong_event_ends_it_until_undone():
    answer = typed(stepper(mode="halt"), "!Sorry")
    assert status(answer.stepper.situation) == "violated"
    assert words(answer.stepper.situation) == []
    answer = typed(answer.stepper, "undo")
    assert words(answer.stepper.situation) == ["!Ask"]


def test_undo_and_reset():
    start = stepper()
    answer = typed(start, "1", "1", "undo")
    assert words(answer.stepper.situation) == ["?No", "?Yes"]
    assert typed(answer.stepper, "reset").stepper == start
    assert typed(start, "undo").message == "nothing to undo"


def test_close():
    answer = typed(stepper(), "1", "close")
    assert status(answer.stepper.situation) == "incomplete"
    assert "still owed" in answer.message
    assert actions(answer.stepper.situation) == ()
    assert status(typed(stepper("end"), "end").stepper.situation) == "complete"


def test_an_unrecognised_word_leaves_the_actions():
    answer = typed(stepper(), "1", "?Unrecognized")
    assert words(answer.stepper.situation) == ["?No", "?Yes"]


def test_help_quit_nothing_and_nonsense():
    assert typed(stepper(), "help").message == HELP
    assert typed(stepper(), " QUIT ").leave
    assert typed(stepper(), "  ").message == ""
    assert "did you mean `!Ask`?" in typed(stepper(), "Ask").message
    assert "did you mean `reset`?" in typed(stepper(), "rest").message
    assert "type `help`" in typed(stepper(), "%%%%%%").message
    assert "one event at a time" in typed(stepper(), "!Ask me").message
    assert "no JSON object" in typed(stepper(), "!Ask {").message


def test_a_partner_that_must_be_named():
    start = stepper("{B!x.end, C!x.end}")
    assert "`B` or `C`" in typed(start, "!x").message
    assert words(start.start) == ["B!x", "C!x"]
    assert typed(start, "2").stepper.turns[0].event.word == "C!x"


def test_parts_side_by_side_occupy_several_states():
    contract = compile_contract("(!a.?b | !c.?d).!e.end")
    assert occupied(begin(contract, None)) == {1, 2}


def test_events_are_typed_with_payload_and_person():
    answer = typed(stepper("!Pay(amount < 5).?Approval by human.end"), '!Pay {"amount": 9}')
    assert "`amount` is 9" in answer.message
    answer = typed(answer.stepper, '!Pay {"amount": 3}', "?Approval")
    assert "only a person can make this step" in answer.message
    answer = typed(answer.stepper, "?Approval by ana")
    assert (answer.message, status(answer.stepper.situation)) == ("?Approval by ana is ok", "complete")


class TestAsking:
    def test_for_each_field_and_for_the_person(self):
        lines = ["1", "120", '["a", "b"]', "1", "99.5", "Ana", "DE12", "1", "ana"]
        assert prompts(stepper(PAY), *lines) == [
            PROMPT,
            "   total (kept as t): ",
            "   items (added to seen): ",
            PROMPT,
            "   amount (> 0; <= t, which is 120): ",
            "   to.name (!= null): ",
            '   to.iban (matches "^DE"): ',
            PROMPT,
            "   by whom (only a person can make this step): ",
            PROMPT,
        ]
        answer = typed(stepper(PAY), *lines)
        assert [turn.event for turn in answer.stepper.turns] == [
            Event("?", "Quote", None, {"total": 120, "items": ["a", "b"]}),
            Event("!", "Pay", None, {"amount": 99.5, "to": {"name": "Ana", "iban": "DE12"}}),
            Event("?", "Approval", None, {}, "ana"),
        ]
        assert status(answer.stepper.situation) == "complete"

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("3", 3),
            ("EUR", "EUR"),
            ('"3"', "3"),
            ("true", True),
            ("null", None),
            ("[1]", [1]),
            ('{"a": 1}', {"a": 1}),
            ("two words", "two words"),
            ("!a", "!a"),
            ('"undo"', "undo"),
            ("1e999", "1e999"),
        ],
    )
    def test_json_or_plain_text(self, text, value):
        answer = typed(stepper("!a(x as r).end"), "1", text)
        assert answer.stepper.turns[0].event.payload == {"x": value}

    def test_what_was_meant_as_json_is_asked_again(self):
        answer = typed(stepper("!a(x as r).end"), "1", "[1,")
        assert "`[1,` is no JSON" in answer.message
        assert answer.stepper.asking is not None
        assert typed(answer.stepper, "[1]").stepper.turns[0].event.payload == {"x": [1]}

    def test_an_empty_line_leaves_it_out(self):
        answer = typed(stepper("!a(x as r).end"), "1", " ")
        assert answer.stepper.turns[0].event == Event("!", "a")
        assert "which is missing" in answer.message
        assert "only a person" in typed(stepper("?a by human.end"), "1", "").message

    def test_undo_calls_it_off_and_quit_leaves(self):
        start = stepper(PAY)
        answer = typed(start, "1", "120", "undo")
        assert answer.stepper == start
        assert answer.message.startswith("called off ?Quote")
        assert typed(start, "1", "120", "quit").leave

    def test_undo_afterwards_takes_the_event_back(self):
        answer = typed(stepper(PAY), "1", "120", "a", "undo")
        assert answer.message == 'took back ?Quote {"total": 120, "items": "a"}'
        assert registers_of(answer.stepper.situation) == {"seen": "{}", "t": None}

    def test_an_object_is_put_together_from_its_fields(self):
        start = stepper("!a(o as r, o.x.y as s, o.z == 1).end")
        assert prompts(start, "1", "2") == [PROMPT, "   o.x.y (kept as s): ", "   o.z (== 1): "]
        assert typed(start, "1", "2", "1").stepper.turns[0].event.payload == {"o": {"x": {"y": 2}, "z": 1}}

    def test_a_register_that_is_bound_by_the_same_step(self):
        assert prompts(stepper("!a(x as r, y == r).end"), "1", "2")[-1] == "   y (== r): "

    def test_a_register_that_may_be_unbound(self):
        start = stepper("?{a(x as r), b}.!c(y == r).end")
        assert prompts(start, "?b", "1")[-1] == "   y (== r, which is not bound): "

    def test_what_rules_read_is_asked_too(self):
        start = stepper(
            """protocol P = {!Pay, ?Approval, ?Pay}.end
            rule "big" { before !Pay(amount > 100) require Approval by human }"""
        )
        assert prompts(start, "1", "5") == [PROMPT, '   amount (rule "big" asks: > 100): ', PROMPT]
        assert prompts(start, "2", "") == [PROMPT, '   by whom (the rule "big" wants a person): ', PROMPT]
        assert prompts(start, "3") == [PROMPT, PROMPT]

    def test_the_name_of_a_person_is_taken_as_it_stands(self):
        start = stepper("?ok by human.end")
        for text, name in (("Ana B.", "Ana B."), ('"Ana"', "Ana"), ("3", "3")):
            assert typed(start, "1", text).stepper.turns[0].event.by == name
        assert typed(start, "1", '" "').stepper.asking is not None
        assert typed(start, "1", '"').stepper.asking is not None


def test_what_a_session_holds():
    start = stepper("(!a(x as r).end | !b(x into s).!b(x into s).end).!c.end")
    answer = typed(start, '!a {"x": {"k": [true, null]}}', '!b {"x": [1, 2, 3]}', '!b {"x": [3, "four", 5]}')
    assert registers_of(answer.stepper.situation) == {"r": '{"k": [true, null]}', "s": '{1, 2, 3, "four", 1 more}'}


def test_what_a_session_may_hold():
    start = stepper("(!a(x as r).!b | !a.!c).end")
    answer = typed(start, '!a {"x": 1}')
    assert registers_of(answer.stepper.situation) == {"r": "1 or nothing"}


def test_actions_that_rules_refuse_are_not_offered():
    start = stepper('protocol P = rec L.!{a.L, b.L}\nrule "once" { at most 1 a }')
    assert words(start.start) == ["!a", "!b"]
    assert words(typed(start, "1").stepper.situation) == ["!b"]


def test_rules_alone_offer_what_they_name():
    start = stepper('rule "r" { before Pay require Approval by human }\nrule "s" { at most 1 ?Quote }')
    assert words(start.start) == ["?Approval", "?Quote"]
    answer = typed(start, "2", "1", "ana")
    assert words(answer.stepper.situation) == ["!Pay", "?Approval"]
    assert typed(answer.stepper, "!Whatever").message == "!Whatever is ok"


def test_driven_by_lines(accord, write):
    result = accord("step", write(ASK), input="1\n!Sorry\n?No\nclose\nundo\nquit\nnever read\n")
    assert result.exit_code == 0
    assert result.stdout.count("step> ") == 6
    assert "never read" not in result.stdout
    assert "●→ 0  !Ask → 1" in result.stdout
    assert "●  1  ?No → 2, ?Yes → 3" in result.stdout
    assert "   2  !Sorry  VIOLATION\n" in result.stdout
    assert "may happen now\n   1  ?No\n   2  ?Yes\n" in result.stdout
    assert "took back end" in result.stdout


def test_the_input_may_just_end(accord, write):
    assert accord("step", write(ASK), input="").exit_code == 0


def test_a_large_machine_is_shown_in_part(accord, write):
    text = ".".join(f"!m{n}" for n in range(500))
    result = accord("step", write(text), input="!m0\n!m1\n")
    last = result.stdout.split("step> ")[-1]
    assert "●    2  !m2 → 3" in last
    assert "     1  !m1 → 2" in last  # where it came from
    assert "!m300" not in last
    assert "…" in last


def test_many_actions_are_shown_in_part(accord, write):
    result = accord("step", write("!{" + ", ".join(f"m{n:02}" for n in range(40)) + "}"), input="40\n")
    assert "… 28 more" in result.stdout
    assert "!m39 is ok" in result.stdout


def test_questions_are_answered_by_the_lines_that_follow(accord, write):
    result = accord("step", write(PAY), input='1\n120\n\n1\n120\n["a"]\nundo\n1\n')
    assert result.exit_code == 0
    assert "\nstep> 1\nanswer in JSON or plain text" in result.stdout
    assert "\n   total (kept as t): 120\n   items (added to seen):\n" in result.stdout
    assert "needs the field `items`, which is missing" in result.stdout
    assert 'took back ?Quote {"total": 120, "items": ["a"]}' in result.stdout


def test_registers_are_shown(accord, write):
    result = accord("step", write(PAY), input='?Quote {"total": 120, "items": ["a"]}\n')
    before, after = result.stdout.split("step> ")
    assert "registers\n      seen  {}\n      t     not bound yet\n" in before
    assert 'registers\n      seen  {"a"}\n      t     120\n' in after


def test_many_registers_are_shown_in_part(accord, write):
    binds = ", ".join(f"x as r{n}" for n in range(20))
    assert "      … 12 more\n" in accord("step", write(f"!a({binds}).end"), input="").stdout


def test_rules_are_shown_with_what_they_have_seen(accord, write):
    text = 'protocol P = rec L.{!q.L, ?a.L}\nrule "r" { after each q require a }\nrule "s" { at most 3 q }'
    before, after = accord("step", write(text), input="!q\n").stdout.split("step> ")
    assert "rules\n      after each q require a\n        none still to come\n      at most 3 q\n" in before
    assert "rules\nowed  after each q require a\n        1 still to come\n      at most 3 q\n" in after
    assert "`close`" in before
    assert "`close`" not in after


def test_of_many_rules_the_owed_ones_are_shown(accord, write):
    rules = [f'rule "r{n}" {{ at most 3 a{n} }}' for n in range(20)]
    result = accord("step", write("\n".join([*rules, 'rule "s" { after q require a }'])), input="!q\n")
    after = result.stdout.split("step> ")[1]
    assert after.split("\n")[1:3] == ["rules", "owed  after q require a"]
    assert "      … 13 more\n" in after


def test_rules_alone_have_no_machine(accord, write):
    result = accord("step", write('rule "r" { before Pay require Ok }'), input="!Pay\n!Ok\n1\nclose\n")
    assert result.exit_code == 0
    assert "state" not in result.stdout
    assert "is refused by the rule `r`" in result.stdout
    assert "anything else too: there is no protocol" in result.stdout
    assert "status  complete" in result.stdout


def test_nothing_is_left_where_rules_refuse_every_step(accord, write):
    result = accord("step", write('protocol P = !a.!a.end\nrule "r" { at most 1 a }'), input="1\n")
    assert "      nothing: the rules refuse every step\n" in result.stdout


def test_hostile_input_stays_inert(accord, write):
    path = write('!"\\u001b[31m[red]".end')
    result = accord("step", path, input="\x1b[31m\n!\x1b]0;x\x07\n1\n")
    assert result.exit_code == 0
    assert not any(c in result.output for c in "\x1b\x07")


def test_hostile_data_stays_inert(accord, write):
    hostile = "\x1b]0;x\x07\u202e"
    path = write(
        r'protocol P = ?a("\u001b[31m" as r, y into s).!b("k" == r).?c by human.end'
        "\n"
        r'rule "\u001b[31m\u202e" { before b("\u001b[32m" == "\u001b[33m") require "\u001b[34m" }'
    )
    lines = [
        "1",
        hostile,
        hostile,
        "2",
        hostile,
        f"?a {{{hostile}}}",
        f'?a {{"{hostile}": 1}} by "{hostile}"',
        '?a {"\\u001b[31m": "\\u001b]0;x\\u0007\\u202e", "y": "\\u001b]0;x\\u0007\\u202e"} by "\\u001b]0;x\\u0007"',
        "1",
        hostile,
        hostile,
        f"?c by {hostile}",
        '?c by "\\u001b]0;x"',
    ]
    result = accord("step", path, input="\n".join(lines) + "\n")
    assert result.exit_code == 0
    assert not any(c in result.output for c in "\x1b\x07\u202e")


def test_large_data_is_clipped(accord, write):
    payload = '{"x": "' + "y" * 50_000 + '"}'
    result = accord("step", write("!a(x as r).!b(x == r).end"), input=f"!a {payload}\n1\n{'z' * 50_000}\n")
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) < 300


def test_a_contract_with_errors(accord, write):
    assert accord("step", write("!a.X"), input="").exit_code == 1


TIMED = "protocol A = !Ask.?{Yes, No.end} within 24h else !Remind.!Go.end"
ORDERS = """
protocol Order open = each order_id: !create(total as t).?paid(amount == t) within 1h else !remind.!ship.end
rule "logged" { each order_id: before ship require log(level > 1) }
rule "hello" { at most 1 hello }
"""


class TestTime:
    def test_the_time_is_asked_for(self):
        assert prompts(stepper(TIMED), "1", "2", "?Yes", "", "!Go", "") == [
            PROMPT,
            "   when (seconds; nothing was told yet): ",
            PROMPT,
            "   when (seconds; it is 2; next due: 86402 (in 24h)): ",
            PROMPT,
            "   when (seconds; it is 2): ",
            PROMPT,
        ]
        answer = typed(stepper(TIMED), "1", "2", "?Yes", "", "!Go", "+90s", "close", "")
        assert [turn.event.at for turn in answer.stepper.turns] == [2, 2, 92, 92]
        assert (answer.message, status(answer.stepper.situation)) == ("@92 end is ok", "complete")

    def test_a_time_may_be_typed_with_the_event(self):
        answer = typed(stepper(TIMED), "@5 !Ask")
        assert (answer.message, answer.stepper.asking) == ("@5 !Ask is ok", None)

    @pytest.mark.parametrize(
        "lines", [["tick 86406"], ["tick", "86406"], ["tick +25h"], ["tick", "+25h"], ["TICK +25h"]]
    )
    def test_time_passes(self, lines):
        answer = typed(stepper(TIMED), "@5 !Ask", *lines)
        assert words(answer.stepper.situation) == ["!Remind"]
        assert answer.message.endswith("tick is ok")
        answer = typed(answer.stepper, "undo")
        assert answer.message.startswith("took back @")
        assert words(answer.stepper.situation) == ["?No", "?Yes"]

    def test_the_first_moment_is_nought(self):
        assert typed(stepper(TIMED), "1", "").stepper.turns[0].event.at == 0

    @pytest.mark.parametrize(
        ("line", "complaint"),
        [
            ("x", "`x` is no time"),
            ("+5", "the duration `5` has no unit; write `5s` for seconds"),
            ("+1h30m", "several units; write one number"),
            ("1", "time does not go back"),
        ],
    )
    def test_what_is_no_time(self, line, complaint):
        answer = typed(stepper(TIMED), "@5 !Ask", "?Yes", line)
        assert complaint in answer.message
        assert answer.style == "warning"
        answer = typed(stepper(TIMED), "@5 !Ask", f"tick {line}")
        assert complaint in answer.message
        assert len(answer.stepper.turns) == 1

    def test_a_question_about_time_can_be_called_off(self):
        answer = typed(stepper(TIMED), "!Ask", "undo")
        assert (answer.message, answer.stepper.asking) == ("called off !Ask", None)
        assert typed(stepper(TIMED), "tick", "undo").message == "called off tick"

    def test_a_time_alone_is_explained(self):
        assert "behind `@5` stands what happens then" in typed(stepper(TIMED), "@5").message

    def test_a_contract_without_time(self):
        assert typed(stepper(), "tick").message == "the contract does not use time"
        assert typed(stepper(), "tick 5").message == "@5 tick is ok"
        assert typed(stepper(), "@5 !Ask").message == "@5 !Ask is ok"

    def test_a_rule_that_is_overdue(self):
        start = stepper('rule "r" { within 5s after a require b }')
        answer = typed(start, "@0 !a", "tick 6")
        assert answer.style == "error"
        assert "is overdue" in answer.message
        assert answer.stepper.turns[-1].verdict.position == 1


class TestSlices:
    def test_the_key_is_asked_for(self):
        lines = ["1", "o-1", "5", "", "!create", '{"order_id": 2}']
        assert prompts(stepper(ORDERS), *lines[:4])[:4] == [
            PROMPT,
            "   order_id (a new one): ",
            "   total (kept as t): ",
            "   when (seconds; nothing was told yet): ",
        ]
        answer = typed(stepper(ORDERS), *lines[:4])
        assert answer.stepper.turns[0].event == Event("!", "create", None, {"order_id": "o-1", "total": 5}, None, 0)

    def test_it_says_which_instances_there_are(self):
        created = [f'@{n} !create {{"order_id": {n}, "total": 1}}' for n in range(6)]
        answer = typed(stepper(ORDERS), *created)
        assert words(answer.stepper.situation) == ["!create(total as t)", "!hello", "!log", "?paid(amount == t)"]
        assert prompts(answer.stepper, "4")[-1] == "   order_id (0 or 1 or 2 or 3 or 2 more): "
        assert prompts(answer.stepper, "1")[-1] == "   order_id (a new one): "

    def test_what_a_sliced_rule_goes_by(self):
        assert prompts(stepper(ORDERS), "3", "")[1:] == [
            '   level (rule "logged" asks: > 1): ',
            '   order_id (rule "logged" goes by it): ',
        ]

    def test_where_the_instances_are(self):
        assert occupied(stepper(ORDERS).situation) == frozenset()
        answer = typed(
            stepper(ORDERS), '@0 !create {"order_id": 1, "total": 5}', '@5 !create {"order_id": 2, "total": 5}'
        )
        assert occupied(answer.stepper.situation) == {1}
        answer = typed(answer.stepper, "tick 3601")
        assert occupied(answer.stepper.situation) == {1, 3}

    def test_the_panel(self, accord, write):
        path = write(ORDERS)
        lines = [
            '@0 !create {"order_id": "o-1", "total": 5}',
            '@1 ?paid {"order_id": "o-1", "amount": 5}',
            '@2 !log {"order_id": "o-1", "level": 2}',
            '@3 !ship {"order_id": "o-1"}',
            '@4 !create {"order_id": "\\u001b[31m\\u202e", "total": 7}',
            '@5 !create {"order_id": {"a": 1}, "total": 8}',
        ]
        shown = accord("step", path, "--at", "0", input="\n".join(lines)).stdout
        *_, panel = shown.split("step> ")
        assert "protocol Order, open, each order_id, 5 states" in panel
        assert 'instances\n      order_id {"a": 1}            at 1, due in 1h\n' in panel
        assert '      order_id "\\u001b[31m\\u202e"  at 1, due in 59m 59s\n' in panel
        assert '      order_id "o-1"               finished\n' in panel
        assert 'registers of order_id {"a": 1}\n      t  8\n' in panel
        assert "time    5, next due: 3604 (in 59m 59s)\n" in panel
        assert 'order_id "o-1": `log(level > 1)` has happened' in panel
        assert "      anything that the protocol does not name\n" in panel
        assert not any(hidden in shown for hidden in "\x1b\u202e")

    def test_many_instances_are_not_all_shown(self, accord, write):
        lines = [f'@{n} !create {{"order_id": {n}, "total": 1}}' for n in range(20)]
        *_, panel = accord("step", write(ORDERS), input="\n".join(lines)).stdout.split("step> ")
        assert panel.count("at 1, due in") == 6
        assert "      … 14 more\n" in panel

    def test_a_session_that_has_not_begun(self, accord, write):
        shown = accord("step", write(ORDERS), input="").stdout
        assert "instances\n      none yet\n" in shown
        assert "time    not told yet; it begins with the first event\n" in shown
