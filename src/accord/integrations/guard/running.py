"""Running tools under a guard: a batch in turn, and a single function.

What runs was reserved before. A tool that raises or is interrupted has failed; what that means is in the contract.
What was reserved and never begun is taken back.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from inspect import isawaitable, iscoroutinefunction
from typing import TYPE_CHECKING, Any

from accord.errors import UsageError, ViolationError
from accord.integrations import payloads
from accord.integrations.batch import in_words, withheld
from accord.integrations.exchange import ToolCall, ToolResult
from accord.integrations.guard import words
from accord.integrations.guard.decisions import Decision
from accord.integrations.guard.looking import look_at
from accord.monitor.verdicts import OK, Blocked, Ok

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accord.integrations.guard.looking import GuardedTool
    from accord.integrations.guard.session import LiveSession
    from accord.monitor import Verdict

__all__ = ["INTERRUPTED", "NOT_BEGUN", "Batch", "admitted", "passed_on", "run", "run_function", "told"]

NOT_BEGUN = "not run, because the batch was interrupted"
CUT_OFF = "It was running when another call of its batch was refused."
INTERRUPTED = "it was interrupted"


class Batch:
    """The calls of one batch on their way: decided, out, returned."""

    def __init__(self, session: LiveSession, tools: Mapping[str, GuardedTool], calls: list[ToolCall]) -> None:
        self.session = session
        self.claims = look_at(calls, tools, strict=session.strict)
        self.results: list[ToolResult | None] = [None] * len(calls)
        self.undecided = list(range(len(calls)))
        # INVARIANT: a call is in `out` until the guard has been told what became of it, and in `begun` from before its
        # tool is called; so whatever interrupts us, what may have happened is never taken back.
        self.out: dict[int, Decision] = {}
        self.begun: set[int] = set()

    def ready(self) -> list[tuple[int, Decision]]:
        """What may begin now; asked again whenever something has returned."""
        if not self.undecided:
            return []
        asked = self.undecided
        claims = [self.claims[place] for place in asked]
        try:
            decisions = self.session.decide(claims, started=True, can_wait=True, ahead=bool(self.out))
        except ViolationError as error:
            raise self._with_results(error, dict(zip(asked, error.results, strict=True))) from None
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

    def begin(self, place: int) -> Callable[..., Any]:
        """The tool of a call that was admitted, which is called next."""
        tool = self.claims[place].tool
        if tool is None:
            raise UsageError("an admitted call has a tool")
        self.begun.add(place)
        return tool

    def returned(self, place: int, value: object) -> None:
        """A tool has returned."""
        decision = self.out[place]
        self.results[place], refused = _settled(self.session, decision, value)
        del self.out[place]
        if refused is not None:
            try:
                self.session.react([refused], value)
            except ViolationError as error:
                raise self._with_results(error, {}) from None

    def failed(self, place: int, error: BaseException) -> None:
        """A tool has raised; what was no ordinary error has interrupted it."""
        decision, said = self.out[place], in_words(error)
        verdict: Verdict = OK
        if decision.ticket is not None:
            why = error if isinstance(error, Exception) else f"{INTERRUPTED} ({said})"
            verdict = told(self.session.fail, decision.ticket, why)
        if isinstance(verdict, Blocked):
            said = f"{said} (and that could not be kept: {verdict.reason})"
        refused = None if type(verdict) is Ok else verdict
        self.results[place] = ToolResult(decision.call.id, decision.call.name, error=said, verdict=refused)
        del self.out[place]

    def abandon(self) -> None:
        """Take back what was reserved and never begun; what was begun, and nobody was told of, counts.

        A tool that is interrupted has failed, which is told. What is left here may have returned just before.
        """
        for place in sorted(self.out, reverse=True):  # the last first: it may rest on those before it
            ticket = self.out[place].ticket
            if ticket is not None and place in self.begun:
                told(self.session.keep, ticket, INTERRUPTED)
            elif ticket is not None:
                told(self.session.take_back, ticket, NOT_BEGUN)
        self.out.clear()

    def _with_results(self, error: ViolationError, decisions: dict[int, Decision]) -> ViolationError:
        """The error with what became of each call: those that have run are not forgotten because another is refused."""
        results = []
        for place, (claim, result) in enumerate(zip(self.claims, self.results, strict=True)):
            message = CUT_OFF if place in self.begun else words.NOT_ALONE
            decided = decisions.get(place, Decision(claim.call, "refused", message))
            results.append(_refused(decided) if result is None else result)
        return ViolationError(str(error), error.verdict, response=error.response, results=results)

    def all_results(self) -> list[ToolResult]:
        """What became of each call."""
        return [result for result in self.results if result is not None]


def told(tell: Callable[[str, Any], Verdict], ticket: str, what: object) -> Verdict:
    """What a session answers when it is told what became of a call; if it cannot be told, that is an answer as well."""
    try:
        return tell(ticket, what)
    except Exception as error:  # noqa: BLE001 - the tool has run, and its result must not be lost
        return Blocked(in_words(error))


def run(session: LiveSession, tools: Mapping[str, GuardedTool], calls: list[ToolCall]) -> list[ToolResult]:
    """Run a batch in turn."""
    batch = Batch(session, tools, calls)
    for claim in batch.claims:
        if claim.tool is not None and iscoroutinefunction(claim.tool):
            raise UsageError(f"the tool `{claim.call.name}` is asynchronous; use `arun`")
    try:
        out = deque(batch.ready())
        while out:
            _run_one(batch, *out.popleft())
            out.extend(batch.ready())  # what has waited goes out as soon as it may, as in an event loop
    finally:
        batch.abandon()
    return batch.all_results()


def _run_one(batch: Batch, place: int, decision: Decision) -> None:
    try:
        with batch.session.around(decision):
            value = batch.begin(place)(**decision.call.arguments)
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
            told(session.fail, decision.ticket, error)
        raise
    except BaseException as error:
        if decision.ticket is not None:
            told(session.fail, decision.ticket, f"{INTERRUPTED} ({in_words(error)})")
        raise
    return passed_on(session, decision.ticket, value)


def admitted(session: LiveSession, name: str, tool: GuardedTool, arguments: dict[str, Any]) -> Decision:
    """The decision that admits a call of a function; `ProtocolViolationError` if there is none."""
    wrong = tool.why_not(arguments)
    if wrong is not None:
        raise TypeError(f"{name}(): {wrong}")
    claims = look_at([ToolCall(name, arguments)], {name: tool}, strict=session.strict, by_program=True)
    (decision,) = session.decide(claims, started=True, can_wait=False, ahead=False)
    if not decision.admitted:
        raise ViolationError(decision.message, decision.verdict, results=[decision])
    return decision


def passed_on(session: LiveSession, ticket: str | None, value: object) -> object:
    """What a function has returned, if the contract lets it through."""
    if ticket is None:
        return value
    verdict = told(session.settle, ticket, value)
    if type(verdict) is not Ok and not session.policy.observes:
        raise ViolationError(_why_withheld(verdict), verdict, response=value)
    return value


# -- results -----------------------------------------------------------------------------------------------------------


def _refused(decision: Decision) -> ToolResult:
    call = decision.call
    identity = call.id if isinstance(call.id, str) else ""
    name = call.name if isinstance(call.name, str) else ""
    return ToolResult(identity, name, error=decision.message, verdict=decision.verdict)


def _settled(session: LiveSession, decision: Decision, value: object) -> tuple[ToolResult, Decision | None]:
    """The result of a tool that has returned, and the refusal of it if the contract does not let it through."""
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
        return result, None
    verdict = told(session.settle, decision.ticket, value)
    if type(verdict) is Ok or session.policy.observes:
        return result, None
    said = _why_withheld(verdict)
    refused = replace(result, result=None, error=said, verdict=verdict, withheld=value)
    return refused, Decision(call, "refused", said, verdict=verdict)


def _why_withheld(verdict: object) -> str:
    if isinstance(verdict, Blocked):
        return f"the tool has run, but that could not be kept, so its result is not passed on: {verdict.reason}"
    return withheld(verdict)
