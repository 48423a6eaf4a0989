"""What drivers share: how a verdict becomes a finding, how a run falls into messages, how a reason becomes an error."""

from __future__ import annotations

import builtins

from accord import Ok, Violation
from accord.integrations import ToolCall
from accord.integrations.guard.observing import Observer
from tests.surfaces.happenings import ENDS, Finding, Happening, Run

__all__ = ["DENIED", "Ear", "as_call", "clause_of", "error_of", "finding_of", "is_ok", "message_at", "questions_of"]


DENIED = " denied"
"""What the ids of calls end in that are asked for in order to be denied."""


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
    """A call as models make it, whatever a person has put in its place."""
    return ToolCall(one.name, one.body if one.asked is None else one.asked, one.id)


def questions_of(run: Run, place: int) -> list[tuple[ToolCall, str, dict | None]]:
    """What people are asked before a call, in order: the call, the answer, and what to use instead."""
    one, found = run[place], []
    if one.denied is not None:
        found.append((ToolCall(one.denied[0], one.denied[1], one.id + DENIED), "deny", None))
    if place and run[place - 1].kind == "event" and run[place - 1].answers == one.id:
        found.append((as_call(one), "allow" if one.asked is None else "modify", one.body if one.asked else None))
    return found


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
        self.asking = False  # whether somebody is about to answer, so that a question is no refusal
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
        if self.asking:
            return
        try:
            for decision in decisions:
                place = self.places[decision.call.id]
                self.undecided.discard(place)
                if not decision.admitted and decision.status != "held":
                    self.turned_down.add(place)
                if decision.status == "held":
                    self.held.add(place)
                    self.undecided.add(place)
                elif decision.status == "review" or (decision.verdict is None and decision.review is not None):
                    self.findings.append(Finding(place, "*"))  # people are asked, or have denied the very same
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
