"""Processes that pay orders under a guard, with people beside them, and are killed in the middle of it.

    python kill_worker.py '{"opener": …, "address": …, "folder": …, "kills": …, "at_a_time": …}'

Each round forks some workers, which share a session: agents that verify and pay, and answer the questions to people
too. What a tool does is a line in the file of its session, written in one piece. Each is killed with SIGKILL after so
many steps as it was told by lot; one in three dies by its own hand, in a tool, before or after that line.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from contextlib import suppress
from importlib import import_module

from accord import PostgresStore, RedisStore, SQLiteStore, ToolCall
from accord.errors import AccordError
from tests.lives.truth import CONTRACT, guard_of

ORDERS = 6
MOST_STEPS = 25


def work(task, key, name, telling):
    """Live in the session that all of a round share, until one is killed."""
    dice = random.Random(name)
    module, _, function = task["opener"].partition(":")
    store = getattr(import_module(module), function)(task["address"])
    effects = os.open(f"{task['folder']}/{key}", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    suicide = dice.randint(0, 6) if dice.random() < 0.34 else -1
    calls = 0
    asked: list[ToolCall] = []

    def tool(what, order, amount):
        nonlocal calls
        calls += 1
        identity = next(call.id for call in asked if (call.name, call.arguments["order"]) == (what, order))
        if calls == suicide and dice.random() < 0.5:
            os.kill(os.getpid(), signal.SIGKILL)
        ok = dice.random() < 0.9
        os.write(effects, f"{json.dumps([what, identity, order, amount, ok])}\n".encode())
        if calls == suicide:
            os.kill(os.getpid(), signal.SIGKILL)
        if dice.random() < 0.1:
            raise TimeoutError("no answer")
        return {"ok": ok}

    guard = guard_of(store, key, time.time, tool)
    number = 0
    while True:
        number += 1
        order = dice.randrange(ORDERS)
        with suppress(AccordError):
            if dice.random() < 0.3:
                for review in guard.reviews():
                    if review.call is None:
                        guard.decide(review.id, "allow", by="ana")
            else:
                asked = [
                    ToolCall("verify", {"order": order}, f"v{name} {number}"),
                    ToolCall("pay", {"order": order, "amount": dice.choice((5, 5, 200))}, f"p{name} {number}"),
                ][dice.choice((0, 0, 1)) :]
                guard.run(asked)
        os.write(telling, b".")


def begin(task, key, name):
    """Fork a worker; its process, and what it tells of its steps."""
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            os.close(reading)
            work(task, key, name, writing)
        except BaseException as error:
            os.write(2, f"{name}: {error!r}\n".encode())
        finally:
            os._exit(1)
    os.close(writing)
    return pid, reading


def kill(pid, reading, steps):
    """Kill a worker after so many steps, unless it has done that itself."""
    left = steps
    while left > 0 and (told := os.read(reading, left)):
        left -= len(told)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(reading)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, "a worker has ended by itself"


def main(text):
    task = json.loads(text)
    assert CONTRACT and PostgresStore and RedisStore and SQLiteStore, "loaded once, and not by each worker"
    dice = random.Random(task["seed"])
    for first in range(0, task["kills"], task["at_a_time"]):
        many = min(task["at_a_time"], task["kills"] - first)
        crew = [begin(task, f"k{first}", f"{first} {n}") for n in range(many)]
        for pid, reading in crew:
            kill(pid, reading, dice.randint(1, MOST_STEPS))


if __name__ == "__main__":
    main(sys.argv[1])
