"""The reference interpreter against answers worked out by hand.

Trees are built from nodes, not parsed, so that these tests stand on the tree alone. Each test
shows its protocol as text beside the tree.
"""

import ast
import unicodedata
from pathlib import Path

import pytest

import accord.semantics
from accord.language.tree import (
    Action,
    Choice,
    End,
    Interleaving,
    Recursion,
    Span,
    Variable,
    sequence,
)
from accord.semantics import Session, Verdict, is_complete, moves, start, step, word

END = End()


def act(text):
    """`!a`, `?a`, `B!a`: a label without quotes."""
    cut = min(i for i in (text.find("!"), text.find("?")) if i >= 0)
    return Action(text[cut], text[cut + 1 :], text[:cut] or None)


def node(part):
    if not isinstance(part, str):
        return part
    if part == "end":
        return END
    return act(part) if "!" in part or "?" in part else Variable(part)


def seq(*steps):
    return sequence(map(node, steps))


def choice(*branches):
    return Choice(tuple(map(node, branches)))


def par(*parts):
    return Interleaving(tuple(map(node, parts)))


def rec(variable, *steps):
    return Recursion(variable, seq(*steps))


def run(protocol, trace=""):
    """The state after a trace of words, each of which must be accepted."""
    state = start(node(protocol))
    for text in trace.split():
        event = act(text)
        state = step(state, event.direction, event.label, event.partner)
        assert state, f"`{text}` was refused in `{trace}`"
    return state


def legal(protocol, trace=""):
    return " ".join(sorted(word(action) for action in moves(run(protocol, trace))))


def complete(protocol, trace=""):
    return is_complete(run(protocol, trace))


# --- steps, choices, falling through --------------------------------------------------------------


def test_a_sequence_goes_step_by_step_and_stops_where_the_text_stops():
    protocol = seq("!a", "?b")
    assert [legal(protocol, t) for t in ("", "!a", "!a ?b")] == ["!a", "?b", ""]
    assert [complete(protocol, t) for t in ("", "!a", "!a ?b")] == [False, False, True]


def test_the_other_direction_another_label_and_a_second_helping_are_refused():
    state = run("!a")
    assert step(state, "?", "a") == frozenset()
    assert step(state, "!", "b") == frozenset()
    assert step(run("!a", "!a"), "!", "a") == frozenset()


def test_end_alone_is_complete_and_takes_nothing():
    assert complete("end")
    assert legal("end") == ""


def test_nothing_follows_from_the_empty_state():
    nowhere = frozenset()
    assert moves(nowhere) == frozenset()
    assert step(nowhere, "!", "a") == frozenset()
    assert not is_complete(nowhere)


def test_a_branch_falls_through_unless_it_ends():
    # ?{A.end, B}.!C.end
    protocol = seq(choice(seq("?A", "end"), "?B"), "!C", "end")
    assert legal(protocol) == "?A ?B"
    assert legal(protocol, "?A") == ""
    assert complete(protocol, "?A")
    assert legal(protocol, "?B") == "!C"
    assert not complete(protocol, "?B")
    assert complete(protocol, "?B !C")


def test_falling_through_goes_up_through_every_enclosing_choice():
    # ?{A.!{x.?{p, q}, y}, B}.!z
    protocol = seq(choice(seq("?A", choice(seq("!x", choice("?p", "?q")), "!y")), "?B"), "!z")
    assert legal(protocol, "?A !x") == "?p ?q"
    assert legal(protocol, "?A !x ?q") == "!z"
    assert legal(protocol, "?A !y") == "!z"
    assert complete(protocol, "?A !x ?p !z")


def test_end_deep_in_a_branch_ends_the_whole_session():
    # ?{A.!{x.end, y}, B}.!z
    protocol = seq(choice(seq("?A", choice(seq("!x", "end"), "!y")), "?B"), "!z")
    assert legal(protocol, "?A !x") == ""
    assert complete(protocol, "?A !x")


def test_a_mixed_choice_may_stop_and_may_go_on():
    # {!a, ?b, end}.!c: `end` as a branch does not fall through
    protocol = seq(choice("!a", "?b", "end"), "!c")
    assert legal(protocol) == "!a ?b"
    assert complete(protocol)
    assert not complete(protocol, "?b")


# --- recursion ------------------------------------------------------------------------------------


def test_a_loop_may_be_left_through_a_branch_and_the_outer_one_continued():
    # rec Outer.!Start.rec Retry.!Try.?{Fail.Retry, Ok}.Outer
    retry = rec("Retry", "!Try", choice(seq("?Fail", "Retry"), "?Ok"), "Outer")
    protocol = rec("Outer", "!Start", retry)
    assert legal(protocol, "!Start !Try ?Fail !Try ?Ok") == "!Start"
    assert legal(protocol, "!Start !Try ?Fail !Try ?Ok !Start !Try") == "?Fail ?Ok"


def test_a_variable_takes_up_the_continuation_its_loop_had():
    # (rec X.!a.{?again.X, ?done}).!b: the jump neither loses `!b` nor doubles it
    protocol = seq(rec("X", "!a", choice(seq("?again", "X"), "?done")), "!b")
    assert legal(protocol, "!a ?again !a ?again !a ?done") == "!b"
    assert complete(protocol, "!a ?again !a ?done !b")
    assert legal(protocol, "!a ?again !a ?done !b") == ""


def test_a_jump_out_of_an_inner_loop_drops_what_followed_the_inner_loop():
    # rec X.!a.(rec Y.?{x.X, y.Y, z}).!b
    inner = rec("Y", choice(seq("?x", "X"), seq("?y", "Y"), "?z"))
    protocol = rec("X", "!a", inner, "!b")
    assert legal(protocol, "!a ?y ?x") == "!a"
    assert legal(protocol, "!a ?x !a ?z") == "!b"
    assert complete(protocol, "!a ?x !a ?z !b")


def test_inner_variables_shadow_outer_ones():
    # rec X.!a.rec X.!b.X
    protocol = rec("X", "!a", rec("X", "!b", "X"))
    assert legal(protocol, "!a !b !b !b") == "!b"


def test_the_outer_variable_is_back_once_the_inner_loop_is_left():
    # rec X.!a.(rec X.!b.{?more.X, ?out}).X
    inner = rec("X", "!b", choice(seq("?more", "X"), "?out"))
    protocol = rec("X", "!a", inner, "X")
    assert legal(protocol, "!a !b ?more") == "!b"
    assert legal(protocol, "!a !b ?more !b ?out") == "!a"


def test_a_loop_begun_anew_is_the_same_state_as_before():
    # rec X.!a.?b.X: finitely many places, however long the run
    protocol = rec("X", "!a", "?b", "X")
    assert run(protocol, "!a ?b !a") == run(protocol, "!a")


# --- interleaving ---------------------------------------------------------------------------------


def test_interleaving_is_the_shuffle():
    # (!a.!b | ?c).!d
    protocol = seq(par(seq("!a", "!b"), "?c"), "!d")
    assert legal(protocol) == "!a ?c"
    assert legal(protocol, "!a") == "!b ?c"
    assert legal(protocol, "?c") == "!a"
    for order in ("!a !b ?c", "!a ?c !b", "?c !a !b"):
        assert legal(protocol, order) == "!d"
        assert not complete(protocol, order)
        assert complete(protocol, f"{order} !d")


def test_end_in_a_part_ends_the_part_alone():
    # (?{A.end, B}.!x | !y).!z
    protocol = seq(par(seq(choice(seq("?A", "end"), "?B"), "!x"), "!y"), "!z")
    assert legal(protocol, "?A") == "!y"
    assert not complete(protocol, "?A")
    assert legal(protocol, "?A !y") == "!z"
    assert legal(protocol, "?B !y") == "!x"


def test_a_part_that_may_end_or_go_on_leaves_both_open():
    # ({!a, end} | !b).!c
    protocol = seq(par(choice("!a", "end"), "!b"), "!c")
    assert legal(protocol, "!b") == "!a !c"
    assert legal(protocol, "!b !a") == "!c"
    assert legal(protocol, "!b !c") == ""
    assert complete(protocol, "!b !c")
    assert not complete(protocol, "!b")


def test_where_two_parts_take_the_same_event_both_possibilities_are_followed():
    # (!s.?x | !s.?y)
    protocol = par(seq("!s", "?x"), seq("!s", "?y"))
    assert legal(protocol, "!s") == "!s ?x ?y"
    assert legal(protocol, "!s ?x") == "!s"
    assert legal(protocol, "!s ?x !s") == "?y"
    assert len(run(protocol, "!s")) == 2
    assert len(run(protocol, "!s !s")) == 1


def test_a_part_and_what_follows_can_take_the_same_event():
    # ({!a.!x, end} | !b).!a.!y
    protocol = seq(par(choice(seq("!a", "!x"), "end"), "!b"), "!a", "!y")
    assert legal(protocol, "!b !a") == "!x !y"
    assert legal(protocol, "!b !a !x") == "!a"
    assert legal(protocol, "!b !a !y") == ""


def test_equal_parts_are_a_multiset():
    # six times !s.?s: i parts yet to send and j yet to receive, i + j <= 6, are 28 places
    protocol = par(*[seq("!s", "?s")] * 6)
    seen, todo = set(), [start(protocol)]
    while todo:
        state = todo.pop()
        if state and state not in seen:
            seen.add(state)
            todo += [step(state, "!", "s"), step(state, "?", "s")]
    assert len(seen) == 28
    assert all(len(state) == 1 for state in seen)


def test_interleavings_nest_and_end_reaches_only_the_innermost_part():
    # ((!a.end | !b).!c | !d).!e
    protocol = seq(par(seq(par(seq("!a", "end"), "!b"), "!c"), "!d"), "!e")
    assert legal(protocol) == "!a !b !d"
    assert legal(protocol, "!b !a") == "!c !d"
    assert legal(protocol, "!d !a !b") == "!c"
    assert complete(protocol, "!a !d !b !c !e")
    assert not complete(protocol, "!a !d !b !c")


def test_each_round_of_a_loop_interleaves_afresh():
    # rec L.(!a | !b).L: no second `a` before this round's `b`
    protocol = rec("L", par("!a", "!b"), "L")
    assert legal(protocol, "!a") == "!b"
    assert legal(protocol, "!a !b") == "!a !b"
    assert legal(protocol, "!a !b !b") == "!a"


def test_a_loop_round_an_interleaving_that_may_be_empty_terminates():
    # rec L.({!a, end} | {!b, end}).L
    protocol = rec("L", par(choice("!a", "end"), choice("!b", "end")), "L")
    assert legal(protocol) == "!a !b"
    assert legal(protocol, "!a !a !b !b !a") == "!a !b"


def test_an_unguarded_loop_takes_nothing_and_terminates():
    # rec X.X
    assert legal(rec("X", "X")) == ""


def test_a_variable_may_not_cross_the_border_of_a_part():
    # rec L.(!a.L | !b): the checks refuse it, and here the loop is out of sight
    with pytest.raises(ValueError, match="unbound variable `L`"):
        legal(rec("L", par(seq("!a", "L"), "!b")), "!a")


# --- partners and labels --------------------------------------------------------------------------


def test_a_named_partner_matches_itself_or_silence():
    assert legal("B!x") == "B!x"
    assert step(run("B!x"), "!", "x")
    assert step(run("B!x"), "!", "x", "B")
    assert step(run("B!x"), "!", "x", "C") == frozenset()


def test_a_step_without_a_partner_matches_any():
    assert step(run("!x"), "!", "x", "Anyone")


def test_silence_about_the_partner_is_an_error_where_it_matters():
    # {B!x.?b, C!x.?c, B?x}
    protocol = choice(seq("B!x", "?b"), seq("C!x", "?c"), "B?x")
    with pytest.raises(ValueError, match=r"`!x` could be with any of \['B', 'C'\]"):
        step(run(protocol), "!", "x")
    assert legal(protocol, "C!x") == "?c"
    assert step(run(protocol), "?", "x")


def test_no_partner_at_all_is_not_one_of_several_partners():
    # (B!x.?b | !x.?c): silence follows both, C! only the second
    protocol = par(seq("B!x", "?b"), seq("!x", "?c"))
    assert legal(protocol, "!x") == "!x ?b ?c B!x"
    assert legal(protocol, "C!x") == "?c B!x"


def test_labels_are_compared_in_normal_form_c():
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    assert unicodedata.normalize("NFC", decomposed) == composed
    assert step(run(f"!{composed}"), "!", decomposed)


def test_equal_actions_from_different_spans_are_one_move():
    left, right = Action("!", "a", span=Span(0, 2)), Action("!", "a", span=Span(5, 7))
    assert moves(start(Interleaving((left, right)))) == {Action("!", "a")}


@pytest.mark.parametrize(
    "label",
    [
        "Ask",
        "_",
        "_1",
        "ToolUse:search",
        "book-flight",
        "a-b:c-1",
        "été",
        "a\u0301",
        "名前",
        "record",
    ],
)
def test_plain_labels_stand_as_they_are(label):
    assert word(Action("!", label)) == f"!{label}"


@pytest.mark.parametrize(
    ("label", "quoted"),
    [
        ("2nd try", '"2nd try"'),
        ("2nd", '"2nd"'),
        ("", '""'),
        ("-a", '"-a"'),
        ("a-", '"a-"'),
        ("a--b", '"a--b"'),
        ("a-:b", '"a-:b"'),
        ("a.b", '"a.b"'),
        ("rec", '"rec"'),
        ("end", '"end"'),
        ("each", '"each"'),
        ("\u0301a", '"\u0301a"'),  # a combining mark cannot come first
        ("a\u20dd", '"a\u20dd"'),  # an enclosing mark is category Me
        ("x\u00b2", '"x\u00b2"'),  # a superscript is no decimal digit
        ("a\nb", '"a\\nb"'),
        ('é "x"', '"é \\"x\\""'),
    ],
)
def test_other_labels_are_quoted(label, quoted):
    assert word(Action("?", label, "Role")) == f"Role?{quoted}"


# --- closing --------------------------------------------------------------------------------------


def test_where_an_end_can_be_reached_only_the_end_will_do():
    # rec L.!a.?{again.L, done}: the head of the loop is not enough
    protocol = rec("L", "!a", choice(seq("?again", "L"), "?done"))
    assert not complete(protocol)
    assert not complete(protocol, "!a ?again")
    assert complete(protocol, "!a ?done")


def test_an_endless_loop_may_stop_between_rounds():
    # rec L.{!a.?b.L, ?c.L}
    protocol = rec("L", choice(seq("!a", "?b", "L"), seq("?c", "L")))
    assert complete(protocol)
    assert not complete(protocol, "!a")
    assert complete(protocol, "!a ?b")
    assert complete(protocol, "!a ?b ?c")


def test_just_entering_an_endless_loop_is_between_rounds_and_before_it_is_not():
    # !hello.rec L.!a.?b.L
    protocol = seq("!hello", rec("L", "!a", "?b", "L"))
    assert not complete(protocol)
    assert complete(protocol, "!hello")
    assert not complete(protocol, "!hello !a")


def test_what_can_be_reached_is_judged_from_where_the_session_stands():
    # {!stop.end, !go.rec L.!a.L}
    protocol = choice(seq("!stop", "end"), seq("!go", rec("L", "!a", "L")))
    assert not complete(protocol)
    assert complete(protocol, "!stop")
    assert complete(protocol, "!go !a")


def test_every_loop_head_counts_in_nested_endless_loops():
    # rec O.!s.rec R.!t.?{f.R, k.O}
    protocol = rec("O", "!s", rec("R", "!t", choice(seq("?f", "R"), seq("?k", "O"))))
    traces = ("", "!s", "!s !t", "!s !t ?f", "!s !t ?k")
    assert [complete(protocol, t) for t in traces] == [True, True, False, True, True]


def test_an_endless_part_pauses_while_the_others_must_finish():
    # (rec X.!a.?b.X | !c.!d)
    protocol = par(rec("X", "!a", "?b", "X"), seq("!c", "!d"))
    assert not complete(protocol)
    assert not complete(protocol, "!a ?b !c")
    assert complete(protocol, "!c !d")
    assert not complete(protocol, "!c !d !a")
    assert complete(protocol, "!c !a !d ?b")


def test_two_endless_parts_must_pause_together():
    # (rec X.!a.?b.X | rec Y.!c.?d.Y).!never
    protocol = seq(par(rec("X", "!a", "?b", "X"), rec("Y", "!c", "?d", "Y")), "!never")
    traces = ("", "!a", "!a !c", "!a !c ?b", "!a !c ?b ?d")
    assert [complete(protocol, t) for t in traces] == [True, False, False, False, True]
    assert "!never" not in legal(protocol, "!a ?b")


def test_a_part_that_can_end_does_not_pause_at_its_loop():
    # (rec X.!a.?{more.X, done} | rec Y.!b.Y)
    protocol = par(rec("X", "!a", choice(seq("?more", "X"), "?done")), rec("Y", "!b", "Y"))
    assert not complete(protocol)
    assert not complete(protocol, "!a ?more !b")
    assert complete(protocol, "!a ?done !b")


def test_parts_that_may_end_hand_over_to_what_follows():
    # ({!a, end} | {!b, end}).P for three P: an end, a debt, a loop
    parts = par(choice("!a", "end"), choice("!b", "end"))
    assert complete(seq(parts, choice("!c", "end")), "!b")
    assert not complete(seq(parts, "!c"), "!b")
    assert complete(seq(parts, rec("Z", "!c", "!d", "Z")), "!b")


def test_parts_that_may_all_end_are_no_pause_before_a_step_still_owed():
    # (rec X.{!a.X, end} | {!b, end}).!d.rec Z.!c.Z: no end of the session, X is no endless loop
    parts = par(rec("X", choice(seq("!a", "X"), "end")), choice("!b", "end"))
    protocol = seq(parts, "!d", rec("Z", "!c", "Z"))
    assert not complete(protocol)
    assert not complete(protocol, "!a !b")
    assert complete(protocol, "!a !b !d")


def test_an_interleaving_at_the_head_of_an_endless_loop():
    # rec L.(!a | !b).L
    protocol = rec("L", par("!a", "!b"), "L")
    assert [complete(protocol, t) for t in ("", "!a", "!a !b", "!a !b !b")] == [
        True,
        False,
        True,
        False,
    ]


def test_the_loop_head_counts_although_the_parts_could_all_end_at_once():
    # rec L.({!a, end} | {!b, end}).!c.L
    protocol = rec("L", par(choice("!a", "end"), choice("!b", "end")), "!c", "L")
    assert [complete(protocol, t) for t in ("", "!a", "!a !b", "!a !c")] == [
        True,
        False,
        False,
        True,
    ]


def test_a_loop_whose_round_cannot_finish_has_no_end():
    # rec L.!s.{!go.(rec X.!a.X | !b).end, !again.L}: the written `end` cannot be reached
    endless = par(rec("X", "!a", "X"), "!b")
    protocol = rec("L", "!s", choice(seq("!go", endless, "end"), seq("!again", "L")))
    assert complete(protocol)
    assert complete(protocol, "!s !again")
    assert not complete(protocol, "!s !go")
    assert not complete(protocol, "!s !go !a")
    assert complete(protocol, "!s !go !a !b")


def test_the_end_behind_an_interleaving_counts_as_reachable():
    # rec L.(!a | !b).{!c.L, !d}
    protocol = rec("L", par("!a", "!b"), choice(seq("!c", "L"), "!d"))
    assert not complete(protocol)
    assert not complete(protocol, "!a !b !c")
    assert complete(protocol, "!a !b !c !b !a !d")


def test_a_pause_deep_inside_nested_interleavings():
    # ((rec X.!a.?b.X | !c) | !d)
    protocol = par(par(rec("X", "!a", "?b", "X"), "!c"), "!d")
    assert not complete(protocol, "!c")
    assert complete(protocol, "!c !d")
    assert not complete(protocol, "!c !d !a")
    assert not complete(protocol, "!d !a ?b")


def test_one_complete_possibility_makes_the_state_complete():
    # (!s.rec X.!y.!z.X | {!s.?x, end})
    protocol = par(seq("!s", rec("X", "!y", "!z", "X")), choice(seq("!s", "?x"), "end"))
    assert complete(protocol, "!s")  # the first part took it and pauses, the second may end
    assert not complete(protocol, "!s !s")
    assert complete(protocol, "!s !s ?x")


# --- sessions -------------------------------------------------------------------------------------


def refused(*expected):
    return Verdict("violation", expected, "protocol")


ASK = seq("!Ask", choice("?Answer", seq("?Refuse", "end")), "!Thanks")


def test_a_session_runs_to_its_end():
    session = Session(ASK)
    assert session.status == "running"
    assert session.allowed() == ["!Ask"]
    assert session.send("Ask") == Verdict("ok")
    assert session.allowed() == ["?Answer", "?Refuse"]
    assert session.receive("Answer", sender="User") == Verdict("ok")
    assert session.send("Thanks", to="User") == Verdict("ok")
    assert session.status == "complete"
    assert session.close() == Verdict("ok")
    assert session.status == "complete"


def test_halt_blocks_everything_after_a_violation():
    session = Session(ASK)
    assert session.receive("Answer") == refused("!Ask")
    assert session.status == "violated"
    assert session.send("Ask") == Verdict("blocked")
    assert session.receive("Unrecognized") == Verdict("blocked")
    assert session.close() == Verdict("blocked")
    assert session.close() == Verdict("blocked")
    assert session.status == "violated"
    assert session.allowed() == []


def test_refuse_changes_nothing():
    session = Session(ASK, mode="refuse")
    assert session.send("Thanks") == refused("!Ask")
    assert session.status == "running"
    assert session.send("Ask") == Verdict("ok")
    assert session.send("Ask") == refused("?Answer", "?Refuse")
    assert session.receive("Refuse") == Verdict("ok")
    assert session.send("Thanks") == refused()
    assert session.status == "complete"
    assert session.close() == Verdict("ok")


@pytest.mark.parametrize("mode", ["halt", "refuse"])
def test_closing_too_early_is_final(mode):
    session = Session(ASK, mode)
    session.send("Ask")
    too_early = refused("?Answer", "?Refuse")
    assert session.close() == too_early
    assert session.status == "incomplete"
    assert session.receive("Answer") == Verdict("blocked")
    assert session.close() == too_early
    assert session.status == "incomplete"
    assert session.allowed() == []


def test_a_closed_session_blocks_even_what_was_legal():
    session = Session(rec("L", "!a", "L"))
    assert session.close() == Verdict("ok")
    assert session.send("a") == Verdict("blocked")
    assert session.close() == Verdict("ok")
    assert session.status == "complete"


@pytest.mark.parametrize("mode", ["halt", "refuse"])
def test_unrecognized_neither_advances_nor_halts_but_shows_at_closing(mode):
    session = Session(ASK, mode)
    assert session.receive("Unrecognized") == Verdict("unrecognized", ("!Ask",))
    assert session.status == "running"
    assert session.allowed() == ["!Ask"]
    assert session.close() == Verdict("unrecognized", ("!Ask",))
    assert session.status == "unrecognised"
    assert session.close() == Verdict("unrecognized", ("!Ask",))
    assert session.receive("Unrecognized") == Verdict("blocked")


def test_unrecognized_shows_at_closing_even_where_the_session_may_end():
    session = Session(END)
    session.receive("Unrecognized")
    assert session.status == "complete"
    assert session.close().kind == "unrecognized"
    assert session.status == "unrecognised"


def test_an_accepted_step_clears_unrecognized_and_a_refused_one_does_not():
    session = Session(node("!a"), mode="refuse")
    session.receive("Unrecognized")
    session.send("b")
    assert session.close().kind == "unrecognized"

    session = Session(node("!a"), mode="refuse")
    session.receive("Unrecognized")
    session.send("a")
    assert session.close() == Verdict("ok")


def test_a_branch_may_name_unrecognized_for_one_direction():
    # ?{Unrecognized.!Sorry, Fine}
    protocol = choice(seq("?Unrecognized", "!Sorry"), "?Fine")
    session = Session(protocol)
    assert session.send("Unrecognized").kind == "unrecognized"
    assert session.receive("Unrecognized") == Verdict("ok")
    assert session.allowed() == ["!Sorry"]
    assert session.close() == refused("!Sorry")


def test_unrecognized_is_that_word_exactly():
    assert Session(ASK).receive("unrecognized").kind == "violation"


def test_expected_words_are_sorted_quoted_and_listed_once():
    protocol = par("?b", "B!x", Action("?", "2nd try"), "!a", "!a")
    assert Session(protocol).allowed() == ["!a", '?"2nd try"', "?b", "B!x"]
    assert Session(protocol).send("no").expected == ("!a", '?"2nd try"', "?b", "B!x")


def test_a_partner_that_does_not_fit_is_a_violation():
    assert Session(node("B?x")).receive("x", sender="C") == refused("B?x")


def test_an_ambiguous_partner_leaves_the_session_as_it_was():
    session = Session(choice("B!x", "C!x"))
    with pytest.raises(ValueError, match="could be with any of"):
        session.send("x")
    assert session.status == "running"
    assert session.send("x", to="C") == Verdict("ok")


def test_there_are_two_modes():
    with pytest.raises(ValueError, match="not `strict`"):
        Session(END, mode="strict")


# --- independence ---------------------------------------------------------------------------------


def test_the_reference_stands_on_the_tree_alone():
    imported = set()
    for file in Path(accord.semantics.__file__).parent.glob("*.py"):
        for statement in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(statement, ast.ImportFrom):
                imported.add(statement.module)
            elif isinstance(statement, ast.Import):
                imported.update(alias.name for alias in statement.names)
    ours = {module for module in imported if module.split(".")[0] == "accord"}
    assert {m for m in ours if not m.startswith("accord.semantics.")} == {
        "accord.language.clauses",
        "accord.language.events",
        "accord.language.global_tree",
        "accord.language.rules",
        "accord.language.tree",
    }
