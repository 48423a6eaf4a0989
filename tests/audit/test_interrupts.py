"""Audits that are stopped, and workers that are killed, from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.audit.recorded import CONFIRM, FINE, HASTY, write_tau

ACCORD = Path(sys.executable).parent / "accord"
WAITING = """
import os, sys
from accord.audit import local
from accord.cli import main
judge = local.judge_file
def waiting(job, path, stream):
    if path.endswith("z.json"):
        open(os.environ["PIPE"]).read()
    judge(job, path, stream)
local.judge_file = waiting
main()
"""
"""The command, which waits in the file `z.json` for somebody to write to a pipe."""


@pytest.fixture
def files(tmp_path):
    contract = tmp_path / "c.accord"
    contract.write_text(CONFIRM)
    runs = tmp_path / "runs"
    runs.mkdir()
    for number in range(4):
        write_tau(runs / f"{number}.json", [FINE, HASTY] * 50)
    return contract, runs, tmp_path / "cache"


@pytest.fixture
def pipe(files):
    """What the audit of `z.json` waits for: when it is open, the audit has come there."""
    path = files[2].parent / "pipe"
    os.mkfifo(path)
    write_tau(files[1] / "z.json", [FINE])
    return path


def start(contract, runs, cache, *more, pipe=None):
    command = [ACCORD] if pipe is None else [sys.executable, "-c", WAITING]
    command += ["audit", contract, *runs, "--cache", cache, *more]
    environment = os.environ if pipe is None else {**os.environ, "PIPE": str(pipe)}
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    # A shell that runs tests in the background lets them ignore SIGINT, and their children inherit that.
    return subprocess.Popen(command, **pipes, text=True, env=environment, preexec_fn=heed_interrupts)  # noqa: PLW1509 - no threads yet


def heed_interrupts():
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_tells_what_there_is(files, pipe):
    contract, runs, cache = files
    process = start(contract, [runs], cache, "--jobs", "1", "--json", pipe=pipe)
    writer = os.open(pipe, os.O_WRONLY)  # returns when the audit has come there
    try:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        os.close(writer)
    assert process.returncode == 130, err
    report = json.loads(out)
    assert (report["complete"], report["files"]) == (False, {"planned": 5, "judged": 4})
    assert report["total"]["runs"] == 400
    again = start(contract, [runs], cache, "--json")
    out, err = again.communicate(timeout=60)
    assert again.returncode == 1, err
    assert json.loads(out)["run_info"]["files_from_cache"] == 4


def test_ctrl_c_ends_the_workers_too(files, pipe):
    contract, runs, cache = files
    for number in range(4):
        write_tau(runs / f"{number}.json", [FINE, HASTY] * 1_400)  # enough for processes of their own
    process = start(contract, [runs], cache, "--jobs", "2", "--json", pipe=pipe)
    writer = os.open(pipe, os.O_WRONLY)
    try:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)  # which waits for all who hold the other end
    finally:
        os.close(writer)
    assert process.returncode == 130, err
    report = json.loads(out)
    assert not report["complete"]
    assert report["files"]["judged"] < 5


def test_a_killed_audit_leaves_only_whole_results(files, pipe):
    contract, runs, cache = files
    process = start(contract, [runs], cache, "--jobs", "1", pipe=pipe)
    writer = os.open(pipe, os.O_WRONLY)
    process.kill()
    process.communicate(timeout=60)
    os.close(writer)
    again = start(contract, [runs], cache, "--json")
    out, err = again.communicate(timeout=60)
    assert again.returncode == 1, err
    report = json.loads(out)
    assert (report["total"]["runs"], report["run_info"]["files_from_cache"]) == (401, 4)
