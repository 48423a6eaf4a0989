"""What an answer looks like: the schema that an interrupt carries, and the types of what people send along."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from random import Random
from typing import Literal

import pytest
from jsonschema import Draft202012Validator
from langgraph.types import Command
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from accord import UsageError
from accord.langchain import AccordMiddleware, CheckpointedProtocolMiddleware, ProtocolFSM, Transition, ref
from tests.agents.scripted import Recorder, agent_of, asked, call, config, say

GATED = "!search.?search.{?Approval by human.!book.?book.end, ?Refusal by human.end}"
ONE = "!search.?search.?Approval by human.!book.?book.end"
SCRIPT = [say(call("search", "a")), say(call("book", "b", amount=30)), "done"]


class Terms(BaseModel):
    most: int = Field(ge=1)
    seat: Literal["aisle", "window"] = "aisle"


@dataclass
class Why:
    because: str


class Note(TypedDict):
    note: str


@pytest.fixture
def recorder():
    return Recorder()


def question_of(result):
    (question,) = result["__interrupt__"]
    return question


def machine(recorder):
    search = ref(recorder.tools[0])
    fsm = (
        ProtocolFSM(initial="idle")
        .add_transition(Transition(source="idle", tool=search, phase="send", target="out"))
        .add_transition(Transition(source="out", tool=search, phase="recv", target="asked"))
    )
    for label in ("Approval", "Refusal"):
        fsm.add_transition(Transition(source="asked", event_label=label, phase="recv", target="done", interrupt=True))
    return fsm.mark_terminal("done")


def middleware_of(kind, recorder, **more):
    if kind == "state machine":
        return CheckpointedProtocolMiddleware(machine(recorder), "block", [ref(recorder.tools[0])], **more).middleware
    return AccordMiddleware(ONE if kind == "call" else GATED, gates=kind, **more)


KINDS = ["session", "call", "state machine"]
PAYLOADS = [None, {}, {"most": 3}, {"most": 0}, {"most": "many"}, {"most": 2, "seat": "wing"}, {"because": "cheap"}]
LABELS = ["Approval", "Refusal", "approve", "deny", "modify", "Aproval", "search", None]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("more", [{}, {"reviewer": "the desk"}, {"by_id": True}])
def test_what_fits_the_schema_is_taken_as_an_answer(kind, typed, more, recorder):
    """Every answer of a large set is tried on a thread of its own, and those that fit are taken."""
    if typed and kind != "call":
        more = {**more, "answers": {"Approval": Terms, "Refusal": Why}}
    agent, _ = agent_of(SCRIPT, middleware_of(kind, recorder, **more), recorder)
    question = question_of(agent.invoke(asked(), config()))
    check = Draft202012Validator(question.response_schema)
    fits, others = [], []
    for label in LABELS:
        for payload in [*PAYLOADS, {"flight": "AZ2", "amount": 5}, {"flight": 3}]:
            for by in (None, "ana", " "):
                for review in (None, question.value["review"]):
                    given = {"event_label": label, "payload": payload, "by": by, "review": review}
                    answer = {name: value for name, value in given.items() if value is not None}
                    (fits if check.is_valid(answer) else others).append(answer)
    assert len(fits) >= 3
    refused = 0
    for number, answer in enumerate([*fits, *Random(kind).sample(others, 30)]):
        thread = config(str(number))
        question = question_of(agent.invoke(asked(), thread))
        assert json.loads(json.dumps(question.response_schema)) == question.response_schema
        if "review" in answer:
            answer["review"] = question.value["review"]
        again = agent.invoke(Command(resume=answer), thread).get("__interrupt__")
        taken = not again or "othing was decided" not in again[0].value.get("error", "")
        assert taken or not Draft202012Validator(question.response_schema).is_valid(answer), (answer, again)
        refused += not taken
    assert refused >= 15


def test_several_questions_have_one_schema(recorder):
    middleware = AccordMiddleware('rule "ask" { before each book require Approval by human }', reviewer="ana")
    agent, _ = agent_of([say(call("book", "a", amount=1), call("book", "b", amount=2)), "done"], middleware, recorder)
    question = question_of(agent.invoke(asked(), config()))
    first, second = (each["review"] for each in question.value["questions"])
    check = Draft202012Validator(question.response_schema).is_valid
    assert check({"decisions": {first: {"event_label": "approve"}, second: {"event_label": "deny"}}})
    modified = {"event_label": "modify", "payload": {"amount": 3, "flight": "AZ1"}}
    assert check({"decisions": {first: modified}})
    assert not check({"decisions": {}})
    assert not check({"decisions": {"1-00000000": {"event_label": "deny"}}})
    assert not check({"decisions": {first: {"event_label": "modify"}}})
    assert not check({"event_label": "approve"})
    result = agent.invoke(Command(resume={"decisions": {first: modified, second: {"event_label": "deny"}}}), config())
    assert recorder.ran == [("book", "AZ1", 3)], result


@pytest.mark.parametrize("kind", ["session", "state machine"])
@pytest.mark.parametrize("label", ["Approval", "approve"])
def test_what_people_send_along_is_what_its_type_makes_of_it(kind, label, recorder):
    seen = []
    contract = "!search.?search.?Approval(most >= 1) by human.!book.end"
    if kind == "session":
        middleware = AccordMiddleware(contract, gates="session", answers={"Approval": Terms})
    else:
        search = ref(recorder.tools[0])
        fsm = (
            ProtocolFSM(initial="idle")
            .add_transition(Transition(source="idle", tool=search, phase="send", target="asked"))
            .add_transition(
                Transition(
                    source="asked", event_label="Approval", phase="recv", target="done", interrupt=True,
                    action=lambda context: seen.append(context.metadata),
                )
            )
        )  # fmt: skip
        middleware = CheckpointedProtocolMiddleware(fsm, "block", [search], answers={"Approval": Terms}).middleware
    agent, _ = agent_of(SCRIPT, middleware, recorder)
    agent.invoke(asked(), config())
    answer = {"event_label": label, "by": "ana"}
    for payload, said in (
        (None, "the payload of `Approval` does not fit: most: Field required"),
        ({"most": 0}, "most: Input should be greater than or equal to 1"),
        ({"most": 1, "seat": "wing"}, "seat: Input should be 'aisle' or 'window'"),
        ({"most": [], "seat": []}, "most: Input should be a valid integer; seat: "),
    ):
        result = agent.invoke(Command(resume={**answer, "payload": payload}), config())
        assert said.replace("`Approval`", f"`{label}`") in question_of(result).value["error"]
        assert "Nothing was decided" in question_of(result).value["error"]
    agent.invoke(Command(resume={**answer, "payload": {"most": "7"}}), config())
    if kind == "state machine":
        assert seen == [{"most": 7, "seat": "aisle"}]
    else:
        assert recorder.names == ["search", "book"]


def test_every_kind_of_type(recorder):
    for kind, good, bad in (
        (Terms, {"most": 1}, {}),
        (Why, {"because": "x"}, {"because": 3}),
        (Note, {"note": "x"}, {}),
    ):
        agent, _ = agent_of(SCRIPT, AccordMiddleware(ONE, gates="session", answers={"Approval": kind}), recorder)
        thread = config(kind.__name__)
        agent.invoke(asked(), thread)
        answer = {"event_label": "approve", "by": "ana"}
        assert asyncio.run(agent.ainvoke(Command(resume={**answer, "payload": bad}), thread))["__interrupt__"]
        assert not asyncio.run(agent.ainvoke(Command(resume={**answer, "payload": good}), thread)).get("__interrupt__")


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"Aproval": Terms}, "did you mean `Approval`?"),
        ({"book": Terms}, "is none"),
        ({3: Terms}, "is none"),
        ({"Approval": int}, "type of an object"),
        ({"Approval": list[Terms]}, "type of an object"),
        ({"Approval": "Terms?"}, "no type that pydantic knows"),
        ({"Approval": open}, "no type that pydantic knows"),
        ([Terms], "has a type for each label"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_type_of_an_answer(answers, said, kind, recorder):
    with pytest.raises(UsageError) as error:
        middleware_of(kind, recorder, answers=answers)
    assert said in str(error.value)


def test_a_key_with_a_typo_is_recognised(recorder):
    agent, _ = agent_of(SCRIPT, AccordMiddleware(ONE), recorder)
    agent.invoke(asked(), config())
    result = agent.invoke(Command(resume={"event_lable": "approve", "by": "ana"}), config())
    assert "a decision has no key `event_lable`; did you mean `event_label`?" in question_of(result).value["error"]
