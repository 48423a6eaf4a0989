"""What the page is told of a session."""

from __future__ import annotations

import json

import pytest

from accord.studio.bounds import Bounds
from accord.templates import template, template_names
from tests.studio.asking import Asker

PAY = """
protocol Pay = ?quote(total as t).rec Ask.{?Approval by human.Ask, !pay(amount <= t).?receipt.end}
rule "large" { before each pay(amount > 100) require Approval by human }
"""


@pytest.fixture(scope="module")
def asker():
    return Asker()


def told_events(answer):
    """What has happened, read from the lines that a page would send back."""
    return [json.loads(line) for line in answer["events"]]


def test_a_move_is_taken_with_the_answers_to_its_questions(asker):
    start = asker.ask("walk", text=PAY)
    (move,) = start["now"]["moves"]
    assert (move["word"], move["kind"]) == ("?quote(total as t)", "receive")
    assert move["questions"] == [{"kind": "field", "name": "total", "hint": "kept as t"}]
    after = asker.ask("walk", text=PAY, next={"move": move["word"], "answers": ["250"]})
    assert told_events(after) == [{"receive": "quote", "payload": {"total": 250}}]
    assert after["turns"][0]["verdict"] == "ok"
    assert after["now"]["registers"] == [{"name": "t", "value": "250"}]
    moves = {move["word"]: move for move in after["now"]["moves"]}
    assert [question["kind"] for question in moves["?Approval by human"]["questions"]] == ["person"]
    assert "asks: > 100" in moves["!pay(amount <= t)"]["questions"][0]["hint"]
    approved = asker.ask(
        "walk", text=PAY, events=after["events"], next={"move": "?Approval by human", "answers": ["ana"]}
    )
    assert told_events(approved)[-1] == {"receive": "Approval", "by": "ana"}


def test_a_wrong_event_is_explained_with_the_way_to_make_it_legal(asker):
    answer = asker.ask("walk", text=PAY, events=['?quote {"total": 250}'], next={"text": '!pay {"amount": 200}'})
    turn = answer["turns"][-1]
    assert turn["verdict"] == "violation"
    assert turn["clause"] == 'rule "large"'
    assert "First a person must approve (`Approval`), then `pay`." in turn["explanation"]
    assert answer["now"]["states"] == answer["turns"][0]["states"]
    assert answer["now"]["rules"][0]["name"] == "large"


def test_a_move_that_is_not_allowed_now_can_be_tried(asker):
    now = asker.ask("walk", text=PAY)["now"]
    others = {move["word"]: move for move in now["others"]}
    assert set(others) == {"!pay(amount <= t)", "?Approval by human", "?receipt"}
    tried = asker.ask("walk", text=PAY, next={"move": "!pay(amount <= t)", "answers": ["5"]})
    assert [turn["verdict"] for turn in tried["turns"]] == ["violation"]


def test_undo_is_one_event_less(asker):
    events = ['?quote {"total": 5}', '!pay {"amount": 5}']
    one = asker.ask("walk", text=PAY, events=events[:1])
    two = asker.ask("walk", text=PAY, events=events)
    assert one["now"] != two["now"]
    assert asker.ask("walk", text=PAY, events=two["events"][:-1])["now"] == one["now"]


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        ({"text": "pay"}, "an event is written"),
        ({"text": "!a !b"}, "one event at a time, got 2"),
        ({"text": ""}, "one event at a time, got 0"),
        ({"move": "!nothing"}, "`!nothing` is nothing that the contract names"),
        ({"move": "?quote(total as t)"}, "asks for 1 answers and got 0"),
        ({"move": "?quote(total as t)", "answers": ["{"]}, "is no JSON"),
    ],
)
def test_what_cannot_be_tried_changes_nothing(asker, request_, problem):
    answer = asker.ask("walk", text=PAY, next=request_)
    assert problem in answer["problem"]
    assert answer["turns"] == [] and answer["events"] == []


def test_time_is_asked_for(asker):
    text = "!ask.?reply within 5s else !remind.end"
    start = asker.ask("walk", text=text)["now"]
    assert start["timed"] and [question["kind"] for question in start["asks_time"]] == ["time"]
    first = asker.ask("walk", text=text, next={"move": "!ask", "answers": ["10"]})
    assert first["now"]["next_due"] == 15
    late = asker.ask("walk", text=text, events=first["events"], next={"move": "tick", "answers": ["+6s"]})
    assert told_events(late)[-1] == {"tick": 16}
    assert [move["word"] for move in late["now"]["moves"]] == ["!remind"]
    without = asker.ask("walk", text=text, next={"text": "!ask"})
    assert without["turns"][0]["verdict"] == "misuse"
    closed = asker.ask("walk", text=text, events=first["events"], next={"move": "end", "answers": ["11"]})
    assert closed["now"]["status"] == "incomplete"


def test_instances_of_a_sliced_protocol(asker):
    answer = asker.ask("walk", text=template("refund").text, events=template("refund").runs[0].splitlines()[:2])
    (instance,) = answer["now"]["instances"]
    assert instance["key"] == 'order_id "A-1"'
    assert answer["now"]["registers"] == [{"name": "total", "value": "80"}]
    assert answer["now"]["sliced"] and answer["now"]["anything"]


@pytest.mark.parametrize("name", template_names())
def test_every_template_is_walked_as_its_page_says(asker, name):
    told = asker.ask("template", name=name)
    described = asker.ask("contract", text=told["text"])
    assert described["ok"] and described["findings"] == []
    if described["protocols"][0]["kind"] == "roles":
        good, bad = (asker.ask("messages", text=told[run])["messages"] for run in ("good", "bad"))
        assert {turn["verdict"] for turn in asker.ask("talk", text=told["text"], messages=good)["turns"]} == {"ok"}
        turn = asker.ask("talk", text=told["text"], messages=bad)["turns"][-1]
        assert turn["explanation"] in told["page"] and turn["blamed"]
        return
    good = asker.ask("events", text=told["good"])["events"]
    assert {turn["verdict"] for turn in asker.ask("walk", text=told["text"], events=good)["turns"]} == {"ok"}
    bad = asker.ask("walk", text=told["text"], events=told["bad"].splitlines())
    assert [turn["verdict"] for turn in bad["turns"]][-1] == "violation"
    assert bad["turns"][-1]["explanation"] in told["page"]


def test_a_large_machine_is_told_in_part(asker):
    text = "".join(f"!s{number}." for number in range(1000)) + "end"
    part = asker.ask("contract", text=text)["protocols"][0]["graph"]
    assert part["states"] == 1001 and part["hidden"] == 1001 - len(part["nodes"]) and len(part["nodes"]) == 80
    assert part["nodes"][-1]["cut"] == 1
    whole = asker.ask("contract", text=text, everything=True)["protocols"][0]["graph"]
    assert whole["hidden"] == 0 and len(whole["edges"]) == 1000
    far = asker.ask("walk", text=text, events=[f"!s{number}" for number in range(500)])["now"]
    assert far["states"] == [500]
    assert {0, 500, 501} <= {node["id"] for node in far["graph"]["nodes"]}


def test_bounds_of_a_walk():
    asker = Asker(Bounds(events=3, shown_turns=2))
    text = "rec L.!a.L"
    told = asker.ask("walk", text=text, events=["!a", "!a", "!a"])
    assert [turn["position"] for turn in told["turns"]] == [1, 2]
    assert len(told["events"]) == 3
    assert asker.post("walk", text=text, events=["!a"] * 4).json == {"error": "a walk has 3 events at the most"}
    assert asker.post("events", text="!a " * 4).status == 400


def test_a_contract_with_errors_is_not_walked(asker):
    answer = asker.post("walk", text="rec X.X")
    assert answer.status == 422
    assert "E022" in answer.json["text"] or "error[" in answer.json["text"]


HOSTILE = '<img src=x onerror=alert(1)>\u202e\x1b[31m"😀'


def test_hostile_text_is_inert(asker):
    """Everything that is shown holds no raw control character; what is JSON stays JSON."""
    text = f"!{json.dumps(HOSTILE)}.end"
    told = asker.ask(
        "walk", text=text, events=[json.dumps({"send": HOSTILE})], next={"text": "!" + json.dumps("x\x07")}
    )
    shown = [turn["text"] + turn["explanation"] for turn in told["turns"]]
    shown += [edge["text"] for edge in told["now"]["graph"]["edges"]]
    assert shown
    for piece in shown:
        assert not any(character in piece for character in "\x1b\x07\u202e")
    assert told_events(told)[0] == {"send": HOSTILE}


LARGE = 2**53 + 1


@pytest.mark.parametrize(
    "request_",
    [
        {"events": [json.dumps({"send": "a", "payload": {"x": LARGE}})]},
        {"next": {"text": f'!a {{"x": {LARGE}}}'}},
        {"next": {"move": "!a(x == 9007199254740993)", "answers": [str(LARGE)]}},
    ],
)
def test_numbers_that_a_browser_would_change_are_text_to_it(asker, request_):
    """What it is told of them and sends back is a line of JSON, which it does not read."""
    contract = f"!a(x == {LARGE}).end"
    answer = asker.ask("walk", text=contract, **request_)
    assert [turn["verdict"] for turn in answer["turns"]] == ["ok"]
    assert told_events(answer) == [{"send": "a", "payload": {"x": LARGE}}]
    assert asker.ask("walk", text=contract, events=answer["events"])["now"]["status"] == "complete"


def test_in_conversations_such_numbers_do_not_get_in(asker):
    """A page sends messages back as values, and the verdict would be about another number."""
    talk = {"text": "protocol P { A -> B: M }", "messages": [{"sender": "A", "receiver": "B", "label": "M"}]}
    talk["messages"][0]["payload"] = {"x": LARGE}
    assert asker.post("talk", **talk).status == 400
    assert asker.post("messages", text=f'A -> B: M {{"x": {LARGE}}}').status == 400


def test_what_cannot_be_told_changes_nothing_of_what_is_shown(asker):
    """Not even which instance is shown first."""
    text = """
    protocol P = each id: !ask.?answer within 5s else end
    rule "r" { each id: after ask require answer }
    """
    events = [json.dumps({"send": "ask", "payload": {"id": number}, "at": 1}) for number in (1, 2)]
    before = asker.ask("walk", text=text, events=events)["now"]
    timeless = json.dumps({"receive": "answer", "payload": {"id": 1}})
    after = asker.ask("walk", text=text, events=[*events, timeless])
    assert after["turns"][-1]["verdict"] == "misuse"
    assert after["now"] == before
