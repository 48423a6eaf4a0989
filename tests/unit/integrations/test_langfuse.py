"""`LangfuseMonitor`, with the real SDK and a server that decodes what really arrives."""

from __future__ import annotations

import asyncio
import inspect
import os
import random
import subprocess
import sys
import textwrap
import time
from contextlib import contextmanager
from datetime import UTC, datetime, tzinfo
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from opentelemetry import context as otel_context
from opentelemetry import trace as otel
from tests.langfuse_receiver import SCORES, TRACES, WITHIN, connected, receiving
from tests.racing import THREADS, all_at_once, frantic_switching

import accord
from accord import (
    UNRECOGNIZED,
    Blocked,
    Ledger,
    LLMResponse,
    MemorySink,
    MemoryStore,
    Monitor,
    MonitoredClient,
    Ok,
    ProtocolViolationError,
    RecordedMonitor,
    StoredSession,
    ToolCall,
    ToolMiddleware,
    Unrecognized,
    UsageError,
    Violation,
)
from accord.integrations.langfuse import LangfuseMonitor


@pytest.fixture
def receiver():
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def client(receiver):
    with connected(receiver.url) as client:
        yield client


def score(receiver, span):
    found = receiver.score_of(span)
    if found is None:
        return None
    assert (found["name"], found["dataType"], found["traceId"]) == ("protocol_compliance", "BOOLEAN", span.trace)
    return {1.0: True, 0.0: False}[found["value"]]


# -- what is recorded ------------------------------------------------------------------------------------------------


def test_states_are_those_before_and_after(receiver, client):
    plain = Monitor("!a.?b.!c.end", mode="refuse")
    monitor = LangfuseMonitor("!a.?b.!c.end", client, mode="refuse")
    states = []
    for step in ("!a", "!c", "?b", "!c"):
        before = plain.current_state
        act = "send" if step[0] == "!" else "receive"
        assert getattr(monitor, act)(step[1:]) == getattr(plain, act)(step[1:])
        states.append((before, plain.current_state))
    client.flush()
    seen = receiver.guardrails()
    assert [step.states for step in seen] == states
    assert len({before for before, _ in states}) > 1 and states[0][0] != states[0][1] and states[1][0] == states[1][1]
    assert seen[1].output["expected"] == ["?b"]
    assert seen[1].output["explanation"].startswith("`c` is not allowed yet")
    assert [step.metadata["status_after"] for step in seen] == ["running", "running", "running", "complete"]
    assert {step.metadata["contract"] for step in seen} == {plain.contract.digest}


def test_a_session_that_halts(receiver, client):
    monitor = LangfuseMonitor("!a.?b.end", client)
    assert isinstance(monitor.send("b"), Violation) and isinstance(monitor.send("a"), Blocked)
    client.flush()
    violation, blocked = receiver.guardrails()
    assert violation.states == (0, 0)
    assert (violation.metadata["status_before"], violation.metadata["status_after"]) == ("running", "violated")
    assert blocked.output == {
        "passed": False,
        "verdict": "blocked",
        "explanation": "Nothing more is accepted: monitor halted after a previous violation.",
    }
    assert [score(receiver, step) for step in (violation, blocked)] == [False, False]
    assert [(step["level"], step["status_message"], step.failed) for step in (violation, blocked)] == [
        ("ERROR", "violation", True),
        ("ERROR", "blocked", True),
    ]


def test_what_is_not_recognised_is_neither_pass_nor_fail(receiver, client):
    monitor = LangfuseMonitor("!a.?b.end", client)
    assert monitor.send("a") == Ok()
    assert monitor.receive(UNRECOGNIZED) == Unrecognized(["?b"], "receive")
    client.flush()
    _, unrecognised = receiver.guardrails()
    assert unrecognised.output["passed"] is None and unrecognised.output["verdict"] == "unrecognized"
    assert unrecognised.output["expected"] == ["?b"] and "could not be told" in unrecognised.output["explanation"]
    assert unrecognised["status_message"] == "unrecognized: neither passed nor failed"
    assert unrecognised["level"] == "WARNING" and not unrecognised.failed
    assert score(receiver, unrecognised) is None and len(receiver.scores) == 1


def test_time_and_closing(receiver, client):
    contract = "protocol P = !Ask.?Reply within 10s else (!Remind.end).end"
    monitor = LangfuseMonitor(contract, client, mode="refuse", at=0)
    assert monitor.send("Ask", at=1) == Ok()
    assert monitor.next_due() == 11 and monitor.peek_tick(5) == Ok()
    assert monitor.tick(20) == Ok()
    assert isinstance(monitor.peek_close(21), Violation) and isinstance(monitor.close(at=21), Violation)
    client.flush()
    _, tick, close = receiver.guardrails()
    assert tick.input == {"action": "tick", "at": 20, "protocol": "P"} and tick.output["passed"] is True
    assert tick.states[0] != tick.states[1]
    assert close.input == {"action": "close", "at": 21, "protocol": "P"}
    assert close.output["got"] == "end" and close.output["expected"] == ["!Remind"]
    assert close.metadata["status_after"] == "incomplete"
    assert [score(receiver, step) for step in (tick, close)] == [True, False]


def test_partners_people_clauses_and_payloads(receiver, client):
    contract = 'protocol P = bank!pay(amount <= 100).?Approval by human.end\nrule "small" { at most 1 pay }'
    monitor = LangfuseMonitor(contract, client, mode="refuse")
    assert isinstance(monitor.send("pay", {"amount": 300}, to="bank"), Violation)
    assert monitor.send("pay", {"amount": 30}, to="bank") == Ok()
    assert monitor.receive("Approval", by="ana") == Ok()
    client.flush()
    refused, paid, approved = receiver.guardrails()
    assert [step.name for step in (refused, paid, approved)] == ["bank!pay", "bank!pay", "?Approval"]
    assert refused.input["payload"] == {"amount": 300} and refused.input["to"] == "bank"
    assert "`amount` is 300" in refused.output["explanation"]
    assert refused.output["clause"] and refused.output["clause"] == monitor.peek_send("x", to="bank").clause
    assert approved.input["by"] == "ana" and "ana" not in approved.name


def test_misuse_raises_as_ever_and_nothing_was_judged(receiver, client):
    monitor = LangfuseMonitor("!a.end", client)
    for act in (
        lambda: monitor.send(""),
        lambda: monitor.send(7),
        lambda: monitor.send("a", ["no", "mapping"]),
        lambda: monitor.send("a", to=object()),
        lambda: monitor.tick("noon"),
    ):
        with pytest.raises(UsageError):
            act()
    assert monitor.send("a") == Ok() and monitor.lost == 0
    client.flush()
    *misused, _ = receiver.guardrails()
    assert [step.output["verdict"] for step in misused] == ["misuse"] * 5
    assert [step.output["passed"] for step in misused] == [False] * 5
    assert [step.states for step in misused] == [(0, 0)] * 5
    assert len(receiver.scores) == 1


# -- any session -----------------------------------------------------------------------------------------------------


class Odd:
    """A session that does what it is told, and is nobody's child."""

    mode = "refuse"
    situation = "here"

    def __init__(self, does):
        self.does = does

    def send(self, *_, **__):
        return self.does()

    receive = send


def test_a_broken_session_is_still_no(receiver, client):
    def fail():
        raise ZeroDivisionError("secret stack")

    with pytest.raises(ZeroDivisionError):
        LangfuseMonitor(Odd(fail), client).send("a", {"x": 1})
    assert LangfuseMonitor(Odd(lambda: None), client).send("a") is None
    assert LangfuseMonitor(Odd(lambda: True), client).send("a") is True
    client.flush()
    failed, none, true = receiver.guardrails()
    assert failed.output == {"passed": False, "verdict": "error", "explanation": "ZeroDivisionError: secret stack"}
    assert failed.events == 0, "the SDK would record the exception without the mask"
    assert none.output["passed"] is False and true.output["passed"] is False
    assert true.output["explanation"] == "the session gave no verdict but True"
    assert [score(receiver, step) for step in (failed, none, true)] == [False] * 3
    assert failed.metadata["states"].startswith("not known")


def test_an_interrupt_passes_and_ends_the_observation(receiver, client):
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        LangfuseMonitor(Odd(interrupt), client).send("a")
    assert not otel.get_current_span().is_recording()
    client.flush()
    assert receiver.guardrails()[0].output["verdict"] == "error"


@pytest.mark.parametrize("make", [Path, accord.compile, str])
def test_texts_files_and_contracts(make, receiver, client, tmp_path):
    text = "protocol Ask = !Ask.?Answer.end\nprotocol Other = !Other.end"
    file = tmp_path / "a.accord"
    file.write_text(text)
    monitor = LangfuseMonitor(make(file if make is Path else text), client, name="Ask", mode="refuse")
    assert (monitor.protocol, monitor.mode, monitor.send("Ask")) == ("Ask", "refuse", Ok())
    client.flush()
    assert receiver.guardrails()[0].input["protocol"] == "Ask"


def test_a_recorded_session(receiver, client):
    ledger = Ledger(MemorySink())
    monitor = LangfuseMonitor(RecordedMonitor(Monitor("!a.?b.end"), ledger, session="s"), client)
    assert monitor.send("a", meta={"shown": "now?"}) == Ok() and monitor.receive("b", at=3.5) == Ok()
    assert monitor.close() == Ok() and monitor.trace == ["!a", "?b"]
    assert ledger.verify().ok and ledger.verify().entries == 4
    client.flush()
    first, second, close = receiver.guardrails()
    assert first.input["meta"] == {"shown": "now?"} and second.input["at"] == 3.5
    assert first.states[1] == second.states[0] != second.states[1]
    assert close.metadata["status_after"] == "complete"


def test_a_ledger_that_cannot_be_written_is_recorded_as_blocked(receiver, client, monkeypatch):
    ledger = Ledger(MemorySink())
    monitor = LangfuseMonitor(RecordedMonitor(Monitor("!a.end"), ledger), client)
    monkeypatch.setattr(Ledger, "append", lambda *_: 1 / 0)
    assert isinstance(monitor.send("a"), Blocked)
    client.flush()
    assert receiver.guardrails()[0].states == (0, 0) and len(receiver.scores) == 1


def test_a_stored_session(receiver, client):
    store = MemoryStore()
    first = LangfuseMonitor(StoredSession(store, "!a.?b.!c.end", "s"), client)
    second = LangfuseMonitor(StoredSession(store, "!a.?b.!c.end", "s"), client)
    assert first.send("a") == Ok() and second.receive("b") == Ok() and isinstance(first.send("b"), Violation)
    assert first.send("c") == Ok() and first.session.version == 4 and store.verify("s").ok
    client.flush()
    states = [step.states for step in receiver.guardrails()]
    assert states[0][1] == states[1][0] and states[1][1] == states[2][0] == states[2][1] == states[3][0]


def test_states_of_a_stored_session_that_others_move_are_true_or_not_told(receiver, client):
    """Each of the steps is taken once, by somebody, and whoever took it saw where it led or says that it did not."""
    store, steps, racers = MemoryStore(), 6 * THREADS, THREADS
    contract = accord.compile(".".join(["!a"] * steps) + ".end")
    walk = Monitor(contract)
    way = [walk.current_state, *[walk.send("a") and walk.current_state for _ in range(steps)]]

    def work(number):
        monitor = LangfuseMonitor(StoredSession(store, contract, "s"), client)
        return [monitor.send("a") for _ in range(steps // racers)]

    with frantic_switching():
        answers = all_at_once(work, racers)
    assert answers == [[Ok()] * (steps // racers)] * racers
    client.flush()
    told = [step.states for step in receiver.guardrails() if "states" not in step.metadata]
    untold = [step.metadata["states"] for step in receiver.guardrails() if "states" in step.metadata]
    assert len(told) + len(untold) == steps and set(untold) <= {"not known: others moved the session at the same time"}
    assert len(set(told)) == len(told) and set(told) <= set(pairwise(way))


class MovedBetween(StoredSession):
    """A stored session that another worker moves right before each attempt."""

    __slots__ = ("other",)

    def send(self, *arguments, **options):
        self.other.send("a")
        return super().send(*arguments, **options)


def test_a_session_that_another_worker_moved_says_so(receiver, client):
    store, contract = MemoryStore(), "rec X.!a.!a.X"
    session = MovedBetween(store, contract, "s")
    session.other = StoredSession(store, contract, "s")
    assert LangfuseMonitor(session, client).send("a") == Ok()
    client.flush()
    assert receiver.guardrails()[0].metadata["states"] == "not known: others moved the session at the same time"


def test_a_store_that_is_down(receiver, client, monkeypatch):
    def down(*_):
        raise accord.StoreError("down")

    store = MemoryStore()
    monkeypatch.setattr(store, "row", down)
    monkeypatch.setattr(store, "exchange", down)
    monitor = LangfuseMonitor(StoredSession(store, "!a.end", "s"), client)
    assert monitor.send("a") == Blocked("the session cannot be kept (down)")
    client.flush()
    (step,) = receiver.guardrails()
    assert step.metadata["states"] == "not known: the session could not be read" and score(receiver, step) is False


def test_it_has_everything_that_a_monitor_has(client):
    monitor = LangfuseMonitor("!a.?b.end", client)
    for name, value in inspect.getmembers(Monitor):
        if name.startswith("_") or name in {"from_dict", "restore"}:
            continue
        own = inspect.getattr_static(LangfuseMonitor, name)
        assert isinstance(own, property) == isinstance(inspect.getattr_static(Monitor, name), property)
        if callable(value):
            wanted, there = inspect.signature(value).parameters, inspect.signature(own).parameters
            assert [*wanted] == [p for p in there if p != "meta"], name
            assert [p.kind for p in wanted.values()] == [there[p].kind for p in wanted], name
        else:
            assert getattr(monitor, name) == getattr(Monitor(monitor.contract), name)
    assert monitor.send("a") == Ok() and monitor.to_dict() == {"trace": ["!a"]}
    assert LangfuseMonitor(Monitor.restore(monitor.contract, monitor.snapshot()), client).receive("b") == Ok()
    assert monitor.peek_receive("b") == Ok() and isinstance(monitor.peek_send("b"), Violation)
    monitor.reset()
    assert (monitor.trace, monitor.allowed(), monitor.is_terminal) == ([], ["!a"], False)
    assert repr(monitor) == "<LangfuseMonitor of <Monitor (bare) at 0: running>>"


def test_questions_are_not_recorded(receiver, client):
    monitor = LangfuseMonitor("!a.end", client)
    assert monitor.peek_send("a") == Ok() and monitor.allowed() == ["!a"] and monitor.next_due() is None
    client.flush()
    assert receiver.spans == [] == receiver.scores


def test_around_a_model_and_its_tools(receiver, client):
    """What it is for: the same monitor in both wrappers, and what they do under it."""
    monitor = LangfuseMonitor("rec L.!Request.?{ToolCall.!ToolResult.L, Answer.end}", client, mode="refuse")
    turns = [LLMResponse(tool_calls=[ToolCall("find", {"city": "Rome"}, "c1")]), LLMResponse(content="done")]
    model = MonitoredClient(
        llm_call=lambda **_: turns.pop(0),
        response_adapter=lambda raw: raw,
        monitor=monitor,
        send_label="Request",
        receive_label=lambda r: "ToolCall" if r.has_tool_calls else "Answer",
    )
    tools = ToolMiddleware(monitor, {"find": str.upper}, "ToolCall", "ToolResult")
    tools.register("find", lambda city: city.upper())
    with client.start_as_current_observation(name="run"):
        assert tools.process(model.call(messages=["where?"]))[0].result == "ROME"
        assert model.call(messages=["where?", "ROME"]).content == "done"
        with pytest.raises(ProtocolViolationError):
            model.call(messages=[])
    client.flush()
    run, steps = receiver.named("run"), receiver.guardrails()
    assert [step.name for step in steps] == ["!Request", "?ToolCall", "!ToolResult", "!Request", "?Answer", "!Request"]
    assert {step.parent for step in steps} == {run.id}
    assert steps[1].input["payload"]["tool_calls"] == [{"id": "c1", "name": "find", "arguments": {"city": "Rome"}}]
    assert [score(receiver, step) for step in steps] == [True] * 5 + [False]


# -- nesting ---------------------------------------------------------------------------------------------------------


def test_what_a_session_records_stands_inside_its_guardrail(receiver, client):
    inner = LangfuseMonitor(Monitor("!a.end"), client)
    assert LangfuseMonitor(inner, client).send("a") == Ok()
    client.flush()
    outer, nested = receiver.guardrails()
    assert (outer.parent, nested.parent, nested.trace) == ("", outer.id, outer.trace)


class Slow(Monitor):
    """Others have time to get in between a look at it and a step."""

    __slots__ = ()

    @property
    def situation(self):
        time.sleep(0.0005)
        return super().situation


def test_threads_have_their_own_parents_and_true_states(receiver, client):
    steps = 5 * THREADS
    monitor = LangfuseMonitor(Slow(".".join(["!a"] * steps) + ".end"), client)
    walk = Monitor(monitor.contract)
    way = [walk.current_state, *[walk.send("a") and walk.current_state for _ in range(steps)]]

    def work(number):
        with client.start_as_current_observation(name=f"thread {number}"):
            return [monitor.send("a", {"thread": number}) for _ in range(5)]

    with frantic_switching():
        assert all_at_once(work) == [[Ok()] * 5] * THREADS
    client.flush()
    seen = receiver.guardrails()
    assert len(seen) == steps and monitor.lost == 0
    for step in seen:
        assert step.parent == receiver.named(f"thread {step.input['payload']['thread']}").id
    assert sorted(step.states for step in seen) == sorted(pairwise(way))


def test_tasks_have_their_own_parents(receiver, client):
    monitor = LangfuseMonitor("rec X.!a.?b.X", client, mode="refuse")

    async def work(number):
        with client.start_as_current_observation(name=f"task {number}") as parent:
            for _ in range(3):
                await asyncio.sleep(0)
                monitor.send("a", {"task": number})
                assert otel.get_current_span().get_span_context().span_id == int(parent.id, 16)
                await asyncio.sleep(0.001)
                await asyncio.to_thread(monitor.receive, "b", {"task": number})

    async def main():
        await asyncio.gather(*(work(number) for number in range(6)))

    asyncio.run(main())
    client.flush()
    seen = receiver.guardrails()
    assert len(seen) == 36 and monitor.lost == 0
    for step in seen:
        assert step.parent == receiver.named(f"task {step.input['payload']['task']}").id


def test_a_step_taken_inside_a_step_makes_the_states_unknown(receiver, client):
    """Such as by a signal handler: it must not hang, and the outer one must not claim what the inner one did."""

    class Reentrant(Monitor):
        __slots__ = ()

        def send(self, label, payload=None, to=None, at=None):
            if label == "a":
                assert outer.send("b") == Ok()
            return super().send(label, payload, to, at)

    outer = LangfuseMonitor(Reentrant("!b.!a.end"), client)
    assert outer.send("a") == Ok()
    client.flush()
    first, inner = receiver.guardrails()
    assert first.name == "!a" and "states" in first.metadata and inner.states[0] != inner.states[1]


# -- what is shown ---------------------------------------------------------------------------------------------------


def test_payloads_are_cut_and_made_visible(receiver, client):
    picture = "data:image/png;base64," + "A" * 400
    payload = {
        "long": "x" * 10_000,
        "hidden": "a\u202eb\x1b[0m\nc\td",
        "surrogate": "\ud800",
        "picture": picture,
        "reference": "@@@langfuseMedia:type=image/png|id=x|source=bytes@@@",
        "many": list(range(1000)),
        "deep": [[[[[[[[[[1]]]]]]]]]],
        "large": 2**80,
        "nan": float("nan"),
        7: "number",
    }
    monitor = LangfuseMonitor("rec X.!a.X", client)
    assert monitor.send("a", payload) == Ok()
    assert monitor.send("a", {"all": ["y" * 400] * 40, "also": ["z" * 400] * 40}) == Ok()
    client.flush()
    first, second = (step.input["payload"] for step in receiver.guardrails())
    assert first["long"] == "x" * 500 + "… (10,000 characters)"
    assert first["hidden"] == "a\\u202eb\\x1b[0m\nc\td" and first["surrogate"] == "\\ud800"
    assert first["picture"] == f'"{picture}"' and first["reference"].startswith('"@@@')
    assert first["many"] == [*range(50), "… (950 more)"]
    assert first["deep"] == [[[[[[["… (list)"]]]]]]]
    assert (first["large"], first["nan"], first["7"]) == (str(2**80), "(nan)", "number")
    assert len(str(second)) < 25_000 and "more)" in str(second)
    assert set(receiver.paths) == {TRACES, SCORES}, "nothing was uploaded"


def test_labels_are_cut_and_made_visible(receiver, client):
    """A model can ask for a tool of any name; that must not keep what else there is from arriving."""
    monitor = LangfuseMonitor("!a.end", client, mode="refuse")
    for label in ("x" * 5000, "\ud800", "data:image/png;base64,AAAA", "\u202e", "a b"):
        assert isinstance(monitor.send(label), Violation), label
    client.flush()
    seen = receiver.guardrails()
    assert len(seen) == len(receiver.scores) == 5 and monitor.lost == 0
    assert all(len(step.name) < 130 and step.name.replace("…", "").isascii() for step in seen)
    assert seen[0].input["label"] == "x" * 500 + "… (5,000 characters)"
    assert set(receiver.paths) == {TRACES, SCORES}


def test_payloads_of_foreign_classes_are_not_touched(receiver, client):
    touched = []

    class Foreign:
        def __getattribute__(self, name):
            touched.append(name)
            return object.__getattribute__(self, name)

        def __repr__(self):
            touched.append("repr")
            return "secret"

        __str__ = __repr__

    class Text(str):
        __slots__ = ()

        def __str__(self):
            touched.append("str")
            return "lie"

    class Fields(dict):
        def items(self):
            touched.append("items")
            return []

    seen = []

    class Looks(Odd):
        def send(self, _, payload=None):
            seen.append(payload)
            return Ok()

    payload = {"foreign": Foreign(), "text": Text("true"), "fields": Fields(a=1), "raw": b"abc"}
    assert LangfuseMonitor(Looks(None), client).send("a", payload) == Ok()
    assert touched == [] and seen[0] is payload
    client.flush()
    shown = receiver.guardrails()[0].input["payload"]
    assert shown == {"foreign": "(Foreign)", "text": "true", "fields": {"a": 1}, "raw": "(bytes, 3 bytes)"}


def test_data_stands_only_where_the_mask_reaches(receiver):
    """The mask of a client is applied to input, output and metadata; nothing else may hold data."""
    contract = "protocol P = !pay(amount <= 100).?Approval by human.end"
    with connected(receiver.url, mask=lambda **_: "masked") as client:
        monitor = LangfuseMonitor(contract, client, mode="refuse")
        assert "4711" in monitor.send("pay", {"amount": 4711}).explain()
        assert monitor.send("pay", {"amount": 5}) == Ok() and monitor.receive("Approval", by="ana4711") == Ok()
        with pytest.raises(ZeroDivisionError):
            LangfuseMonitor(Odd(lambda: [4711][0] / 0), client).send("a", {"b": 4711})
    assert len(receiver.guardrails()) == len(receiver.scores) == 4
    assert "4711" not in str([(s.name, s.attributes, s.events) for s in receiver.spans]) + str(
        [{**one, "id": "", "traceId": "", "observationId": "", "timestamp": ""} for one in receiver.scores]
    )


# -- when Langfuse fails ---------------------------------------------------------------------------------------------


class Broken:
    """A client that fails where it is told to, and leaves its observation behind as the current one."""

    def __init__(self, *where):
        self.where = where
        self.done = []

    def at(self, place):
        self.done.append(place)
        if place in self.where:
            raise RuntimeError(f"{place} failed")

    def start_as_current_observation(self, **_):
        self.at("start")
        return self.manager()

    @contextmanager
    def manager(self):
        otel_context.attach(otel.set_span_in_context(otel.NonRecordingSpan(SPAN)))
        self.at("enter")
        yield SimpleNamespace(update=lambda **_: self.at("update"), score=lambda **_: self.at("score"))
        self.at("exit")


SPAN = otel.SpanContext(1, 1, is_remote=False)
PLACES = ["start", "enter", "update", "score", "exit"]


@pytest.mark.parametrize("where", [*[(place,) for place in PLACES], tuple(PLACES), ("update", "score", "exit")])
def test_a_failing_sdk_changes_no_answer(where, caplog):
    """The same answers as a monitor gives by itself, and the caller's current observation is as it was."""
    seeded = random.Random(7)
    plain, broken = Monitor("rec X.!a.?{b.X, c.end}", mode="refuse"), Broken(*where)
    monitor = LangfuseMonitor(Monitor(plain.contract, mode="refuse"), broken)
    before = otel.get_current_span()
    for _ in range(50):
        act, label = seeded.choice(["send", "receive"]), seeded.choice(["a", "b", "c", UNRECOGNIZED, "other"])
        assert getattr(monitor, act)(label) == getattr(plain, act)(label)
        assert otel.get_current_span() is before
    with pytest.raises(UsageError):
        monitor.send("")
    assert monitor.close() == plain.close() and monitor.trace == plain.trace
    assert monitor.lost > 10 and [record.name for record in caplog.records] == ["accord.langfuse"]
    if "exit" not in where and "start" not in where and "enter" not in where:
        assert broken.done.count("exit") == 52, "what has begun is ended"


def test_a_sdk_that_fails_only_now_and_then_is_told_the_rest():
    broken = Broken("update")
    monitor = LangfuseMonitor("!a.end", broken)
    assert monitor.send("a") == Ok()
    assert broken.done == ["start", "enter", "update", "score", "exit"] and monitor.lost == 1


def test_an_attempt_that_cannot_be_shown_is_made_all_the_same(receiver, client):
    class Nowhere(tzinfo):
        def utcoffset(self, _):
            raise RuntimeError("there is no time")

    monitor = LangfuseMonitor(Odd(Ok), client)
    assert monitor.send("a", at=datetime(2026, 1, 1, tzinfo=Nowhere())) == Ok()
    assert monitor.send("a", at=datetime(2026, 1, 1, tzinfo=UTC)) == Ok() and monitor.lost == 1
    client.flush()
    assert [step.input["at"] for step in receiver.guardrails()] == ["2026-01-01T00:00:00+00:00"]


def test_a_server_that_is_not_there():
    with receiving() as receiver:
        url = receiver.url
    with connected(url, timeout=1) as client:
        monitor = LangfuseMonitor("rec X.!a.X", client)
        assert [monitor.send("a") for _ in range(20)] == [Ok()] * 20
        client.flush()
        assert isinstance(monitor.send("b"), Violation)


def test_a_server_that_answers_with_errors(receiver):
    receiver.status = 500
    with connected(receiver.url, timeout=1) as client:
        monitor = LangfuseMonitor("rec X.!a.X", client)
        assert [monitor.send("a") for _ in range(20)] == [Ok()] * 20
        client.flush()
        assert isinstance(monitor.send("b"), Violation)
    assert {TRACES, SCORES} <= set(receiver.paths) and receiver.spans == []


def test_a_slow_server_is_not_waited_for(receiver):
    receiver.go.clear()
    with connected(receiver.url) as client:
        monitor = LangfuseMonitor("rec X.!a.X", client)
        assert monitor.send("a") == Ok()
        assert receiver.arrived.wait(WITHIN), "the server has it and does not answer"
        assert [monitor.send("a") for _ in range(200)] == [Ok()] * 200
        assert receiver.spans == []
        receiver.go.set()
        client.flush()
        assert monitor.send("a", {"after": True}) == Ok()
    assert receiver.guardrails()[-1].input["payload"] == {"after": True} and monitor.lost == 0


def test_a_client_that_is_switched_off_or_shut_down(receiver):
    with connected(receiver.url, tracing_enabled=False) as client:
        monitor = LangfuseMonitor("!a.?b.end", client)
        assert monitor.send("a") == Ok() and isinstance(monitor.send("a"), Violation)
    assert (monitor.lost, receiver.paths) == (0, [])
    with connected(receiver.url) as client:
        client.shutdown()
        assert LangfuseMonitor("!a.end", client).send("a") == Ok()


# -- making one ------------------------------------------------------------------------------------------------------


def test_what_it_cannot_be_made_of(client):
    with pytest.raises(UsageError, match="`protocol` is a contract or a session, got `int`"):
        LangfuseMonitor(7, client)
    with pytest.raises(
        UsageError, match="`langfuse` is a client of Langfuse, such as `get_client\\(\\)`, got `Monitor`"
    ):
        LangfuseMonitor("!a.end", Monitor("!a.end"))
    for options in ({"mode": "refuse"}, {"name": "P"}, {"at": 0}):
        with pytest.raises(UsageError, match="for a new session"):
            LangfuseMonitor(Monitor("!a.end"), client, **options)
    with pytest.raises(accord.ContractError):
        LangfuseMonitor("!a.", client)
    with pytest.raises(UsageError, match="mode is `halt` or `refuse`"):
        LangfuseMonitor("!a.end", client, mode="")


def run(code):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True, timeout=2 * WITHIN
    ).stdout


def test_without_the_extra_it_says_what_to_install():
    said = run("""
        import sys
        sys.modules["langfuse"] = None
        from accord.integrations.langfuse import LangfuseMonitor
        try:
            LangfuseMonitor("!a.end", object())
        except Exception as error:
            print(type(error).__name__, error)
    """)
    assert said == "UsageError a LangfuseMonitor needs langfuse: pip install 'accord-contracts[langfuse]'\n"


def test_the_sdk_is_loaded_for_nobody_else():
    loaded = run("""
        import sys
        import accord.integrations, accord.integrations.langfuse
        print(sorted({"langfuse", "opentelemetry", "httpx"} & set(sys.modules)))
    """)
    assert loaded == "[]\n"


def test_without_a_client_it_takes_the_only_one_there_is(receiver):
    environment = {"LANGFUSE_PUBLIC_KEY": "pk", "LANGFUSE_SECRET_KEY": "sk", "LANGFUSE_BASE_URL": receiver.url}
    code = """
        from langfuse import get_client
        from accord.integrations.langfuse import LangfuseMonitor
        LangfuseMonitor("!a.end").send("a")
        get_client().flush()
    """
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env={**os.environ, **environment}, check=True, timeout=2 * WITHIN
    )
    assert [step.name for step in receiver.guardrails()] == ["!a"]


def test_what_was_lost_is_counted_under_threads():
    monitor = LangfuseMonitor("rec X.!a.X", Broken("start"))
    with frantic_switching():
        all_at_once(lambda _: [monitor.send("a") for _ in range(20)])
    assert monitor.lost == 20 * THREADS
