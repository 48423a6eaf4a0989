"""accord for LangChain: agents of `create_agent` under contract.

`AccordMiddleware` enforces a contract of our language. `ProtocolFSM` and its kin are for protocols that are put
together in Python, state by state.

Names are loaded when they are first used. Those that need LangChain say so if it is missing: it comes with the extra
`accord-contracts[langchain]`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accord.langchain.asking import ProtocolDecisions, ProtocolResume
    from accord.langchain.fsm import MonitorContext, ProtocolFSM, ToolRef, Transition, ref
    from accord.langchain.middleware import AccordMiddleware
    from accord.langchain.monitor import ProtocolMonitor
    from accord.langchain.protocol_middleware import CheckpointedProtocolMiddleware, ProtocolEnforcerMiddleware
    from accord.langchain.schema import ProtocolState
    from accord.langchain.threads import AsyncThreadSession, ThreadSession
    from accord.langchain.violations import ProtocolViolationError, ViolationEvent

_HOME = {
    "AccordMiddleware": "middleware",
    "AsyncThreadSession": "threads",
    "CheckpointedProtocolMiddleware": "protocol_middleware",
    "MonitorContext": "fsm",
    "ProtocolEnforcerMiddleware": "protocol_middleware",
    "ProtocolFSM": "fsm",
    "ProtocolMonitor": "monitor",
    "ProtocolDecisions": "asking",
    "ProtocolResume": "asking",
    "ProtocolState": "schema",
    "ProtocolViolationError": "violations",
    "ThreadSession": "threads",
    "ToolRef": "fsm",
    "Transition": "fsm",
    "ViolationEvent": "violations",
    "ref": "fsm",
}

__all__ = [
    "AccordMiddleware",
    "AsyncThreadSession",
    "CheckpointedProtocolMiddleware",
    "MonitorContext",
    "ProtocolDecisions",
    "ProtocolEnforcerMiddleware",
    "ProtocolFSM",
    "ProtocolMonitor",
    "ProtocolResume",
    "ProtocolState",
    "ProtocolViolationError",
    "ThreadSession",
    "ToolRef",
    "Transition",
    "ViolationEvent",
    "ref",
]

_NEEDED = ("langchain", "langchain_core", "langgraph")


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'accord.langchain' has no attribute {name!r}")
    try:
        value = getattr(import_module(f"accord.langchain.{home}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _NEEDED:
            raise
        raise ImportError(
            f"`accord.langchain.{name}` needs LangChain ({error.name} is missing): "
            "pip install 'accord-contracts[langchain]'",
            name=error.name,
        ) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
