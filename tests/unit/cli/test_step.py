from __future__ import annotations

import pytest

from accord.cli.stepper import HELP, Stepper, actions, occupied, respond
from accord.machine.contract import compile_contract
from accord.monitor.step import status

ASK = "!Ask.?{Yes.end, No}.!Sorry.end"


def stepper(text=ASK, mode="refuse"):
    return Stepper(compile_contract(text).standings().start, mode)


def typed(start, *lines):
    answer = None
    for line in lines:
        answer = respond(start, line)
        start = answer.stepper
    return answer


def words(place):
    return [event.word for event in actions(place)]


def test_a_number_does_that_action():
    answer = typed(stepper(), "1", "2")
    assert [turn.word for turn in answer.stepper.turns] == ["!Ask", "?Yes"]
    assert status(answer.stepper.place) == "complete"
    assert (answer.message, answer.style) == ("?Yes is ok", "good")


@pytest.mark.parametrize("line", ["0", "3", "99999999999999999999"])
def test_a_number_that_is_none(line):
    answer = typed(stepper(), "1", line)
    assert answer.message.startswith("there is no action")
    assert len(answer.stepper.turns) == 1


def test_a_wrong_event_is_explained_and_changes_nothing():
    answer = typed(stepper(), "!Sorry")
    assert answer.style == "error"
    assert answer.message.startswith("`!Sorry` is not allowed yet")
    assert words(answer.stepper.place) == ["!Ask"]


def test_in_mode_halt_a_wrong_event_ends_it_until_undone():
    answer = typed(stepper(mode="halt"), "!Sorry")
    assert status(answer.stepper.place) == "violated"
    assert words(answer.stepper.place) == []
    answer = typed(answer.stepper, "undo")
    assert words(answer.stepper.place) == ["!Ask"]


def test_undo_and_reset():
    start = stepper()
    answer = typed(start, "1", "1", "undo")
    assert words(answer.stepper.place) == ["?No", "?Yes"]
    assert typed(answer.stepper, "reset").stepper == start
    assert typed(start, "undo").message == "nothing to undo"


def test_close():
    answer = typed(stepper(), "1", "close")
    assert status(answer.stepper.place) == "incomplete"
    assert "still owed" in answer.message
    assert actions(answer.stepper.place) == ()
    assert status(typed(stepper("end"), "end").stepper.place) == "complete"


def test_an_unrecognised_word_leaves_the_actions():
    answer = typed(stepper(), "1", "?Unrecognized")
    assert words(answer.stepper.place) == ["?No", "?Yes"]


def test_help_quit_nothing_and_nonsense():
    assert typed(stepper(), "help").message == HELP
    assert typed(stepper(), " QUIT ").leave
    assert typed(stepper(), "  ").message == ""
    assert "did you mean `!Ask`?" in typed(stepper(), "Ask").message
    assert "did you mean `reset`?" in typed(stepper(), "rest").message
    assert "type `help`" in typed(stepper(), "%%%%%%").message


def test_a_partner_that_must_be_named():
    start = stepper("{B!x.end, C!x.end}")
    assert "`B` or `C`" in typed(start, "!x").message
    assert words(start.start) == ["B!x", "C!x"]
    assert typed(start, "2").stepper.turns[0].word == "C!x"


def test_parts_side_by_side_occupy_several_states():
    contract = compile_contract("(!a.?b | !c.?d).!e.end")
    place = contract.standings().start
    assert occupied(place) == {1, 2}


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


def test_hostile_input_stays_inert(accord, write):
    path = write('!"\\u001b[31m[red]".end')
    result = accord("step", path, input="\x1b[31m\n!\x1b]0;x\x07\n1\n")
    assert result.exit_code == 0
    assert not any(c in result.output for c in "\x1b\x07")


def test_a_contract_with_errors(accord, write):
    assert accord("step", write("!a.X"), input="").exit_code == 1
