"""The traces of the specification as recorded runs: an audit says of them what the reference says."""

from __future__ import annotations

import io

import pytest

from accord.audit.judging import StepJudge, TableJudge, is_for_table
from accord.audit.results import Chunks
from accord.errors import UsageError
from accord.sources.model import Message, Run
from tests.spec.cases import TraceCase
from tests.spec.engines import ReferenceEngine, subject_of
from tests.spec.test_spec import TRACES

FLOOR = 350


def recordable(case: TraceCase) -> bool:
    """Whether a recorded run can be like that: no partners, nobody who decides, time only where something happens."""
    return all(
        line.what in {"event", "end", "status", "allowed", "due"}
        and (line.event is None or (line.event.partner is None and line.event.by is None))
        and (line.event is None or "call" not in (line.event.payload or {}))
        for line in case.lines
    )


CASES = [case for case in TRACES if recordable(case) and "reference" not in case.without]


def run_of(case: TraceCase) -> tuple[Run, list]:
    lines = [line for line in case.lines if line.what == "event"]
    messages = [
        Message(
            "call" if line.event.direction == "!" else "result",
            number,
            line.event.payload or {},
            line.event.label,
            moment=line.at,
            labelled=True,
        )
        for number, line in enumerate(lines)
    ]
    return Run("r", "f", messages), lines


def expected(case: TraceCase, lines):
    """Status, number of the first refused event and clause, by the reference; `None` if it cannot be judged."""
    engine = ReferenceEngine(subject_of(case.contract, case.limits, printed=False), case.protocol, "refuse", None)
    refused = None
    for number, line in enumerate(lines):
        answer = engine.event(line.event, line.at)
        if answer.kind == "misuse":
            return None
        if answer.kind == "violation" and refused is None:
            refused = number, answer.clause
    # Where nothing has happened no clock runs, so an audit can say what is owed at any time.
    closing = engine.close(lines[-1].at if lines else 0)
    if closing.kind == "misuse":
        return None
    if refused is not None:
        return "violating", *refused
    kinds = {"ok": "conforming", "violation": "incomplete", "unrecognized": "unrecognised"}
    return kinds[closing.kind], None, closing.clause


def test_there_are_enough(health):
    assert len(CASES) >= FLOOR
    health(f"audit: {len(CASES)} traces of the specification as recorded runs")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_an_audit_says_what_the_reference_says(case):
    contract = subject_of(case.contract, case.limits, printed=False).contract
    run, lines = run_of(case)
    wanted = expected(case, lines)
    judges = [StepJudge] + [TableJudge] * is_for_table(contract)
    for kind in judges:
        judge = kind(contract, case.protocol)
        try:
            verdict = judge.judge(run)
        except UsageError:
            assert wanted is None
            continue
        assert wanted is not None
        breach = verdict.breach
        clause = "" if breach is None else breach.what.clause
        clause = clause if clause.startswith("rule ") or not clause else "protocol"
        assert (verdict.status, None if breach is None else breach.index, clause) == wanted
        Chunks(io.BytesIO()).add(verdict)
        assert judge.finish().runs == 1
