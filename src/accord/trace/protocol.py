"""Any accord contract as a validator: the same text that guards a live agent, held against what was recorded.

A trace is told as happenings (calls, their ends, what was said), and the contract's projection makes events of them, as
it does for a guard. An event of any other kind is one of the program, if the contract speaks of it: `!kind` or `?kind`,
with its payload; `by` in there says who made a gated step.

Where a contract has a protocol, the first violation is the only one told of a run: nobody knows where the run stands
after it. A contract of rules alone goes on, as if what was refused had not happened.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from accord.choreography.compiling import compile_contract, load_contract
from accord.errors import UsageError
from accord.monitor.verdicts import OK, Ok
from accord.monitor.verdicts import Violation as Refused
from accord.projection.happenings import Read
from accord.projection.projection import projection_of
from accord.trace.events import CHAT_END, CHAT_START, GENERATE_END, GENERATE_START, STREAM_END, STREAM_START
from accord.trace.following import Following, Traced
from accord.trace.violations import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accord.calls.replay import Judged
    from accord.language.tree import Direction
    from accord.machine.contract import Contract
    from accord.monitor.verdicts import Verdict
    from accord.projection.projection import Projection
    from accord.trace.boundaries import Handler, Payload
    from accord.trace.config import ProtocolConfig, ToolPayloadsConfig, ToolResultsConfig
    from accord.trace.runs import Report, Run

__all__ = ["Following", "ProtocolPlan", "ProtocolValidator", "protocol_plan"]


@dataclass(frozen=True, slots=True)
class ProtocolPlan:
    """A contract and how it looks at what happens."""

    contract: Contract
    protocol: str | None
    projection: Projection
    time_key: str | None

    @property
    def spoken(self) -> frozenset[tuple[Direction, str]]:
        """What it speaks of."""
        return self.projection.spoken


def protocol_plan(config: ProtocolConfig, base: Path | None = None) -> ProtocolPlan | None:
    """The contract of a configuration; `None` if it has none.

    Raises `ContractError` if the contract has errors, `UsageError` if it cannot be read or used here.
    """
    if config.contract is not None and config.file is not None:
        raise UsageError("the contract is given as `contract` or as `file`, not as both")
    if config.file is not None:
        path = Path(config.file)
        contract = load_contract(path if base is None else base / path)
    elif config.contract is not None:
        contract = compile_contract(config.contract)
    else:
        return None
    name = contract.protocol_name(config.protocol)
    stages = contract.stages(name)
    if stages.is_timed and config.time_key is None:
        raise UsageError("the contract uses time; `time_key` says which key of the payloads holds it, in seconds")
    return ProtocolPlan(contract, name, projection_of(contract, name), config.time_key)


class ProtocolValidator:
    """The validator of a contract."""

    def __init__(self, plan: ProtocolPlan, calls: ToolResultsConfig, tools: ToolPayloadsConfig, report: Report) -> None:
        self.plan = plan
        self.report = report
        self._calls = calls
        self._tools = tools
        projection, stages = plan.projection, plan.contract.stages(plan.protocol)
        self._is_timed = stages.is_timed
        plain = not stages.is_wide and plan.time_key is None
        self._by_name = plain and projection.labeller.lines is None and not projection.reads_outputs
        self._goes_on = not plan.contract.machines
        self._tool_key, self._id_key = tools.tool_key, calls.call_id_key
        self._start_kind, self._result_kind = calls.call_start_kind, calls.call_result_kind

    def handlers(self) -> dict[str, list[Handler]]:
        """What to call for which kind of event."""
        start, result = self._calls.call_start_kind, self._calls.call_result_kind
        found: dict[str, list[Handler]] = {start: [self.call], result: [self.result]}
        projection = self.plan.projection
        for kind in {label for _, label in projection.spoken} | projection.reported:
            if kind not in {start, result}:
                found.setdefault(kind, []).append(self._other(self._direction(kind), kind))
        for kind, said in _SAID.items() if projection.hears_text else ():
            if kind not in {start, result}:
                found.setdefault(kind, []).append(self._text(kind, said))
        return found

    def _direction(self, kind: str) -> Direction:
        """Which way an event of a kind goes: as the protocol has it; else it reaches the agent.

        One that is recorded once happens once, although a rule may name it without a direction.
        """
        names, watches = self.plan.projection.names, self.plan.projection.watches
        if names("!", kind) != names("?", kind):
            return "!" if names("!", kind) else "?"
        return "!" if watches("!", kind) and not watches("?", kind) else "?"

    def call(self, run: Run, position: int, seq: int, payload: Payload) -> None:
        """A tool is called."""
        following: Following = run.protocol or self._begin(run)
        if following.over:
            return
        tool = payload.get(self._tool_key)
        if type(tool) is not str or not tool:
            return
        if self._by_name and following.quiet:  # the way of a monitor: one look-up where the label alone decides
            place = following.place
            if following.call is None:
                link = place.sends.get(tool)
                if link is not None:
                    following.before, following.call, following.called = place, tool, payload
                    following.place = link[1]
                    following.position = position
                    following.seq = seq
                    following.kind = self._start_kind
                    return
            else:
                self._leave_out(run)
        happening = self._called(tool, payload).at_event(position, seq, self._start_kind)
        following.calls.add(happening)
        self._happen(run, happening, payload)

    def _called(self, tool: str, payload: Payload) -> Traced:
        return Traced("call", tool, payload.get(self._tools.args_key), _id(payload, self._id_key))

    def _leave_out(self, run: Run) -> None:
        """Something happens, or may, before the last call has returned: from then on it is a call that is out."""
        following: Following = run.protocol
        assert following.before is not None and following.call is not None  # noqa: S101, PT018 - it is asked for one
        following.place = following.before
        call = self._called(following.call, following.called)
        call.at_event(following.position, following.seq, self._start_kind)
        following.before = following.call = None
        following.calls.add(call)
        for _ in following.happen(call):  # that it is legal is known
            pass

    def result(self, run: Run, position: int, seq: int, payload: Payload) -> None:
        """A tool has answered."""
        following: Following = run.protocol or self._begin(run)
        tool = payload.get(self._tool_key)
        if following.over or type(tool) is not str or not tool:
            return
        error = payload.get("error")
        failed = error is not None or payload.get("ok") is False
        key = self._id_key
        if following.call is not None:
            if not failed and following.call == tool and following.called.get(key) == payload.get(key):
                link = following.place.receives.get(tool)
                if link is not None:
                    following.call = None
                    following.has_ends = True
                    following.place = link[1]
                    following.position = position
                    following.seq = seq
                    following.kind = self._result_kind
                    return
            self._leave_out(run)
        name = _id(payload, key)
        call = following.calls.answer(name, tool)
        if call is None:
            of = None if name is None else Read("call", tool, id=name)
        else:
            of = call if call.id is not None else call._replace(id=name)
        if failed:
            happening = Traced("error", tool, payload.get("result") if error is None else error, call=of)
        else:
            happening = Traced("result", tool, payload.get("result"), call=of)
        happening.ends = call
        self._happen(run, happening.at_event(position, seq, self._result_kind), payload)

    def finish(self, run: Run) -> None:
        """The run is over."""
        following: Following = run.protocol or self._begin(run)
        if following.over:
            return
        closing = self._closing(run)
        if isinstance(closing, UsageError):
            self._tell(run, "PROTOCOL_INCOMPLETE", str(closing), {})
        elif closing is not OK:
            self._tell_verdict(run, "PROTOCOL_INCOMPLETE", closing)

    def open(self, run: Run) -> Iterator[int]:
        """What is owed is told at the last event that mattered; what may be judged anew is open from its beginning."""
        following: Following = run.protocol or self._begin(run)
        if not following.over and self._closing(run) is not OK:
            yield following.position
        if following.is_provisional:
            yield following.untold[0].index

    def _closing(self, run: Run) -> Verdict | UsageError:
        """What would be said if the run were over."""
        following: Following = run.protocol
        if following.call is not None and following.has_ends:  # what became of it?
            self._leave_out(run)
        return following.closing()

    def _begin(self, run: Run) -> Following:
        run.protocol = Following(self.plan.contract, self.plan.protocol, run.begun)
        return run.protocol  # type: ignore[no-any-return] # made on the line before

    def _other(self, direction: Direction, kind: str) -> Handler:
        def happen(run: Run, position: int, seq: int, payload: Payload) -> None:
            by = payload.get("by") if direction == "?" else None
            known = by if isinstance(by, str) and by else None
            happening = Traced("event", kind, payload, direction=direction, by=known)
            self._happen(run, happening.at_event(position, seq, kind), payload)

        return happen

    def _text(self, kind: str, said: tuple[Literal["user", "agent"], str]) -> Handler:
        speaker, key = said

        def happen(run: Run, position: int, seq: int, payload: Payload) -> None:
            following: Following = run.protocol or self._begin(run)
            for text in _news(following, payload) if kind == CHAT_START else (payload.get(key),):
                if text is not None:
                    self._happen(run, Traced(speaker, value=text).at_event(position, seq, kind), payload)

        return happen

    def _happen(self, run: Run, happened: Traced, payload: Payload) -> None:
        """Judge what happened, and tell what is refused."""
        following: Following = run.protocol or self._begin(run)
        if following.over:
            return
        if following.call is not None:
            self._leave_out(run)
        if self._is_timed:
            event = self.plan.projection.event(happened, skim=True).event
            at = payload.get(self.plan.time_key or "")
            if isinstance(at, bool) or not isinstance(at, int | float) or not isfinite(at):
                if event is not None:
                    following.position, following.seq, following.kind = happened.index, happened.seq, happened.of
                    detail = f"{shown(self.plan.time_key)} does not say when it happened"
                    self._tell(run, "PROTOCOL_VIOLATION", detail, {"got": event.word})
                    following.over = True
                    return
            else:
                ends = happened.ends
                happened = happened._replace(at=at).at_event(happened.index, happened.seq, happened.of)
                happened.ends = ends
                following.now = at if event is not None else following.now
        try:
            for judged in following.happen(happened):
                self._tell_judged(run, judged)
                if following.over:
                    return
        except UsageError as error:
            following.position, following.seq, following.kind = happened.index, happened.seq, happened.of
            event = self.plan.projection.event(happened, skim=True).event
            self._tell(run, "PROTOCOL_VIOLATION", str(error), {"got": "" if event is None else event.word})
            following.over = not self._goes_on

    def _tell_judged(self, run: Run, judged: Judged) -> None:
        following: Following = run.protocol
        happened, verdict = judged.happened, judged.verdict
        if verdict is None:
            return
        assert isinstance(happened, Traced)  # noqa: S101 - nothing else happens in a trace
        following.position, following.seq, following.kind = happened.index, happened.seq, happened.of
        if type(verdict) is not Ok and happened.index not in following.told:
            if not following.has_ends:  # it may be judged once more
                following.told.add(happened.index)
            self._tell_verdict(run, "PROTOCOL_VIOLATION", verdict)
            following.over = not self._goes_on

    def _tell_verdict(self, run: Run, code: str, verdict: Verdict) -> None:
        context: dict[str, Any] = {}
        if isinstance(verdict, Refused):
            context = {
                "expected": verdict.expected,
                "got": verdict.got,
                "clause": verdict.clause,
                "contract": verdict.contract,
            }
        detail = verdict.explain() if verdict is not OK else ""  # type: ignore[union-attr] # all others explain
        self._tell(run, code, detail, context)

    def _tell(self, run: Run, code: str, detail: str, context: dict[str, Any]) -> None:
        following: Following = run.protocol
        self.report.add(run, following.position, code, following.seq, following.kind, detail, **context)


def _id(payload: Payload, key: str) -> str | None:
    name = payload.get(key)
    return name if type(name) is str else str(name) if type(name) is int else None


_SAID: dict[str, tuple[Literal["user", "agent"], str]] = {
    GENERATE_START: ("user", "prompt"),
    STREAM_START: ("user", "prompt"),
    CHAT_START: ("user", "messages"),
    GENERATE_END: ("agent", "response"),
    CHAT_END: ("agent", "response"),
    STREAM_END: ("agent", "full_response"),
}
"""Who speaks in which kind of event, and where it stands what was said."""


def _news(following: Following, payload: Payload) -> Iterable[object]:
    """What the user has said since: a chat is told from its beginning each time."""
    told = payload.get("messages")
    messages = told if isinstance(told, list) else []
    said = [one.get("content") for one in messages if isinstance(one, dict) and one.get("role") == "user"]
    new = said[following.heard :]
    following.heard = max(following.heard, len(said))
    return new
