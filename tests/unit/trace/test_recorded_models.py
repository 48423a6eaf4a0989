"""Models that record: all ways to ask, all ways to answer, all ways to break off."""

# ruff: noqa: ARG002, ARG005 - models have the parameters they have

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from accord import AgentProbe, TraceRecorder
from accord.trace.recorded_models import recorded_model


class Model:
    """A model with everything; its answers say how it was asked."""

    def __init__(self):
        self.temperature = 1
        self.closed = []

    def generate(self, prompt, **params):
        if prompt == "boom":
            raise ConnectionError("gone")
        return f"{prompt}!"

    def chat(self, messages, *rest, **params):
        return {"content": messages[-1]["content"], "usage": {"output": 2}}

    def stream(self, prompt, words=3):
        if prompt == "refused":
            raise ConnectionError("no stream")
        try:
            for number in range(words):
                if prompt == "boom" and number == 1:
                    raise ConnectionError("broke off")
                yield f"{number} "
        finally:
            self.closed.append(prompt)

    def __call__(self, prompt):
        return f"called with {prompt}"

    def __enter__(self):
        return self

    def __exit__(self, *given):
        self.closed.append("all")

    def __len__(self):
        return 7

    def __del__(self):
        deleted.append(self)


deleted = []


class AsyncModel:
    async def generate(self, prompt):
        await asyncio.sleep(0)
        if prompt == "boom":
            raise ConnectionError("gone")
        return f"{prompt}!"

    async def stream(self, prompt):
        for number in range(3):
            await asyncio.sleep(0)
            yield f"{number} "

    async def chat(self, messages):
        await asyncio.Event().wait()


def recorded(model=None):
    recorder = TraceRecorder()
    return recorded_model(model or Model(), recorder), recorder


def seen(recorder):
    return [(event.kind, event.payload) for event in recorder.events]


def test_generations_and_chats():
    model, recorder = recorded()
    assert model.generate("hi", temperature=0) == "hi!"
    assert model.generate(prompt="hi") == "hi!"
    assert model.chat([{"role": "user", "content": "yes"}], "more")["content"] == "yes"
    assert model("hi") == "called with hi"
    answer = {"content": "yes", "usage": {"output": 2}}
    messages = [{"role": "user", "content": "yes"}]
    assert seen(recorder) == [
        ("generate_start", {"prompt": "hi", "params": {"temperature": 0}, "generate_id": "generate-0"}),
        ("generate_end", {"response": "hi!", "generate_id": "generate-0"}),
        ("generate_start", {"prompt": "hi", "generate_id": "generate-2"}),
        ("generate_end", {"response": "hi!", "generate_id": "generate-2"}),
        ("chat_start", {"messages": messages, "params": {"args": ["more"]}, "generate_id": "generate-4"}),
        ("chat_end", {"response": answer, "usage": {"output": 2}, "generate_id": "generate-4"}),
        ("generate_start", {"prompt": "hi", "generate_id": "generate-6"}),
        ("generate_end", {"response": "called with hi", "generate_id": "generate-6"}),
    ]


def test_what_a_model_raises_is_recorded_and_raised():
    model, recorder = recorded()
    with pytest.raises(ConnectionError):
        model.generate("boom")
    with pytest.raises(ConnectionError):
        list(model.stream("boom"))
    with pytest.raises(TypeError):
        model.stream()
    assert [kind for kind, _ in seen(recorder)] == [
        "generate_start", "error", "stream_start", "stream_chunk", "error", "stream_start", "error",
    ]  # fmt: skip
    assert seen(recorder)[1][1] == {"error": "gone", "error_type": "ConnectionError", "generate_id": "generate-0"}
    assert seen(recorder)[4][1]["stream_id"] == seen(recorder)[2][1]["stream_id"] == "stream-2"


def test_streams():
    model, recorder = recorded()
    assert "".join(model.stream("hi", words=2)) == "0 1 "
    assert seen(recorder) == [
        ("stream_start", {"prompt": "hi", "params": {"words": 2}, "stream_id": "stream-0"}),
        ("stream_chunk", {"chunk": "0 ", "chunk_index": 0, "stream_id": "stream-0"}),
        ("stream_chunk", {"chunk": "1 ", "chunk_index": 1, "stream_id": "stream-0"}),
        ("stream_end", {"full_response": "0 1 ", "chunk_count": 2, "stream_id": "stream-0"}),
    ]


def test_whoever_has_read_enough_has_ended_the_stream():
    model, recorder = recorded()
    for _ in model.stream("let go"):
        break
    stream = model.stream("closed")
    next(stream)
    stream.close()
    model.stream("never read")
    kinds = ["stream_start", "stream_chunk", "stream_end"]
    assert [kind for kind, _ in seen(recorder)] == kinds * 2
    assert model.closed == ["let go", "closed"]


def test_a_model_is_what_it_was():
    plain = Model()
    model, recorder = recorded(plain)
    assert isinstance(model, Model) and repr(model) == repr(plain) and model.temperature == 1
    model.temperature = 0
    assert plain.temperature == 0
    del model.temperature
    assert not hasattr(plain, "temperature") and not hasattr(model, "temperature")
    with model as opened:
        assert len(opened) == 7 and opened.generate("hi") == "hi!" and recorder.count == 2
    assert plain.closed == ["all"]
    assert callable(model) and not callable(recorded(AsyncModel())[0])
    assert not hasattr(recorded(AsyncModel())[0], "generate_all")
    before = len(deleted)
    del model, opened
    assert len(deleted) == before

    class Session:
        def __enter__(self):
            return self

        def __iter__(self):
            return self

        def __next__(self):
            return 1

    session = Session()
    plain.stream = lambda prompt: session
    assert recorded(plain)[0].stream("p") is session  # it does more than to iterate


def test_asynchronous_models():
    async def agent(model, data):
        answers = await asyncio.gather(*(model.generate(one) for one in data), return_exceptions=True)
        text = "".join([chunk async for chunk in model.stream("go")])
        async for _ in model.stream("let go"):
            break
        return answers, text

    result = AgentProbe(agent=agent).run(AsyncModel(), ["a", "boom", "b"])
    assert result.output[0][::2] == ["a!", "b!"] and result.output[1] == "0 1 2 "
    assert result.trace["violations"] == []
    kinds = [event["kind"] for event in result.trace["events"]]
    assert kinds[:6] == ["generate_start"] * 3 + ["generate_end", "error", "generate_end"]
    assert kinds[-3:] == ["stream_start", "stream_chunk", "stream_end"]


def test_a_stream_that_is_cancelled_is_closed_by_the_error():
    class Slow:
        async def stream(self, prompt):
            yield "one"
            await asyncio.Event().wait()

        async def chat(self, messages):
            await asyncio.Event().wait()

    async def read(model, method):
        if method == "chat":
            return await model.chat([])
        return [chunk async for chunk in model.stream("p")]

    async def main(method):
        task = asyncio.create_task(AgentProbe(agent=read).arun(Slow(), method))
        for _ in range(5):
            await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError as error:
            return error.accord_result

    for method, kinds in (("stream", ["stream_start", "stream_chunk", "error"]), ("chat", ["chat_start", "error"])):
        trace = asyncio.run(main(method)).trace
        assert [event["kind"] for event in trace["events"]] == [*kinds, "error"]
        assert trace["violations"] == [] and trace["events"][-2]["payload"]["error_type"] == "CancelledError"


@pytest.mark.parametrize("ends", ["aclose", "whole", None])
def test_who_closes_an_asynchronous_stream_waits_until_the_model_has_closed_it(ends):
    closed = []

    class Open:
        async def stream(self, prompt):
            try:
                yield "one"
                yield "two"
            finally:
                await asyncio.sleep(0)
                closed.append(prompt)

    async def agent(model, data):
        stream = model.stream(data)
        assert await anext(stream) == "one"
        if ends == "aclose":
            await stream.aclose()
        elif ends:
            assert [chunk async for chunk in stream] == ["two"]
        return list(closed)

    result = asyncio.run(AgentProbe(agent=agent).arun(Open(), "p"))
    assert result.output == (["p"] if ends else [])
    kinds = [event["kind"] for event in result.trace["events"]]
    assert kinds[:2] == ["stream_start", "stream_chunk"]


def test_probes_record_models():
    def agent(model, data, tools):
        return tools["shout"](model.generate(data))

    result = AgentProbe({"shout": str.upper}, agent=agent).run(Model(), "hi")
    assert result.output == "HI!"
    assert [event["kind"] for event in result.trace["events"]] == [
        "generate_start", "generate_end", "tool_call_start", "tool_result",
    ]  # fmt: skip
    asked = AgentProbe(agent=lambda model, data: model(data)).run(lambda prompt: f"{prompt}?", "why")
    assert [event["kind"] for event in asked.trace["events"]] == ["generate_start", "generate_end"]
    late = AgentProbe().run(AsyncModel(), "hi")
    assert late.output == "hi!" and [event["kind"] for event in late.trace["events"]] == [
        "generate_start", "generate_end",
    ]  # fmt: skip
    broken = AgentProbe().run(AsyncModel(), "boom")
    assert broken.status == "error" and broken.violations == ()
    part = AgentProbe(agent=lambda model, data: model(data)).run(partial(max, 3), 5)  # it has no name of its own
    assert part.output == 5 and part.trace["event_count"] == 2


def test_parallel_calls_of_a_model_are_told_apart():
    from concurrent.futures import ThreadPoolExecutor

    def agent(model, data):
        with ThreadPoolExecutor(4) as pool:
            return list(pool.map(model.generate, data))

    result = AgentProbe(agent=agent).run(Model(), [str(n) for n in range(50)])
    assert result.output == [f"{n}!" for n in range(50)] and result.trace["violations"] == []
    assert result.trace["event_count"] == 100


def test_what_is_left_behind_is_no_part_of_the_run():
    kept = []

    def agent(data, recorder):
        kept.append(recorder)
        recorder.record("inside")

    result = AgentProbe().run(agent)
    before = result.to_record()
    kept[0].record("late")
    assert result.to_record() == before and result.trace["event_count"] == len(result.trace["events"]) == 1
