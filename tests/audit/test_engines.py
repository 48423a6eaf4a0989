"""Ray and Spark run the same worker over the same plan, so they say the same."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.audit.recorded import CONFIRM, FINE, HASTY, TWICE, write_tau

SOAK = bool(os.environ.get("ACCORD_SOAK"))
ACCORD = Path(sys.executable).parent / "accord"

MISSING = {
    "ray": "" if importlib.util.find_spec("ray") else "ray is not installed",
    "spark": "pyspark is not installed"
    if not importlib.util.find_spec("pyspark")
    else "" if shutil.which("java") else "there is no Java here",
}  # fmt: skip


def told(engine: str, contract: Path, folder: Path, *more: str) -> dict:
    """The JSON report of an audit in a process of its own: neither engine likes to be started twice in one."""
    if MISSING.get(engine):
        pytest.skip(f"NOT TESTED: audits by {engine}, because {MISSING[engine]}")
    command = [ACCORD, "audit", contract, folder, "--json", "--engine", engine, *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode in {0, 1}, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("engines")
    contract = folder / "c.accord"
    contract.write_text(CONFIRM)
    runs = folder / "runs"
    runs.mkdir()
    for number in range(6):
        write_tau(runs / f"{number}.json", [FINE, HASTY, TWICE] * (number + 1))
    (runs / "broken.jsonl").write_text("{\n")
    return contract, runs


@pytest.mark.parametrize("engine", ["ray", "spark"])
def test_an_engine_says_what_this_machine_says(engine, files, tmp_path):
    contract, runs = files
    here = told("local", contract, runs, "--no-cache")
    there = told(engine, contract, runs, "--cache", str(tmp_path))
    assert there.pop("run_info")["engine"] == engine
    info = here.pop("run_info")
    assert info["engine"] == "local"
    assert there == here
    # What came back is kept: nobody has to judge it again.
    again = told("local", contract, runs, "--cache", str(tmp_path))
    assert again.pop("run_info")["files_from_cache"] == 7
    assert again == here


def test_a_cluster_that_is_not_there_is_told(files):
    if MISSING["ray"]:
        pytest.skip(f"NOT TESTED: audits by ray, because {MISSING['ray']}")
    contract, runs = files
    command = [ACCORD, "audit", contract, runs, "--engine", "ray", "--address", "127.0.0.1:1", "--no-cache"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 2
    assert "there is no Ray cluster at 127.0.0.1:1" in done.stderr


@pytest.mark.skipif(not SOAK, reason="a million runs are for `make soak`")
@pytest.mark.parametrize("engine", ["ray", "spark"])
def test_a_million_runs_by_each_engine(engine, tmp_path, million, health):
    contract, runs = million
    here = told("local", contract, runs, "--no-cache")
    there = told(engine, contract, runs, "--no-cache")
    seconds = {"local": here.pop("run_info")["seconds"], engine: there.pop("run_info")["seconds"]}
    assert there == here
    total = here["total"]
    assert total["runs"] == 1_000_000
    assert total["events"] >= 20_000_000
    health(f"audit: {total['runs']:,} runs with {total['events']:,} events, the same by {engine}: {seconds} seconds")


@pytest.fixture(scope="session")
def million(tmp_path_factory):
    from tests.audit.synthetic import CONTRACT, write_labelled

    folder = tmp_path_factory.mktemp("million")
    contract = folder / "c.accord"
    contract.write_text(CONTRACT)
    runs = folder / "runs"
    runs.mkdir()
    for number in range(10):
        write_labelled(runs / f"{number}.parquet", 100_000, number)
    return contract, runs
