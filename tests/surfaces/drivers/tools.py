"""`ToolMiddleware(view="agent")`: batch after batch, as a program runs the tools of a response."""

from __future__ import annotations

import inspect

from accord import Monitor, ToolMiddleware
from accord.integrations import LLMResponse
from accord.machine.contract import Contract
from tests.surfaces.contracts import STRANGER, TOOLS
from tests.surfaces.drivers.told import as_call, error_of, finding_of, is_ok, message_at
from tests.surfaces.happenings import ENDS, Outcome, Run, in_order

__all__ = ["HAS_VIEWS", "by_tools"]

HAS_VIEWS = "view" in inspect.signature(ToolMiddleware).parameters


def by_tools(contract: Contract, run: Run) -> Outcome:
    """Calls are received in order, tools run in order, results are sent in order."""
    monitor = Monitor(contract, mode="refuse")
    findings, at = [], 0
    queues: dict[str, list[int]] = {}

    def tool_named(name):
        def tool(**_):
            one = run[queues[name].pop(0)]
            if one.kind == "error":
                raise error_of(one.body)
            return one.body

        return tool

    names = {*TOOLS, STRANGER, *(one.name for one in run if one.kind == "call")}
    tools = {name: tool_named(name) for name in names}
    middleware = ToolMiddleware(monitor, tools, view="agent")
    while at < len(run):
        one = run[at]
        if one.kind == "call":
            places = message_at(run, at)
            ends = [
                next((e for e in range(p, len(run)) if run[e].kind in ENDS and run[e].id == run[p].id), None)
                for p in places
            ]
            queues = {}
            for place, end in zip(places, ends, strict=True):
                queues.setdefault(run[place].name, []).append(end)
            response = LLMResponse(tool_calls=[as_call(run[place]) for place in places])
            results = middleware.process(response)
            for place, end, result in zip(places, ends, results, strict=True):
                if not is_ok(result.verdict):
                    ended = str(getattr(result.verdict, "got", "")).startswith("?")
                    findings.append(finding_of(end if ended else place, result.verdict))
            at = places[-1]
        at += 1
    return Outcome(in_order(findings), is_ok(monitor.close()))
