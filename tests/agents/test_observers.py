"""Dashboards show what agents under contract do: spans, metrics, observations, logs, of every middleware."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys

import pytest
from langgraph.types import Command
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from accord import Ledger, MemorySink
from accord.integrations.guard.observing import Observer
from accord.integrations.langfuse_observer import LangfuseObserver
from accord.integrations.logs import LogObserver
from accord.integrations.opentelemetry import OpenTelemetryObserver
from accord.langchain import AccordMiddleware, ProtocolEnforcerMiddleware, ProtocolMonitor, ref
from tests.agents.protocols import KINDS, booking_of, gated_of, machine
from tests.agents.scripted import Recorder, agent_of, asked, call, config, say
from tests.langfuse_receiver import connected, receiving

SCRIPT = [say(call("book", "x"), call("search", "a")), say(call("book", "b")), "done"]
SESSION = {"contract": "t", "checkpointed": "t", "enforcer": "monitor"}


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(params=["sync", "async"])
def run(request):
    def invoke(agent, given):
        if request.param == "sync":
            return agent.invoke(given, config())
        return asyncio.run(agent.ainvoke(given, config()))

    return invoke


def test_spans_and_metrics(kind, recorder, run):
    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    observer = OpenTelemetryObserver(tracer_provider=tracers, meter_provider=MeterProvider([reader]))
    search = recorder.tools[0]
    original, inside = search.func, []

    def traced(city="Rome"):
        from opentelemetry import trace

        inside.append(trace.get_current_span().get_span_context().span_id)
        return original(city)

    search.func = traced
    agent, _ = agent_of(SCRIPT, booking_of(kind, recorder, observers=[observer]), recorder)
    run(agent, asked())
    assert recorder.names == ["search", "book"]
    finished = spans.get_finished_spans()
    tools = [span for span in finished if span.name.startswith("execute_tool")]
    assert [span.name for span in tools] == ["execute_tool search", "execute_tool book"]
    assert dict(tools[0].attributes) == {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.tool.call.id": "a",
        "gen_ai.conversation.id": SESSION[kind], "accord.contract": tools[0].attributes["accord.contract"],
    }  # fmt: skip
    assert inside == [tools[0].context.span_id], "the tool runs inside its span"
    first, second = [span for span in finished if span.name == "accord.check"]
    assert [event.attributes["accord.status"] for event in first.events] == ["refused", "admitted"]
    assert (first.status.status_code, second.status.status_code) == (StatusCode.ERROR, StatusCode.UNSET)
    points = {
        metric.name: metric.data.data_points
        for resource in reader.get_metrics_data().resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    decisions = {
        (point.attributes["gen_ai.tool.name"], point.attributes["accord.status"]): point.value
        for point in points["accord.decisions"]
    }
    assert decisions == {("book", "refused"): 1, ("search", "admitted"): 1, ("book", "admitted"): 1}
    results = {
        (point.attributes["gen_ai.tool.name"], point.attributes["accord.verdict"]): point.value
        for point in points["accord.results"]
    }
    assert results == {("search", "ok"): 1, ("book", "ok"): 1}
    assert {point.attributes["accord.check"]: point.count for point in points["accord.check.duration"]} == {
        "call": 2, "result": 2,
    }  # fmt: skip


def test_observations_in_langfuse(kind, recorder, run):
    with receiving() as receiver, connected(receiver.url) as client:
        observer = LangfuseObserver(client)
        agent, _ = agent_of(SCRIPT, booking_of(kind, recorder, observers=[observer]), recorder)
        with client.start_as_current_observation(name="agent-run"):
            run(agent, asked())
        client.flush()
        steps = receiver.guardrails()
        assert [(step.name, step.output["passed"]) for step in steps] == [
            ("!book", False), ("!search", True), ("?search", True), ("!book", True), ("?book", True),
        ]  # fmt: skip
        assert {step.trace for step in steps} == {receiver.named("agent-run").trace}
        assert [receiver.score_of(step)["value"] for step in steps] == [0.0, 1.0, 1.0, 1.0, 1.0]
        assert {step.metadata["session"] for step in steps} == {SESSION[kind]}
        assert observer.lost == 0


def test_logs(kind, recorder, run, caplog):
    agent, _ = agent_of(SCRIPT, booking_of(kind, recorder, observers=[LogObserver()]), recorder)
    with caplog.at_level(logging.INFO, "accord.guard"):
        run(agent, asked())
    told = [(record.accord["tool"], record.accord["status"]) for record in caplog.records]
    assert told == [
        ("book", "refused"), ("search", "admitted"), ("search", "returned"), ("book", "admitted"), ("book", "returned"),
    ]  # fmt: skip


class Counting(Observer):
    def __init__(self):
        self.what = []

    def decided(self, _watched, decisions, _seconds):
        self.what += [(decision.call.id, decision.status) for decision in decisions]

    def returned(self, _watched, call, _verdict, _seconds):
        self.what.append((call.id, "returned"))

    def happened(self, watched, event, verdict, _seconds):
        self.what.append((event.word, type(verdict).__name__, watched.key))


def test_nobody_is_told_twice_although_hooks_run_again(kind, recorder, run):
    observer = Counting()
    agent, _ = agent_of(
        [say(call("search", "a")), say(call("book", "b")), "done"],
        gated_of(kind, recorder, observers=[observer]),
        recorder,
    )
    run(agent, asked())
    run(agent, Command(resume="no"))
    run(agent, Command(resume={"event_label": "Approval", "by": "ana"}))
    step = ("?Approval by ana", "Ok", SESSION[kind])
    assert observer.what == [("a", "admitted"), ("a", "returned"), step, ("b", "admitted"), ("b", "returned")]


PROMISED = """
events { Promise when agent says matches "promise"
         as named otherwise }
protocol P = !Promise.?Approval by human.!book.end
"""


def test_what_is_no_call_is_told_once(recorder, run):
    """What the model says before people are asked about what it calls, and what a program tells."""
    observer = Counting()
    middleware = AccordMiddleware(PROMISED, observers=[observer], ledger=Ledger(MemorySink()))
    agent, _ = agent_of([say(call("book", "b"), text="I promise it."), "done"], middleware, recorder)
    run(agent, asked())
    run(agent, Command(resume="no"))
    run(agent, Command(resume={"event_label": "Approval", "by": "ana"}))
    assert observer.what == [
        ("!Promise", "Ok", "t"), ("?Approval by ana", "Ok", "t"), ("b", "admitted"), ("b", "returned"),
    ]  # fmt: skip
    middleware.session(agent, config()).receive("Note", {})
    assert observer.what[-1] == ("?Note", "Violation", "t")


def test_a_monitor_of_ones_own_tells_its_observers_and_those_of_the_agent(recorder, run):
    own, other = Counting(), Counting()
    monitor = ProtocolMonitor(machine(recorder, gated=True), observers=[own], name="trip")
    tools = [ref(each) for each in recorder.tools]
    middleware = ProtocolEnforcerMiddleware(monitor, tools, observers=[other]).middleware
    agent, _ = agent_of([say(call("search", "a")), "done"], middleware, recorder)
    run(agent, asked())
    assert own.what == other.what == [("a", "admitted"), ("a", "returned")]
    assert monitor.transition_event("Approval", "recv", {"by": "ana"})
    assert not monitor.transition_event("Approval", "recv", {"by": "ana"})
    assert own.what[2:] == [("?Approval by ana", "Ok", "trip"), ("?Approval by ana", "Violation", "trip")]
    assert other.what[2:] == [], "what the program does is not told to those who watch the agent"


def test_steps_of_people_in_logs_spans_and_langfuse(caplog):
    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    telemetry = OpenTelemetryObserver(tracer_provider=tracers, meter_provider=MeterProvider([reader]))
    with receiving() as receiver, connected(receiver.url) as client, caplog.at_level(logging.INFO, "accord.guard"):
        monitor = ProtocolMonitor(
            machine(Recorder(), gated=True), observers=[LogObserver(), telemetry, LangfuseObserver(client)]
        )
        with tracers.get_tracer("test").start_as_current_span("program"):
            assert not monitor.transition_event("Approval", "recv", {"by": "ana"})
        client.flush()
        (step,) = receiver.guardrails()
    (record,) = caplog.records
    assert (record.levelname, record.accord["event"], record.accord["by"]) == ("WARNING", "?Approval", "ana")
    assert record.getMessage().startswith("happened: `?Approval`: `Approval` is not allowed yet: first call `search`")
    assert (step.name, step.output["passed"], step.metadata["by"]) == ("?Approval", False, "ana")
    (span,) = spans.get_finished_spans()
    (refused,) = span.events
    assert (refused.name, refused.attributes["accord.event"]) == ("accord.event.refused", "?Approval")
    (events,) = [
        metric.data.data_points
        for resource in reader.get_metrics_data().resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if metric.name == "accord.events"
    ]
    assert [(dict(point.attributes), point.value) for point in events] == [
        ({"accord.event": "?Approval", "accord.verdict": "violation"}, 1)
    ]


class Broken(Observer):
    def happened(self, *_):
        raise RuntimeError

    def decided(self, *_):
        raise RuntimeError

    def running(self, *_):
        raise RuntimeError

    def returned(self, *_):
        raise RuntimeError


def test_an_observer_that_fails_changes_nothing(kind, recorder, run):
    agent, _ = agent_of(SCRIPT, booking_of(kind, recorder, observers=[Broken()]), recorder)
    run(agent, asked())
    assert recorder.names == ["search", "book"]


def test_off_by_default():
    """An agent under contract loads none of it, and nobody's clock is looked at."""
    code = """
import sys
from accord.integrations.guard import session
from accord.langchain import AccordMiddleware
from tests.agents.scripted import Recorder, agent_of, asked, call, config, say
def never(): raise AssertionError
session.perf_counter = never
recorder = Recorder()
agent, _ = agent_of([say(call("search", "a")), "done"], AccordMiddleware("!search.?search.end"), recorder)
assert agent.invoke(asked(), config())["accord"]["status"] == "complete"
ours = [name for name in sys.modules if name.startswith("accord.integrations")]
print([name for name in ours if "telemetry" in name or "langfuse" in name])
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (told.stdout, told.returncode) == ("[]\n", 0), told.stderr
