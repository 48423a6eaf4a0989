"""`ToolMiddleware(view="agent")`: batch after batch, as a program runs the tools of a response."""

from __future__ import annotations

from collections import defaultdict, deque

from accord import Monitor, Ok, ToolMiddleware
from accord.integrations import LLMResponse
from accord.machine.contract import Contract
from tests.surfaces.contracts import STRANGER, TOOLS
from tests.surfaces.drivers.told import as_call, error_of, finding_of, is_ok, message_at
from tests.surfaces.happenings import ENDS, Outcome, Run, in_order

__all__ = ["by_tools"]


class Noted(Monitor):
    """A session that is told which calls begin, as one with a ledger is."""

    __slots__ = ("begun", "of_tool")

    def note(self, what, detail):
        if what == "call started":
            self.begun.add(detail["call"])
            self.of_tool[detail["tool"]].append(detail["call"])
        return Ok()


def by_tools(contract: Contract, run: Run) -> Outcome:
    """What may run together runs, in order; what waits for it is decided and runs in the next round."""
    now = run[0].at
    ends: dict[str, int | None] = {}

    def tool_named(name):
        def tool(**_):
            nonlocal now
            one = run[ends[monitor.of_tool[name].popleft()]]
            now = one.at
            if one.kind == "error":
                raise error_of(one.body)
            return one.body

        return tool

    is_timed = contract.stages(None).is_timed
    names = {*TOOLS, STRANGER, *(one.name for one in run if one.kind == "call")}
    monitor = Noted(contract, mode="refuse", at=now if is_timed else None)
    tools = ToolMiddleware(monitor, {name: tool_named(name) for name in names}, view="agent", clock=lambda: now)
    findings, at = [], 0
    while at < len(run):
        if run[at].kind == "call":
            places = message_at(run, at)
            for place in places:
                later = range(place, len(run))
                ends[run[place].id] = next(
                    (e for e in later if run[e].kind in ENDS and run[e].id == run[place].id), None
                )
            monitor.begun, monitor.of_tool, now = set(), defaultdict(deque), run[at].at
            results = tools.process(LLMResponse(tool_calls=[as_call(run[place]) for place in places]))
            for place, result in zip(places, results, strict=True):
                if not is_ok(result.verdict):
                    refused = ends[run[place].id] if run[place].id in monitor.begun else place
                    findings.append(finding_of(refused, result.verdict))
            at = places[-1]
        at += 1
    now = run[-1].at
    return Outcome(in_order(findings), is_ok(tools.close()))
