"""accord: the contract layer for LLM agents.

Names are loaded when they are first used, so `import accord` costs next to nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # not imported: even `typing` would cost more than all of this module
if TYPE_CHECKING:
    from accord.choreography import project
    from accord.choreography.compiling import compile_contract as compile  # noqa: A004 - the pipeline's own word
    from accord.choreography.compiling import load_contract as load
    from accord.errors import (
        AccordError,
        ContractError,
        CorruptSessionError,
        InternalError,
        LabelWarning,
        NotDone,
        OrderWarning,
        ProtocolViolationError,
        StoreError,
        UsageError,
        ViolationError,
    )
    from accord.integrations import (
        LET_RUN,
        Decision,
        Guard,
        LLMResponse,
        MonitoredClient,
        Review,
        ToolCall,
        ToolMiddleware,
        ToolResult,
    )
    from accord.language import parse
    from accord.ledger import FileSink, Ledger, MemorySink, RecordedMonitor, RecordedSession
    from accord.limits import Limits
    from accord.machine.contract import Contract
    from accord.monitor import (
        UNRECOGNIZED,
        Blocked,
        Monitor,
        Ok,
        Unrecognized,
        Verdict,
        Violation,
    )
    from accord.session import Conversations, Session
    from accord.stores import (
        MemoryStore,
        PostgresStore,
        RedisStore,
        SQLiteStore,
        Store,
        StoredSession,
        open_store,
    )
    from accord.trace import (
        AgentProbe,
        FingerprintConfig,
        OnViolationConfig,
        TraceConfig,
        TraceContractsConfig,
        TraceEvent,
        TracePayloadNormaliser,
        TraceRecorder,
        TraceStoreConfig,
        load_trace_config,
        trace_fingerprint,
        validate_with_config,
    )

__version__ = "0.1.0"

_HOME = {
    "AccordError": "accord.errors",
    "AgentProbe": "accord.trace",
    "Blocked": "accord.monitor",
    "Contract": "accord.machine.contract",
    "ContractError": "accord.errors",
    "Conversations": "accord.session",
    "CorruptSessionError": "accord.errors",
    "Decision": "accord.integrations",
    "FileSink": "accord.ledger",
    "FingerprintConfig": "accord.trace",
    "Guard": "accord.integrations",
    "InternalError": "accord.errors",
    "LET_RUN": "accord.integrations",
    "LLMResponse": "accord.integrations",
    "LabelWarning": "accord.errors",
    "OrderWarning": "accord.errors",
    "Ledger": "accord.ledger",
    "Limits": "accord.limits",
    "MemorySink": "accord.ledger",
    "MemoryStore": "accord.stores",
    "Monitor": "accord.monitor",
    "MonitoredClient": "accord.integrations",
    "NotDone": "accord.errors",
    "Ok": "accord.monitor",
    "OnViolationConfig": "accord.trace",
    "PostgresStore": "accord.stores",
    "ProtocolViolationError": "accord.errors",
    "RecordedMonitor": "accord.ledger",
    "RecordedSession": "accord.ledger",
    "RedisStore": "accord.stores",
    "Review": "accord.integrations",
    "SQLiteStore": "accord.stores",
    "Session": "accord.session",
    "Store": "accord.stores",
    "StoreError": "accord.errors",
    "StoredSession": "accord.stores",
    "ToolCall": "accord.integrations",
    "ToolMiddleware": "accord.integrations",
    "ToolResult": "accord.integrations",
    "TraceConfig": "accord.trace",
    "TraceContractsConfig": "accord.trace",
    "TraceEvent": "accord.trace",
    "TracePayloadNormaliser": "accord.trace",
    "TraceRecorder": "accord.trace",
    "TraceStoreConfig": "accord.trace",
    "UNRECOGNIZED": "accord.monitor",
    "Unrecognized": "accord.monitor",
    "UsageError": "accord.errors",
    "Verdict": "accord.monitor",
    "Violation": "accord.monitor",
    "ViolationError": "accord.errors",
    "compile": "accord.choreography.compiling:compile_contract",
    "load": "accord.choreography.compiling:load_contract",
    "load_trace_config": "accord.trace",
    "open_store": "accord.stores",
    "parse": "accord.language",
    "project": "accord.choreography",
    "trace_fingerprint": "accord.trace",
    "validate_with_config": "accord.trace",
}

__all__ = [
    "LET_RUN",
    "UNRECOGNIZED",
    "AccordError",
    "AgentProbe",
    "Blocked",
    "Contract",
    "ContractError",
    "Conversations",
    "CorruptSessionError",
    "Decision",
    "FileSink",
    "FingerprintConfig",
    "Guard",
    "InternalError",
    "LLMResponse",
    "LabelWarning",
    "Ledger",
    "Limits",
    "MemorySink",
    "MemoryStore",
    "Monitor",
    "MonitoredClient",
    "NotDone",
    "Ok",
    "OnViolationConfig",
    "OrderWarning",
    "PostgresStore",
    "ProtocolViolationError",
    "RecordedMonitor",
    "RecordedSession",
    "RedisStore",
    "Review",
    "SQLiteStore",
    "Session",
    "Store",
    "StoreError",
    "StoredSession",
    "ToolCall",
    "ToolMiddleware",
    "ToolResult",
    "TraceConfig",
    "TraceContractsConfig",
    "TraceEvent",
    "TracePayloadNormaliser",
    "TraceRecorder",
    "TraceStoreConfig",
    "Unrecognized",
    "UsageError",
    "Verdict",
    "Violation",
    "ViolationError",
    "compile",
    "load",
    "load_trace_config",
    "open_store",
    "parse",
    "project",
    "trace_fingerprint",
    "validate_with_config",
]


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'accord' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    module, _, attribute = home.partition(":")
    value = getattr(import_module(module), attribute or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
