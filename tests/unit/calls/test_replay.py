"""A recorded run is judged as a guard would have decided: what would have waited waits, and has its end behind it."""

from __future__ import annotations

import pytest

from accord import Ok, compile
from accord.calls.replay import Replay
from accord.sources.model import Message

BOTH = 'rule "a" { before b require a } rule "x" { before b require x } rule "b" { before c require b }'
SOON = 'rule "a" { before b require a } rule "soon" { within 3s after ?b require c }'


def run_of(*steps):
    """Messages from `call`, `result` or `error`, a name, a number of a message and a time; an end is of the last."""
    messages, calls = [], {}
    for kind, name, index, *at in steps:
        message = Message(kind, index, {}, name, moment=at[0] if at else None)
        if kind == "call":
            calls[name] = message
        else:
            message.answers = calls[name]
        messages.append(message)
    return messages


def in_words(one):
    refused = "" if one.verdict in {None, Ok()} else " refused"
    return f"{one.happened.kind} {one.happened.name}{refused}{' waited' * one.waited}{' follows' * one.follows}"


def judged(contract, run):
    """What was judged, in the order in which it was, each thing once."""
    told = list(Replay(compile(contract), None).follow(run))
    assert sorted(one.place for one in told) == list(range(len(run)))
    return [in_words(one) for one in told]


def test_what_waits_for_two_calls_waits_on_with_all_behind_it_when_one_has_ended():
    run = run_of(
        *[("call", name, 0) for name in "axbc"], ("result", "a", 1), ("result", "x", 2), ("result", "b", 3),
        ("result", "c", 4),
    )  # fmt: skip
    assert judged(BOTH, run) == [
        "call a", "call x", "result a", "result x", "call b waited", "result b", "call c waited", "result c",
    ]  # fmt: skip


def test_what_waits_in_vain_is_refused_with_what_rests_on_it():
    run = run_of(
        *[("call", name, 0) for name in "axbc"], ("result", "b", 1), ("result", "c", 2), ("result", "a", 3),
        ("error", "x", 4), ("call", "x", 5), ("result", "x", 6),
    )  # fmt: skip
    assert judged(BOTH + " tools { otherwise fails undone }", run) == [
        "call a", "call x", "result a", "error x", "call b refused waited", "call c refused waited",
        "result b follows", "result c follows", "call x", "result x",
    ]  # fmt: skip


AGAIN = [("undone", "call a"), ("done", "call a refused"), ("unknown", "call a refused")]


@pytest.mark.parametrize(("fails", "answer"), AGAIN)
def test_what_has_failed_may_be_called_again_if_that_means_that_it_has_not_happened(fails, answer):
    run = run_of(("call", "a", 0), ("error", "a", 1), ("call", "a", 2), ("result", "a", 3))
    end = "result a follows" if "refused" in answer else "result a"
    assert judged(f"protocol P = !a.end tools {{ a fails {fails} }}", run) == ["call a", "error a", answer, end]


@pytest.mark.parametrize(("at", "answer"), [(12, "call c"), (14, "call c refused")])
def test_the_end_of_a_call_that_would_have_waited_comes_when_the_call_would_have_gone_on(at, answer):
    """`b` has ended at 5, but it would not have begun before `a` had ended at 10."""
    run = run_of(
        ("call", "a", 0, 0), ("call", "b", 0, 0), ("result", "b", 1, 5), ("result", "a", 2, 10), ("call", "c", 3, at),
        ("result", "c", 4, at),
    )  # fmt: skip
    end = "result c follows" if "refused" in answer else "result c"
    assert judged(SOON, run) == ["call a", "result a", "call b waited", "result b", answer, end]
