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
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Writer"]

_PATIENCE = 120
_MODULE = "accord.testing.writer"


class Writer:
    """A process that runs `accord.testing.writer`, with its standard input, output and errors as files."""

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
        self.input: BinaryIO = open(in_here, "wb", buffering=0)  # noqa: SIM115, PTH123 - closed by `wait`
        self.output: BinaryIO = open(out_here, "rb")  # noqa: SIM115, PTH123
        self.errors: BinaryIO = open(err_here, "rb")  # noqa: SIM115, PTH123
        nursery = _nursery(os.getpid())
        socket.send_fds(nursery, [f"{task}\n".encode()], [in_, out, err])
        for descriptor in (in_, out, err):
            os.close(descriptor)
        self.pid = int(_line(nursery))

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
        nursery = _nursery(os.getpid())
        nursery.sendall(f"{self.pid}\n".encode())
        return int(_line(nursery))


@cache
def _nursery(process: int) -> socket.socket:  # noqa: ARG001 - one for each process
    """The way to the process that forks writers; it ends when nobody can ask it any more."""
    here, there = socket.socketpair()
    here.settimeout(_PATIENCE)
    command = [sys.executable, "-m", _MODULE, "--nursery", str(there.fileno())]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[there.fileno()])
    there.close()
    atexit.register(_leave, here, process)
    return here


def _leave(nursery: socket.socket, process: subprocess.Popen[bytes]) -> None:
    nursery.close()
    process.terminate()
    process.wait(_PATIENCE)


def _line(nursery: socket.socket) -> str:
    said = b""
    while not said.endswith(b"\n"):
        more = nursery.recv(100)
        assert more, "the process that forks writers is gone"
        said += more
    return said.decode()
