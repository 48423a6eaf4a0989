"""Fresh processes: for what must not disturb the other measurements, may never end, or is about starting up."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

__all__ = ["ROOT", "ChildError", "in_child", "start_to_end"]

ROOT = Path(__file__).resolve().parent.parent


class ChildError(Exception):
    """Why there is no answer."""


def in_child(function: str, *arguments: int | str, timeout: float) -> Any:  # noqa: ANN401 - whatever it returns
    """What `bench.module:function` returns, called in a process of its own.

    Raises `ChildError` if it fails or takes longer than `timeout` seconds.
    """
    module, _, name = function.partition(":")
    program = f"import json; from {module} import {name}; print(json.dumps({name}(*{arguments!r})))"
    command = [sys.executable, "-c", program]
    try:
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, timeout=timeout, check=True)
    except subprocess.TimeoutExpired:
        raise ChildError(f"stopped after {timeout:.0f} s") from None
    except subprocess.CalledProcessError as error:
        raise ChildError(f"failed with exit code {error.returncode}") from None
    return json.loads(done.stdout)


def start_to_end(program: str) -> float:
    """Seconds that a fresh interpreter takes to run a program; `-I` keeps the environment out of it."""
    start = perf_counter()
    subprocess.run([sys.executable, "-I", "-c", program], cwd="/", check=True)
    return perf_counter() - start
