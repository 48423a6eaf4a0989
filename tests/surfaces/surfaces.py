"""All surfaces by name, each with how to drive it."""

from __future__ import annotations

from functools import partial

from accord import MemoryStore
from tests.surfaces.drivers.agents import by_agent
from tests.surfaces.drivers.audits import by_audit, by_studio, by_trace
from tests.surfaces.drivers.formats import WRITERS
from tests.surfaces.drivers.guards import by_arun, by_hand, by_run
from tests.surfaces.drivers.monitors import by_monitor
from tests.surfaces.drivers.room import fresh_key, sqlite
from tests.surfaces.drivers.tools import by_tools

__all__ = ["FORMATS", "SLOW", "SURFACES"]


def in_memory_store(contract, run):
    return by_hand(contract, run, store=MemoryStore(), key="s")


def in_sqlite(contract, run):
    return by_hand(contract, run, store=sqlite(), key=fresh_key())


SURFACES = {
    "monitor": by_monitor,
    "guard run": by_run,
    "guard arun": by_arun,
    "guard by hand": by_hand,
    "guard in memory store": in_memory_store,
    "guard in sqlite": in_sqlite,
    "langchain": by_agent,
    "tool middleware": by_tools,
    "trace": by_trace,
    "studio": by_studio,
    **{f"audit {source}": partial(by_audit, source=source) for source in WRITERS},
}
"""What drives each surface."""

SLOW = frozenset({"guard in memory store", "guard in sqlite", "langchain"})
"""Those in which LangChain or a store runs."""

FORMATS = tuple(name for name in SURFACES if name.startswith("audit "))
"""Audits, one for each format."""
