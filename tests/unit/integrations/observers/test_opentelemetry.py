"""Spans and metrics, read back from the exporters of the real SDK."""

from __future__ import annotations

import subprocess
import sys

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from accord import Guard, MemoryStore, ToolCall
from accord.integrations.opentelemetry import OpenTelemetryObserver


class Telemetry:
    def __init__(self, **options):
        self.spans = InMemorySpanExporter()
        self.reader = InMemoryMetricReader()
        tracers, meters = TracerProvider(), MeterProvider([self.reader])
        tracers.add_span_processor(SimpleSpanProcessor(self.spans))
        self.tracer = tracers.get_tracer("test")
        self.observer = OpenTelemetryObserver(tracer_provider=tracers, meter_provider=meters, **options)

    def named(self, name):
        return [span for span in self.spans.get_finished_spans() if span.name == name]

    def metric(self, name):
        data = self.reader.get_metrics_data()
        points = [
            point
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]
        return {tuple(sorted(point.attributes.items())): point for point in points}


@pytest.fixture
def telemetry():
    return Telemetry()


def guard(telemetry, contract="rec L.{!pay(amount <= 10).?pay.L}", **options):
    return Guard(contract, tools={"pay": lambda amount: f"paid {amount}"}, observers=[telemetry.observer], **options)


def test_a_tool_that_runs_is_a_span_between_checks(telemetry):
    guard(telemetry, store=MemoryStore(), key="s1").run([ToolCall("pay", {"amount": 3}, "c1")])
    (tool,) = telemetry.named("execute_tool pay")
    assert tool.attributes["gen_ai.operation.name"] == "execute_tool"
    assert tool.attributes["gen_ai.tool.name"] == "pay"
    assert tool.attributes["gen_ai.tool.call.id"] == "c1"
    assert tool.attributes["gen_ai.conversation.id"] == "s1"
    assert "gen_ai.tool.call.arguments" not in tool.attributes
    (check,) = telemetry.named("accord.check")
    assert check.start_time <= check.end_time <= tool.start_time
    (event,) = check.events
    assert event.attributes["accord.status"] == "admitted"
    assert check.status.status_code is StatusCode.UNSET


def test_a_blocked_call_is_seen_though_it_has_no_span_of_its_own(telemetry):
    guard(telemetry).run([ToolCall("pay", {"amount": 300}, "c1")])
    assert not telemetry.named("execute_tool pay")
    (check,) = telemetry.named("accord.check")
    (event,) = check.events
    assert event.attributes["accord.status"] == "refused"
    assert event.attributes["accord.verdict"] == "violation"
    assert "accord.message" not in event.attributes, "it quotes the payload"
    assert check.status.status_code is StatusCode.ERROR


def test_content_is_there_if_wanted():
    telemetry = Telemetry(content=True)
    guard(telemetry).run([ToolCall("pay", {"amount": 300}), ToolCall("pay", {"amount": 3})])
    (tool,) = telemetry.named("execute_tool pay")
    assert tool.attributes["gen_ai.tool.call.arguments"] == '{"amount":3}'
    refused = telemetry.named("accord.check")[0].events[0]
    assert "300" in refused.attributes["accord.message"]


def test_metrics(telemetry):
    pay = guard(telemetry)
    pay.run([ToolCall("pay", {"amount": 3})])
    pay.run([ToolCall("pay", {"amount": 300})])
    decisions = telemetry.metric("accord.decisions")
    counts = {dict(key)["accord.status"]: point.value for key, point in decisions.items()}
    assert counts == {"admitted": 1, "refused": 1}
    results = telemetry.metric("accord.results")
    assert [point.value for point in results.values()] == [1]
    durations = telemetry.metric("accord.check.duration")
    assert {dict(key)["accord.check"]: point.count for key, point in durations.items()} == {"call": 2, "result": 1}
    assert all(0 < point.sum < 60 for point in durations.values())


def test_names_that_a_model_has_made_up_are_short_and_visible(telemetry):
    guard(telemetry).run([ToolCall("x\x1b[31m" * 1000, {}, "c\x1b" * 1000)])
    ((key, _),) = telemetry.metric("accord.decisions").items()
    (check,) = telemetry.named("accord.check")
    for attributes in (dict(key), check.events[0].attributes):
        assert len(attributes["gen_ai.tool.name"]) <= 100
        assert "\x1b" not in str(attributes)


def test_tool_spans_stand_where_the_program_is(telemetry):
    with telemetry.tracer.start_as_current_span("agent") as agent:
        guard(telemetry).run([ToolCall("pay", {"amount": 3})])
    (tool,) = telemetry.named("execute_tool pay")
    assert tool.parent.span_id == agent.get_span_context().span_id


def test_a_tool_that_raises_marks_its_span(telemetry):
    def broken():
        raise ValueError("no account")

    failing = Guard("rec L.{!pay.L}", tools={"pay": broken}, observers=[telemetry.observer])
    assert failing.run([ToolCall("pay")])[0].error == "ValueError: no account"
    (tool,) = telemetry.named("execute_tool pay")
    assert tool.status.status_code is StatusCode.ERROR


def test_what_an_exception_says_is_content():
    def broken(pin):
        raise ValueError(f"wrong pin {pin}")

    for content in (False, True):
        telemetry = Telemetry(content=content)
        guard = Guard("rec L.{!pay.L}", tools={"pay": broken}, observers=[telemetry.observer])
        guard.run([ToolCall("pay", {"pin": 4711}, "c1")])
        (tool,) = telemetry.named("execute_tool pay")
        assert tool.status.status_code is StatusCode.ERROR
        assert tool.attributes["error.type"] == "ValueError"
        assert ("4711" in tool.to_json()) is content


def test_nothing_of_it_is_loaded_by_those_who_do_not_ask_for_it():
    code = (
        "import sys\nfrom accord import Guard, ToolCall\n"
        "from accord.integrations.logs import LogObserver\n"
        "guard = Guard('rec L.!pay.?pay.L', tools={'pay': str}, observers=[LogObserver()])\n"
        "assert guard.run([ToolCall('pay')])[0].ok\n"
        "print([name for name in sys.modules if 'opentelemetry' in name or 'langfuse' in name])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told == "[]\n"


def test_nobody_is_timed_if_nobody_watches(monkeypatch):
    """Off, it costs nothing: not even the clock is looked at."""
    from accord.integrations.guard import observing, session

    def never():
        raise AssertionError

    monkeypatch.setattr(session, "perf_counter", never)
    monkeypatch.setattr(observing, "perf_counter", never)
    assert Guard("!pay.?pay.end", tools={"pay": str}).run([ToolCall("pay")])[0].ok


def test_without_the_package_the_error_names_the_extra():
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "try:\n    import accord.integrations.opentelemetry\nexcept Exception as e: print(e)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "accord-contracts[opentelemetry]" in told
