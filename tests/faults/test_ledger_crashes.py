"""Writers that are killed in the middle of it: nothing acknowledged is lost, and the ledger goes on."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

from accord import FileSink, Ledger
from tests.ledgers import check

ROOT = Path(__file__).parents[2]
WRITER = Path(__file__).with_name("ledger_writer.py")
IN_A_ROW = 10


def write_until_killed(path, seed, writes, *, in_a_write):
    """Start a writer and kill it after so many acknowledgements, or in the middle of a write; all that it got out."""
    arguments = [path, str(seed), *([str(writes)] if in_a_write else [])]
    with subprocess.Popen(
        [sys.executable, WRITER, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as writer:
        heads = []
        if not in_a_write:
            heads += [line for _, line in zip(range(writes), writer.stdout, strict=False)]
            writer.kill()
        heads += writer.stdout.readlines()
        complaint = writer.stderr.read()
    assert writer.returncode == -9, complaint
    return [head.decode().strip() for head in heads]


def test_kill_9_loses_nothing_that_was_acknowledged(tmp_path, soak, health):
    """Ledgers whose writers are killed again and again: every acknowledged entry is there, and the next one goes on."""
    rng = random.Random(9)
    kills = 500 if soak else 25
    torn = entries = 0
    for first in range(0, kills, IN_A_ROW):
        path = tmp_path / f"{first}.ledger"
        heads = []
        for number in range(first, min(first + IN_A_ROW, kills)):
            heads += write_until_killed(path, number, rng.randint(0, 12), in_a_write=number % 3 == 0)
            last = heads[-1] if heads else None
            data = path.read_bytes() if path.exists() else b""
            whole = data[: data.rfind(b"\n") + 1]
            torn += whole != data
            result = check(whole, head=last)
            assert result.ok or not whole, result.finding
            assert check(data, head=last).ok is (whole == data != b""), "a torn line is told"
            hashes = {line[-67:-3].decode() for line in whole.splitlines(keepends=True)}
            assert {head.partition(":")[2] for head in heads} <= hashes
        with Ledger(FileSink(path)) as ledger:
            assert ledger.verify(head=last).ok
            assert bool(ledger.mended) is (whole != data)
        assert check(path.read_bytes(), head=last).ok
        entries += len(heads)
        path.unlink()
    assert entries >= 2 * kills
    assert torn >= kills / 5
    told = f"{entries:,} acknowledged entries were all there, {torn} torn lines cut off"
    health(f"ledger: {kills} writers killed with SIGKILL; {told}")
