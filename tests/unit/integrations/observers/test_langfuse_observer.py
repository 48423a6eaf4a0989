"""What a guard does as guardrail observations, with the real SDK and a server that decodes what really arrives."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest
from tests.langfuse_receiver import connected, receiving

from accord import Guard, MemoryStore, ToolCall, UsageError
from accord.integrations.guard.observing import Observer
from accord.integrations.langfuse_observer import LangfuseObserver


@pytest.fixture
def receiver():
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def client(receiver):
    with connected(receiver.url) as client:
        yield client


def broken():
    raise OSError("no account 4711")


TOOLS = {"pay": lambda amount: {"paid": amount}, "fail": broken}


def guard_of(contract, client, **more):
    return Guard(contract, tools=TOOLS, observers=[LangfuseObserver(client)], **more)


def test_calls_and_results(receiver, client):
    guard = guard_of("protocol P = rec L.!pay(amount <= 10).?pay.L", client, store=MemoryStore(), key="s1")
    with client.start_as_current_observation(name="agent-run"):
        guard.run([ToolCall("pay", {"amount": 3}, "c1")])
        guard.run([ToolCall("pay", {"amount": 30}, "c2")])
    client.flush()
    run = receiver.named("agent-run")
    admitted, returned, refused = receiver.guardrails()
    assert {step.parent for step in (admitted, returned, refused)} == {run.id}
    assert (admitted.name, returned.name, refused.name) == ("!pay", "?pay", "!pay")
    assert admitted.input == {
        "action": "!pay", "direction": "send", "label": "pay", "protocol": "P", "call": "c1", "payload": {"amount": 3},
    }  # fmt: skip
    assert returned.input == {"action": "?pay", "direction": "receive", "label": "pay", "protocol": "P", "call": "c1"}
    assert [step.output["passed"] for step in (admitted, returned, refused)] == [True, True, False]
    assert refused.output["verdict"] == "violation"
    assert "`amount` is 30" in refused.output["explanation"]
    assert refused["level"] == "ERROR"
    assert [step.metadata["status"] for step in (admitted, returned, refused)] == ["admitted", "returned", "refused"]
    assert {step.metadata["session"] for step in (admitted, returned, refused)} == {"s1"}
    assert admitted.metadata["contract"] == guard.contract.digest
    assert [receiver.score_of(step)["value"] for step in (admitted, returned, refused)] == [1.0, 1.0, 0.0]
    assert {score["name"] for score in receiver.scores} == {"protocol_compliance"}


def test_what_waits_for_a_person_has_neither_passed_nor_failed(receiver, client):
    guard = guard_of("?Approval by human.!pay.?pay.end", client)
    guard.run([ToolCall("pay", {"amount": 3}, "c1")])
    client.flush()
    (waiting,) = receiver.guardrails()
    assert (waiting.output["passed"], waiting.output["verdict"]) == (None, "review")
    assert waiting.metadata["review"] == guard.reviews()[0].id
    assert receiver.scores == []
    assert waiting["level"] == "WARNING"


def test_a_tool_that_fails_is_no_matter_of_the_contract(receiver, client):
    guard_of("rec L.!fail.?fail.L", client).run([ToolCall("fail", {}, "c1")])
    client.flush()
    _, failed = receiver.guardrails()
    assert (failed.output["passed"], failed.output["verdict"]) == (None, "failed")
    assert len(receiver.scores) == 1


def test_a_result_that_is_withheld(receiver, client):
    guard_of("!pay.?pay(paid < 5).end", client).run([ToolCall("pay", {"amount": 30}, "c1")])
    client.flush()
    _, refused = receiver.guardrails()
    assert (refused.name, refused.output["passed"]) == ("?pay", False)


def test_what_is_only_observed_has_not_passed(receiver, client):
    guard_of("!fail.end", client, on_violation="observe").run([ToolCall("pay", {"amount": 3}, "c1")])
    client.flush()
    (observed,) = receiver.guardrails()
    assert (observed.metadata["status"], observed.output["passed"]) == ("admitted", False)


def test_a_call_that_is_none(receiver, client):
    guard_of("!pay.end", client).run([ToolCall("nope\x1b[31m", {}, "c1"), ToolCall("pay", {}, "c2")])
    client.flush()
    assert [step.output["passed"] for step in receiver.guardrails()] == [False, False]
    assert "\x1b" not in str([step.name for step in receiver.guardrails()])


def test_data_stands_only_where_the_mask_reaches(receiver):
    with connected(receiver.url, mask=lambda **_: "masked") as client:
        guard = guard_of("rec L.!{pay(amount <= 10).?pay.L, fail.L}", client)
        guard.run([ToolCall("pay", {"amount": 4711}, "a"), ToolCall("fail", {}, "b"), ToolCall("pay", {}, "c")])
    assert len(receiver.guardrails()) == 4
    assert "4711" not in str([(step.name, step.attributes) for step in receiver.spans])


class Raising:
    """A client that fails at the first touch."""

    def start_as_current_observation(self, **_):
        raise RuntimeError("no")


class Odd:
    """One whose observations fail."""

    def start_as_current_observation(self, **_):
        return SimpleNamespace(__enter__=lambda: None)


@pytest.mark.parametrize("client", [Raising(), Odd()])
def test_a_failing_sdk_changes_no_answer_and_is_counted(client):
    observer = LangfuseObserver(client)
    guard = Guard("rec L.!pay(amount <= 10).?pay.L", tools=TOOLS, observers=[observer])
    results = guard.run([ToolCall("pay", {"amount": 3}, "a"), ToolCall("pay", {"amount": 30}, "b")])
    assert [result.ok for result in results] == [True, False]
    assert observer.lost == 3


def test_what_it_cannot_be_made_of():
    with pytest.raises(UsageError, match="is a client of Langfuse"):
        LangfuseObserver("pk")
    assert issubclass(LangfuseObserver, Observer)


def test_without_the_extra_it_says_what_to_install():
    code = (
        "import sys; sys.modules['langfuse'] = None\n"
        "from accord.integrations.langfuse_observer import LangfuseObserver\n"
        "try:\n    LangfuseObserver()\nexcept Exception as e: print(e)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told == "a LangfuseObserver needs langfuse: pip install 'accord-contracts[langfuse]'\n"
