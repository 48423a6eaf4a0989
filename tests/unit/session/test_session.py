"""Sessions of several roles: order, blame, endpoints, payloads, rules, conversations."""

import itertools
import random
import sys
import threading

import pytest

import accord
from accord import Blocked, Conversations, Limits, Ok, Session, UsageError, Violation

BUYERS = """
record Quote { price: Int, currency: Currency }
enum Currency { EUR, USD }
protocol TwoBuyers {
    B1 -> S: Title
    S -> B1: Quote
    S -> B2: Quote
    B1 -> B2: Share
    choice at B2 {
        B2 -> B1: Agree
        B2 -> S: Buy
    } or {
        B2 -> B1: Refuse
        B2 -> S: Cancel
    }
}
"""
QUOTE = {"price": 3, "currency": "EUR"}


def begun(mode="refuse"):
    session = Session(BUYERS, mode=mode)
    assert session.observe("B1", "S", "Title") == Ok()
    assert session.observe("S", "B1", "Quote", QUOTE) == Ok()
    return session


def test_a_whole_conversation():
    session = begun()
    for message in (("S", "B2", "Quote", QUOTE), ("B1", "B2"), ("B2", "B1", "Agree"), ("B2", "S")):
        assert session.observe(*message) == Ok()
    assert (session.status, session.close(), session.status) == ("complete", Ok(), "complete")
    assert session.trace[-2:] == ["B2 -> B1: Agree", "B2 -> S: Buy"]
    assert session.observe("B2", "S", "Buy") == Blocked("the session is closed")


def test_the_second_time_is_the_quick_one_and_answers_the_same():
    contract = accord.compile(BUYERS)
    runs = []
    for _ in range(3):
        session = Session(contract, mode="refuse")
        verdicts = [session.observe("B1", "S", "Title"), session.observe("S", "B1", "Quote", {"price": "3"})]
        verdicts += [session.observe("S", "B1", "Quote", QUOTE), session.observe("S", "B1", "Quote", QUOTE)]
        runs.append((verdicts, session.states, session.trace))
    assert runs[0] == runs[1] == runs[2]
    assert [type(v) for v in runs[0][0]] == [Ok, Violation, Ok, Violation]


def test_who_sends_out_of_order_is_blamed():
    verdict = begun().observe("B2", "S", "Buy")
    assert (verdict.role, verdict.suspects, verdict.got) == ("B2", ("B2",), "B2 -> S: Buy")
    assert verdict.expected == ["S -> B2: Quote"]
    assert (verdict.contract, verdict.clause, verdict.position) == ("TwoBuyers", "protocol", 2)
    assert verdict.to_dict()["suspects"] == ["B2"]
    assert verdict.explain() == "`B2` may not send `Buy` to `S` now. It could have done: `S -> B2: Quote`."


def test_after_a_violation_a_halting_session_is_blocked():
    session = begun("halt")
    assert isinstance(session.observe("B2", "S", "Buy"), Violation)
    assert session.observe("S", "B2", "Quote", QUOTE) == Blocked("session halted after a previous violation")
    assert (session.status, session.allowed(), session.close()) == (
        "violated",
        [],
        Blocked("session halted after a previous violation"),
    )


def test_what_nobody_waits_for_is_under_way():
    """The channels are independent: B1 does not know whether the second buyer has its quote."""
    session = begun()
    assert session.observe("B1", "B2", "Share") == Ok()
    assert session.under_way == {("B1", "B2"): ["Share"]}
    assert session.observe("B2", "B1", "Agree").role == "B2"
    assert session.observe("S", "B2", "Quote", QUOTE) == Ok()
    assert session.under_way == {}
    assert session.observe("B2", "B1", "Agree") == Ok()


def test_closing_early_names_everybody_who_owes():
    session = begun()
    verdict = session.close()
    assert verdict.suspects == ("B1", "S")
    assert verdict.role is None
    assert verdict.expected == ["B1 -> B2: Share", "S -> B2: Quote"]
    assert (verdict.got, session.status) == ("end", "incomplete")


def test_closing_with_a_message_under_way_names_its_receiver():
    session = Session("protocol P { A -> B: x }")
    assert session["A"].send("x", to="B") == Ok()
    assert session.close().suspects == ("B",)


def test_asking_changes_nothing():
    session = begun()
    before = (session.states, session.trace, session.under_way)
    assert session.peek("S", "B2", "Quote", QUOTE) == Ok()
    assert isinstance(session.peek("S", "B2", "Quote", {}), Violation)
    assert isinstance(session.peek_close(), Violation)
    assert (session.states, session.trace, session.under_way) == before


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (None, "field `price` is missing"),
        ({"price": 3}, "field `currency` is missing"),
        ({"price": "3", "currency": "EUR"}, "`price` is of type `str`, expected `Int`"),
        ({"price": True, "currency": "EUR"}, "`price` is of type `bool`, expected `Int`"),
        ({"price": 3, "currency": "EUT"}, "`currency` is no `Currency`: `'EUT'`; did you mean `EUR`?"),
        ({**QUOTE, "prize": 1}, "`Quote` has no field `prize`; did you mean `price`?"),
    ],
)
def test_payloads_are_records(payload, reason):
    session = Session(BUYERS, mode="refuse")
    session.observe("B1", "S", "Title")
    verdict = session.observe("S", "B1", "Quote", payload)
    assert reason in verdict.explain()
    assert (verdict.role, verdict.clause, verdict.about_data) == ("S", "record Quote", True)
    assert session.observe("S", "B1", "Quote", QUOTE) == Ok()


DEEP = """
enum Size { S, M }
record Item { name: String, size: Size, tags: List<String>, extra: Option<Float> }
record Order { items: List<Item>, notes: Map<String, Bool>, sizes: Map<Size, Int>,
    any: Any, parent: Option<Order>, ... }
protocol P { A -> B: Order }
"""
ITEM = {"name": "x", "size": "S", "tags": ["a"]}
ORDER = {"items": [ITEM], "notes": {"gift": True}, "sizes": {"M": 3}, "any": object(), "more": 1}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, None),
        ({"items": []}, None),
        ({"items": [{**ITEM, "extra": None}, {**ITEM, "extra": 3}]}, None),
        ({"parent": ORDER}, None),
        ({"items": [ITEM, {**ITEM, "tags": [1]}]}, "`items[1].tags[0]` is of type `int`, expected `String`"),
        ({"items": [{**ITEM, "colour": 1}]}, "`Item` has no field `colour` in `items[0]`"),
        ({"items": {}}, "`items` is of type `dict`, expected `List<Item>`"),
        ({"notes": {"gift": 1}}, "`notes['gift']` is of type `int`, expected `Bool`"),
        ({"sizes": {"XL": 1}}, "`a key of sizes` is no `Size`"),
        ({"parent": {}}, "field `parent.items` is missing"),
        ({"items": "abc"}, "`items` is of type `str`"),
    ],
)
def test_nested_payloads(change, reason):
    verdict = Session(DEEP).observe("A", "B", "Order", {**ORDER, **change})
    assert verdict == Ok() if reason is None else reason in verdict.explain()


def test_a_payload_that_is_nested_without_end_is_refused():
    payload = dict(ORDER)
    payload["parent"] = payload
    assert "nested too deeply" in Session(DEEP).observe("A", "B", "Order", payload).explain()


def test_hostile_text_in_payloads_is_inert():
    verdict = Session(DEEP).observe("A", "B", "Order", {**ORDER, "items": [{**ITEM, "\x1b[31m`evil": 1}]})
    assert "\x1b" not in verdict.explain()
    assert verdict.explain().count("`") % 2 == 0


def test_an_enum_as_a_message():
    session = Session("enum Colour { red, green } protocol P { A -> B: Colour }", mode="refuse")
    assert isinstance(session.observe("A", "B", "Colour", {"value": "blue"}), Violation)
    assert isinstance(session.observe("A", "B", "Colour"), Violation)
    assert session.observe("A", "B", "Colour", {"value": "red"}) == Ok()


def test_endpoints():
    session = Session(BUYERS)
    b1, b2, s = (session[role] for role in ("B1", "B2", "S"))
    assert b1.send("Title", to="S") == Ok()
    assert s.allowed() == ["B1 -> S: Title"]
    assert s.receive("Title", sender="B1") == Ok()
    assert s.send("Quote", QUOTE, to="B1") == Ok()
    assert s.send(payload=QUOTE, to="B2") == Ok()
    assert b1.receive(sender="S") == Ok()
    assert b1.send(to="B2") == Ok()
    assert b2.receive(sender="S") == Ok()
    assert b2.receive(sender="B1") == Ok()
    with pytest.raises(UsageError, match="name one of `Agree`, `Refuse`"):
        b2.send(to="B1")
    assert b2.send("Refuse", to="B1") == b2.send(to="S") == b1.receive(sender="B2") == s.receive(sender="B2") == Ok()
    assert session.close() == Ok()
    assert session.trace[:2] == ["B1: S!Title", "S: B1?Title"]


def test_receiving_what_nobody_sent_leaves_two_suspects():
    session = Session(BUYERS, mode="refuse")
    verdict = session["S"].receive("Title", sender="B1")
    assert (verdict.suspects, verdict.role) == (("B1", "S"), None)
    assert "nothing is under way there" in verdict.explain()
    assert session["B1"].send("Title", to="S") == Ok()
    assert session["S"].receive("Title", sender="B1") == Ok()


def test_channels_are_first_in_first_out():
    session = Session("protocol P { A -> B: x; A -> B: y }", mode="refuse")
    a, b = session["A"], session["B"]
    assert a.send("x", to="B") == a.send("y", to="B") == Ok()
    verdict = b.receive("y", sender="A")
    assert verdict.expected == ["A -> B: x"]
    assert verdict.suspects == ("A", "B")
    assert b.receive("x", sender="A") == b.receive("y", sender="A") == Ok()


def test_receiving_too_early_is_the_receiver_s_fault():
    session = Session("protocol P { A -> B: x; C -> B: y }", mode="refuse")
    assert session["C"].send("y", to="B") == Ok()
    assert session["B"].receive("y", sender="C").suspects == ("B",)


def test_a_session_is_watched_in_one_way():
    session = begun()
    with pytest.raises(UsageError, match="watched by an observer"):
        session["S"].send("Quote", QUOTE, to="B2")
    session = Session(BUYERS)
    session["B1"].send("Title", to="S")
    with pytest.raises(UsageError, match="watched by its roles"):
        session.observe("S", "B1", "Quote", QUOTE)


def test_a_label_that_is_left_out_where_nothing_is_legal():
    verdict = begun().observe("B2", "S")
    assert verdict.role == "B2"
    assert "nothing there now" in verdict.explain()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("B3", "S", "Title"), "no role 'B3'"),
        (("B1", "B9", "Title"), "no role 'B9'"),
        (("B1", "S", 3), "a label is a `str`"),
        (("B1", "S", ""), "at least one character"),
        (("B1", "S", "Title", [1]), "a payload is a mapping"),
        (([], "S", "Title"), "no role"),
    ],
)
def test_wrong_usage(arguments, message):
    session = Session(BUYERS)
    with pytest.raises(UsageError, match=message):
        session.observe(*arguments)
    assert session.trace == []


def test_wrong_construction():
    with pytest.raises(UsageError, match="no protocol between roles"):
        Session("!a.end")
    with pytest.raises(UsageError, match="several protocols between roles"):
        Session("protocol P { A -> B: x } protocol Q { A -> B: x }")
    with pytest.raises(UsageError, match="did you mean `P`"):
        Session("protocol P { A -> B: x } protocol Q { A -> B: x }", protocol="p")
    with pytest.raises(UsageError, match="mode is"):
        Session(BUYERS, mode="x")
    with pytest.raises(UsageError, match="cannot be copied"):
        Session(BUYERS).__reduce__()
    with pytest.raises(UsageError, match="is between roles, and nobody's alone"):
        accord.Monitor(BUYERS)


RULES = """
protocol Pay { A -> B: Ask; choice at B { B -> A: Yes } or { B -> A: No }
    rec X { choice at A { A -> C: Pay; continue X } or { A -> C: Done; C -> A: Receipt } } }
rule "yes first" { before Pay require Yes }
rule "twice" { at most 2 Pay }
rule "receipt" { after Pay require ?Receipt }
"""


def test_rules_hold_over_the_whole_conversation():
    session = Session(RULES, mode="refuse")
    assert session.observe("A", "B", "Ask") == session.observe("B", "A", "No") == Ok()
    verdict = session.observe("A", "C", "Pay")
    assert (verdict.clause, verdict.role) == ('rule "yes first"', "A")
    session = Session(RULES, mode="refuse")
    for message in (("A", "B"), ("B", "A", "Yes"), ("A", "C", "Pay"), ("A", "C", "Pay")):
        assert session.observe(*message) == Ok()
    assert session.observe("A", "C", "Pay").clause == 'rule "twice"'
    assert session.observe("A", "C", "Done") == session.observe("C", "A") == session.close() == Ok()


def test_a_rule_about_time():
    text = 'protocol P { A -> B: Ask; B -> A: Answer } rule "soon" { within 5s after Ask require Answer }'
    session = Session(text, mode="refuse", at=0)
    assert session.observe("A", "B", "Ask", at=1) == Ok()
    with pytest.raises(UsageError, match="time"):
        session.observe("B", "A", "Answer")
    verdict = session.tick(7)
    assert (verdict.clause, verdict.suspects) == ('rule "soon"', ("A", "B"))


def test_a_rule_about_people():
    text = 'protocol P { H -> A: Approve; A -> B: Pay } rule "person" { before Pay require Approve by human }'
    session = Session(text, mode="refuse")
    assert session.observe("H", "A", "Approve") == Ok()
    assert session.observe("A", "B", "Pay").clause == 'rule "person"'
    session = Session(text, mode="refuse")
    assert session.observe("H", "A", "Approve", by="ana") == session.observe("A", "B", "Pay") == Ok()


def test_many_conversations():
    calls = Conversations(BUYERS, mode="refuse")
    assert calls.observe("c1", "B1", "S", "Title") == calls.observe("c2", "B1", "S", "Title") == Ok()
    assert calls.observe("c1", "S", "B1", "Quote", QUOTE) == Ok()
    assert isinstance(calls.observe("c3", "S", "B1", "Quote", QUOTE), Violation)
    assert ("c3" in calls, len(calls), list(calls)) == (False, 2, ["c1", "c2"])
    assert calls["c1"].states != calls["c2"].states
    calls.forget("c1")
    assert calls.observe("c1", "B1", "S", "Title") == Ok()
    with pytest.raises(UsageError, match="conversation id"):
        calls.observe(7, "B1", "S", "Title")


def test_conversations_are_bounded():
    calls = Conversations(accord.compile(BUYERS, limits=Limits(instances=1)))
    assert calls.observe("c1", "B1", "S", "Title") == Ok()
    assert isinstance(calls.observe("c2", "B1", "S", "Title"), Blocked)


def test_what_is_under_way_is_bounded():
    contract = accord.compile("protocol P { rec X { A -> B: x; continue X } }", limits=Limits(configurations=5))
    session = Session(contract)
    for _ in range(5):
        assert session["A"].send("x", to="B") == Ok()
    assert "would be under way" in session["A"].send("x", to="B").reason


def test_memory_of_joints_is_bounded():
    contract = accord.compile(
        "protocol P { rec X { A -> B: x; C -> D: y; continue X } }", limits=Limits(remembered_standings=8)
    )
    session = Session(contract)
    sizes = []
    for _ in range(50):  # what is under way makes every one of these another joint
        assert session["A"].send("x", to="B") == Ok()
        sizes.append(len(session._crew._known))
    for _ in range(50):
        assert session["B"].receive("x", sender="A") == Ok()
        sizes.append(len(session._crew._known))
    assert isinstance(session["B"].receive("x", sender="A"), Violation)
    assert max(sizes) == 8
    assert sizes.count(1) > 10


@pytest.mark.parametrize("rules", [False, True])
def test_threads_take_turns(rules, request):
    interval = sys.getswitchinterval()
    request.addfinalizer(lambda: sys.setswitchinterval(interval))
    sys.setswitchinterval(1e-5)
    text = "protocol P { rec X { A -> B: x; B -> A: y; continue X } }"
    session = Session(text + (' rule "r" { at most 1000000 x }' if rules else ""), mode="refuse")
    counts = [0, 0]

    def run(index, message):
        while counts[index] < 100:
            if session.observe(*message) == Ok():
                counts[index] += 1

    threads = [threading.Thread(target=run, args=(i, m)) for i, m in enumerate((("A", "B", "x"), ("B", "A", "y")))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert session.trace.count("A -> B: x") >= 100
    assert session.states == {"A": 0, "B": 0}


RING = """
protocol Ring {
    rec Again {
        choice at A { A -> B: pass; B -> C: pass; C -> A: pass; continue Again }
        or { A -> B: stop; B -> C: stop }
    }
}
"""


def said_of_everything(contract, walks=12, steps=9):
    """What sessions answer to all exchanges at all places of some walks: the legal one is made last."""
    answers = []
    for walk in range(walks):
        dice = random.Random(walk)
        session = Session(contract, mode="refuse")
        for _ in range(steps):
            exchanges = [(*pair, label) for pair in itertools.permutations("ABC", 2) for label in ("pass", "stop")]
            dice.shuffle(exchanges)
            verdicts = {exchange: session.observe(*exchange) for exchange in exchanges}
            answers += [(walk, session.states, *pair) for pair in verdicts.items()]
        answers.append((session.status, session.trace))
    return answers


@pytest.mark.parametrize("remembered", [1, 2, 3])
def test_what_is_remembered_or_forgotten_of_a_protocol_changes_no_answer(remembered):
    """Neither who walked it before, nor how few of its places are remembered, nor that they are forgotten meanwhile."""
    warm = accord.compile(RING)
    cold = said_of_everything(warm)
    assert said_of_everything(warm) == cold
    assert said_of_everything(accord.compile(RING, limits=Limits(remembered_standings=remembered))) == cold
    one, other = (Session(warm, mode="refuse") for _ in range(2))
    assert one.observe("A", "B", "pass") == one.observe("B", "C", "pass") == Ok()
    for exchange in itertools.permutations("ABC", 2):
        assert (other.observe(*exchange, "pass") == Ok()) is (exchange == ("A", "B"))
        other = Session(warm, mode="refuse")


@pytest.mark.parametrize("over", ["halted", "closed"])
def test_where_a_session_is_over_nobody_may_do_anything(over):
    session = Session("protocol P { rec X { A -> B: x; continue X } }")
    ends = session["A"], session["B"]
    assert ends[0].send("x", to="B") == Ok()
    assert [end.allowed() for end in ends] == [["A -> B: x"]] * 2
    if over == "halted":
        assert isinstance(ends[1].send("x", to="A"), Violation)
    else:
        session.close()
    assert [end.allowed() for end in ends] == [[], []]
