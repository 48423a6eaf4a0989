"""Running tools under a guard: a batch in turn, and a single function.

What runs was reserved before. A tool that raises or is interrupted has failed; what that means is in the contract.
What was reserved and never begun is taken back.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from accord.calling import WHOLE, check_whole, kind_of, to_the_end
from accord.errors import UsageError, ViolationError
from accord.integrations import payloads
from accord.integrations.batch import in_words, withheld
from accord.integrations.exchange import ToolCall, ToolResult
from accord.integrations.guard import words
from accord.integrations.guard.decisions import Decision
from accord.integrations.guard.holding import Held
from accord.integrations.guard.looking import look_at
from accord.monitor.verdicts import OK, Blocked, Ok
from accord.monitor.wording import quote_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from accord.integrations.guard.looking import GuardedTool
    from accord.integrations.guard.session import LiveSession

__all__ = ["Batch", "admitted", "let_through", "run", "run_function", "settle"]

CUT_OFF = "It was running when another call of its batch was refused."


class Batch:
    """The calls of one batch on their way: decided, out, returned."""

    def __init__(self, session: LiveSession, tools: Mapping[str, GuardedTool], calls: list[ToolCall]) -> None:
        self.session = session
        self.claims = look_at(calls, tools, strict=session.strict)
        self.results: list[ToolResult | None] = [None] * len(calls)
        self.undecided = list(range(len(calls)))
        # INVARIANT: a call is held until the guard has been told what became of it, whatever interrupts us.
        self.held: dict[int, Held] = {}
        self.decided: dict[int, Decision] = {}
        self.refused: list[ToolCall] | None = None  # what was counted; it is known once the batch was looked at

    def ready(self) -> list[tuple[int, Decision]]:
        """What may begin now; asked again whenever something has returned."""
        if not self.undecided:
            return []
        asked = self.undecided
        claims = [self.claims[place] for place in asked]
        ahead = bool(self.held)

        def take(decisions: Sequence[Decision]) -> None:
            for place, decision in zip(asked, decisions, strict=True):
                if decision.admitted:
                    self.decided[place], self.held[place] = decision, Held(self.session, decision.ticket)

        try:
            decisions = self.session.decide(
                claims, started=True, can_wait=True, ahead=ahead, take=take, refused=self.refused
            )
        except ViolationError as error:
            raise self._with_results(error, dict(zip(asked, error.results, strict=True))) from None
        self.undecided = []
        held = [decision.call.name for decision in decisions if decision.status == "held"]
        refused = [each.call for each in decisions if each.status != "held" and not each.admitted]
        begun = []
        can_wait = ahead or any(decision.admitted for decision in decisions)
        for place, decision in zip(asked, decisions, strict=True):
            if decision.status == "held" and can_wait:
                self.undecided.append(place)
            elif decision.admitted:
                begun.append((place, decision))
            else:
                self.results[place] = _refused(decision)
        self.refused = [*(self.refused or ()), *(call for call in refused if call.name not in held)]
        return begun

    def begin(self, place: int) -> Callable[..., Any]:
        """The tool of a call that was admitted, which is called next."""
        tool = self.claims[place].tool
        if tool is None:
            raise UsageError("an admitted call has a tool")
        self.held[place].begun = True
        return tool

    def returned(self, place: int, value: object) -> None:
        """A tool has returned."""
        self.results[place], refused = _settled(self.held[place], self.decided[place], value)
        del self.held[place]
        if refused is not None:
            try:
                self.session.react([refused], value)
            except ViolationError as error:
                raise self._with_results(error, {}) from None

    def failed(self, place: int, error: BaseException) -> None:
        """A tool has raised; what was no ordinary error has interrupted it."""
        decision, said = self.decided[place], in_words(error)
        verdict = OK if decision.ticket is None else self.held[place].failed(error)
        if isinstance(verdict, Blocked):
            said = f"{said} (and that could not be kept: {verdict.reason})"
        refused = None if type(verdict) is Ok else verdict
        self.results[place] = ToolResult(decision.call.id, decision.call.name, error=said, verdict=refused)
        del self.held[place]

    def abandon(self) -> None:
        """Let go of what is still held, because something has interrupted us."""
        for place in sorted(self.held, reverse=True):  # the last first: it may rest on those before it
            self.held[place].let_go()
        self.held.clear()

    def _with_results(self, error: ViolationError, decisions: dict[int, Decision]) -> ViolationError:
        """The error with what became of each call: those that have run are not forgotten because another is refused."""
        results = []
        for place, (claim, result) in enumerate(zip(self.claims, self.results, strict=True)):
            held = self.held.get(place)
            message = CUT_OFF if held is not None and held.begun else words.NOT_ALONE
            decided = decisions.get(place, Decision(claim.call, "refused", message))
            results.append(_refused(decided) if result is None else result)
        return ViolationError(str(error), error.verdict, response=error.response, results=results)

    def all_results(self) -> list[ToolResult]:
        """What became of each call."""
        return [result for result in self.results if result is not None]


def run(session: LiveSession, tools: Mapping[str, GuardedTool], calls: list[ToolCall]) -> list[ToolResult]:
    """Run a batch in turn."""
    batch = Batch(session, tools, calls)
    for claim in batch.claims:
        if claim.tool is not None and kind_of(claim.tool) in {"coroutine", "async generator"}:
            raise UsageError(f"the tool {quote_text(claim.call.name)} is asynchronous; use `arun`")
    try:
        out = deque(batch.ready())
        while out:
            _run_one(batch, *out.popleft())
            out.extend(batch.ready())  # what has waited goes out as soon as it may, as in an event loop
    finally:
        batch.abandon()
    return batch.all_results()


def _run_one(batch: Batch, place: int, decision: Decision) -> None:
    held = batch.held[place]
    try:
        with batch.session.around(decision):
            held.value = batch.begin(place)(**decision.call.arguments)
            held.back = True
            if type(held.value) not in WHOLE:
                held.value = to_the_end(held.value)
    except BaseException as error:
        if held.has_run:
            raise
        batch.failed(place, error)
        if not isinstance(error, Exception):  # whatever a tool does wrong, the model is told and the session goes on
            raise
    else:
        batch.returned(place, held.value)


# -- one function ------------------------------------------------------------------------------------------------------


def run_function(session: LiveSession, name: str, tool: GuardedTool, arguments: dict[str, Any]) -> object:
    """Call a function if that is allowed now; `ProtocolViolationError` if it is not."""
    with Held(session) as held:
        decision = admitted(held, name, tool, arguments)
        try:
            with session.around(decision):
                held.begun = True
                held.value = tool.function(**decision.call.arguments)
                held.back = True
        except BaseException as error:
            if not held.has_run:
                held.failed(error)
            raise
        return settle(held)


def admitted(held: Held, name: str, tool: GuardedTool, arguments: dict[str, Any]) -> Decision:
    """The decision that admits a call of a function, which is then held; `ProtocolViolationError` if there is none."""
    wrong = tool.why_not(arguments)
    if wrong is not None:
        raise TypeError(f"{quote_text(name)}: {wrong}")
    claims = look_at([ToolCall(name, arguments)], {name: tool}, strict=held.session.strict, by_program=True)
    (decision,) = held.session.decide(claims, started=True, can_wait=False, ahead=False, take=held.take)
    if not decision.admitted:
        raise ViolationError(decision.message, decision.verdict, results=[decision])
    return decision


def settle(held: Held) -> object:
    """What a function has returned, if that is a result and the contract lets it through."""
    if type(held.value) not in WHOLE:
        try:
            check_whole(held.value)
        except UsageError as error:
            held.failed(error)
            raise
    return let_through(held, held.value)


def let_through(held: Held, value: object) -> object:
    """What a function has returned, if the contract lets it through."""
    if held.ticket is None:
        return value
    verdict = held.returned(value)
    if type(verdict) is not Ok and not held.session.policy.observes:
        raise ViolationError(_why_withheld(verdict), verdict, response=value)
    return value


# -- results -----------------------------------------------------------------------------------------------------------


def _refused(decision: Decision) -> ToolResult:
    call = decision.call
    identity = call.id if isinstance(call.id, str) else ""
    name = call.name if isinstance(call.name, str) else ""
    return ToolResult(identity, name, error=decision.message, verdict=decision.verdict)


def _settled(held: Held, decision: Decision, value: object) -> tuple[ToolResult, Decision | None]:
    """The result of a tool that has returned, and the refusal of it if the contract does not let it through."""
    call = decision.call
    result = ToolResult(call.id, call.name, value, verdict=decision.verdict)
    why = payloads.why_not_json(value)
    if why is not None:
        error = f"the tool has run, but its result is no JSON: {why}"
        result = replace(result, result=None, error=error, withheld=value)
    if decision.ticket is None:
        return result, None
    verdict = held.returned(value)
    if type(verdict) is Ok or held.session.policy.observes:
        return result, None
    said = _why_withheld(verdict)
    refused = replace(result, result=None, error=said, verdict=verdict, withheld=value)
    return refused, Decision(call, "refused", said, verdict=verdict)


def _why_withheld(verdict: object) -> str:
    if isinstance(verdict, Blocked):
        return f"the tool has run, but that could not be kept, so its result is not passed on: {verdict.reason}"
    return withheld(verdict)
