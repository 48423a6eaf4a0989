"""Tool results: every call is answered exactly once, and nothing is answered that was not asked.

A result belongs to the open call of its id. Where ids are missing or repeat, calls and results of a tool pair in order.
All steps take constant time, however many calls are open.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, TypeAlias

from accord.trace.boundaries import read_id
from accord.trace.runs import REMEMBERED, Report, Run, remember, trim
from accord.trace.violations import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accord.trace.boundaries import Handler, Payload
    from accord.trace.config import ToolResultsConfig

__all__ = ["Calls", "ToolResults"]


Call: TypeAlias = tuple[int, int, Any, str | int | None]
"""A call that is out: position, number, tool, id."""


class _Index:
    """Open calls by a key, the oldest first; adding and removing take constant time."""

    __slots__ = ("queues",)

    def __init__(self) -> None:
        self.queues: dict[Any, OrderedDict[int, Call]] = {}

    def add(self, key: object, call: Call) -> None:
        self.queues.setdefault(key, OrderedDict())[call[0]] = call

    def oldest(self, key: object) -> Call | None:
        queue = self.queues.get(key)
        return None if queue is None else next(iter(queue.values()))

    def remove(self, key: object, call: Call) -> None:
        queue = self.queues[key]
        del queue[call[0]]
        if not queue:
            del self.queues[key]


class _AnyCalls:
    """Calls of which some have no id, or an id that another open call has too."""

    __slots__ = ("by_id", "by_id_and_tool", "by_tool", "calls", "nameless")

    def __init__(self, calls: Iterable[Call]) -> None:
        self.by_id_and_tool, self.by_id, self.by_tool, self.nameless = _Index(), _Index(), _Index(), _Index()
        self.calls: OrderedDict[int, Call] = OrderedDict()
        for call in calls:
            self.add(call)

    def _indexes(self, call: Call) -> list[tuple[_Index, object]]:
        _, _, tool, name = call
        if name is None:
            return [(self.nameless, tool), (self.by_tool, tool)]
        return [(self.by_id_and_tool, (name, tool)), (self.by_id, name), (self.by_tool, tool)]

    def add(self, call: Call) -> None:
        self.calls[call[0]] = call
        for index, key in self._indexes(call):
            index.add(key, call)

    def take(self, name: str | int | None, tool: object) -> Call | None:
        if name is None:
            call = self.nameless.oldest(tool) or self.by_tool.oldest(tool)
        else:
            named = self.by_id_and_tool.oldest((name, tool)) or self.by_id.oldest(name)
            call = named or self.nameless.oldest(tool)
        if call is not None:
            del self.calls[call[0]]
            for index, key in self._indexes(call):
                index.remove(key, call)
        return call


class Calls:
    """The calls of one run that are out, and the last ids that were answered.

    While every call has an id that no other open call has, and every result has one too, `by_id` is all there is. From
    the first that has not, `any` holds them all.
    """

    __slots__ = ("answered", "any", "by_id")

    def __init__(self) -> None:
        self.by_id: dict[str | int, Call] = {}
        self.any: _AnyCalls | None = None
        self.answered: dict[Any, None] = {}

    def add(self, call: Call) -> None:
        """A call goes out."""
        name = call[3]
        if self.any is None and name is not None and name not in self.by_id:
            self.by_id[name] = call
        else:
            self._of_any_kind().add(call)

    def take(self, name: str | int | None, tool: object) -> Call | None:
        """The call that a result belongs to; it is out no more."""
        if self.any is None and name is not None:
            return self.by_id.pop(name, None)
        return self._of_any_kind().take(name, tool)

    def named(self, name: str | int) -> Call | None:
        """The oldest call of an id."""
        return self.by_id.get(name) if self.any is None else self.any.by_id.oldest(name)

    def _of_any_kind(self) -> _AnyCalls:
        if self.any is None:
            self.any = _AnyCalls(self.by_id.values())
            self.by_id = {}
        return self.any

    def __iter__(self) -> Iterator[Call]:
        return iter((self.by_id if self.any is None else self.any.calls).values())


class ToolResults:
    """The validator of results."""

    def __init__(self, config: ToolResultsConfig, tool_key: str, report: Report) -> None:
        self.config = config
        self.report = report
        self._tool_key = tool_key
        self._id_key = config.call_id_key

    def handlers(self) -> dict[str, list[Handler]]:
        """What to call for which kind of event."""
        return {self.config.call_start_kind: [self.call], self.config.call_result_kind: [self.result]}

    def call(self, run: Run, position: int, seq: int, payload: Payload) -> None:
        """A tool is called."""
        name = payload.get(self._id_key)
        if name is not None and type(name) is not str:
            name = read_id(self.report, run, position, seq, self.config.call_start_kind, payload, self._id_key)
        calls = run.calls
        if calls is None:
            calls = run.calls = Calls()
        tool = payload.get(self._tool_key)
        call = position, seq, tool if type(tool) is str else None, name
        if calls.any is None and name is not None and name not in calls.by_id:
            calls.by_id[name] = call
        else:
            calls.add(call)

    def result(self, run: Run, position: int, seq: int, payload: Payload) -> None:
        """A tool has answered."""
        name = payload.get(self._id_key)
        if name is not None and type(name) is not str:
            name = read_id(self.report, run, position, seq, self.config.call_result_kind, payload, self._id_key)
        calls = run.calls
        if calls is None:
            calls = run.calls = Calls()
        answered = calls.answered
        if calls.any is None and name is not None and calls.by_id.pop(name, None) is not None:
            answered[name] = None  # the usual way
            if len(answered) > 2 * REMEMBERED:
                trim(answered)
            return
        tool = payload.get(self._tool_key)
        if type(tool) is not str:
            tool = None
        key = (None, tool) if name is None else name
        if calls.take(name, tool) is not None:
            remember(answered, key)
            return
        again = key in calls.answered
        if again and not self.config.require_exactly_one_result:
            return
        which = "" if name is None else f" with the id {shown(name)}"
        why = "whose calls have all been answered" if again else "which has not been called"
        self.report.add(
            run, position, "TOOL_RESULT_BEFORE_CALL", seq, self.config.call_result_kind,
            f"a result of {shown(tool)}{which}, {why}",
            tool_name=tool, **({} if name is None else {self._id_key: name}),
        )  # fmt: skip

    def error(self, run: Run, _position: int, _seq: int, payload: Payload) -> None:
        """An error that names a call is its answer."""
        name = payload.get(self._id_key)
        if (type(name) is not str and type(name) is not int) or run.calls is None:
            return
        if run.calls.named(name) is not None:
            tool = payload.get(self._tool_key)
            run.calls.take(name, tool if type(tool) is str else None)
            remember(run.calls.answered, name)

    def finish(self, run: Run) -> None:
        """The run is over."""
        if run.calls is None or not self.config.require_exactly_one_result:
            return
        for position, seq, tool, name in run.calls:
            self.report.add(
                run, position, "TOOL_NO_RESULT", seq, self.config.call_start_kind,
                f"the call of {shown(tool)} is never answered",
                tool_name=tool, **({} if name is None else {self._id_key: name}),
            )  # fmt: skip

    def open(self, run: Run) -> Iterator[int]:
        """Where what would be a violation at the end began."""
        if run.calls is not None and self.config.require_exactly_one_result:
            yield from (call[0] for call in run.calls)
