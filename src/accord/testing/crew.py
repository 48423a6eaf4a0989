"""Writers in processes of their own, begun quickly.

Loading Python and all that a writer needs takes longer than what most of them do. So one process loads it once, and
forks a writer for each task; it has no store open and no threads, so a fork of it is as good as a new process. Where
there is no fork, each writer is begun anew.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from functools import cache
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Writer"]

_PATIENCE = 120
_MODULE = "accord.testing.writer"


class Writer:
    """A process that runs `accord.testing.writer`, with its standard input, output and errors as files."""

    pid: int
    input: IO[bytes]
    output: IO[bytes]
    errors: IO[bytes]

    def __init__(self, task: Mapping[str, object]) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        if hasattr(os, "fork"):
            self._fork(json.dumps(task))
        else:
            command = [sys.executable, "-m", _MODULE, json.dumps(task)]
            pipe = subprocess.PIPE
            self._process = process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            self.pid, self.input, self.output, self.errors = process.pid, process.stdin, process.stdout, process.stderr

    def _fork(self, task: str) -> None:
        pipes = [os.pipe(), os.pipe(), os.pipe()]
        (in_, in_here), (out_here, out), (err_here, err) = pipes
        self.input = open(in_here, "wb", buffering=0)  # noqa: SIM115, PTH123 - closed by `wait`
        self.output = open(out_here, "rb")  # noqa: SIM115, PTH123
        self.errors = open(err_here, "rb")  # noqa: SIM115, PTH123
        self.pid = _nursery(os.getpid()).ask(task, [in_, out, err])
        for descriptor in (in_, out, err):
            os.close(descriptor)

    def go(self) -> None:
        """Let a writer begin that waits for the others."""
        self.input.write(b"go\n")

    def kill(self) -> None:
        """End it at once."""
        os.kill(self.pid, signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)

    def finish(self) -> tuple[bytes, bytes, int]:
        """What it still says, what went wrong, and its exit code; it is killed if there is no end to it."""
        impatient = threading.Timer(_PATIENCE, self.kill)
        impatient.start()
        try:
            said, wrong = self.output.read(), self.errors.read()
            code = self._code()
        finally:
            impatient.cancel()
        for file in (self.input, self.output, self.errors):
            file.close()
        return said, wrong, code

    def _code(self) -> int:
        if self._process is not None:
            return self._process.wait()
        return _nursery(os.getpid()).ask(str(self.pid))


class _Nursery:
    """The process that forks writers; it ends when nobody can ask it any more."""

    def __init__(self) -> None:
        self._socket, there = socket.socketpair()
        self._socket.settimeout(_PATIENCE)
        self._asking = threading.Lock()
        command = [sys.executable, "-m", _MODULE, "--nursery", str(there.fileno())]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[there.fileno()])
        there.close()
        atexit.register(self._leave)

    def ask(self, words: str, descriptors: Sequence[int] = ()) -> int:
        """Its answer, a number."""
        said = b""
        with self._asking:
            socket.send_fds(self._socket, [f"{words}\n".encode()], descriptors)
            while not said.endswith(b"\n"):
                more = self._socket.recv(100)
                assert more, "the process that forks writers is gone"
                said += more
        return int(said)

    def _leave(self) -> None:
        self._socket.close()
        self._process.terminate()
        self._process.wait(_PATIENCE)


@cache
def _nursery(_: int) -> _Nursery:
    """One for each process that asks."""
    return _Nursery()
