"""Recorded runs of real agents, which are not part of the project."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from accord.sources import Broken, read_runs

FOLDER = Path(os.environ.get("ACCORD_CORPUS", Path(__file__).parents[3] / "shared" / "corpus"))


def folder():
    """Where the runs are; the test is skipped, loudly, where there are none."""
    if not (FOLDER / "manifest.json").is_file():
        pytest.skip(f"NOT TESTED: readers against real runs, which are not at {FOLDER} (set ACCORD_CORPUS)")
    return FOLDER


def manifest():
    return {entry["file"]: entry for entry in json.loads((folder() / "manifest.json").read_text())}


def read(file):
    """The runs of a file, and what of it is broken."""
    found = list(read_runs(str(folder() / file)))
    return [run for run in found if not isinstance(run, Broken)], [run for run in found if isinstance(run, Broken)]
