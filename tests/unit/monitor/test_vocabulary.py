"""Sentences name the tools that a model has, and who has to do what no tool can."""

from __future__ import annotations

import pickle

import pytest

from accord import Guard, Monitor, ToolCall, Violation

EVENTS = """
events {
    Mutate      when call in [book_flight, cancel_flight]
    Search      when call search_flights
    Found       when result of search_flights where found == true
    Failed      when error of search_flights
    UserConfirm when user says matches "(?i)yes"
    Stop        when user says "stop"
    Anything    when user says ""
    Offer       when agent says "shall I"
    Told        when agent says matches "(?i)done"
    Theirs      when user call open_door
    Order       when event Order
}
"""


def refused(contract, *events):
    """What is said to the last event, which must be refused."""
    monitor = Monitor(contract, mode="refuse")
    verdict = None
    for event in events:
        word, payload = event if isinstance(event, tuple) else (event, None)
        verdict = monitor.send(word[1:], payload) if word[0] == "!" else monitor.receive(word[1:], payload)
    assert isinstance(verdict, Violation)
    return verdict.explain()


@pytest.mark.parametrize(
    ("needs", "first"),
    [
        ("Search", "call `search_flights`"),
        ("Search and Found", "call `search_flights` (its result must have `found == true`)"),
        ("Found", "get the result of `search_flights` with `found == true`"),
        ("Failed", "`search_flights` has to fail (`Failed`)"),
        ("UserConfirm", "ask the user to confirm (`UserConfirm`)"),
        ("UserConfirm by human", "ask the user to confirm (`UserConfirm`)"),
        ("Stop", "the user must say `stop` (`Stop`)"),
        ("Anything", "the user must say something (`Anything`)"),
        ("Offer", "say `shall I` (`Offer`)"),
        ("Told", "say it (`Told`)"),
        ("Theirs", "the user must call `open_door`"),
        ("Order", "`Order` has to be reported by the program"),
        ("!Greeting", "send `Greeting`"),
        ("Approval by human", "a person must approve (`Approval`)"),
        ("Confirmed by human", "a person must confirm (`Confirmed`)"),
        ("Verdict by human", "a person must decide (`Verdict`)"),
    ],
)
def test_what_an_events_block_says(needs, first):
    text = refused(f'{EVENTS} rule "r" {{ before Mutate require {needs} }}', "!Mutate")
    refusal = f"This call (`Mutate`) is refused by the rule `r` (`before Mutate require {needs}`)."
    assert text == f"{refusal} First {first}, then this call."


def test_one_tool_is_named_by_its_name():
    contract = f"{EVENTS} protocol P = !Search.!Mutate.!Search.end"
    assert refused(contract, "!Search", "!Search") == (
        "`search_flights` is not allowed yet: first call `book_flight` or `cancel_flight`, then `search_flights`."
    )
    assert refused(contract, "!Mutate") == (
        "This call (`Mutate`) is not allowed yet: first call `search_flights`, then this call."
    )
    assert refused(contract, "!Nothing").endswith("Allowed now: `search_flights`.")
    assert refused(contract, "!Search", "!Nothing").endswith("Allowed now: `book_flight` or `cancel_flight`.")


@pytest.mark.parametrize(
    ("contract", "events", "says"),
    [
        # A tool and its result, and only what somebody has to see to.
        ("!search.?search.!book.end", "!book", "first call `search`, then `book`."),
        ("!search.?search(n as x).!book.end", "!book", "first call `search`, then `book`."),
        ("!search.?search.!book.end", "!search !book", "first wait for the result of `search`, then `book`."),
        ("!search.?search.end", "?search", "The result of `search` is not allowed yet: first call `search`."),
        (
            "!search.?search(found == true).!book.end",
            "!book",
            "first call `search` (its result must have `found == true`), then `book`.",
        ),
        # As the program sees it, that answers the calls.
        ("?search.!search.?book.!book.end", "?book", "`book` is not allowed yet: first call `search`, then `book`."),
        (
            "?search.!search.?book.!book.end",
            "!search",
            "The result of `search` is not allowed yet: first call `search`.",
        ),
        (
            "rec L.{?a.!a.L, ?b.!b.L}",
            "?c",
            "`c` is not allowed: the protocol does not name it. Allowed now: `a` or `b`, or",
        ),
        # Messages, where nobody says that they are calls.
        ("!Greet.?Answer.!Ask.end", "!Ask", "first `Greet`, then wait for `Answer`, then `Ask`."),
        ("B!order.C?deal.B!pay.end", "!pay", "first send `order` to `B`, then wait for `deal` from `C`, then `pay`."),
        # What nothing says about anything.
        ('rule "r" { before submit require date_of_birth }', "!submit", "First `date_of_birth`, then `submit`."),
        # One that was called before is called again.
        ('rule "r" { before each edit require look }', "!look !edit !edit", "First call `look`, then `edit`."),
    ],
)
def test_what_a_contract_says_without_one(contract, events, says):
    assert says in refused(contract, *events.split())


@pytest.mark.parametrize(
    ("contract", "events", "says"),
    [
        (
            'protocol P = rec L.{!a.L, end} rule "r" { at most 1 a }',
            "!a !a",
            " Nothing else is allowed now; you may only finish.",
        ),
        ("!a.end", "!a !a", "`a` is not allowed: the protocol is over, and nothing more may happen."),
        ("rec L.{!a.L, !b.L, end}", "!c", " Allowed now: `a` or `b`, or finish."),
        ("!a.{?b, ?c by human}.end", "!a !d", " Now wait for `b`, or a person must decide (`c`)."),
        (
            "!{" + ", ".join(f"t{n}" for n in range(9)) + "}",
            "!x",
            "Allowed now: `t0`, `t1`, `t2`, `t3`, `t4` or 4 more.",
        ),
    ],
)
def test_what_is_allowed_now(contract, events, says):
    assert refused(contract, *events.split()).endswith(says)


@pytest.mark.parametrize(
    ("rule", "events", "says"),
    [
        ("at most 1 pay", "!pay !pay", "it has happened once and may not happen again."),
        ("at most 0 pay", "!pay", "it may not happen."),
        ("after stop forbid pay", "!stop !pay", "`stop` has happened, so it may not happen any more."),
        (
            "forbid read ... post",
            "!read !post",
            "the beginning of the sequence has happened, so it may not happen any more.",
        ),
    ],
)
def test_a_limit_promises_no_way(rule, events, says):
    text = refused(f'rule "r" {{ {rule} }}', *events.split())
    assert text == f"`{events.split()[-1][1:]}` is refused by the rule `r` (`{rule}`): {says}"


def test_a_limit_on_what_is_said_says_so():
    events = [("!pay", {"n": 9}), ("!pay", {"n": 9})]
    assert refused('rule "r" { at most 1 pay(n > 5) }', *events).endswith("and may not happen again like this.")


def test_data_that_is_refused_until_a_deadline_leaves_its_step_allowed():
    monitor = Monitor("?pay(n < 5) within 1h else !remind.end", mode="refuse", at=0)
    assert monitor.receive("pay", {"n": 9}, at=5).explain() == (
        "`pay` is refused: `n < 5` does not hold: `n` is 9. It is due until 3600 (in 59m 55s)."
    )


def test_many_tools_are_a_handful():
    names = ", ".join(f"t{number}" for number in range(9))
    contract = f'events {{ Look when call in [{names}] Pay when call pay }} rule "r" {{ before Pay require Look }}'
    assert refused(contract, "!Pay").endswith("First call `t0`, `t1`, `t2`, `t3`, `t4` or 4 more, then `pay`.")


def test_no_sentence_says_what_nobody_can_do():
    """The words of before: nobody lets something happen, and nobody ends a session that is a tool's."""
    for contract in ('rule "r" { before book require search }', "rec L.{!a.L, end}"):
        text = refused(contract, "!book")
        assert " happen" not in text.partition("refused by")[2] and "ending" not in text and "`!" not in text


def test_a_guard_names_its_tools_where_it_gave_them_labels():
    guard = Guard(
        "!Search.!Book.end", labels={"search_flights": "Search", "book_flight": "Book", "hold_flight": "Book"}
    )
    decision, _ = guard.reserve([ToolCall("book_flight", {}), ToolCall("nothing", {})])
    assert decision.message == "This call (`Book`) is not allowed yet: first call `search_flights`, then this call."
    assert decision.verdict.explain() == decision.message
    assert (decision.verdict.got, decision.verdict.expected) == ("!Book", ["!Search"])
    assert guard.explain() == "Allowed now: `search_flights`."


def test_what_is_advised_does_not_say_what_was_refused():
    monitor = Monitor("rec L.{!pay(n < 5).L, !stop.end}", mode="refuse")
    verdict = monitor.send("pay", {"n": 1234})
    assert verdict.advise() == "Allowed otherwise: `stop`."
    assert pickle.loads(pickle.dumps(verdict)).advise() == verdict.advise()  # noqa: S301
    assert Violation(["!a"], "!b").advise() == ""
    assert Violation(["!a"], "!b").naming({"b": ("tool",)}).explain() == Violation(["!a"], "!b").explain()
