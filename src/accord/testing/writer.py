"""A process that makes attempts at shared sessions, and says which were answered.

    python -m accord.testing.writer '{"opener": …, "address": …, "contract": …, "keys": […], …}'

Each answered attempt goes to standard output at once, in one piece, as a line of JSON: key, event, id, verdict. So
whoever kills the process knows what it had been told. With `attempts` 0 it goes on until it is killed.

    python -m accord.testing.writer --nursery DESCRIPTOR

forks such a process for each task that comes through a socket; see `crew`.
"""

from __future__ import annotations

import json
import os
import random
import socket
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from itertools import count
from threading import Thread
from typing import TYPE_CHECKING, Any

import accord
from accord.monitor import Blocked, Ok, Unrecognized, Violation
from accord.stores import StoredSession

if TYPE_CHECKING:
    from accord.machine.contract import Contract
    from accord.stores import Store

__all__ = ["main"]

_KINDS = {Ok: "ok", Violation: "violation", Blocked: "blocked", Unrecognized: "unrecognized"}


def _tell(*line: str) -> None:
    os.write(1, f"{json.dumps(line)}\n".encode())


def _work(store: Store, contract: Contract, task: dict[str, Any], name: str) -> None:
    dice = random.Random(name)
    sessions = {key: StoredSession(store, contract, key) for key in task["keys"]}
    sizes = task["sizes"]
    for number in range(task["attempts"]) if task["attempts"] else count():
        key = dice.choice(task["keys"])
        label = dice.choice(task["labels"])
        identity = f"{name}/{number}"
        payload = {"id": identity, "fill": "x" * dice.choice(sizes)}
        verdict = sessions[key].send(label, payload)
        why = verdict.reason if isinstance(verdict, Blocked) else ""
        _tell(key, f"!{label}", identity, _KINDS[type(verdict)], why)


def main(text: str) -> None:
    """Do what a task says."""
    task = json.loads(text)
    module, _, function = task["opener"].partition(":")
    secret = task.get("secret")
    store = getattr(import_module(module), function)(task["address"], secret=secret.encode() if secret else None)
    contract = accord.compile(task["contract"])
    _tell("", "ready", task["name"], "", "")
    threads = [
        Thread(target=_work, args=(store, contract, task, f"{task['name']}.{number}"))
        for number in range(task["threads"])
    ]
    if task.get("wait"):
        sys.stdin.readline()  # until everybody is ready
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.close()


def nurse(descriptor: int) -> None:
    """Fork a writer for each task, answered by its process id; for such an id that comes back, wait for its end."""
    for driver in ("psycopg", "redis", "accord.stores.postgres", "accord.stores.redis", "accord.stores.sqlite"):
        with suppress(ImportError):
            import_module(driver)
    with socket.socket(fileno=descriptor) as asked:
        while text := _next_task(asked):
            words, descriptors = text
            if not descriptors:
                code = os.waitstatus_to_exitcode(os.waitpid(int(words), 0)[1])
                asked.sendall(f"{code}\n".encode())
                continue
            import_module(json.loads(words)["opener"].partition(":")[0])
            process = os.fork()
            if process == 0:
                asked.close()
                _become(words, descriptors)
            for each in descriptors:
                os.close(each)
            asked.sendall(f"{process}\n".encode())


def _next_task(asked: socket.socket) -> tuple[str, list[int]] | None:
    said, descriptors = b"", []
    while not said.endswith(b"\n"):
        more, some, *_ = socket.recv_fds(asked, 1 << 16, 3)
        if not more:
            return None
        said += more
        descriptors += some
    return said.decode(), descriptors


def _become(words: str, descriptors: list[int]) -> None:
    """In a child: do the task and end, and nothing else."""
    code = 1
    try:
        for number, each in enumerate(descriptors):
            os.dup2(each, number)
            os.close(each)
        main(words)
        code = 0
    except BaseException:  # noqa: BLE001 - whatever it is, it is told
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    if sys.argv[1] == "--nursery":
        nurse(int(sys.argv[2]))
    else:
        main(sys.argv[1])
