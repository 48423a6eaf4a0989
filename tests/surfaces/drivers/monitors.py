"""`Monitor` by hand: happenings go through the projection of the reference, and one call at most is out at a time."""

from __future__ import annotations

from functools import partial

from accord import Monitor
from accord.machine.contract import Contract
from tests.surfaces.drivers.told import finding_of, is_ok
from tests.surfaces.happenings import ENDS, Finding, Outcome, Run, call_of
from tests.surfaces.reference import PROTOCOL, Projection, arguments_of, end_of, failure_of

__all__ = ["by_monitor"]


def _tell(monitor: Monitor, label, payload, by, at):
    if label.direction == "!":
        return monitor.send(label.name, payload, at=at)
    return monitor.receive(label.name, payload, by=by, at=at)


def by_monitor(contract: Contract, run: Run) -> Outcome:
    """A call that failed and is undone is taken back to what the monitor was before it."""
    projection, document = Projection(contract.document), contract.document
    monitor = Monitor(contract, mode="refuse")
    is_timed = monitor.situation.stage.stages.is_timed
    if is_timed:
        monitor.reset(at=run[0].at)  # a first call that is taken back does not take the beginning with it
    findings, refused, before, at = [], set(), None, 0.0
    since = []  # what has happened while the call is out stays when the call is taken back
    for place, one in enumerate(run):
        call = call_of(run, place) if one.kind in ENDS else None
        if call in refused:
            continue
        if one.kind == "call":
            before, payload, since = monitor.snapshot(), arguments_of(one.body), []
        elif one.kind in ENDS:
            payload = end_of(one, None if call is None else run[call])
            if one.kind == "error" and call is not None:
                label = projection.label(run[call], arguments_of(run[call].body)).name
                if failure_of(document, one.name, label) == "undone":
                    monitor = Monitor.restore(contract, before)
                    for tell in since:
                        tell(monitor)
                    continue
        else:
            payload = one.body if one.kind == "event" else {"text": one.body}
        label = projection.label(one, payload)
        if label.name is None:
            if one.kind == "call" and projection.is_closed and not label.ignored:
                refused.add(place)
                findings.append(Finding(place, PROTOCOL))
            continue
        passes = one.kind != "call" and not projection.reaches(label.direction, label.name)
        if passes and (one.kind != "event" or not projection.is_closed):
            continue
        at = one.at if is_timed else None
        by = one.by if one.kind == "event" else "user" if one.kind == "user" else None
        tell = partial(_tell, label=label, payload=payload, by=by, at=at)
        verdict = tell(monitor)
        since += [tell] if is_ok(verdict) and one.kind != "call" else []
        if not is_ok(verdict):
            findings.append(finding_of(place, verdict))
            if one.kind == "call":
                refused.add(place)
    return Outcome(tuple(findings), is_ok(monitor.close(at=at if is_timed else None)))
