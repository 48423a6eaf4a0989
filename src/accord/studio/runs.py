"""Recorded runs held against a contract: all of them in a list, and one of them message by message.

The judges are those of `accord audit`. Files were sent before, and a request names them by their digests.
"""

from __future__ import annotations

from collections import Counter
from time import monotonic
from typing import TYPE_CHECKING

from accord.audit.coverage import edges_taken
from accord.audit.judging import StepJudge, TableJudge, is_for_table, standing_of
from accord.diagnostics.visible import visible
from accord.errors import UsageError
from accord.language.labels import print_word
from accord.machine.events import Event
from accord.monitor.step import begin, status, step
from accord.monitor.verdicts import Violation
from accord.sources import Broken, Run, read_runs
from accord.stepping.moves import occupied
from accord.studio.requests import RefusedError
from accord.studio.uploads import uploaded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from accord.machine.contract import Contract
    from accord.machine.tables import Machine
    from accord.studio.bounds import Bounds
    from accord.studio.requests import OneRun, Runs

__all__ = ["one_run", "several_runs"]

_TOO_LONG = "it takes longer than {:g} seconds; `accord audit --json` takes its time, and its result opens here"
_MOST_RUNS = 5_000
_MOST_BROKEN = 50
_MOST_MESSAGES = 1_000
_LONGEST_TEXT = 4_000


def several_runs(contract: Contract, request: Runs, bounds: Bounds, uploads: Path) -> dict[str, object]:
    """What the contract says of every run of some files."""
    protocol = contract.protocol_name(request.protocol)
    judge = TableJudge(contract, protocol) if is_for_table(contract) else StepJudge(contract, protocol)
    told: list[dict[str, object]] = []
    more = 0
    until = monotonic() + bounds.seconds
    for file in request.files:
        for run in read_runs(str(uploaded(uploads, file.file)), None, bounds.limits):
            if monotonic() > until:
                raise RefusedError(_TOO_LONG.format(bounds.seconds))
            if isinstance(run, Broken):
                judge.add_broken(Broken(file.name, run.line, run.reason))
                continue
            try:
                verdict = judge.judge(run)
            except UsageError as error:
                judge.add_broken(Broken(file.name, run.line, f"run {run.key}: {error}"))
                continue
            if len(told) < _MOST_RUNS:
                told.append({**verdict.to_json(), "file": file.name})
            else:
                more += 1
    tally = judge.finish()
    machine = contract.machine(protocol) if contract.machines else None
    return {
        "runs": told,
        "more": more,
        "broken": [
            {"file": visible(one.file), "line": one.line, "reason": visible(one.reason)}
            for one in tally.first_broken[:_MOST_BROKEN]
        ],
        "unreadable": tally.broken,
        "unmatched": {visible(name): count for name, count in tally.unmatched.items()},
        "traffic": [] if machine is None else list(_traffic(machine, tally.traffic)),
    }


def _traffic(machine: Machine, counted: dict[str, int]) -> Iterator[dict[str, object]]:
    """How often each edge was taken, as drawings name edges."""
    for place, times in counted.items():
        state, symbol = map(int, place.split("/"))
        for index, target in getattr(machine.states[state], "edges", ()):
            if index == symbol:
                yield {"from": state, "word": machine.symbols[symbol].word, "to": target, "times": times}


def one_run(contract: Contract, request: OneRun, bounds: Bounds, uploads: Path) -> dict[str, object]:
    """One run, message by message, each with its label, its verdict and the states after it."""
    for run in read_runs(str(uploaded(uploads, request.file.file)), None, bounds.limits):
        if isinstance(run, Run) and run.key == request.key:
            return {"file": request.file.name, "run": run.key, **_messages(contract, request.protocol, run)}
    raise UsageError(f"{request.file.name} holds no run `{request.key}`")


def _messages(contract: Contract, protocol: str | None, run: Run) -> dict[str, object]:
    protocol = contract.protocol_name(protocol)
    situation = begin(contract, protocol)
    labeller = contract.labeller
    machine = contract.machine(protocol) if contract.machines else None
    told: list[dict[str, object]] = []
    heat: Counter[str] = Counter()
    path: set[int] = set(occupied(situation))
    for message in run.messages:
        label = labeller.label(message)
        verdict = explanation = ""
        word = None
        if label is not None and label.label is not None:
            event = Event(label.direction, label.label, None, message.payload, label.by, message.at)
            word = print_word(label.direction, label.label)
            before = situation
            situation, answer = step(situation, event, "refuse")
            verdict = "refused" if isinstance(answer, Violation) else "ok"
            if isinstance(answer, Violation):
                explanation = answer.explain()
            elif machine is not None:
                taken = edges_taken(standing_of(before, event), event)
                heat.update(f"{state}/{symbol}" for state, symbol in taken)
        elif label is None and message.kind == "call" and labeller.refuses_unmatched_calls:
            verdict, explanation = "refused", "No line of the events takes this call, and the protocol names no other."
        states = sorted(occupied(situation))
        path |= set(states)
        if len(told) < _MOST_MESSAGES:
            told.append(
                {
                    "index": message.index,
                    "kind": message.kind,
                    "name": None if message.name is None else visible(message.name),
                    "text": _shown(message.text),
                    "word": word,
                    "verdict": verdict,
                    "explanation": visible(explanation),
                    "states": states,
                }
            )
    return {
        "messages": told,
        "left_out": max(len(run.messages) - len(told), 0),
        "metadata": run.metadata,
        "status": status(situation),
        "path": sorted(path),
        "traffic": [] if machine is None else list(_traffic(machine, dict(heat))),
    }


def _shown(text: str) -> str:
    """Text of a message, its lines kept and everything hidden made visible."""
    cut = text[:_LONGEST_TEXT]
    lines = "\n".join(visible(line) for line in cut.split("\n"))
    return lines if len(text) <= _LONGEST_TEXT else f"{lines}…"
