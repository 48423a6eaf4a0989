"""`AgentProbe`: runs an agent with tools that record, and judges the trace.

The trace is kept however the run ends. A probe can be shared: each run has a recorder of its own.
"""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

from accord.errors import UsageError
from accord.trace.keeping import TraceKeeper
from accord.trace.loading import load_trace_config
from accord.trace.probe_result import ProbeResult, TraceViolationError
from accord.trace.recorded_models import has_methods_of_a_model, recorded_model
from accord.trace.recorded_tools import named_tools, recorded_tools
from accord.trace.recorder import TraceRecorder
from accord.trace.validation import compile_trace_config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from accord.trace.config import TraceConfig
    from accord.trace.events import RunId
    from accord.trace.sinks import TraceSink

__all__ = ["AgentProbe"]


class AgentProbe:
    """Runs agents with recorded tools under a trace configuration, or under a contract: `Path("support.accord")`.

    `agent` is a function that is called with the model, the data and the tools by name; without one the model is the
    agent: a function, or an object with `run`, that is called with the data and the tools; or an object with
    `generate`, which is asked the data. A model that the agent is given records what it is asked and what it answers
    through `generate`, `chat`, `stream` or by being called. An agent that has a parameter `recorder` is given the
    recorder, to record whatever else.

    With a `sink` every event is written there while it happens; if something is redacted, when the run is over and
    without what must not be seen.

    Example:
        >>> def agent(data, tools):
        ...     return tools["add"](x=data, y=1)
        >>> probe = AgentProbe(tools={"add": lambda x, y: x + y})
        >>> result = probe.run(agent, 2)
        >>> result.output, result.metadata["custom"]["trace"]["tool_sequence"]
        (3, ['add'])
    """

    def __init__(
        self,
        tools: Mapping[str, Callable[..., Any]] | Iterable[Callable[..., Any]] | None = None,
        trace_config: TraceConfig | Mapping[str, Any] | Path | str | None = None,
        *,
        agent: Callable[..., Any] | None = None,
        allow_imports: bool = False,
        sink: TraceSink | None = None,
    ) -> None:
        self.tools = named_tools(tools)
        source = {} if trace_config is None else trace_config
        self.trace_config = load_trace_config(source, allow_imports=allow_imports)
        self.agent = agent
        self._plan = compile_trace_config(self.trace_config)
        self._sink = sink
        TraceKeeper(self._plan)  # what cannot be imported is told now

    def run(self, model: Any, data: Any = None, *, run_id: RunId = None, example_id: RunId = None) -> ProbeResult:  # noqa: ANN401
        """Run the agent once. What it raises is in the result, with the trace up to there.

        Raises `TraceViolationError` if there are violations and the configuration says `fail_run`. What is no ordinary
        error (`KeyboardInterrupt`, cancellation) is raised on; the result is then its `accord_result`.
        """
        session = _Session(self, data, run_id, example_id)
        try:
            output = self.run_agent(session.model(model), data, session.tools, session.recorder)
            if inspect.isawaitable(output):
                output = _complete(output)
        except Exception as error:  # noqa: BLE001 - told in the result
            return session.finish(None, error)
        except BaseException as error:
            session.abandon(error)
            raise
        return session.finish(output, None)

    async def arun(
        self,
        model: Any,  # noqa: ANN401 - whatever the agent works with
        data: Any = None,  # noqa: ANN401 - whatever it works on
        *,
        run_id: RunId = None,
        example_id: RunId = None,
    ) -> ProbeResult:
        """As `run`, for agents that are coroutines."""
        session = _Session(self, data, run_id, example_id)
        try:
            output = self.run_agent(session.model(model), data, session.tools, session.recorder)
            if inspect.isawaitable(output):
                output = await output
        except Exception as error:  # noqa: BLE001 - told in the result
            return session.finish(None, error)
        except BaseException as error:
            session.abandon(error)
            raise
        return session.finish(output, None)

    def run_agent(
        self,
        model: Any,  # noqa: ANN401 - whatever the agent works with
        data: Any,  # noqa: ANN401 - whatever it works on
        tools: dict[str, Callable[..., Any]],
        recorder: TraceRecorder,
    ) -> Any:  # noqa: ANN401 - whatever it returns
        """Call the agent; a class of your own may do it in another way. The model and the tools record."""
        if self.agent is not None:
            return _call(self.agent, (model, data), tools, recorder)
        if callable(getattr(model, "run", None)):
            return _call(model.run, (data,), tools, recorder)
        if callable(model):
            return _call(model, (data,), tools, recorder)
        if callable(getattr(model, "generate", None)):
            return model.generate(data)
        raise UsageError(f"the agent is a function, or an object with `run` or `generate`, got {model!r}")


class _Session:
    """One run of a probe."""

    def __init__(self, probe: AgentProbe, data: Any, run_id: RunId, example_id: RunId) -> None:  # noqa: ANN401
        self.config = probe.trace_config
        self.keeper = TraceKeeper(probe._plan, probe._sink)  # noqa: SLF001 - its own
        self.recorder = TraceRecorder(
            run_id, example_id, keep=0, on_event=self.keeper.take, enabled=self.config.enabled
        )
        self.tools = recorded_tools(probe.tools, self.recorder)
        self.data = data
        self._calls_model = probe.agent is not None

    def model(self, model: Any) -> Any:  # noqa: ANN401 - whatever the agent works with
        """The model as the agent sees it. A function is a model only if it is not the agent itself."""
        is_function = self._calls_model and callable(model) and not isinstance(model, type)
        return recorded_model(model, self.recorder) if is_function or has_methods_of_a_model(model) else model

    def finish(self, output: Any, error: BaseException | None) -> ProbeResult:  # noqa: ANN401 - whatever was returned
        if error is not None:
            self.recorder.record_error(error)
        result = self._result(output, error)
        if result.violations and self.config.on_violation.mode == "fail_run":
            raise TraceViolationError(result) from error
        return result

    def abandon(self, error: BaseException) -> None:
        """The run was interrupted: what is there goes with the interruption."""
        self.recorder.record_error(error)
        error.accord_result = self._result(None, error)  # type: ignore[attr-defined] # for whoever looks

    def _result(self, output: Any, error: BaseException | None) -> ProbeResult:  # noqa: ANN401 - whatever was returned
        custom: dict[str, Any] = {}
        self.recorder.enabled = False  # what a thread that was left behind does is no part of this run
        if self.config.enabled:
            custom["trace"] = self.keeper.finish()
            failure = self.keeper.sink_error or self.recorder.sink_error
            if failure is not None:
                custom["trace"]["sink_error"] = self.keeper.cover.text(str(failure))
        violations = tuple(self.keeper.violations)
        status, message, kind = "success", None, None
        if error is not None:
            status, message, kind = "error", _text(error), type(error).__name__
        elif violations and self.config.on_violation.mode != "record":
            status, message, kind = "violation", str(TraceViolationError(_only(violations))), "TraceViolationError"
        return ProbeResult(
            self.data,
            output,
            status,  # type: ignore[arg-type] # one of three
            message,
            kind,
            error,
            {"custom": custom},
            violations,
            self.recorder.run_id,
            self.recorder.example_id,
            self.keeper.cover,
        )


def _only(violations: tuple[Any, ...]) -> ProbeResult:
    return ProbeResult(None, violations=violations)


def _text(error: BaseException) -> str:
    try:
        return str(error) or type(error).__name__
    except Exception:  # noqa: BLE001 - an error may be broken itself
        return type(error).__name__


def _complete(output: Any) -> Any:  # noqa: ANN401 - what the agent returns
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_awaited(output))
    if inspect.iscoroutine(output):
        output.close()
    raise UsageError("the agent is asynchronous and an event loop is running; use `await probe.arun(…)`")


async def _awaited(output: Any) -> Any:  # noqa: ANN401 - what the agent returns
    return await output


def _call(function: Callable[..., Any], given: tuple[Any, ...], tools: dict[str, Any], recorder: TraceRecorder) -> Any:  # noqa: ANN401 - what the agent returns
    """Call an agent with as much as it takes: by name what it has a name for, else tools behind the rest."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return function(*given, tools)
    kinds = inspect.Parameter
    named = {name for name, p in parameters.items() if p.kind in {kinds.KEYWORD_ONLY, kinds.POSITIONAL_OR_KEYWORD}}
    places = [p for p in parameters.values() if p.kind in {kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD}]
    many = any(p.kind is kinds.VAR_POSITIONAL for p in parameters.values())
    more: dict[str, Any] = {}
    if "tools" in named:
        more["tools"] = tools
    elif many or len([p for p in places if p.name != "recorder"]) > len(given):
        given = (*given, tools)
    if "recorder" in named:
        more["recorder"] = recorder
    return function(*given, **more)
