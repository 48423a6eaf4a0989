"""Traces of agent runs: recorded, brought into a normal form, fingerprinted, and held to contracts."""

from __future__ import annotations

from accord.trace.config import (
    FingerprintConfig,
    GenerateBoundariesConfig,
    NormaliserConfig,
    OnViolationConfig,
    ProtocolConfig,
    StreamBoundariesConfig,
    ToolOrderConfig,
    ToolPayloadSchemaConfig,
    ToolPayloadsConfig,
    ToolResultsConfig,
    TraceConfig,
    TraceContractsConfig,
    TraceRedactConfig,
    TraceStoreConfig,
    ValidatorConfig,
)
from accord.trace.events import TraceEvent
from accord.trace.fingerprint import TraceFingerprint, event_hashes, fingerprint_events, trace_fingerprint
from accord.trace.loading import load_trace_config
from accord.trace.normaliser import TracePayloadNormaliser
from accord.trace.own_validators import TraceValidator, ValidatorError
from accord.trace.probe import AgentProbe
from accord.trace.probe_result import ProbeResult, TraceViolationError
from accord.trace.reading import read_trace
from accord.trace.recorder import TraceRecorder
from accord.trace.redaction import Redaction
from accord.trace.sinks import JsonlSink, TraceSink
from accord.trace.validation import (
    Validation,
    compile_trace_config,
    iter_violations,
    validate_file,
    validate_with_config,
)
from accord.trace.violations import Violation

__all__ = [
    "AgentProbe",
    "FingerprintConfig",
    "GenerateBoundariesConfig",
    "JsonlSink",
    "NormaliserConfig",
    "OnViolationConfig",
    "ProbeResult",
    "ProtocolConfig",
    "Redaction",
    "StreamBoundariesConfig",
    "ToolOrderConfig",
    "ToolPayloadSchemaConfig",
    "ToolPayloadsConfig",
    "ToolResultsConfig",
    "TraceConfig",
    "TraceContractsConfig",
    "TraceEvent",
    "TraceFingerprint",
    "TracePayloadNormaliser",
    "TraceRecorder",
    "TraceRedactConfig",
    "TraceSink",
    "TraceStoreConfig",
    "TraceValidator",
    "TraceViolationError",
    "Validation",
    "ValidatorConfig",
    "ValidatorError",
    "Violation",
    "compile_trace_config",
    "event_hashes",
    "fingerprint_events",
    "iter_violations",
    "load_trace_config",
    "read_trace",
    "trace_fingerprint",
    "validate_file",
    "validate_with_config",
]
