"""`ToolMiddleware`: the tools of an agent, each run only if the contract allows it now.

This file is the way from calls to results; `batch` knows what happens on it in the program's view, `rounds` and
`conduct` in the agent's. The synchronous and the asynchronous way differ in how tools run and in nothing else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from threading import RLock
from typing import TYPE_CHECKING

from accord.calling import kind_of, to_the_end, to_the_end_async
from accord.errors import UsageError
from accord.integrations import batch
from accord.integrations.batch import Claim, Labels
from accord.integrations.conduct import Conduct, Ended
from accord.integrations.exchange import LLMResponse, ToolCall, ToolResult
from accord.integrations.rounds import Rounds
from accord.integrations.session import check_session, is_shared, projection_for
from accord.monitor.wording import quote_text, quote_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from accord.integrations.batch import ReceiveLabel, SendLabel, Tool
    from accord.integrations.session import Receipt, Session, View
    from accord.machine.clocks import Time
    from accord.monitor import Verdict

__all__ = ["ToolMiddleware"]


class ToolMiddleware:
    """Runs the tools a model asks for, if and only if the contract allows it.

    A call of `search` is received as `?search` with its arguments, and its result is sent as `!search`. `receive_label`
    and `send_label` are other labels: a `str` that stands for all calls of a response together, or a function of the
    `ToolCall` and of the `ToolResult`.

    That is the view of the program around the model. With `view="agent"` a call of `search` is `!search` and its end
    `?search`, as under a guard, and the contract's events say what is what: the same contract guards, audits and is
    tested. The session then belongs to the middleware. A contract that uses time needs a `clock`.

    What a violation does is the monitor's mode: one that halts raises `ProtocolViolationError`; one that refuses gives
    a `ToolResult` whose `error` tells the model how to do it right.

    Example:
        >>> from accord import Monitor, ToolCall, ToolMiddleware
        >>> tools = ToolMiddleware(Monitor("?search.!search.?book.!book.end", mode="refuse"), {"search": str.title})
        >>> tools.register("book", lambda flight: f"booked {flight}")
        >>> tools.execute(ToolCall("book", {"flight": "AZ1"})).error
        '`book` is not allowed yet: first call `search`, then `book`.'
    """

    __slots__ = ("_conduct", "_labels", "_lock", "_monitor", "_tools")

    def __init__(
        self,
        monitor: Session,
        tools: Mapping[str, Tool],
        receive_label: ReceiveLabel = None,
        send_label: SendLabel = None,
        *,
        view: View = "program",
        clock: Callable[[], Time] | None = None,
    ) -> None:
        check_session(monitor)
        projection = projection_for(monitor, view, receive_label=receive_label, send_label=send_label)
        if not isinstance(tools, Mapping):
            raise UsageError(f"`tools` is a mapping from names to functions, got `{type(tools).__name__}`")
        for which, label in (("receive_label", receive_label), ("send_label", send_label)):
            if label is not None and not isinstance(label, str) and not callable(label):
                raise UsageError(f"`{which}` is a `str` or a function, got `{type(label).__name__}`")
        self._monitor = monitor
        if projection is None and clock is not None:
            raise UsageError('`clock` is for `view="agent"`; in the program\'s view the session tells the time')
        if projection is not None and is_shared(monitor):
            raise UsageError(
                "other workers may step a `StoredSession` while calls are out; "
                "in the agent's view keep the session of a guard in the store: Guard(contract, store=…, key=…)"
            )
        self._conduct = None if projection is None else Conduct(monitor, projection, clock)
        self._labels = Labels(receive_label, send_label)
        self._tools: dict[str, Tool] = {}
        self._lock = RLock()
        for name, tool in tools.items():
            self.register(name, tool)

    @property
    def monitor(self) -> Session:
        """The session it belongs to."""
        return self._monitor

    def register(self, name: str, tool: Tool) -> None:
        """Add a tool, or replace the one of that name."""
        if not isinstance(name, str) or not name or not callable(tool):
            raise UsageError(f"a tool is a function with a name, got {quote_value(name)} and `{type(tool).__name__}`")
        self._tools[name] = tool

    def execute(self, tool_call: ToolCall) -> ToolResult:
        """Run one tool call, if that is allowed now."""
        return self._in_turn(_one(tool_call), None, None)[0]

    def process(self, response: LLMResponse) -> list[ToolResult]:
        """Run the tool calls of a response; the results are in the order of the calls."""
        calls, receipt = _of(response)
        return self._in_turn(calls, response.content, receipt)

    async def aexecute(self, tool_call: ToolCall) -> ToolResult:
        """As `execute`; an asynchronous tool is waited for."""
        return (await self._at_once(_one(tool_call), None, None))[0]

    async def aprocess(self, response: LLMResponse) -> list[ToolResult]:
        """As `process`; asynchronous tools run at the same time, once all calls are reserved."""
        calls, receipt = _of(response)
        return await self._at_once(calls, response.content, receipt)

    # -- the agent's view ----------------------------------------------------------------------------------------------

    @property
    def lost(self) -> dict[str, str]:
        """The calls, by id, of which nobody knows whether they have happened, each with why."""
        with self._lock:
            return {} if self._conduct is None else self._conduct.lost

    def settle(self, call_id: str, result: object = None) -> Verdict:
        """A lost call has happened after all, and has returned that."""
        return self._about_lost(lambda conduct: conduct.settle(call_id, result))

    def fail(self, call_id: str, why: str) -> Verdict:
        """A lost call has not happened; it is taken back."""
        return self._about_lost(lambda conduct: conduct.fail(call_id, why))

    def close(self) -> Verdict:
        """Nothing more will come: `Ok` if nothing is owed, whatever became of the calls that are lost."""
        return self._about_lost(lambda conduct: conduct.close())

    def _about_lost(self, ask: Callable[[Conduct], Verdict]) -> Verdict:
        if self._conduct is None:
            raise UsageError('calls are lost in `view="agent"` alone; here a failed call has ended with its error')
        with self._lock:
            return ask(self._conduct)

    def _rounds(self, claims: list[Claim]) -> Rounds | None:
        if self._conduct is None:
            return None
        return Rounds(self._conduct, self._lock, claims, halts=self._monitor.mode == "halt")

    # -- the way of a batch --------------------------------------------------------------------------------------------

    def _in_turn(self, calls: list[ToolCall], content: str | None, receipt: Receipt | None) -> list[ToolResult]:
        claims = batch.look_at(calls, self._tools)
        for claim in claims:
            if claim.tool is not None and kind_of(claim.tool) in {"coroutine", "async generator"}:
                raise UsageError(
                    f"the tool {quote_text(claim.call.name)} is asynchronous; use `aexecute` or `aprocess`"
                )
        rounds = self._rounds(claims)
        if rounds is not None:
            return _run_rounds(rounds)
        claims = self._reserved(claims, content, receipt)
        return self._answered(claims, [_run(claim) for claim in claims])

    async def _at_once(self, calls: list[ToolCall], content: str | None, receipt: Receipt | None) -> list[ToolResult]:
        from asyncio import gather  # noqa: PLC0415 - only where it is used

        claims = batch.look_at(calls, self._tools)
        rounds = self._rounds(claims)
        if rounds is not None:
            return await _run_rounds_async(rounds)
        claims = self._reserved(claims, content, receipt)
        return self._answered(claims, await gather(*(_run_async(claim) for claim in claims)))

    def _reserved(self, claims: list[Claim], content: str | None, receipt: Receipt | None) -> list[Claim]:
        if not claims:
            return []
        with self._lock:  # the calls of one batch stand together, whatever other threads ask for
            return batch.reserve(claims, self._labels, self._monitor, content, receipt)

    def _answered(self, claims: list[Claim], results: Iterable[ToolResult]) -> list[ToolResult]:
        with self._lock:
            return batch.answer(claims, list(results), self._labels, self._monitor)


def _one(tool_call: ToolCall) -> list[ToolCall]:
    if not isinstance(tool_call, ToolCall):
        raise UsageError(f"a `ToolCall` is executed, got `{type(tool_call).__name__}`")
    return [tool_call]


def _of(response: LLMResponse) -> tuple[list[ToolCall], Receipt | None]:
    if not isinstance(response, LLMResponse):
        raise UsageError(f"an `LLMResponse` is processed, got `{type(response).__name__}`")
    calls = response.tool_calls
    if not isinstance(calls, list | tuple) or not all(isinstance(call, ToolCall) for call in calls):
        raise UsageError("the `tool_calls` of the response are no list of `ToolCall`s")
    return list(calls), response.receipt


def _run(claim: Claim) -> ToolResult:
    if not claim.may_run or claim.tool is None or claim.arguments is None:
        return batch.failed(claim)
    try:
        value = to_the_end(claim.tool(**claim.arguments))
    except Exception as error:  # noqa: BLE001 - whatever a tool does wrong, the model is told and the session goes on
        return claim.result(error=batch.in_words(error))
    return batch.finished(claim, value)


async def _run_async(claim: Claim) -> ToolResult:
    if not claim.may_run or claim.tool is None or claim.arguments is None:
        return batch.failed(claim)
    try:
        value = await to_the_end_async(claim.tool(**claim.arguments))
    except Exception as error:  # noqa: BLE001 - as above
        return claim.result(error=batch.in_words(error))
    return batch.finished(claim, value)


# -- the agent's view --------------------------------------------------------------------------------------------------


def _run_rounds(rounds: Rounds) -> list[ToolResult]:
    try:
        out = deque(rounds.ready())
        while out:
            place = out.popleft()
            rounds.end(place, _ended(rounds, place))
            out.extend(rounds.ready())
    finally:
        rounds.abandon()
    return rounds.results()


async def _run_rounds_async(rounds: Rounds) -> list[ToolResult]:
    import asyncio  # noqa: PLC0415 - only where it is used

    tasks: set[asyncio.Task[None]] = set()
    try:
        while True:
            tasks.update(asyncio.ensure_future(_end_async(rounds, place)) for place in rounds.ready())
            if not tasks:
                return rounds.results()
            done, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        try:
            await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            rounds.abandon()


def _ended(rounds: Rounds, place: int) -> Ended:
    claim = rounds.begin(place)
    try:
        return Ended(to_the_end(_call(claim)))
    except Exception as error:  # noqa: BLE001 - as above
        return Ended(error=error)
    except BaseException as error:
        rounds.end(place, Ended(error=error))
        raise


async def _end_async(rounds: Rounds, place: int) -> None:
    claim = rounds.begin(place)
    try:
        ended = Ended(await to_the_end_async(_call(claim)))
    except Exception as error:  # noqa: BLE001 - as above
        ended = Ended(error=error)
    except BaseException as error:
        rounds.end(place, Ended(error=error))
        raise
    rounds.end(place, ended)


def _call(claim: Claim) -> object:
    assert claim.tool is not None and claim.arguments is not None  # noqa: S101, PT018 - it may run
    return claim.tool(**claim.arguments)
