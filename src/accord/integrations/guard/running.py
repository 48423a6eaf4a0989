"""Running tools under a guard: a batch in turn, and a single function.

What runs was reserved before. A tool that raises or is interrupted has failed; what that means is in the contract.
What was reserved and never begun is taken back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from accord.calling import WHOLE, check_whole, to_the_end
from accord.errors import UsageError, ViolationError
from accord.integrations import payloads
from accord.integrations.batch import in_words, withheld
from accord.integrations.exchange import ToolCall, ToolResult
from accord.integrations.guard import words
from accord.integrations.guard.decisions import Decision
from accord.integrations.guard.handles import Handle
from accord.integrations.guard.looking import LONGEST_NAME, look_at
from accord.integrations.guard.reacting import LET_RUN
from accord.monitor.verdicts import OK, Blocked, Ok
from accord.monitor.wording import quote_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accord.integrations.batch import Claim
    from accord.integrations.guard.looking import GuardedTool
    from accord.integrations.guard.session import LiveSession
    from accord.monitor import Verdict

__all__ = ["Batch", "admit", "begin", "let_through", "run", "run_function", "settle"]

CUT_OFF = "It was running when another call of its batch was refused."


class Batch(msgspec.Struct, eq=False):
    """The calls of one batch on their way: waiting, out, returned.

    INVARIANT: there is a handle on a call until the guard has been told what became of it, whatever interrupts us.
    """

    # Made once a batch, faster than a class with an `__init__`.
    session: LiveSession
    tools: Mapping[str, GuardedTool]
    calls: list[ToolCall]
    simple: list[Handle] | None
    results: list[ToolResult | None]
    waiting: list[int]
    out: dict[int, Handle]
    claims: list[Claim] | None = None
    refused: list[ToolCall] | None = None
    """What was counted; it is known once the batch was decided about."""

    def ready(self) -> list[int]:
        """The places of the calls that begin now; asked again whenever something has returned."""
        asked = self.waiting
        if not asked:
            return asked
        simple, fast = self.simple, self.session.home.fast
        if simple is None or fast is None:
            return self._decided()
        went, waits = fast.go(simple, asked[0])
        begun, self.waiting = (asked, []) if went == len(asked) else (asked[:went], asked[went:])
        for place in begun:
            self.out[place] = simple[place]
        if begun and self.refused is None:
            self.refused = []
        if self.waiting and not (waits and any(call.kind.is_seen for call in self.out.values())):
            begun += self._decided([self.calls[place] for place in begun])
        return begun

    def _decided(self, gone: Sequence[ToolCall] = ()) -> list[int]:
        """The same where each call has to be decided about, beside those that have just gone out."""
        asked, session = self.waiting, self.session
        tickets = [session.home.ticket_of(call) for call in self.out.values()]
        ahead = [ticket for ticket in tickets if ticket is not None]
        if self.claims is None:
            self.claims = look_at(self.calls, self.tools, strict=session.strict)
        claims = [self.claims[place] for place in asked]
        before = None if self.refused is None else [*self.refused, *gone]

        def take(decisions: Sequence[Decision]) -> None:
            for place, claim, decision in zip(asked, claims, decisions, strict=True):
                if decision.admitted and claim.tool is not None:
                    self.out[place] = Handle(session)
                    self.out[place].take(claim.tool, decision)

        try:
            decisions = session.decide(claims, started=True, can_wait=True, ahead=ahead, take=take, before=before)
        except ViolationError as error:
            raise self._with_results(error, dict(zip(asked, error.results, strict=True))) from None
        self.waiting = []
        held = [decision.call.name for decision in decisions if decision.status == "held"]
        refused = [each.call for each in decisions if each.status != "held" and not each.admitted]
        begun = []
        can_wait = bool(self.out)  # those that were admitted, too
        for place, decision in zip(asked, decisions, strict=True):
            if decision.status == "held" and can_wait:
                self.waiting.append(place)
            elif decision.admitted:
                begun.append(place)
            else:
                self.results[place] = _refused(decision)
        self.refused = [*(self.refused or ()), *(call for call in refused if call.name not in held)]
        return begun

    def returned(self, place: int, value: object) -> None:
        """A tool has returned."""
        call = self.out[place]
        why = payloads.why_not_json(value)
        verdict = OK if call.is_observed else call.returned(value)
        if type(verdict) is not Ok and not call.session.policy.observes:
            self._withheld(place, value, verdict)
            return
        if why is None:
            self.results[place] = ToolResult(call.identity, call.name, value, None, call.verdict)
        else:
            error = f"the tool has run, but its result is no JSON: {why}"
            self.results[place] = ToolResult(call.identity, call.name, None, error, call.verdict, value)
        del self.out[place]

    def _withheld(self, place: int, value: object, verdict: Verdict) -> None:
        """The contract does not let the result through."""
        call = self.out.pop(place)
        said = _why_withheld(verdict)
        self.results[place] = ToolResult(call.identity, call.name, None, said, verdict, value)
        asked = Decision(ToolCall(call.name, call.arguments, call.identity), "refused", said, verdict=verdict)
        try:
            told = self.session.react_to_result(asked, value, kept=not isinstance(verdict, Blocked))
        except ViolationError as error:
            raise self._with_results(error, {}) from None
        if told.reply is LET_RUN and payloads.why_not_json(value) is None:
            self.results[place] = ToolResult(call.identity, call.name, value, None, verdict)
        elif told.message != said:
            self.results[place] = ToolResult(call.identity, call.name, None, told.message, verdict, value)

    def failed(self, place: int, error: BaseException) -> None:
        """A tool has raised; what was no ordinary error has interrupted it."""
        call, said = self.out[place], in_words(error)
        verdict = OK if call.is_observed else call.failed(error)
        if isinstance(verdict, Blocked):
            said = f"{said} (and that could not be kept: {verdict.reason})"
        refused = None if type(verdict) is Ok else verdict
        self.results[place] = ToolResult(call.identity, call.name, error=said, verdict=refused)
        del self.out[place]

    def abandon(self) -> None:
        """Let go of what is still out, because something has interrupted us."""
        for place in reversed(range(len(self.calls))):  # the last first: it may rest on those before it
            call = self.out.get(place)
            if call is None and self.simple is not None:
                call = self.simple[place]
            if call is not None:
                call.let_go()
        self.out.clear()

    def _with_results(self, error: ViolationError, decisions: dict[int, Decision]) -> ViolationError:
        """The error with what became of each call: those that have run are not forgotten because another is refused."""
        results = []
        for place, (call, result) in enumerate(zip(self.calls, self.results, strict=True)):
            out = self.out.get(place)
            message = CUT_OFF if out is not None and out.begun else words.NOT_ALONE
            decided = decisions.get(place, Decision(call, "refused", message))
            results.append(_refused(decided) if result is None else result)
        return ViolationError(str(error), error.verdict, response=error.response, results=results)

    def all_results(self) -> list[ToolResult]:
        """What became of each call, once nothing waits any more."""
        return self.results  # type: ignore[return-value] # nothing is left out


def begin(
    session: LiveSession, tools: Mapping[str, GuardedTool], calls: list[ToolCall], *, can_wait: bool = False
) -> Batch:
    """A batch of which no call has gone out yet."""
    simple = _simple(session, tools, calls, can_wait=can_wait)
    if simple is None and not can_wait:
        for call in calls:
            tool = tools.get(call.name) if isinstance(call.name, str) else None
            if tool is not None and tool.is_asynchronous:
                raise UsageError(f"the tool {quote_text(call.name)} is asynchronous; use `arun`")
    many = len(calls)
    return Batch(session, tools, calls, simple, [None] * many, list(range(many)), {})


def _simple(
    session: LiveSession, tools: Mapping[str, GuardedTool], calls: list[ToolCall], *, can_wait: bool
) -> list[Handle] | None:
    """Handles for the fast path; `None` if something about one of the calls has to be looked at more closely."""
    fast = session.home.fast
    if fast is None or fast.here is None or (session.policy.raises and len(calls) > 1):  # then it is all or nothing
        return None
    found: list[Handle] = []
    for call in calls:
        name, identity = call.name, call.id
        tool = tools.get(name) if type(name) is str else None
        if tool is None or tool.calls is None or call.cut_off or (tool.is_asynchronous and not can_wait):
            return None
        if identity and not (type(identity) is str and identity.isascii() and len(identity) <= LONGEST_NAME):
            return None
        handle = Handle(session)
        if not tool.take_simply(call.arguments, handle):
            return None
        if identity:
            handle.identity = identity
        found.append(handle)
    if len(found) > 1:
        identities = [handle.identity for handle in found if handle.identity]
        if len(set(identities)) < len(identities):
            return None
    return found


def run(session: LiveSession, tools: Mapping[str, GuardedTool], calls: list[ToolCall]) -> list[ToolResult]:
    """Run a batch in turn."""
    batch = begin(session, tools, calls)
    try:
        begun = batch.ready()
        for place in begun:
            _run_one(batch, place)
            if batch.waiting:
                begun += batch.ready()  # what has waited goes out as soon as it may, as in an event loop
    except BaseException:
        batch.abandon()
        raise
    return batch.all_results()


def _run_one(batch: Batch, place: int) -> None:
    call = batch.out[place]
    try:
        call.run() if batch.session.observers is None else call.run_watched()
        if type(call.value) not in WHOLE:
            call.value = to_the_end(call.value)
    except BaseException as error:
        if call.has_run:
            raise
        batch.failed(place, error)
        if not isinstance(error, Exception):  # whatever a tool does wrong, the model is told and the session goes on
            raise
    else:
        batch.returned(place, call.value)


# -- one function ------------------------------------------------------------------------------------------------------


def run_function(session: LiveSession, tool: GuardedTool, arguments: dict[str, Any]) -> object:
    """Call a function if that is allowed now; `ProtocolViolationError` if it is not."""
    call = Handle(session)
    try:
        admit(call, tool, arguments)
        try:
            call.run() if session.observers is None else call.run_watched()
        except BaseException as error:
            if not call.has_run:
                call.failed(error)
            raise
        return settle(call)
    except BaseException:
        call.let_go()
        raise


def admit(call: Handle, tool: GuardedTool, arguments: dict[str, Any]) -> None:
    """Ask for a call of a function, which is then out; `ProtocolViolationError` if it is not allowed."""
    session, fast = call.session, call.session.home.fast
    if fast is not None and fast.here is not None and tool.take_simply(arguments, call) and fast.go((call,), 0)[0]:
        return
    wrong = tool.why_not(arguments)
    if wrong is not None:
        raise TypeError(f"{quote_text(tool.name)}: {wrong}")
    claims = look_at([ToolCall(tool.name, arguments)], {tool.name: tool}, strict=session.strict, by_program=True)
    (decision,) = session.decide(
        claims, started=True, can_wait=False, take=lambda decisions: call.take(tool.function, decisions[0])
    )
    if not decision.admitted:
        raise ViolationError(decision.message, decision.verdict, results=[decision])


def settle(call: Handle) -> object:
    """What a function has returned, if that is a result and the contract lets it through."""
    if type(call.value) not in WHOLE:
        try:
            check_whole(call.value)
        except UsageError as error:
            call.failed(error)
            raise
    return let_through(call, call.value)


def let_through(call: Handle, value: object) -> object:
    """What a function has returned, if the contract lets it through."""
    if call.is_observed:
        return value
    verdict = call.returned(value)
    if type(verdict) is not Ok and not call.session.policy.observes:
        raise ViolationError(_why_withheld(verdict), verdict, response=value)
    return value


# -- results -----------------------------------------------------------------------------------------------------------


def _refused(decision: Decision) -> ToolResult:
    call = decision.call
    identity = call.id if isinstance(call.id, str) else ""
    name = call.name if isinstance(call.name, str) else ""
    return ToolResult(identity, name, error=decision.message, verdict=decision.verdict)


def _why_withheld(verdict: object) -> str:
    if isinstance(verdict, Blocked):
        return f"the tool has run, but that could not be kept, so its result is not passed on: {verdict.reason}"
    return withheld(verdict)
