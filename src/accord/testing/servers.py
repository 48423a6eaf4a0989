"""Real servers for tests: PostgreSQL and Redis on a loopback port, with their data in a temporary folder.

They are found where Debian and the path have them; `why_not` says what is missing. A server goes when its `with` block
ends, and on Linux also when the process that started it dies.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections import deque
from contextlib import suppress
from pathlib import Path
from random import SystemRandom
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Self

from accord.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PostgresServer", "RedisServer", "Server"]

_PATIENCE = 60
_TRIES = 5
_PORTS = 15_000, 32_000  # below those that Linux gives to whoever asks for any
_TAKEN = re.compile("address already in use", re.IGNORECASE)
_PARENT_DEATH = 1  # PR_SET_PDEATHSIG


class Server:
    """A server that runs while one is inside its `with` block; `url` is where.

    Without `flush` it writes nothing to the disk before it answers, for benchmarks.
    """

    ready = b""
    stop_signal: signal.Signals = signal.SIGTERM
    quick_signal: signal.Signals = signal.SIGTERM

    def __init__(self, *, flush: bool = True) -> None:
        self.flush = flush
        self.port = _free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="accord-server-"))
        self.process: subprocess.Popen[bytes] | None = None
        self._said: deque[str] = deque(maxlen=30)
        self._answers = False

    @classmethod
    def why_not(cls) -> str | None:
        """What is missing to run it here; `None` if nothing is."""
        raise NotImplementedError

    @property
    def url(self) -> str:
        """Where it listens."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Whatever is to be done once, before the first start."""

    def command(self) -> list[str]:
        """The command that runs it in the foreground."""
        raise NotImplementedError

    def owner(self) -> dict[str, Any]:
        """As whom it runs, as `subprocess` takes it."""
        return {}

    def start(self) -> None:
        """Start it and wait until it answers."""
        process = subprocess.Popen(
            self.command(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=self.folder,
            preexec_fn=_die_with_parent(self.stop_signal),  # noqa: PLW1509 - only a system call is made there
            start_new_session=True, **self.owner(),
        )  # fmt: skip
        self.process = process
        self._answers = False
        answers = Event()
        Thread(target=self._listen, args=(process, answers), daemon=True).start()
        answers.wait(_PATIENCE)
        if not self._answers:
            self.stop()
            raise StoreError(f"{self.command()[0]} does not start: {' / '.join(self._said)}")

    def _listen(self, process: subprocess.Popen[bytes], answers: Event) -> None:
        assert process.stdout is not None
        with process.stdout as output:
            for line in output:
                self._said.append(line.decode(errors="replace").strip())
                if self.ready in line:
                    self._answers = True
                    answers.set()
        answers.set()

    def stop(self, how: signal.Signals | None = None) -> None:
        """Stop it, gently or by another signal, and wait until it is gone."""
        if self.process is not None:
            self.process.send_signal(how or self.stop_signal)
            try:
                self.process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None

    def crash(self) -> None:
        """Stop it without letting it finish anything, and start it again."""
        self.stop(signal.SIGKILL)
        self.start()

    def __enter__(self) -> Self:
        try:
            self.prepare()
            self._start_somewhere()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start_somewhere(self) -> None:
        """Start it; somebody else may have taken the port since it was found free, and then it is another one."""
        for _ in range(_TRIES):
            try:
                self.start()
            except StoreError:
                if not any(_TAKEN.search(line) for line in self._said):
                    raise
            else:
                return
            self._said.clear()
            self.port = _free_port()
        self.start()

    def __exit__(self, *_: object) -> None:
        self.stop(self.quick_signal)  # nobody will look at its data again
        shutil.rmtree(self.folder, ignore_errors=True)


class RedisServer(Server):
    """A Redis that writes every step to its file before it answers."""

    ready = b"Ready to accept connections"

    @classmethod
    def why_not(cls) -> str | None:
        """What is missing to run it here."""
        return None if shutil.which("redis-server") else "there is no redis-server here"

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"redis://127.0.0.1:{self.port}/0"

    def command(self) -> list[str]:
        """The command that runs it in the foreground."""
        options = {
            "port": str(self.port), "bind": "127.0.0.1", "dir": str(self.folder), "save": "",
            "appendonly": "yes" if self.flush else "no", "appendfsync": "always", "daemonize": "no",
            "maxmemory-policy": "noeviction",
        }  # fmt: skip
        arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
        return [shutil.which("redis-server") or "redis-server", *arguments]


class PostgresServer(Server):
    """A PostgreSQL cluster of its own; run as the user `postgres` if we are root, as it refuses to be."""

    ready = b"ready to accept connections"
    stop_signal = signal.SIGINT  # "fast": does not wait for clients
    quick_signal = signal.SIGQUIT  # "immediate": does not even write down what it has in memory

    @classmethod
    def why_not(cls) -> str | None:
        """What is missing to run it here."""
        if sys.platform == "win32":
            return "PostgreSQL is not started on Windows"
        if _postgres("initdb") is None:
            return "there is no PostgreSQL server here"
        if os.geteuid() == 0 and _postgres_user() is None:
            return "PostgreSQL does not run as root, and there is no user `postgres`"
        return None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"postgresql://accord@127.0.0.1:{self.port}/postgres"

    def owner(self) -> dict[str, Any]:
        """As whom it runs."""
        user = _postgres_user()
        if os.geteuid() != 0 or user is None:
            return {}
        return {"user": user, "group": user, "extra_groups": []}

    def prepare(self) -> None:
        """Make the cluster."""
        user = self.owner().get("user")
        if user:
            shutil.chown(self.folder, user, user)
        subprocess.run(
            [_postgres("initdb") or "initdb", "--pgdata", str(self.folder / "data"), "--username", "accord",
             "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync"],
            check=True, capture_output=True, timeout=_PATIENCE, cwd=self.folder, **self.owner(),
        )  # fmt: skip

    def command(self) -> list[str]:
        """The command that runs it in the foreground."""
        options = {
            "listen_addresses": "127.0.0.1", "port": str(self.port), "unix_socket_directories": str(self.folder),
            "max_connections": "200", "shared_buffers": "32MB", "fsync": "on" if self.flush else "off",
        }  # fmt: skip
        settings = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        return [_postgres("postgres") or "postgres", "-D", str(self.folder / "data"), *settings]


def _postgres(name: str) -> str | None:
    """A program of PostgreSQL; Debian keeps them off the path."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: p.parent.name.zfill(4), reverse=True)
    return next((str(folder / name) for folder in versions if (folder / name).exists()), None) or shutil.which(name)


def _postgres_user() -> str | None:
    import pwd  # noqa: PLC0415 - not everywhere

    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        return None


def _free_port() -> int:
    """A port that nobody has. A server keeps it while it is stopped, so it is none that the system gives away."""
    while True:
        port = SystemRandom().randrange(*_PORTS)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def _die_with_parent(how: signal.Signals) -> Callable[[], None] | None:
    """Between fork and exec: let the operating system send the signal when whoever started us dies."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    return lambda: prctl(_PARENT_DEATH, how, 0, 0, 0)
