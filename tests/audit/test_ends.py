"""Audits see of ends of calls what a guard sees, and rules see what only they name."""

from __future__ import annotations

import pytest

import accord
from accord.audit.judging import StepJudge, TableJudge, is_for_table
from accord.projection.open_calls import OpenCalls
from accord.sources.model import Message, Run


def run_of(*steps):
    """A run in which every call ends, the last one too."""
    steps = (*steps, ("result", steps[-1][1], "done"))
    calls, messages = OpenCalls(), []
    for index, (kind, name, body) in enumerate(steps):
        message = Message(kind, index, body, name)
        if kind == "call":
            calls.add(message)
        elif kind in {"result", "error"}:
            message.answers = calls.answer(None, name)
        messages.append(message)
    return Run("r", "f", messages)


def verdicts(contract, run):
    compiled = accord.compile(contract)
    judges = [StepJudge, *([TableJudge] if is_for_table(compiled) else [])]
    found = {judge(compiled, None).judge(run).status for judge in judges}
    assert len(found) == 1
    return found.pop()


PAID = ("call", "pay", {"amount": 1}), ("result", "pay", "done"), ("call", "bye", {}), ("result", "bye", "")
VERIFY = 'rule "r" { before !look require ?verify(ok == true) }'
PLAIN = 'rule "r" { before !look require ?verify }'
VERIFIED = ("call", "verify", {"order": 1}), ("result", "verify", {"ok": True}), ("call", "look", {"order": 1})
LOOKED = (*VERIFIED, ("result", "look", "seen"))


@pytest.mark.parametrize(
    ("contract", "steps", "status"),
    [
        ("rec L.{!pay.?pay(error == null).L, !bye.end}", PAID, "conforming"),
        ("protocol P = each order: !verify.!look.end\n" + VERIFY, LOOKED, "conforming"),
        ("protocol P = each order: !verify.!look.end\n" + VERIFY, (VERIFIED[0], VERIFIED[2]), "violating"),
        ("protocol P = !verify.!look.end\n" + VERIFY, LOOKED, "conforming"),
        ("protocol P = !verify.!look.end\n" + PLAIN, LOOKED, "conforming"),
        ("protocol P = !verify.!look.end\n" + PLAIN, (VERIFIED[0], VERIFIED[2]), "violating"),
        (PLAIN, LOOKED, "conforming"),
        ("protocol P = each order: !verify.?verify.!look.end", LOOKED, "conforming"),
        ("protocol P = each order: !verify.?verify.!look.end", VERIFIED, "conforming"),  # `look` may have happened
        (PLAIN, VERIFIED, "conforming"),  # whatever became of it, nothing is owed
    ],
)
def test_ends(contract, steps, status):
    assert verdicts(contract, run_of(*steps)) == status
