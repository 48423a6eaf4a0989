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

from accord.integrations.guard.observing import Observer
from accord.integrations.langfuse_observer import LangfuseObserver
from accord.integrations.logs import LogObserver
from accord.integrations.opentelemetry import OpenTelemetryObserver
from tests.agents.protocols import KINDS, booking_of, gated_of
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
    assert observer.what == [("a", "admitted"), ("a", "returned"), ("b", "admitted"), ("b", "returned")]


class Broken(Observer):
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
