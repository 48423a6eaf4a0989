"""The configuration of traces under the address that users of trace contracts know it by.

It is the one of `accord.trace`; what they have written needs the name of the package changed and nothing else.
"""

from __future__ import annotations

from accord.trace import (
    FingerprintConfig,
    GenerateBoundariesConfig,
    NormaliserConfig,
    OnViolationConfig,
    StreamBoundariesConfig,
    ToolOrderConfig,
    ToolPayloadSchemaConfig,
    ToolPayloadsConfig,
    ToolResultsConfig,
    TraceConfig,
    TraceContractsConfig,
    TracePayloadNormaliser,
    TraceRedactConfig,
    TraceStoreConfig,
    ValidatorConfig,
    load_trace_config,
    validate_with_config,
)

__all__ = [
    "FingerprintConfig",
    "GenerateBoundariesConfig",
    "NormaliserConfig",
    "OnViolationConfig",
    "StreamBoundariesConfig",
    "ToolOrderConfig",
    "ToolPayloadSchemaConfig",
    "ToolPayloadsConfig",
    "ToolResultsConfig",
    "TraceConfig",
    "TraceContractsConfig",
    "TracePayloadNormaliser",
    "TraceRedactConfig",
    "TraceStoreConfig",
    "ValidatorConfig",
    "load_trace_config",
    "validate_with_config",
]
