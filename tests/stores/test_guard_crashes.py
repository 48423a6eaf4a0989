"""`kill -9` of processes that run guarded tools: nothing happens twice, and nothing that was promised is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from itertools import count
from pathlib import Path

import pytest

from accord import Guard, Ok, ToolCall, compile
from tests.stores.guarded_workers import CONTRACT
from tests.stores.harnesses import PostgresHarness, RedisHarness, SQLiteHarness

WORKERS = Path(__file__).with_name("guarded_workers.py")
NUMBERS = count()


@pytest.fixture(name="harness", params=["sqlite", "postgres", "redis"])
def _harness(request, tmp_path):
    if request.param == "sqlite":
        return SQLiteHarness(tmp_path)
    if request.param == "postgres":
        return PostgresHarness(request.getfixturevalue("postgres"), f"guarded{next(NUMBERS)}")
    return RedisHarness(request.getfixturevalue("redis_server"))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_kill_9_runs_nothing_twice_and_loses_nothing_that_was_settled(harness, tmp_path, soak, health):
    kills = 500 if soak else 25
    effects = tmp_path / "effects"
    task = {
        "opener": harness.opener,
        "address": harness.address,
        "effects": str(effects),
        "kills": kills,
        "at_a_time": 5,
    }
    done = subprocess.run([sys.executable, WORKERS, json.dumps(task)], capture_output=True, check=False, timeout=1800)
    assert done.returncode == 0 and not done.stderr, done.stderr.decode()
    happened = Counter(tuple(json.loads(line)) for line in effects.read_bytes().splitlines())
    twice = [what for what, times in happened.items() if times > 1]
    assert not twice, f"has happened twice: {twice}"
    transfers = Counter(key for key, what, _ in happened if what == "wire")
    assert set(transfers.values()) <= {1}, transfers
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    harness.rest()
    settled = {(key, what, call) for key, what, call, ok in answers if ok}
    left = check_ledgers(harness, happened, settled)
    assert len(answers) >= 3 * kills
    assert settled and transfers
    assert left, "nobody was killed in the middle of it"
    health(
        f"guard: {kills} workers killed with SIGKILL ({type(harness).__name__}), {len(answers):,} answers, "
        f"{len(happened):,} effects, none twice; {left} calls were under way"
    )


def check_ledgers(harness, happened, settled):
    """What happened is settled or out, what was settled is so; and once that is told, the session goes on."""
    contract, left = compile(CONTRACT), 0
    with harness.open() as store:
        for key in {key for key, _, _ in happened}:
            assert store.verify(key).ok
            entries = [json.loads(line)["entry"] for line in store.ledger(key)]
            returned = {e["detail"]["call"] for e in entries if e["act"] == "note" and e["what"] == "call returned"}
            returned |= {e["meta"]["call"] for e in entries if e["act"] == "attempt" and e["event"] == "?wire"}
            assert {call for k, _, call in settled if k == key} <= returned, "settled, and lost"
            guard = Guard(
                contract,
                store=store,
                key=key,
                tools={"pay": lambda call: call},
                events=["stop", "wire"],
                patience=10**9,
            )
            out = {each.ticket for each in guard.out()}
            assert {call for k, _, call in happened if k == key} <= returned | out, "has happened, and nobody knows"
            left += len(out)
            for ticket in out:  # somebody who knows says what became of them
                told = guard.settle if (key, ticket.split()[0], ticket) in happened else guard.fail
                assert isinstance(told(ticket, "after the crash"), Ok)
            assert guard.run([ToolCall("pay", {"call": "next"}, "next")])[0].ok
    return left
