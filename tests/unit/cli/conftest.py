"""What the tests of the command line share: a way to run it inside this process, and one to run the real thing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from accord.cli.app import app


@pytest.fixture(autouse=True)
def _colour_is_decided_by_the_stream(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def accord():
    """Call the command line in this process: `accord("check", path, input="…")`."""

    def run(*arguments, **options):
        return CliRunner().invoke(app, [str(argument) for argument in arguments], prog_name="accord", **options)

    return run


@pytest.fixture
def write(tmp_path):
    """Write a contract file: `write("!a.end")`, `write("!a.end", "folder/b.accord")`."""

    def write_file(text, name="contract.accord"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write_file


@pytest.fixture
def command():
    """The real command as a subprocess: argument list and environment for `subprocess`."""
    script = "import sys; from accord.cli import main; sys.argv[0] = 'accord'; main()"

    def prepare(*arguments, **environment):
        clean = {k: v for k, v in os.environ.items() if k not in {"NO_COLOR", "FORCE_COLOR", "PYTHONIOENCODING"}}
        return {
            "args": [sys.executable, "-c", script, *map(str, arguments)],
            "env": clean | {"PYTHONUTF8": "0", "PYTHONIOENCODING": "utf-8", "TERM": "xterm"} | environment,
        }

    return prepare


@pytest.fixture
def process(command):
    """Run the real command and wait for it."""

    def run(*arguments, input=b"", **environment):  # noqa: A002 - as subprocess calls it
        prepared = command(*arguments, **environment)
        return subprocess.run(**prepared, input=input, capture_output=True, check=False, timeout=30)

    return run
