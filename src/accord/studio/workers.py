"""The processes that work on requests, seen from the studio.

There are as many as there was ever work for at the same time. The one that was busy last is asked first, because it
remembers what the page is about.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

import msgspec

from accord.errors import InternalError
from accord.studio.answering import encode
from accord.studio.worker import OUT_OF_MEMORY, PROGRESS, read_frame, write_frame

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.studio.answering import Reply
    from accord.studio.bounds import Bounds

__all__ = ["Workers"]

# Not from the folder somebody happens to be in, which may hold anything.
_COMMAND = (sys.executable, "-P", "-m", "accord.studio.worker")
_PATIENCE = 5.0


class Workers:
    """Processes that answer, and the folder of files that they are asked about; whoever has made them closes them."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._lock = threading.Lock()
        self._folder = tempfile.TemporaryDirectory(prefix="accord-studio-")
        self.uploads = Path(self._folder.name)
        self._idle = [_Worker(bounds, self.uploads)]  # begun before anybody asks, because loading takes half a second
        self._busy: set[_Worker] = set()
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def answer(self, name: str, body: bytes, tell: Callable[[bytes], None]) -> Reply:
        """The answer to a request, or why there is none. It takes no longer than the bounds say to tell how far it is.

        Whoever does not want the answer any more raises something when told; the work is ended then.
        """
        worker = self._taken()
        try:
            answer = worker.ask(name, body, tell)
        except BaseException:
            worker.kill()
            with self._lock:
                self._busy.discard(worker)
            worker.bury()
            raise
        with self._lock:
            self._busy.discard(worker)
            if answer is not None:
                self._idle.append(worker)
                return answer
        return self._lost(worker.bury())

    def close(self) -> None:
        """End all of them, whatever they are doing."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            for worker in (*idle, *self._busy):
                worker.kill()
        for worker in idle:  # those that are busy are buried by whoever waits for their answers
            worker.bury()
        self._folder.cleanup()

    def _taken(self) -> _Worker:
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.is_alive:
                    break
                worker.bury()
            else:
                worker = _Worker(self._bounds, self.uploads)
            self._busy.add(worker)
            return worker

    def _lost(self, code: int) -> Reply:
        """Why a worker has ended instead of answering."""
        bounds = self._bounds
        if self._closed:
            return 503, encode({"error": "the studio was ended"})
        if code == -signal.SIGALRM:
            return 503, encode({"error": f"it takes longer than {bounds.seconds:g} seconds, so it was given up"})
        if code in {OUT_OF_MEMORY, -signal.SIGKILL}:
            limit = f"{bounds.memory_bytes // 1_000_000:,} MB"
            return 503, encode({"error": f"it needs more than {limit} of memory, so it was given up"})
        return 500, encode({"error": str(InternalError(f"a worker of the studio ended with status {code}"))})


class _Worker:
    def __init__(self, bounds: Bounds, uploads: Path) -> None:
        # What it leaves behind when it is ended is here, and goes with it.
        self._folder = tempfile.TemporaryDirectory(prefix="accord-studio-")
        pipe = subprocess.PIPE
        environment = {**os.environ, "TMPDIR": self._folder.name}
        self._process = subprocess.Popen(_COMMAND, stdin=pipe, stdout=pipe, env=environment)  # noqa: S603 - our own module
        self._tell(0, msgspec.json.encode((bounds, str(uploads))))

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, name: str, body: bytes, tell: Callable[[bytes], None]) -> Reply | None:
        """Its answer; nothing if it has ended."""
        called = name.encode()
        self._tell(len(called), called + body)
        assert self._process.stdout is not None  # noqa: S101 - for the type checker
        while (frame := self._heard(self._process.stdout)) is not None and frame[0] == PROGRESS:
            tell(frame[1])
        return frame

    @staticmethod
    def _heard(told: IO[bytes]) -> tuple[int, bytes] | None:
        try:
            return read_frame(told)
        except (OSError, ValueError):  # it was ended by `close` in the meantime
            return None

    def _tell(self, mark: int, content: bytes) -> None:
        assert self._process.stdin is not None  # noqa: S101 - for the type checker
        with suppress(OSError, ValueError):  # it is gone, as whoever reads its answer will see
            write_frame(self._process.stdin, mark, content)

    def kill(self) -> None:
        """End it, whatever it is doing."""
        self._process.kill()

    def bury(self) -> int:
        """What is to be done when it has ended, or is about to; its exit status."""
        try:
            code = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            code = self._process.wait()
        for file in (self._process.stdin, self._process.stdout):
            assert file is not None  # noqa: S101 - for the type checker
            with suppress(OSError):  # what it was not told any more
                file.close()
        self._folder.cleanup()
        return code
