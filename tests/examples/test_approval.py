"""The example with a person in it: two runs of the agent, and the command line between them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "approval"
CONTRACT = EXAMPLE / "approval.accord"
WAITING = 3
PAID = "*** 250 EUR leave"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "sessions.db"


def agent(path):
    return subprocess.run(
        [sys.executable, EXAMPLE / "agent.py", path], capture_output=True, text=True, check=False, timeout=60
    )


def accord(*arguments):
    command = [Path(sys.executable).parent / "accord", "review", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode == 0, run.stderr
    return run.stdout


def decide(path, *answer):
    (review,) = map(json.loads, accord("list", path, "--json").splitlines())
    accord("decide", path, "invoice-17", review["review"], *answer, CONTRACT, "--by", "ana")


def test_it_pays_once_and_after_the_person_has_allowed_it(path):
    for _ in range(2):  # asking again changes nothing
        first = agent(path)
        assert (first.returncode, first.stderr) == (WAITING, "")
        assert PAID not in first.stdout
        assert "accord review decide" in first.stdout
    decide(path, "allow")
    second = agent(path)
    assert (second.returncode, second.stdout.count(PAID)) == (0, 1)
    assert "the session is complete, its ledger whole" in second.stdout
    third = agent(path)
    assert (third.returncode, PAID in third.stdout) == (0, False)


def test_it_does_not_pay_what_was_denied(path):
    agent(path)
    decide(path, "deny", "--reason", "we never ordered that")
    second = agent(path)
    assert (second.returncode, PAID in second.stdout) == (0, False)
    assert "not paid. error: `pay` was denied by ana: `we never ordered that`" in second.stdout


def test_it_pays_what_the_person_has_put_in_its_place(path):
    agent(path)
    decide(path, "modify", "--payload", '{"amount": 120, "iban": "DE75"}')
    second = agent(path)
    assert (second.returncode, PAID in second.stdout) == (0, False)
    assert "*** 120 EUR leave for DE75 ***" in second.stdout
