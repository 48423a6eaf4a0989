"""What the user and the agent say to a guard, and protocols that begin again."""

from __future__ import annotations

import json

import pytest

from accord import Guard, MemoryStore, Ok, ToolCall, UsageError, Violation
from accord.calls.entries import Firm, Out, Restart
from accord.integrations.guard import codec
from accord.integrations.guard.state import State
from accord.machine.events import Event
from accord.monitor.restart import is_done
from accord.monitor.step import begin

EVENTS = """
events {
  Yes when user says "yes"
  Offer when agent says "offer"
  ignore when user says "never mind"
  Noise when user says "noise"
  book when call book
}
"""
STEPS = "protocol P = !Offer.?Yes by human.!book.end" + EVENTS
TOOLS = {"book": lambda: "booked"}


@pytest.fixture(params=["memory", "store"])
def home(request):
    return {"store": MemoryStore(), "key": "k"} if request.param == "store" else {}


class TestSaying:
    @pytest.mark.parametrize("clock", [None, lambda: 0.0], ids=["no clock", "a clock"])
    def test_a_refusal_is_told_as_if_all_calls_counted_whatever_they_have_to_do_with_it(self, home, clock):
        contract = """
        events { Yes when user says "yes" as named otherwise }
        protocol P = each k: rec L.{?Yes by human.L, !book.?book.L, end}
        """
        guard = Guard(contract, tools={"book": lambda k: k}, clock=clock, **home)
        assert guard.reserve([ToolCall("book", {"k": 1}, "c1")])[0].admitted
        said = "`Yes` is refused: the field `k`, which says what it is about, is missing."
        assert guard.user_says("yes").explain() == f"{said} Allowed otherwise: `book`, or wait for `book`."

    def test_text_is_an_event(self, home):
        guard = Guard(STEPS, tools=TOOLS, **home)
        assert guard.agent_says("I offer this.") == Ok()
        assert guard.user_says("yes") == Ok()
        assert guard.run([ToolCall("book")])[0].ok
        assert guard.status == "complete"

    def test_text_without_a_label_is_none(self, home):
        guard = Guard(STEPS, **home)
        before = guard.allowed()
        for text in ("hello", "never mind", "noise", ""):
            assert guard.user_says(text) == Ok()
        assert guard.agent_says("yes") == Ok()
        assert guard.allowed() == before
        assert not home or home["store"].session("k") is None

    def test_text_that_is_not_legal_changes_nothing_and_is_written_down(self, home):
        guard = Guard(STEPS, on_violation="raise", **home)
        verdict = guard.user_says("yes")
        assert type(verdict) is Violation
        assert guard.agent_says("an offer") == Ok()
        if home:
            entries = [json.loads(line)["entry"] for line in home["store"].ledger("k")]
            told = [(entry["event"], entry["payload"], entry["verdict"]) for entry in entries if "event" in entry]
            assert told == [("?Yes by user", {"text": "yes"}, "violation"), ("!Offer", {"text": "an offer"}, "ok")]

    def test_only_rules_name_it(self, home):
        contract = 'protocol P = rec L. !book.L rule "asked" { before book require ?Yes } ' + EVENTS
        guard = Guard(contract, tools=TOOLS, **home)
        assert not guard.run([ToolCall("book")])[0].ok
        assert guard.user_says("yes") == Ok()  # the protocol is not asked
        assert guard.run([ToolCall("book")])[0].ok

    def test_only_rules_name_it_while_a_call_is_out(self, home):
        contract = 'protocol P = !book.!book.end rule "asked" { before book require ?Yes } ' + EVENTS
        guard = Guard(contract, **home)
        guard.user_says("yes")
        (decision,) = guard.reserve([ToolCall("book", {}, "a")])
        assert guard.user_says("yes, yes") == Ok()
        again = Guard(contract, **home) if home else guard
        again.settle(decision.ticket, {})
        assert again.allowed() == ["!book"]

    def test_in_slices_and_under_deadlines(self, home):
        contract = (
            'protocol P = each k: !book.end rule "asked" { before book require ?Yes }'
            'rule "soon" { within 10s after Yes require book }' + EVENTS
        )
        now = [0]
        guard = Guard(contract, tools={"book": lambda k: k}, clock=lambda: now[0], **home)
        assert guard.user_says("yes") == Ok()
        now[0] = 5
        assert guard.run([ToolCall("book", {"k": 1})])[0].ok

    def test_who_says_it(self, home):
        guard = Guard(STEPS, **home)
        guard.agent_says("offer")
        assert guard.user_says("yes", by="ana") == Ok()
        if home:
            assert b"ana" in b"".join(home["store"].ledger("k"))

    def test_the_user_is_asked_by_nobody_else(self):
        guard = Guard(STEPS, tools=TOOLS)
        guard.agent_says("offer")
        (result,) = guard.run([ToolCall("book")])
        assert guard.reviews() == []
        assert "first the user must say `yes` (`Yes`)" in result.content

    @pytest.mark.parametrize("text", [None, 1, b"yes", ["yes"]])
    def test_what_is_no_text(self, text):
        with pytest.raises(UsageError, match="a text"):
            Guard(STEPS).user_says(text)
        with pytest.raises(UsageError, match="a text"):
            Guard(STEPS).agent_says(text)

    def test_odd_text(self, home):
        guard = Guard(STEPS, **home)
        assert guard.agent_says("offer \ud800 \x00") == Ok()


class TestRestarting:
    def test_a_user_who_speaks_begins_the_protocol_again(self, home):
        guard = Guard("!book.end", tools=TOOLS, when_over="restart", **home)
        assert guard.run([ToolCall("book", {}, "a")])[0].ok
        (refused,) = guard.run([ToolCall("book", {}, "b")])
        assert refused.error == "`book` is not allowed: the protocol is over, and nothing more may happen."
        assert guard.user_says("again") == Ok()
        assert guard.run([ToolCall("book", {}, "c")])[0].ok
        assert not home or home["store"].verify("k").ok

    def test_not_unless_it_is_asked_for(self, home):
        guard = Guard("!book.end", tools=TOOLS, **home)
        guard.run([ToolCall("book", {}, "a")])
        guard.user_says("again")
        assert not guard.run([ToolCall("book", {}, "c")])[0].ok

    def test_not_before_it_is_over(self, home):
        guard = Guard("!book.{!book.end, end}", tools=TOOLS, when_over="restart", **home)
        guard.run([ToolCall("book", {}, "a")])
        guard.user_says("again")
        guard.run([ToolCall("book", {}, "b")])
        assert guard.allowed() == []

    def test_a_call_that_may_yet_fail_leaves_it_open(self, home):
        guard = Guard("!book.end", when_over="restart", **home)
        (decision,) = guard.reserve([ToolCall("book", {}, "a")])
        guard.user_says("again")
        assert guard.allowed() == []
        guard.fail(decision.ticket, "no")
        assert guard.allowed() == ["!book"]

    def test_a_call_that_changes_nothing_about_it_stays_out(self, home):
        """An open call of another part of the contract does not keep the protocol from beginning again."""
        contract = 'protocol P = !book.end rule "r" { at most 3 book } tools { book fails done }'
        guard = Guard(contract, when_over="restart", **home)
        (decision,) = guard.reserve([ToolCall("book", {}, "a")])  # it counts whatever becomes of it
        guard.user_says("again")
        assert [out.ticket for out in guard.out()] == ["a"]
        assert guard.allowed() == ["!book"]
        again = Guard(contract, when_over="restart", **home) if home else guard
        assert again.allowed() == ["!book"]
        again.settle(decision.ticket, {})
        assert again.out() == []
        assert again.allowed() == ["!book"]

    def test_a_session_that_was_closed(self, home):
        guard = Guard("!book.end", tools=TOOLS, when_over="restart", **home)
        guard.run([ToolCall("book", {}, "a")])
        assert guard.close() == Ok()
        guard.user_says("again")
        assert guard.allowed() == ["!book"]
        assert type(guard.close()) is Violation  # owing something is no end to begin again from
        guard.user_says("again")
        assert guard.allowed() == []

    def test_it_is_kept_with_the_rest(self):
        guard = Guard("!book.end", when_over="restart")
        out = Out("a", "book", {}, "", (Event("!", "book"),), started=True, failure="done")
        state = State(begin(guard.contract, None), (out, Firm(Restart(None)), Firm(Event("!", "x", to_rules=True))))
        log, _ = codec.read_beside(bytes(codec.write(state)))
        assert log == state.log
        assert not any(map(is_done, state._replace(log=state.log[:2]).worlds()))

    def test_what_is_no_choice(self):
        with pytest.raises(UsageError, match="`when_over` is `refuse` or `restart`"):
            Guard("!book.end", when_over="again")
