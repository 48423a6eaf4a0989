"""Agents that follow protocols: classes that say which role they play, checked before they run and while they do.

`@follows` declares a role, `Agent` has the verbs (`send`, `reply`, `receive`), a `Supervisor` runs agents and starts
them again when they crash. Names are loaded when they are first used: who only checks code loads no event loop.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accord.agents.agent import Agent
    from accord.agents.declaring import follows, on
    from accord.agents.failures import GaveUpError, PartnerCrashedError
    from accord.agents.messages import Crash
    from accord.agents.persistence import persistent
    from accord.agents.references import AgentRef
    from accord.agents.runtime.in_process import InProcess
    from accord.agents.runtime.redis_streams import RedisStreams
    from accord.agents.runtime.supervisor import Supervisor

__all__ = [
    "Agent",
    "AgentRef",
    "Crash",
    "GaveUpError",
    "InProcess",
    "PartnerCrashedError",
    "RedisStreams",
    "Supervisor",
    "follows",
    "on",
    "persistent",
]

_HOME = {
    "Agent": "accord.agents.agent",
    "AgentRef": "accord.agents.references",
    "Crash": "accord.agents.messages",
    "GaveUpError": "accord.agents.failures",
    "InProcess": "accord.agents.runtime.in_process",
    "PartnerCrashedError": "accord.agents.failures",
    "RedisStreams": "accord.agents.runtime.redis_streams",
    "Supervisor": "accord.agents.runtime.supervisor",
    "follows": "accord.agents.declaring",
    "on": "accord.agents.declaring",
    "persistent": "accord.agents.persistence",
}


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'accord.agents' has no attribute {name!r}")
    return getattr(import_module(home), name)
