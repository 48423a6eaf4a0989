"""Recording: order, immutability, threads, what JSON cannot hold, sinks."""

from __future__ import annotations

import asyncio
import copy
import io
import pickle
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from accord.errors import UsageError
from accord.trace import JsonlSink, TraceEvent, TraceRecorder, read_trace, trace_fingerprint


def test_the_payloads_are_those_users_know():
    recorder = TraceRecorder("r", "e")
    recorder.record_generate_start("hi", temperature=0)
    recorder.record_generate_end("hello", {"tokens": 2})
    recorder.record_chat_start([{"role": "user", "content": "hi"}])
    recorder.record_chat_end("hello")
    recorder.record_stream_start("hi")
    recorder.record_stream_chunk("he", 0)
    recorder.record_stream_end("he", 1)
    recorder.record_tool_call("search", {"q": "x"}, "c1")
    recorder.record_tool_result("search", [1], "c1")
    recorder.record_tool_call("search")
    recorder.record_tool_result("search", error=ValueError("no"))
    recorder.record_error("boom", "ValueError")
    recorder.record_error(KeyError("k"))
    recorder.record_retry(2, "timeout")
    recorder.record("approval", {"by": "ana"})
    assert [(event.kind, event.payload) for event in recorder.events] == [
        ("generate_start", {"prompt": "hi", "params": {"temperature": 0}}),
        ("generate_end", {"response": "hello", "usage": {"tokens": 2}}),
        ("chat_start", {"messages": [{"role": "user", "content": "hi"}]}),
        ("chat_end", {"response": "hello"}),
        ("stream_start", {"prompt": "hi"}),
        ("stream_chunk", {"chunk": "he", "chunk_index": 0}),
        ("stream_end", {"full_response": "he", "chunk_count": 1}),
        ("tool_call_start", {"tool_name": "search", "arguments": {"q": "x"}, "step": 0, "tool_call_id": "c1"}),
        ("tool_result", {"tool_name": "search", "result": [1], "ok": True, "tool_call_id": "c1"}),
        ("tool_call_start", {"tool_name": "search", "arguments": {}, "step": 1}),
        ("tool_result", {"tool_name": "search", "result": None, "ok": False, "error": "no"}),
        ("error", {"error": "boom", "error_type": "ValueError"}),
        ("error", {"error": "'k'", "error_type": "KeyError"}),
        ("retry", {"attempt": 2, "reason": "timeout"}),
        ("approval", {"by": "ana"}),
    ]
    assert [event.seq for event in recorder.events] == list(range(15))
    assert {event.run for event in recorder.events} == {("r", "e")}
    recorder.get_tool_sequence().clear()
    assert recorder.get_tool_sequence() == ["search", "search"]


def test_events_cannot_be_changed():
    given = {"arguments": {"xs": [1, {"y": 2}]}}
    event = TraceRecorder().record("k", given)
    given["arguments"]["xs"].append(3)
    assert event.payload == {"arguments": {"xs": [1, {"y": 2}]}}
    with pytest.raises(AttributeError):
        event.seq = 3
    for change in (
        lambda p: p.update(a=1),
        lambda p: p["arguments"].pop("xs"),
        lambda p: p["arguments"]["xs"].append(1),
        lambda p: p["arguments"]["xs"][1].clear(),
        lambda p: p["arguments"]["xs"].sort(),
        lambda p: p.__ior__({"a": 1}),
        lambda p: p["arguments"]["xs"].__iadd__([1]),
    ):
        with pytest.raises(TypeError, match="cannot be changed"):
            change(event.payload)
    for copied in (copy.deepcopy(event.payload), pickle.loads(pickle.dumps(event.payload))):  # noqa: S301
        assert copied == event.payload
        copied["arguments"]["xs"].append(4)
    assert pickle.loads(pickle.dumps(event)) == event  # noqa: S301


def test_threads_get_every_number_once():
    recorder = TraceRecorder()
    barrier = Barrier(8)

    def work(number):
        barrier.wait()
        return [recorder.record_tool_call("t", {"n": number}).payload["step"] for _ in range(200)]

    with ThreadPoolExecutor(8) as pool:
        steps = [step for found in pool.map(work, range(8)) for step in found]
    assert sorted(steps) == list(range(1600))
    assert [event.seq for event in recorder.events] == list(range(1600))
    assert [event.payload["step"] for event in recorder.events] == list(range(1600))


def test_tasks_can_interleave_streams():
    recorder = TraceRecorder()

    async def talk(name):
        with recorder.stream("p", stream_id=name) as stream:
            for _ in range(3):
                stream.chunk(name)
                await asyncio.sleep(0)

    async def both():
        await asyncio.gather(talk("a"), talk("b"))

    asyncio.run(both())
    assert [event.payload["stream_id"] for event in recorder.events[:4]] == ["a", "a", "b", "b"]
    assert recorder.events[-1].payload == {"full_response": "bbb", "chunk_count": 3, "stream_id": "b"}


def test_a_block_that_raises_closes_what_it_opened():
    recorder = TraceRecorder()

    def interrupted():
        with recorder.stream("p", stream_id="s") as stream:
            stream.chunk("x")
            raise KeyboardInterrupt

    def late():
        with recorder.generation("p") as span:
            span.end("done", {"tokens": 1})
            raise ValueError("late")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with pytest.raises(ValueError, match="no"), recorder.generation("p"):
        raise ValueError("no")
    with pytest.raises(ValueError, match="late"):
        late()
    with recorder.generation("p", generate_id="g"):
        pass
    assert [(e.kind, e.payload) for e in recorder.events if not e.kind.endswith(("start", "chunk"))] == [
        ("error", {"error": "KeyboardInterrupt", "error_type": "KeyboardInterrupt", "stream_id": "s"}),
        ("error", {"error": "no", "error_type": "ValueError"}),
        ("generate_end", {"response": "done", "usage": {"tokens": 1}}),
        ("generate_end", {"response": None, "generate_id": "g"}),
    ]


class Broken:
    def __repr__(self):
        raise RuntimeError("no")

    def __str__(self):
        raise RuntimeError("no")

    def __eq__(self, other):
        raise RuntimeError("no")

    __hash__ = None


class BrokenMapping(dict):
    def items(self):
        raise RuntimeError("no")


class BrokenError(Exception):
    def __str__(self):
        raise RuntimeError("no")


def endless():
    loop = []
    loop.append(loop)
    return loop


@pytest.mark.parametrize(
    "value",
    [object(), Broken(), {1: 2}, {"a": {1, 2}}, float("nan"), endless(), b"x", "\ud800", 2**80, lambda: 1,
     BrokenMapping(a=1), [float("inf"), -0.0], {"$accord": "object"}],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_json_cannot_hold_never_breaks_the_agent(value):
    sink = io.BytesIO()
    recorder = TraceRecorder(sink=JsonlSink(sink), keep=None)
    recorder.record_tool_result("t", value)
    recorder.record_tool_call("t", value)
    recorder.record_error(BrokenError())
    assert recorder.sink_error is None
    kept = recorder.events[0].payload
    assert kept["tool_name"] == "t" and kept["ok"] is True
    again = list(read_trace(io.BytesIO(sink.getvalue())))
    assert again == recorder.events
    assert trace_fingerprint(again) == trace_fingerprint(recorder.events)


def test_an_object_is_known_by_its_type_and_not_by_where_it_lies():
    class Thing:
        pass

    results = [TraceRecorder().record_tool_result("t", [Thing(), {"a": {"b"}}]).payload["result"] for _ in range(2)]
    assert results[0] == results[1]
    assert results[0][0]["$accord"] == "object" and results[0][0]["type"].endswith("Thing")
    assert results[0][1]["a"] == {"$accord": "object", "type": "builtins.set"}


def test_nan_infinity_and_null_are_three_things():
    values = [float("nan"), float("inf"), None, -0.0, 0]
    prints = {trace_fingerprint([TraceRecorder().record("k", {"v": value})]) for value in values}
    assert len(prints) == 5


def test_with_a_sink_nothing_is_kept_in_memory(tmp_path):
    path = tmp_path / "t.jsonl"
    with TraceRecorder("r", sink=JsonlSink(path)) as recorder:
        for number in range(100):
            recorder.record_tool_call("t", {"n": number})
        assert recorder.events == [] and recorder.get_tool_sequence() == [] and recorder.count == 100
    events = list(read_trace(path))
    assert [event.seq for event in events] == list(range(100)) and events[7].payload["arguments"] == {"n": 7}


def test_a_sink_that_fails_is_told_at_the_end():
    class Full:
        def write(self, _event):
            raise OSError(28, "No space left on device")

        def close(self):
            pass

    recorder = TraceRecorder(sink=Full())
    recorder.record("a")
    recorder.record("b")
    assert recorder.count == 2 and isinstance(recorder.sink_error, OSError)
    with pytest.raises(UsageError, match="the trace is not whole"):
        recorder.close()


def test_many_recorders_share_a_file(tmp_path):
    path = tmp_path / "t.jsonl"
    with JsonlSink(path) as sink, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: [TraceRecorder(n, sink=sink).record("k", {"i": i}) for i in range(50)], range(4)))
    assert len(list(read_trace(path))) == 200
    with pytest.raises(UsageError, match="cannot write"):
        JsonlSink(path, append=False)


def test_disabled_records_nothing():
    seen = []
    recorder = TraceRecorder(enabled=False, on_event=seen.append)
    assert recorder.record_tool_call("t", {}).kind == "tool_call_start"
    assert recorder.events == seen == [] and recorder.count == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: TraceRecorder(run_id=1.5),
        lambda: TraceRecorder(keep=-1),
        lambda: TraceRecorder().record("", {}),
        lambda: TraceRecorder().record(7, {}),
        lambda: TraceRecorder().record("k", [1]),
        lambda: TraceRecorder().record("k", {1: 2}),
        lambda: TraceEvent("0", "k"),
        lambda: TraceEvent(bool(1), "k"),
        lambda: TraceEvent(0, ""),
        lambda: TraceEvent(0, "k", []),
        lambda: TraceEvent(0, "k", {"a": endless()}),
    ],
)
def test_misuse_is_told(make):
    with pytest.raises(UsageError):
        make()


class Broken:
    """What raises whatever is done to it."""

    def __getattribute__(self, name):
        raise RuntimeError(name)

    def __str__(self):
        raise RuntimeError("str")

    __repr__ = __str__


class BrokenMapping(dict):
    def items(self):
        raise RuntimeError("items")


def test_values_that_break_when_they_are_looked_at_break_nothing():
    recorder = TraceRecorder()
    recorder.record_tool_call(Broken(), Broken(), Broken())
    recorder.record_tool_result("t", Broken(), error=Broken())
    recorder.record_error(Broken(), Broken())
    recorder.record("k", BrokenMapping(a=1))
    recorder.record("k", {"a": BrokenMapping(a=1), "b": 2})
    assert recorder.get_tool_sequence() == ["Broken"] and recorder.count == 5
    assert recorder.events[3].payload["payload"]["$accord"] == "unreadable" and recorder.events[4].payload["b"] == 2
    assert trace_fingerprint(recorder.events).startswith("sha256:")
