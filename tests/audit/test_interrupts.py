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


@pytest.fixture
def files(tmp_path):
    contract = tmp_path / "c.accord"
    contract.write_text(CONFIRM)
    runs = tmp_path / "runs"
    runs.mkdir()
    for number in range(4):
        write_tau(runs / f"{number}.json", [FINE, HASTY] * 50)
    return contract, runs, tmp_path / "cache"


def start(contract, runs, cache, *more):
    command = [ACCORD, "audit", contract, *runs, "--cache", cache, *more]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    # A shell that runs tests in the background lets them ignore SIGINT, and their children inherit that.
    return subprocess.Popen(command, **pipes, text=True, preexec_fn=heed_interrupts)  # noqa: PLW1509 - no threads yet


def heed_interrupts():
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_tells_what_there_is(files):
    """The last file is a pipe that nobody writes to, so the audit waits there when it is stopped."""
    contract, runs, cache = files
    pipe = runs / "z.json"
    os.mkfifo(pipe)
    process = start(contract, [*sorted(runs.glob("[0-9].json")), pipe], cache, "--jobs", "1", "--json")
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
    pipe.unlink()
    again = start(contract, [runs], cache, "--json")
    out, err = again.communicate(timeout=60)
    assert again.returncode == 1, err
    assert json.loads(out)["run_info"]["files_from_cache"] == 4


def test_ctrl_c_ends_the_workers_too(files):
    contract, runs, cache = files
    for number in range(4):
        write_tau(runs / f"{number}.json", [FINE, HASTY] * 1_400)  # enough for processes of their own
    pipe = runs / "z.json"
    os.mkfifo(pipe)
    process = start(contract, [*sorted(runs.glob("[0-9].json")), pipe], cache, "--jobs", "2", "--json")
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


def test_a_killed_audit_leaves_only_whole_results(files):
    contract, runs, cache = files
    pipe = runs / "z.json"
    os.mkfifo(pipe)
    process = start(contract, [*sorted(runs.glob("[0-9].json")), pipe], cache, "--jobs", "1")
    writer = os.open(pipe, os.O_WRONLY)
    process.kill()
    process.communicate(timeout=60)
    os.close(writer)
    pipe.unlink()
    again = start(contract, [runs], cache, "--json")
    out, err = again.communicate(timeout=60)
    assert again.returncode == 1, err
    report = json.loads(out)
    assert (report["total"]["runs"], report["run_info"]["files_from_cache"]) == (400, 4)
