"""Who is measured beside accord: the peers, a machine written by hand, and methods that do nothing."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "ACEL",
    "ACEL_VERSION",
    "FLOOR",
    "ONE_ARGUMENT",
    "OPENAI",
    "OPENAI_VERSION",
    "PEER",
    "PEER_VERSION",
    "DictMachine",
    "Nothing",
    "Session",
    "deep_stack",
    "load_acel",
    "load_openai",
    "load_peer",
]

PEER = "llmsessioncontract"
PEER_VERSION = "0.8.0"
ACEL = "acel-core"
ACEL_VERSION = "0.1.13"
"""A second peer, for rules only: it has no protocols."""
OPENAI = "openai-agents"
OPENAI_VERSION = "0.24.0"
"""A third one, for guards: functions that look at the calls of tools."""

FLOOR = "empty method"
ONE_ARGUMENT = "empty method, 1 argument"


class Session(Protocol):
    """What all of them can do."""

    @property
    def trace(self) -> list[str]:
        """The words so far."""

    def send(self, label: str, /) -> object:
        """The agent sends."""

    def receive(self, label: str, /) -> object:
        """The agent receives."""


class DictMachine:
    """What a careful engineer writes inline: a dict of dicts and a trace. No lock, no reasons, no snapshots."""

    def __init__(self, sends: dict[int, dict[str, int]], receives: dict[int, dict[str, int]]) -> None:
        self.sends = sends
        self.receives = receives
        self.state = 0
        self.trace: list[str] = []

    def send(self, label: str) -> bool:
        """Whether the agent may send this; if so, it is done."""
        after = self.sends[self.state].get(label)
        if after is None:
            return False
        self.trace.append("!" + label)
        self.state = after
        return True

    def receive(self, label: str) -> bool:
        """Whether the agent may receive this; if so, it is done."""
        after = self.receives[self.state].get(label)
        if after is None:
            return False
        self.trace.append("?" + label)
        self.state = after
        return True

    def peek_send(self, label: str) -> bool:
        """Whether the agent may send this."""
        return label in self.sends[self.state]


class Nothing:
    """Methods that do nothing: what a call costs in this interpreter, whatever is called."""

    def nothing(self) -> None:
        """Take nothing: the floor."""

    def one(self, label: str) -> None:
        """Take one argument."""


def load_peer() -> Any:  # noqa: ANN401 - it has no types
    """The peer's module, or `None` if it, in the version we compare with, is not here."""
    return _load("llmcontract", PEER, PEER_VERSION)


def load_acel() -> Any:  # noqa: ANN401 - as above
    """The second peer's module, or `None` as above."""
    return _load("acel", ACEL, ACEL_VERSION)


def load_openai() -> Any:  # noqa: ANN401 - as above
    """The third peer's module, or `None` as above."""
    return _load("agents", OPENAI, OPENAI_VERSION)


def _load(module: str, distribution: str, version: str) -> Any:  # noqa: ANN401
    try:
        if metadata.version(distribution) != version:
            return None
        return import_module(module)
    except ImportError:
        return None


@contextmanager
def deep_stack() -> Iterator[None]:
    """Room for the peer to compile contracts that are too long for the interpreter's usual recursion limit."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(50_000)
    try:
        yield
    finally:
        sys.setrecursionlimit(usual)
