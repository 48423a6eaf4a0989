"""Models that record what they are asked and what they answer, and are otherwise the models they were.

What is known of a model is its methods: `generate`, `chat`, `stream`, or that it can be called itself. Each may answer
at once, later (a coroutine), or bit by bit (an iterator, asynchronous or not). Whatever else a model has is its own.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any

from accord.trace.events import CHAT_END, CHAT_START, GENERATE_END, GENERATE_START, STREAM_START
from accord.trace.spans import StreamSpan

if TYPE_CHECKING:
    from typing import Self

    from accord.trace.recorder import TraceRecorder

__all__ = ["has_methods_of_a_model", "recorded_model"]

_METHODS = {"generate": "prompt", "chat": "messages", "stream": "prompt"}
"""What is recorded, and what its first argument is called."""


def has_methods_of_a_model(value: object) -> bool:
    """Whether it is a model by its methods."""
    return not isinstance(value, type) and any(callable(_attribute(value, name)) for name in _METHODS)


def recorded_model(model: Any, recorder: TraceRecorder) -> Any:  # noqa: ANN401 - whatever it is
    """The same model, which records. What it raises is recorded and raised."""
    special = {name: _special(name) for name in dir(type(model)) if _is_special(name, type(model))}
    return type("RecordedModel", (_RecordedModel,), {"__slots__": (), **special})(model, recorder)


class _RecordedModel:
    """Stands for a model: everything but the recorded methods is the model's, its class included."""

    __slots__ = ("_accord_methods", "_accord_model")

    def __init__(self, model: Any, recorder: TraceRecorder) -> None:  # noqa: ANN401 - whatever it is
        methods = {}
        for name, asked in _METHODS.items():
            method = _attribute(model, name)
            if callable(method):
                methods[name] = _recorded(name, method, asked, recorder)
        if callable(model):
            methods["__call__"] = _recorded("generate", model, "prompt", recorder)
        object.__setattr__(self, "_accord_model", model)
        object.__setattr__(self, "_accord_methods", methods)

    @property  # type: ignore[misc] # as mocks do it
    def __class__(self) -> type:  # so that an agent may ask what it is
        return type(self._accord_model)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever it has
        method = self._accord_methods.get(name)
        return getattr(self._accord_model, name) if method is None else method

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._accord_model, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._accord_model, name)

    def __repr__(self) -> str:
        return repr(self._accord_model)


def _is_special(name: str, kind: type) -> bool:
    """Whether Python looks for it at the class, and not at the object where `__getattr__` would help."""
    return (
        name[:2] == name[-2:] == "__"
        and name not in dir(_RecordedModel)
        and name not in {"__del__", "__getattribute__"}
        and callable(getattr(kind, name, None))
    )


def _special(name: str) -> Callable[..., Any]:
    def forward(self: _RecordedModel, *given: Any, **named: Any) -> Any:  # noqa: ANN401 - the model's own
        model = self._accord_model
        method = self._accord_methods.get(name) or getattr(model, name)
        answer = method(*given, **named)
        return self if answer is model else answer  # `with model as m`

    return forward


def _recorded(name: str, method: Callable[..., Any], asked: str, recorder: TraceRecorder) -> Callable[..., Any]:
    def call(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - the model's own
        question = _Question(asked, given, named, recorder)
        record = _streamed if name == "stream" else _chatted if name == "chat" else _generated
        return record(question, lambda: method(*given, **named))

    return wraps(method)(call) if hasattr(method, "__name__") else call


class _Question:
    """What a model is asked, and the number that tells it apart from others of the same run."""

    __slots__ = ("payload", "recorder")

    def __init__(self, asked: str, given: tuple[Any, ...], named: dict[str, Any], recorder: TraceRecorder) -> None:
        params = dict(named)
        prompt = given[0] if given else params.pop(asked, None)
        if given[1:]:
            params["args"] = list(given[1:])
        self.payload = {asked: prompt, **({"params": params} if params else {})}
        self.recorder = recorder

    def begin(self, kind: str, key: str) -> str:
        """Record that the answer begins; the id that it gets."""
        with self.recorder.numbering:
            name = f"{key.removesuffix('_id')}-{self.recorder.count}"
            self.recorder.record(kind, {**self.payload, key: name})
        return name

    def stream(self) -> StreamSpan:
        """Record that a stream begins."""
        return StreamSpan(self.recorder, self.begin(STREAM_START, "stream_id"))


def _generated(question: _Question, ask: Callable[[], Any]) -> Any:  # noqa: ANN401 - the model's own
    return _answered(question, ask, GENERATE_START, GENERATE_END)


def _chatted(question: _Question, ask: Callable[[], Any]) -> Any:  # noqa: ANN401 - the model's own
    return _answered(question, ask, CHAT_START, CHAT_END)


def _answered(question: _Question, ask: Callable[[], Any], start: str, end: str) -> Any:  # noqa: ANN401
    recorder = question.recorder
    name = question.begin(start, "generate_id")

    def close(answer: object) -> None:
        usage = answer.get("usage") if isinstance(answer, Mapping) else _attribute(answer, "usage")
        more = {} if usage is None else {"usage": usage}
        recorder.record(end, {"response": answer, **more, "generate_id": name})

    async def later(answer: Any) -> Any:  # noqa: ANN401 - the model's own
        try:
            answer = await answer
        except BaseException as error:
            recorder.record_error(error, generate_id=name)
            raise
        close(answer)
        return answer

    try:
        answer = ask()
    except BaseException as error:
        recorder.record_error(error, generate_id=name)
        raise
    if inspect.isawaitable(answer):
        return later(answer)
    close(answer)
    return answer


# -- streams -----------------------------------------------------------------------------------------------------------


def _streamed(question: _Question, ask: Callable[[], Any]) -> Any:  # noqa: ANN401 - the model's own
    """The same stream. What is no iterator, or does more than to iterate, is left alone."""
    try:
        answer = ask()
    except BaseException as error:
        question.stream().fail(error)
        raise
    if inspect.iscoroutine(answer):
        return _streamed_later(question, answer)
    if isinstance(answer, AsyncIterator) and not hasattr(answer, "__aenter__"):
        return _AsyncChunks(question, answer)
    if isinstance(answer, Iterator) and not hasattr(answer, "__enter__"):
        return _Chunks(question, answer)
    return answer


async def _streamed_later(question: _Question, answer: Any) -> Any:  # noqa: ANN401 - the model's own
    try:
        answer = await answer
    except BaseException as error:
        question.stream().fail(error)
        raise
    return _streamed(question, lambda: answer)


class _Bits:
    """A stream that is read, from its first bit on. Whoever lets go of it has read enough, and nothing failed."""

    __slots__ = ("_answer", "_question", "_span")

    def __init__(self, question: _Question, answer: Any) -> None:  # noqa: ANN401 - the model's own
        self._question = question
        self._answer = answer
        self._span: StreamSpan | None = None

    def _open(self) -> StreamSpan:
        if self._span is None:
            self._span = self._question.stream()
        return self._span

    def _let_go(self) -> None:
        if self._span is not None:
            self._span.end()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever it has
        return getattr(self._answer, name)

    def __del__(self) -> None:
        self._let_go()


class _Chunks(_Bits):
    __slots__ = ()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:  # noqa: ANN401 - the model's own
        span = self._open()
        try:
            chunk = next(self._answer)
        except StopIteration:
            span.end()
            raise
        except BaseException as error:
            span.fail(error)
            raise
        span.chunk(chunk)
        return chunk

    def close(self) -> None:
        self._let_go()
        close = getattr(self._answer, "close", None)
        if close is not None:
            close()


class _AsyncChunks(_Bits):
    __slots__ = ()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:  # noqa: ANN401 - the model's own
        span = self._open()
        try:
            chunk = await anext(self._answer)
        except StopAsyncIteration:
            span.end()
            raise
        except BaseException as error:
            span.fail(error)
            raise
        span.chunk(chunk)
        return chunk

    async def aclose(self) -> None:
        self._let_go()
        close = getattr(self._answer, "aclose", None)
        if close is not None:
            await close()


def _attribute(value: object, name: str) -> Any:  # noqa: ANN401 - whatever it has
    try:
        return getattr(value, name, None)
    except Exception:  # noqa: BLE001 - a property may do anything
        return None
