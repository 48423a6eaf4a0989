"""What a guard does, as guardrail observations of Langfuse, for guards and agents under contract.

`LangfuseMonitor` stands around a session of one's own. A guard keeps its sessions to itself and tells observers of what
it does; this is one of them. It says the same things by the same names, but for the states: a guard weighs every way in
which the calls that are out can end, so there is no one state that a call is decided in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from accord.integrations.excerpt import cut, excerpt
from accord.integrations.exchange import ToolCall
from accord.integrations.guard.observing import Observer
from accord.integrations.observation import LONGEST_NAME, Losses, Observation, Report, client_of, report
from accord.monitor import Ok

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from langfuse import Langfuse

    from accord.canonical import Json
    from accord.integrations.guard.decisions import Decision
    from accord.integrations.guard.observing import Watched
    from accord.machine.events import Event
    from accord.monitor import Verdict

__all__ = ["LangfuseObserver"]


class LangfuseObserver(Observer):
    """Records every decision and every result in Langfuse: `Guard(…, observers=[LangfuseObserver()])`.

    `langfuse` is the SDK's client; without one it is `langfuse.get_client()`. An observation is a child of the one that
    is current where the guard decides. Whatever goes wrong changes no answer; `lost` counts it.

    Example:
        >>> from langfuse import Langfuse
        >>> from accord import Guard, ToolCall
        >>> from accord.integrations.langfuse_observer import LangfuseObserver
        >>> observer = LangfuseObserver(Langfuse(tracing_enabled=False))
        >>> guard = Guard("!pay(amount <= 10).end", tools={"pay": lambda amount: "paid"}, observers=[observer])
        >>> guard.run([ToolCall("pay", {"amount": 3})])[0].content, observer.lost
        ('paid', 0)
    """

    def __init__(self, langfuse: Langfuse | None = None) -> None:
        self._langfuse = client_of(langfuse, "LangfuseObserver")
        self._losses = Losses()

    @property
    def lost(self) -> int:
        """How much could not be recorded in full because the SDK raised an error."""
        return self._losses.count

    def decided(self, watched: Watched, decisions: Sequence[Decision], seconds: float) -> None:
        """One observation for each call that was decided about; what is held will be."""
        for decision in decisions:
            if decision.status == "held":
                continue
            more: dict[str, Json] = {"status": decision.status, "seconds": seconds}
            if decision.review is not None:
                more["review"] = decision.review.id
            self._tell("!", watched, decision.call, more, lambda about, of=decision: _of_decision(of, about))  # type: ignore[misc] # a default

    def returned(self, watched: Watched, call: ToolCall, verdict: Verdict, seconds: float) -> None:
        """One observation for each result."""
        more: dict[str, Json] = {"status": "returned", "seconds": seconds}
        self._tell("?", watched, call, more, lambda about: report(verdict, None, about))

    def happened(self, watched: Watched, event: Event, verdict: Verdict, seconds: float) -> None:
        """One observation for each event that is no call."""
        more: dict[str, Json] = {"status": "happened", "seconds": seconds}
        said = ToolCall(event.label, event.payload)
        if event.by is not None:
            more["by"] = excerpt(event.by)
        self._tell(event.direction, watched, said, more, lambda about: report(verdict, None, about))

    def failed(self, watched: Watched, call: ToolCall, error: str) -> None:
        """One observation for each tool that failed: that is no matter of the contract, so it has no score."""
        output: dict[str, Json] = {"passed": None, "verdict": "failed", "explanation": cut(error)}
        self._tell(
            "?", watched, call, {"status": "failed"}, lambda about: Report(output, about, "WARNING", "failed", None)
        )

    def _tell(
        self,
        direction: str,
        watched: Watched,
        call: ToolCall,
        more: dict[str, Json],
        make_report: Callable[[dict[str, Json]], Report],
    ) -> None:
        word = f"{direction}{excerpt(call.name)}"

        def given() -> dict[str, Json]:
            said: dict[str, Json] = {
                "action": cut(word),
                "direction": "send" if direction == "!" else "receive",
                "label": excerpt(call.name),
                "protocol": watched.protocol,
                "call": excerpt(call.id),
            }
            return {**said, "payload": excerpt(call.arguments)} if direction == "!" else said

        observation = Observation(self._langfuse, cut(word, LONGEST_NAME), given)
        observation.finish(lambda: make_report({"contract": watched.contract, "session": watched.key, **more}))
        self._losses.note(observation.fault)


def _of_decision(decision: Decision, about: dict[str, Json]) -> Report:
    if decision.status == "review":
        said = _said(decision, passed=None)
        return Report(said, about, "WARNING", "waits for a person: neither passed nor failed", score=None)
    if decision.verdict is not None:
        return report(decision.verdict, None, about)
    if decision.admitted:
        return report(Ok(), None, about)
    return Report(_said(decision, passed=False), about, "ERROR", "refused", score=False)


def _said(decision: Decision, *, passed: Literal[False] | None) -> dict[str, Json]:
    return {"passed": passed, "verdict": decision.status, "explanation": cut(decision.message)}
