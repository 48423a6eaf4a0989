"""What drivers share: how a verdict becomes a finding, how a run falls into messages, how a reason becomes an error."""

from __future__ import annotations

import builtins

from accord import Ok, Violation
from accord.integrations import ToolCall
from accord.integrations.guard.observing import Observer
from tests.surfaces.happenings import ENDS, Finding, Happening, Run

__all__ = ["Ear", "as_call", "clause_of", "error_of", "finding_of", "is_ok", "message_at"]


def is_ok(verdict: object) -> bool:
    """Whether an answer is yes."""
    return verdict is None or isinstance(verdict, Ok)


def clause_of(clause: str) -> str:
    """The clause as the reference names it."""
    if clause.startswith("protocol"):
        return "protocol"
    return clause.removeprefix('rule "').removesuffix('"') if clause.startswith('rule "') else clause


def finding_of(index: int | frozenset[int] | None, verdict: object) -> Finding:
    """What a verdict that is not `Ok` says."""
    if isinstance(verdict, Violation):
        return Finding(index, clause_of(verdict.clause), verdict.explain())
    return Finding(index, f"{type(verdict).__name__}: {getattr(verdict, 'reason', verdict)}")


def as_call(one: Happening) -> ToolCall:
    """A call as models make it."""
    return ToolCall(one.name, one.body, one.id)


def error_of(reason: str) -> Exception:
    """The exception that is told in these words."""
    kind, _, text = reason.partition(": ")
    return getattr(builtins, kind)(text)


def message_at(run: Run, place: int) -> list[int]:
    """The calls of the message that begins there."""
    last = place
    while last < len(run) and run[last].kind == "call" and run[last].message == run[place].message:
        last += 1
    return list(range(place, last))


class Ear(Observer):
    """Hears what a guard decides, in the order in which it does."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.places: dict[str, int] = {}  # of each id, the call that has it now
        self.ends: dict[str, int] = {}  # and where its end is
        self.running_now = ""
        self.held: set[int] = set()  # calls that were held at some time
        self.undecided: set[int] = set()  # and those that are
        self.turned_down: set[int] = set()
        self.waited = 0
        self.broken: Exception | None = None

    def offer(self, run: Run, places: list[int]) -> None:
        """These calls are asked for now."""
        for place in places:
            identity = run[place].id
            self.places[identity] = place
            later = range(place + 1, len(run))
            end = next((at for at in later if run[at].kind in {"result", "error"} and run[at].id == identity), None)
            self.ends[identity] = end if end is not None else -1

    def decided(self, watched, decisions, seconds) -> None:  # noqa: ARG002 - as a guard calls it
        try:
            for decision in decisions:
                place = self.places[decision.call.id]
                self.undecided.discard(place)
                if not decision.admitted and decision.status != "held":
                    self.turned_down.add(place)
                if decision.status == "held":
                    self.held.add(place)
                    self.undecided.add(place)
                elif decision.status == "review":
                    self.findings.append(Finding(place, "*"))
                elif decision.status == "refused":
                    self.findings.append(finding_of(place, decision.verdict or decision.message))
                elif place in self.held:
                    self.waited += 1
        except Exception as error:
            self.broken = error

    def results(self, run: Run, places: list[int], results) -> None:
        """What a guard has returned of calls: that the end of one that failed is refused may be told nowhere else."""
        for place, result in zip(places, results, strict=True):
            end = next(
                (at for at in range(place, len(run)) if run[at].kind in ENDS and run[at].id == run[place].id), None
            )
            if end is not None and run[end].kind == "error" and place not in self.turned_down:
                known = any(finding.index == end for finding in self.findings)
                self.findings += [] if known or is_ok(result.verdict) else [finding_of(end, result.verdict)]

    def running(self, watched, decision):  # noqa: ARG002 - the same
        self.running_now = decision.call.id

    def returned(self, watched, call, verdict, seconds) -> None:  # noqa: ARG002 - the same
        if not is_ok(verdict):
            self.findings.append(finding_of(self.ends[call.id], verdict))
