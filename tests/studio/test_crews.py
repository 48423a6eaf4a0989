"""Conversations between roles, walked through."""

from __future__ import annotations

import pytest

from accord.studio.bounds import Bounds
from accord.templates import template
from tests.studio.asking import Asker

TRAVEL = template("travel-desk").text
REQUEST = {"sender": "Traveller", "receiver": "Desk", "label": "Request", "payload": {"city": "Rome", "day": "Friday"}}


@pytest.fixture(scope="module")
def asker():
    return Asker()


def test_who_may_say_what_and_where_everybody_is(asker):
    told = asker.ask("contract", text=TRAVEL)["protocols"][0]
    assert told["roles"] == ["Traveller", "Desk", "Airline"] and set(told["graphs"]) == set(told["roles"])
    assert [row["row"] for row in told["sequence"]][:4] == ["message", "open", "open", "message"]
    now = asker.ask("talk", text=TRAVEL)["now"]
    (move,) = now["moves"]
    assert move["word"] == "Traveller -> Desk: Request"
    assert [(question["name"], question["hint"]) for question in move["questions"]] == [
        ("city", "String"), ("day", "String"),
    ]  # fmt: skip
    assert [role["role"] for role in now["roles"]] == ["Traveller", "Desk", "Airline"]
    assert now["roles"][0]["lit"] == ["Desk!Request"] and now["roles"][1]["lit"] == ["Traveller?Request"]


def test_a_message_is_chosen_with_what_it_carries(asker):
    answer = asker.ask("talk", text=TRAVEL, next={"move": "Traveller -> Desk: Request", "answers": ["5", "Friday"]})
    assert answer["messages"] == [{**REQUEST, "payload": {"city": "5", "day": "Friday"}}]
    assert answer["turns"][0]["verdict"] == "ok"
    states = {role["role"]: role["state"] for role in answer["now"]["roles"]}
    assert states["Desk"] != 0 and states["Airline"] == 0


def test_blame(asker):
    answer = asker.ask(
        "talk", text=TRAVEL, messages=[REQUEST], next={"move": "Desk -> Traveller: Offer", "answers": ["a", "1"]}
    )
    turn = answer["turns"][-1]
    assert (turn["verdict"], turn["blamed"]) == ("violation", ["Desk"])
    wrong = {**REQUEST, "payload": {"city": 5, "day": "Friday"}}
    turn = asker.ask("talk", text=TRAVEL, messages=[wrong])["turns"][0]
    assert turn["verdict"] == "violation" and "city" in turn["explanation"]
    turn = asker.ask("talk", text=TRAVEL, messages=[REQUEST, {}])["turns"][-1]
    assert turn["verdict"] == "violation" and turn["blamed"] == ["Desk"]


def test_halting_and_rules(asker):
    query = {"sender": "Desk", "receiver": "Airline", "label": "Query"}
    busy = {"sender": "Airline", "receiver": "Desk", "label": "Busy"}
    tries = [REQUEST, *[query, busy] * 3, query]
    turn = asker.ask("talk", text=TRAVEL, messages=tries)["turns"][-1]
    assert turn["verdict"] == "violation" and "three tries" in turn["explanation"]
    halted = asker.ask("talk", text=TRAVEL, messages=[query, REQUEST], mode="halt")
    assert [turn["verdict"] for turn in halted["turns"]] == ["violation", "blocked"]
    assert halted["now"]["over"] and halted["now"]["moves"] == []


@pytest.mark.parametrize(
    ("next_", "problem"),
    [
        ({"move": "A -> B: c"}, "is no message of the protocol"),
        ({"move": "Traveller -> Desk: Request"}, "asks for 2 answers and got 0"),
        ({"move": "Traveller -> Desk: Request", "answers": ['"', ""]}, "is no JSON"),
    ],
)
def test_what_cannot_be_said(asker, next_, problem):
    answer = asker.ask("talk", text=TRAVEL, next=next_)
    assert problem in answer["problem"] and answer["messages"] == []


def test_unknown_roles_and_bounds(asker):
    turn = asker.ask("talk", text=TRAVEL, messages=[{**REQUEST, "sender": "Nobody"}])["turns"][0]
    assert turn["verdict"] == "misuse" and "no role" in turn["explanation"]
    small = Asker(Bounds(events=1))
    assert small.post("talk", text=TRAVEL, messages=[REQUEST, REQUEST]).status == 400
    assert small.post("messages", text="A -> B: c\nA -> B: c\n").status == 400
    assert "line 2" in asker.post("messages", text="A -> B: c\nnonsense").json["error"]
    assert asker.post("talk", text="!a.end").status == 400
    assert asker.post("walk", text=TRAVEL).status == 400
