"""Labels of a contract that nobody gives, and tools that no clause looks at."""

from __future__ import annotations

import warnings

import pytest

from accord import Guard, LabelWarning, ToolCall, UsageError
from accord.integrations.guard.coverage import Coverage, Unsourced

REFUND = 'rule "verified" { before refnud require verify }'


def tools(*names):
    return {name: lambda: None for name in names}


def labels(contract, *names, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelWarning)
        return [each.label for each in Guard(contract, **options).coverage(names).labels]


class TestSlips:
    def test_a_label_that_is_nearly_a_tool(self):
        with pytest.raises(UsageError, match=r"speaks of `refnud` \(did you mean `refund`"):
            Guard(REFUND, tools=tools("refund", "verify"))

    def test_tools_that_are_registered_later_are_looked_at_with_the_first_batch(self):
        guard = Guard(REFUND)
        for name, tool in tools("refund", "verify").items():
            guard.register(name, tool)
        for attempt in (guard.run, guard.reserve):
            with pytest.raises(UsageError, match="did you mean `refund`"):
                attempt([ToolCall("refund")])

    def test_a_label_that_is_nearly_an_event(self):
        with pytest.raises(UsageError, match="did you mean `Payment`"):
            Guard("?Paymnet.!pay.end", tools=tools("pay"), events=["Payment"])

    def test_a_name_in_the_events_block(self):
        contract = 'rule "r" { at most 1 Pay } events { Pay when call transfre }'
        with pytest.raises(UsageError, match=r"`transfre` \(did you mean `transfer`"):
            Guard(contract, tools=tools("transfer"))

    @pytest.mark.parametrize(
        ("label", "tool"),
        [
            ("refnud", "refund"),
            ("Refund", "refund"),
            ("search-flights", "search_flights"),
            ("searchFlights", "search_flights"),
            ("lookup_oder", "lookup_order"),
            ("lookup_orrder", "lookup_order"),
            ("lokup_order", "lookup_order"),
            ("lookup_ordet", "lookup_order"),
        ],
    )
    def test_what_is_a_slip(self, label, tool):
        with pytest.raises(UsageError, match=f"did you mean `{tool}`"):
            Guard(f'rule "r" {{ at most 1 "{label}" }}', tools=tools(tool))

    @pytest.mark.parametrize(
        ("label", "tool"),
        [
            ("approved", "approve"),
            ("orders", "order"),
            ("step1", "step2"),
            ("list_a", "list_b"),
            ("look", "book"),
            ("pay", "play"),
            ("create_order", "delete_order"),
            ("get_user", "set_user"),
        ],
    )
    def test_what_is_none(self, label, tool):
        with pytest.warns(LabelWarning, match=label):
            Guard(f'rule "r" {{ at most 1 "{label}" }}', tools=tools(tool))


class TestWarnings:
    def test_a_label_without_a_source(self):
        with pytest.warns(LabelWarning, match="speaks of `Order`, which neither a tool nor an event gives") as found:
            guard = Guard("?Order.!pay.end", tools=tools("pay"))
        assert found[0].filename == __file__
        guard.receive("Order")
        assert guard.run([ToolCall("pay")])[0].ok  # said once

    def test_events_are_declared(self):
        guard = Guard("?Order.!pay.end", tools=tools("pay"), events=["Order"], strict=True)
        assert guard.coverage() == Coverage()

    def test_strict(self):
        with pytest.raises(UsageError, match="speaks of `Order`, which"):
            Guard("?Order.!pay.end", tools=tools("pay"), strict=True)

    def test_without_tools_nothing_is_known(self):
        guard = Guard("?Order.!pay.end", strict=True)
        assert guard.reserve([ToolCall("pay")])[0].status == "refused"

    @pytest.mark.parametrize("events", ["Order", [1], [""]])
    def test_what_is_no_list_of_events(self, events):
        with pytest.raises(UsageError, match="`events` are the names"):
            Guard("!pay.end", events=events)

    def test_many_are_not_all_told(self):
        contract = f"!{{{', '.join(f'zz{number}yy' for number in range(30))}}}.end"
        with pytest.warns(LabelWarning, match="and 20 more"):
            Guard(contract, tools=tools("pay"))


class TestSources:
    def test_people_and_tools_under_other_names(self):
        contract = 'protocol P = ?Approval by human.!book.?book.end rule "r" { before book require ?Check by human }'
        assert labels(contract, "book_flight", labels={"book_flight": "book"}) == []
        assert labels(contract, "book_flight") == ["book"]

    def test_an_events_block(self):
        contract = """
        protocol P = !Mutate.?Yes.?Told.?Paid.end
        events {
          Mutate when call in [book, cancel]
          Yes when user says "yes"
          Told when user call tell
          Paid when event Payment
        }
        """
        assert labels(contract, "book", "cancel", events=["Payment"]) == []
        assert labels(contract, "book", events=["Payment"]) == ["cancel"]
        assert labels(contract, "search") == ["Mutate", "Paid", "Payment", "book", "cancel"]

    def test_the_step_of_a_person_in_an_events_block(self):
        contract = "protocol P = ?Ok by human.!pay.end events { Ok when event Approval  pay when call pay }"
        assert labels(contract, "pay") == []

    def test_rules_about_another_protocol_of_the_contract(self):
        contract = """
        protocol Front = !ask.end
        protocol Back = !pay.end
        rule "r" { at most 1 pay }
        """
        assert labels(contract, "ask", protocol="Front") == []
        assert labels(contract, "pay", protocol="Front") == ["ask"]


class TestTools:
    def test_a_protocol_refuses_what_it_does_not_name(self):
        coverage = Guard("!pay.end", tools=tools("pay", "log")).coverage()
        assert (coverage.refused, coverage.passing, coverage.tools) == (("log",), (), ("log",))
        assert str(coverage) == "No clause names `log`: these calls are refused."

    def test_rules_alone_let_others_pass(self):
        guard = Guard('rule "r" { at most 1 pay }', tools=tools("pay", "log"))
        coverage = guard.coverage()
        assert (coverage.refused, coverage.passing) == ((), ("log",))
        assert str(coverage) == "No clause looks at `log`: these calls run."
        assert guard.run([ToolCall("log")])[0].ok

    def test_under_deadlines(self):
        contract = 'protocol P = !pay within 5s else (end) rule "r" { within 3s after pay require pay }'
        assert Guard(contract, tools=tools("pay", "log")).coverage().refused == ("log",)

    def test_an_events_block(self):
        contract = 'rule "r" { at most 1 Pay } events { Pay when call pay  ignore when result of pay }'
        assert Guard(contract, tools=tools("pay", "log")).coverage().passing == ("log",)

    def test_in_words(self):
        assert str(Coverage()) == "Every tool is looked at, and every label can come."
        told = str(Coverage(labels=(Unsourced("Order"), Unsourced("refnud", "refund", close=True))))
        assert told == "Neither a tool nor a declared event gives `Order`, `refnud` (did you mean `refund`?)."

    def test_tools_that_change_with_every_request_fill_no_memory(self):
        guard = Guard('rule "r" { at most 1 pay }')
        for number in range(1000):
            assert guard.coverage(["pay", f"t{number}"]).passing == (f"t{number}",)
        assert len(guard.contract.kept) <= 256
