"""Running tools under a guard: a batch in turn, and a single function.

What runs was reserved before. A tool that raises has failed, and its call is taken back; one that was interrupted may
have done anything, so its call counts. What was reserved and never begun is taken back.
"""

from __future__ import annotations

from dataclasses import replace
from inspect import isawaitable, iscoroutinefunction
from typing import TYPE_CHECKING, Any

from accord.errors import UsageError, ViolationError
from accord.integrations import payloads
from accord.integrations.batch import in_words
from accord.integrations.exchange import ToolCall, ToolResult
from accord.integrations.guard.decisions import Decision
from accord.integrations.guard.looking import look_at
from accord.monitor.verdicts import Ok

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accord.integrations.guard.looking import GuardedTool
    from accord.integrations.guard.session import LiveSession

__all__ = ["INTERRUPTED", "NOT_BEGUN", "Batch", "admitted", "passed_on", "run", "run_function"]

NOT_BEGUN = "not run, because the batch was interrupted"
INTERRUPTED = "it was interrupted, so nobody knows whether it has happened"


class Batch:
    """The calls of one batch on their way: decided, out, returned."""

    def __init__(self, session: LiveSession, tools: Mapping[str, GuardedTool], calls: list[ToolCall]) -> None:
        self.session = session
        self.claims = look_at(calls, tools, strict=session.strict)
        self.results: list[ToolResult | None] = [None] * len(calls)
        self.undecided = list(range(len(calls)))
        self.out: dict[int, Decision] = {}

    def ready(self) -> list[tuple[int, Decision]]:
        """What may begin now; asked again whenever something has returned."""
        if not self.undecided:
            return []
        asked = self.undecided
        claims = [self.claims[place] for place in asked]
        decisions = self.session.decide(claims, started=True, can_wait=True, ahead=bool(self.out))
        self.undecided = []
        begun = []
        for place, decision in zip(asked, decisions, strict=True):
            if decision.status == "held":
                self.undecided.append(place)
            elif decision.admitted:
                self.out[place] = decision
                begun.append((place, decision))
            else:
                self.results[place] = _refused(decision)
        return begun

    def function(self, place: int) -> Callable[..., Any]:
        """The tool of a call that was admitted."""
        tool = self.claims[place].tool
        if tool is None:
            raise UsageError("an admitted call has a tool")
        return tool

    def returned(self, place: int, value: object) -> None:
        """A tool has returned."""
        decision = self.out.pop(place)
        self.results[place] = _settled(self.session, decision, value)

    def failed(self, place: int, error: BaseException) -> None:
        """A tool has raised; what was no ordinary error has interrupted it."""
        decision = self.out.pop(place)
        said = in_words(error)
        if decision.ticket is not None:
            if isinstance(error, Exception):
                self.session.fail(decision.ticket, said)
            else:
                self.session.keep(decision.ticket, f"{INTERRUPTED} ({said})")
        self.results[place] = ToolResult(decision.call.id, decision.call.name, error=said)

    def abandon(self) -> None:
        """Take back what was reserved and never begun."""
        for decision in self.out.values():
            if decision.ticket is not None:
                self.session.take_back(decision.ticket, NOT_BEGUN)
        self.out.clear()

    def all_results(self) -> list[ToolResult]:
        """What became of each call."""
        return [result for result in self.results if result is not None]


def run(session: LiveSession, tools: Mapping[str, GuardedTool], calls: list[ToolCall]) -> list[ToolResult]:
    """Run a batch in turn."""
    batch = Batch(session, tools, calls)
    for claim in batch.claims:
        if claim.tool is not None and iscoroutinefunction(claim.tool):
            raise UsageError(f"the tool `{claim.call.name}` is asynchronous; use `arun`")
    try:
        while begun := batch.ready():
            for place, decision in begun:
                _run_one(batch, place, decision)
    finally:
        batch.abandon()
    return batch.all_results()


def _run_one(batch: Batch, place: int, decision: Decision) -> None:
    try:
        with batch.session.around(decision):
            value = batch.function(place)(**decision.call.arguments)
    except Exception as error:  # noqa: BLE001 - whatever a tool does wrong, the model is told and the session goes on
        batch.failed(place, error)
    except BaseException as error:
        batch.failed(place, error)
        raise
    else:
        batch.returned(place, value)


# -- one function ------------------------------------------------------------------------------------------------------


def run_function(session: LiveSession, name: str, tool: GuardedTool, arguments: dict[str, Any]) -> object:
    """Call a function if that is allowed now; `ProtocolViolationError` if it is not."""
    decision = admitted(session, name, tool, arguments)
    try:
        with session.around(decision):
            value = tool.function(**decision.call.arguments)
    except Exception as error:
        if decision.ticket is not None:
            session.fail(decision.ticket, error)
        raise
    except BaseException as error:
        if decision.ticket is not None:
            session.keep(decision.ticket, f"{INTERRUPTED} ({in_words(error)})")
        raise
    return passed_on(session, decision.ticket, value)


def admitted(session: LiveSession, name: str, tool: GuardedTool, arguments: dict[str, Any]) -> Decision:
    """The decision that admits a call of a function; `ProtocolViolationError` if there is none."""
    wrong = tool.why_not(arguments)
    if wrong is not None:
        raise TypeError(f"{name}(): {wrong}")
    claims = look_at([ToolCall(name, arguments)], {name: tool}, strict=session.strict)
    (decision,) = session.decide(claims, started=True, can_wait=False, ahead=False)
    if not decision.admitted:
        raise ViolationError(decision.message, decision.verdict, results=[decision])
    return decision


def passed_on(session: LiveSession, ticket: str | None, value: object) -> object:
    """What a function has returned, if the contract lets it through."""
    if ticket is None:
        return value
    verdict = session.settle(ticket, value)
    if type(verdict) is not Ok and not session.policy.observes:
        raise ViolationError(_why_withheld(verdict), verdict, response=value)
    return value


# -- results -----------------------------------------------------------------------------------------------------------


def _refused(decision: Decision) -> ToolResult:
    call = decision.call
    identity = call.id if isinstance(call.id, str) else ""
    name = call.name if isinstance(call.name, str) else ""
    return ToolResult(identity, name, error=decision.message, verdict=decision.verdict)


def _settled(session: LiveSession, decision: Decision, value: object) -> ToolResult:
    call = decision.call
    result = ToolResult(call.id, call.name, value, verdict=decision.verdict)
    if isawaitable(value):
        getattr(value, "close", lambda: None)()
        value, result = None, replace(result, result=None, error="the tool is asynchronous and was not waited for")
    why = payloads.why_not_json(value)
    if why is not None:
        error = f"the tool has run, but its result is no JSON: {why}"
        result = replace(result, result=None, error=error, withheld=value)
    if decision.ticket is None:
        return result
    verdict = session.settle(decision.ticket, value)
    if type(verdict) is Ok or session.policy.observes:
        return result
    said = _why_withheld(verdict)
    session.react([Decision(call, "refused", said, verdict=verdict)], value)
    return replace(result, result=None, error=said, verdict=verdict, withheld=value)


def _why_withheld(verdict: object) -> str:
    return f"the tool has run, but the contract does not let its result through: {in_words(verdict)}"
