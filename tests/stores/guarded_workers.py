"""Processes that run guarded tools against one store and are killed in the middle of it.

    python guarded_workers.py '{"opener": …, "address": …, "effects": …, "kills": …, "at_a_time": …}'

Each worker is forked from here, opens the store for itself, and goes on until it is killed with SIGKILL. What a tool
does is a line in the file `effects`, written in one piece. What a worker was told has been settled is a line of its
own, which goes to standard output; so whoever reads both knows what happened and what was promised.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from importlib import import_module
from itertools import count
from time import sleep

import accord
from accord import Guard, PostgresStore, RedisStore, SQLiteStore, ToolCall

CONTRACT = """
protocol Work = rec L.{!pay.L, !wire.?wire.L, !stop.end}
rule "one transfer" { at most 1 wire }
"""
COMPILED = accord.compile(CONTRACT)
IDS = 40


def work(task, key, name, answers):
    """Ask for the same calls as everybody else, in an order of one's own."""
    module, _, function = task["opener"].partition(":")
    store = getattr(import_module(module), function)(task["address"])
    effects = os.open(task["effects"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    dice = random.Random(name)

    def does(what):
        def tool(call):
            sleep(dice.random() / 100)  # so that many are killed just here
            os.write(effects, f"{json.dumps([key, what, call])}\n".encode())
            sleep(dice.random() / 100)
            return call

        return tool

    tools = {"pay": does("pay"), "wire": does("wire")}
    guard = Guard(COMPILED, store=store, key=key, tools=tools, patience=10**9, events=["stop"])
    for _ in count():
        what = "wire" if dice.random() < 0.1 else "pay"
        call = f"{what} {dice.randrange(IDS)}"
        (result,) = guard.run([ToolCall(what, {"call": call}, call)])
        os.write(answers, f"{json.dumps([key, what, call, result.ok])}\n".encode())


def killed_after(task, key, name, lines):
    """Start a worker; a function that kills it after so many answers and gives all of them."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reading)
            work(task, key, name, writing)
        except BaseException as error:
            os.write(2, f"{name}: {error!r}\n".encode())
        finally:
            os._exit(1)
    os.close(writing)

    def kill():
        with os.fdopen(reading, "rb") as pipe:
            told = [line for _, line in zip(range(lines), pipe, strict=False)]
            os.kill(pid, signal.SIGKILL)
            told += pipe.readlines()  # what it got out before the end counts too
        _, status = os.waitpid(pid, 0)
        assert os.WIFSIGNALED(status), f"{name} has ended by itself"
        return [line for line in told if line.endswith(b"\n")]

    return kill


def main(text):
    task = json.loads(text)
    assert PostgresStore and RedisStore and SQLiteStore, "loaded once, and not by each worker"
    dice = random.Random(9)
    for first in range(0, task["kills"], task["at_a_time"]):
        crew = [
            killed_after(task, f"s{first}", f"w{first + n}", dice.randint(0, 12))
            for n in range(min(task["at_a_time"], task["kills"] - first))
        ]
        for kill in crew:
            sys.stdout.buffer.writelines(kill())


if __name__ == "__main__":
    main(sys.argv[1])
