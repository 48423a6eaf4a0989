"""Guards for the tests: in memory and in stores, and tools that say when they ran."""

from __future__ import annotations

import re
from contextlib import suppress
from random import Random

import pytest

from accord import Guard, MemoryStore, SQLiteStore, UsageError, compile
from accord.machine.contract import Contract

EVENTS = ("a", "ask", "b", "remind", "stop")
"""What the programs of these tests report, where it is no tool."""


def warm(contract, **options):
    """The guard of a session that goes where others of its contract have been, so that all places are remembered."""
    compiled = contract if isinstance(contract, Contract) else compile(contract)
    for seed in range(4):
        dice, other = Random(seed), Guard(compiled, protocol=options.get("protocol"), patience=999)
        for _ in range(4):
            for word in dice.sample(allowed := other.allowed(), len(allowed)):
                with suppress(UsageError):  # as of what only people do
                    (other.send if word.startswith("!") else other.receive)(re.match(r"[!?](\w+)", word)[1])
    return Guard(compiled, **options)


@pytest.fixture(name="guard_of", params=["no store", "no store, warm", "memory store", "sqlite"])
def _guard_of(request, tmp_path):
    """Makes guards of one session; those without a store each have their own."""
    kept = {}
    if request.param == "memory store":
        kept = {"store": MemoryStore(), "key": "s1"}
    if request.param == "sqlite":
        kept = {"store": SQLiteStore(tmp_path / "sessions.db", fsync="never"), "key": "s1"}
    guard = warm if request.param == "no store, warm" else Guard
    yield lambda contract, **options: guard(contract, **kept, **{"events": EVENTS, **options})
    if kept:
        assert kept["store"].session("s1") is None or kept["store"].verify("s1").ok
        kept["store"].close()


@pytest.fixture(name="shared_of", params=["memory store", "sqlite"])
def _shared_of(request, tmp_path):
    """Makes guards of one session in a store, each with a home of its own."""
    store = MemoryStore() if request.param == "memory store" else SQLiteStore(tmp_path / "s.db", fsync="never")
    yield lambda contract, **options: Guard(contract, store=store, key="s1", **{"events": EVENTS, **options})
    store.close()


class Tools(dict):
    """Tools that take anything, and `ran`, which of them ran in which order."""

    def __init__(self, *names):
        self.ran = []
        super().__init__({name: self._tool(name) for name in names})

    def _tool(self, name):
        def tool(**arguments):
            self.ran.append(name)
            return arguments or None

        return tool


@pytest.fixture(name="tools_named")
def _tools_named():
    return Tools
