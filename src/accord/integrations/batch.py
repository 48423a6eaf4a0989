"""The tool calls of one response, as a batch: looked at, reserved in order, run, answered in order.

A model asks for all tools of a response before it has seen any answer, so all of them are received before any of them
runs. Who may run is settled by then; a call that waits for another one's answer is refused, because the model has not
seen it either.

Two kinds of labels. A label for each call (the default: the tool's name) is received and answered call by call. A fixed
label stands for the batch as a whole and is received and answered once, however many calls there are.

This is the program's view; `conduct` has the agent's.

INVARIANT: a tool runs only if its call has no fault and the monitor's answer to it is `Ok`. INVARIANT: whatever was
received is answered, with a result or with an error.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec.structs import replace as altered

from accord.diagnostics.visible import one_line
from accord.errors import UsageError, ViolationError
from accord.integrations import payloads
from accord.integrations.exchange import ToolResult
from accord.ledger.represent import own_copy
from accord.monitor import Blocked, Ok, Violation
from accord.monitor.explain import list_words
from accord.projection.happenings import Happening
from accord.projection.payloads import of_result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from accord.integrations.exchange import ToolCall
    from accord.integrations.session import Receipt, Session
    from accord.machine.clocks import Time
    from accord.monitor import Verdict

__all__ = [
    "CUT_OFF",
    "Claim",
    "Labels",
    "ReceiveLabel",
    "SendLabel",
    "Tool",
    "answer",
    "failed",
    "finished",
    "in_words",
    "let_through",
    "look_at",
    "not_run",
    "reserve",
    "withheld",
]

Tool: TypeAlias = "Callable[..., Any]"
ReceiveLabel: TypeAlias = "str | Callable[[ToolCall], str] | None"
SendLabel: TypeAlias = "str | Callable[[ToolResult], str] | None"

CUT_OFF = "your answer was cut off before it was complete, so this call was not run; send it again"
"""What a model is told; it has done nothing that it would have to do in another way."""

_LONGEST_ERROR = 2000


@dataclass(frozen=True, slots=True)
class Labels:
    """Under which labels calls are received and answered; `None` stands for the tool's name."""

    receive: ReceiveLabel
    send: SendLabel


@dataclass(frozen=True, slots=True)
class Claim:
    """A call that has been looked at.

    `fault` says what is wrong with it, in words for the model. `verdict` is the monitor's answer, `None` if it was not
    asked. `arguments` are a copy, so that what is judged is what the tool gets. In the agent's view a call that is out
    has a `ticket`, and one that waits for others is `held`.
    """

    call: ToolCall
    tool: Tool | None = None
    arguments: dict[str, Any] | None = None
    fault: str | None = None
    verdict: Verdict | None = None
    ticket: str | None = None
    held: bool = False

    @property
    def received(self) -> bool:
        """Whether the contract has accepted it."""
        return isinstance(self.verdict, Ok)

    @property
    def may_run(self) -> bool:
        """Whether its tool runs."""
        return self.received and self.fault is None

    def happening(self, at: Time | None) -> Happening:
        """What takes place if it runs."""
        return Happening("call", _name(self.call), self.arguments, self.call.id or None, at=at)

    def result(self, value: object = None, error: str | None = None) -> ToolResult:
        """What became of it."""
        verdict = None if self.received else self.verdict
        identity = self.call.id if isinstance(self.call.id, str) else ""
        return ToolResult(identity, _name(self.call), value, error, verdict)


# -- looking ----------------------------------------------------------------------------------------------------------


def look_at(calls: Iterable[ToolCall], tools: Mapping[str, Tool] | None) -> list[Claim]:
    """The calls, each with its tool and arguments, or with what is wrong with it; without `tools`, any name is one."""
    calls = list(calls)
    seen = Counter(call.id for call in calls if isinstance(call.id, str))
    return [_look_at_one(call, tools, seen) for call in calls]


def _look_at_one(call: ToolCall, tools: Mapping[str, Tool] | None, seen: Counter[str]) -> Claim:
    if not isinstance(call.name, str) or not call.name:
        return Claim(call, fault="a tool is called by its name, and there is none")
    if call.id is not None and not isinstance(call.id, str):
        return Claim(call, fault=f"the id of a call is a text, got `{type(call.id).__name__}`")
    if call.cut_off:
        return Claim(call, fault=CUT_OFF)
    if call.id and seen[call.id] > 1:
        return Claim(call, fault=f"several calls have the id {list_words([call.id])}, so none of them was run")
    tool = None if tools is None else tools.get(call.name)
    if tool is None and tools is not None:
        known = list_words(sorted(tools)) or "nothing"
        return Claim(call, fault=f"there is no tool {list_words([call.name])}; there is {known}")
    try:
        arguments = own_copy(call.arguments)
        if not isinstance(arguments, dict) or not all(isinstance(name, str) for name in arguments):
            return Claim(call, fault=f"the arguments of {list_words([call.name])} must be a JSON object")
    except Exception as error:  # noqa: BLE001 - a mapping may do anything when it is read
        return Claim(call, fault=f"the arguments of {list_words([call.name])} cannot be read: {in_words(error)}")
    return Claim(call, tool, arguments)


# -- reserving --------------------------------------------------------------------------------------------------------


def reserve(
    claims: list[Claim], labels: Labels, session: Session, content: str | None, receipt: Receipt | None
) -> list[Claim]:
    """The claims with the monitor's answers, in order; nothing has run yet.

    In a session that halts on a violation a refused call raises `ViolationError`, and none of the others runs either.
    """
    if isinstance(labels.receive, str):
        label = labels.receive
        verdict = _receive(session, receipt, label, payloads.of_calls(content, [claim.call for claim in claims]))
        answered = [replace(claim, verdict=verdict) for claim in claims]
    else:
        named = [(claim, _label(labels.receive, claim)) for claim in claims]  # all of them, before any is received
        answered = [_receive_one(session, receipt, claim, label) for claim, label in named]
    refused = [claim.verdict for claim in answered if claim.verdict is not None and not claim.received]
    if refused and session.mode == "halt":
        results = [not_run(claim) for claim in answered]
        raise ViolationError(in_words(refused[0]), refused[0], results=results)
    return answered


def _label(label: Callable[[ToolCall], str] | None, claim: Claim) -> str:
    if label is None:
        return _name(claim.call)
    try:
        given = label(claim.call)
    except Exception as error:
        raise UsageError(f"`receive_label` failed: {error!r}") from error
    if not isinstance(given, str):
        raise UsageError(f"`receive_label` gives a `str`, got `{type(given).__name__}`")
    return given


def _receive_one(session: Session, receipt: Receipt | None, claim: Claim, label: str) -> Claim:
    if claim.fault is not None:  # nothing can run, so nothing is received; unless the client has received it already
        return replace(claim, verdict=Ok()) if receipt and receipt.take(session, label) else claim
    return replace(claim, verdict=_receive(session, receipt, label, claim.arguments))


def _receive(session: Session, receipt: Receipt | None, label: str, payload: Mapping[str, object] | None) -> Verdict:
    return Ok() if receipt and receipt.take(session, label) else session.receive(label, payload)


def not_run(claim: Claim) -> ToolResult:
    """The result of a call that does not run because another one has halted the session."""
    if claim.may_run:
        return claim.result(error="it was not run, because the session has halted")
    return failed(claim)


# -- what became of a call --------------------------------------------------------------------------------------------


def failed(claim: Claim) -> ToolResult:
    """The result of a call that may not run."""
    return claim.result(error=claim.fault if claim.fault is not None else in_words(claim.verdict))


def finished(claim: Claim, value: object) -> ToolResult:
    """The result of a call whose tool returned that."""
    why = payloads.why_not_json(value)
    if why is not None:
        return altered(claim.result(error=f"the tool has run, but its result is no JSON: {why}"), withheld=value)
    return claim.result(value)


def in_words(what: object) -> str:
    """An error or a verdict in words, in one line that nothing can hide in, whatever it does when it is asked."""
    try:
        explain = getattr(what, "explain", None)
        text = f"{type(what).__name__}: {what}" if explain is None else str(explain())
    except Exception:  # noqa: BLE001 - an error may fail to say what it is
        text = type(what).__name__
    return one_line(text, _LONGEST_ERROR)


def withheld(verdict: object) -> str:
    """What a model is told about a result that the contract refuses: by what, and never what the result holds.

    An explanation quotes what it is about. Whoever has the verdict, or the ledger, can read it there.
    """
    return f"the tool has run, but its result is withheld: {_discreetly(verdict)}"


def _discreetly(verdict: object) -> str:
    if not isinstance(verdict, Violation):
        return in_words(verdict)
    advice = verdict.advise()
    return f"the {verdict.clause or 'contract'} does not allow it.{f' {advice}' if advice else ''}"


# -- answering --------------------------------------------------------------------------------------------------------


def answer(claims: list[Claim], results: list[ToolResult], labels: Labels, session: Session) -> list[ToolResult]:
    """The results as the contract lets them through: answered in order, withheld where the answer is refused.

    In a session that halts on a violation a refused answer raises `ViolationError` with all results.
    """
    received = [claim.received for claim in claims]
    if isinstance(labels.send, str):
        if any(received):
            verdict = _send(session, labels.send, payloads.of_answers(results))
            results = [let_through(each, verdict) if yes else each for each, yes in zip(results, received, strict=True)]
    else:
        results = [
            let_through(result, _send_one(session, labels.send, result)) if yes else result
            for result, yes in zip(results, received, strict=True)
        ]
    refused = [result.verdict for result, yes in zip(results, received, strict=True) if yes and result.verdict]
    if refused and session.mode == "halt":
        raise ViolationError(in_words(refused[0]), refused[0], results=results)
    return results


def _send_one(session: Session, label: Callable[[ToolResult], str] | None, result: ToolResult) -> Verdict:
    try:
        return _send(session, result.tool_name if label is None else label(result), _answer(result))
    except Exception as error:  # noqa: BLE001 - the tool has run; what cannot be said is not passed on
        return Blocked(f"`send_label` failed ({error!r})")


def _answer(result: ToolResult) -> dict[str, object]:
    """What a contract sees of an answer that the program sends, which is to a call that it has received."""
    return of_result(result.result, None, None) if result.error is None else {"error": result.error}


def _send(session: Session, label: str, payload: Mapping[str, object]) -> Verdict:
    return _told(lambda: session.send(label, payload))


def _told(ask: Callable[[], Verdict]) -> Verdict:
    """What the monitor answers. The tools have run, so nothing may be lost: no is said with `Blocked`."""
    try:
        verdict = ask()
    except Exception as error:  # noqa: BLE001 - see above
        return Blocked(f"the answer could not be sent ({in_words(error)})")
    return verdict if hasattr(verdict, "explain") or isinstance(verdict, Ok) else Blocked(f"no verdict: {verdict!r}")


def let_through(result: ToolResult, verdict: Verdict) -> ToolResult:
    """The result of a tool that has run, withheld if the answer to it is refused."""
    if isinstance(verdict, Ok):
        return result
    kept = result.withheld if result.result is None else result.result
    return altered(result, result=None, error=_why_withheld(result, verdict), verdict=verdict, withheld=kept)


def _why_withheld(result: ToolResult, verdict: Verdict) -> str:
    if result.error is not None:
        return f"{result.error} (this answer is refused, too: {_discreetly(verdict)})"
    return withheld(verdict)


def _name(call: ToolCall) -> str:
    return call.name if isinstance(call.name, str) else ""
