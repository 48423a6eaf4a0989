"""A process that makes attempts at shared sessions, and says which were answered.

    python -m accord.testing.writer '{"opener": …, "address": …, "contract": …, "keys": […], …}'

Each answered attempt goes to standard output at once, in one piece, as a line of JSON: key, event, id, verdict. So
whoever kills the process knows what it had been told. With `attempts` 0 it goes on until it is killed.
"""

from __future__ import annotations

import json
import os
import random
import sys
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


if __name__ == "__main__":
    main(sys.argv[1])
