"""The configuration of traces: what is kept, what is fingerprinted, what must hold, and what follows if it does not.

Every class here is one table of the YAML file, with its defaults. `load_trace_config` reads files and says what is
wrong with them; whoever builds a configuration in Python gets the same checks when it is compiled.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from accord.trace.normaliser import DROP_KEYS, HASH_PATHS, HASH_STRINGS_OVER

if TYPE_CHECKING:
    from accord.canonical import Json

__all__ = [
    "FingerprintConfig",
    "GenerateBoundariesConfig",
    "NormaliserConfig",
    "OnViolationConfig",
    "ProtocolConfig",
    "StreamBoundariesConfig",
    "ToolOrderConfig",
    "ToolPayloadSchemaConfig",
    "ToolPayloadsConfig",
    "ToolResultsConfig",
    "TraceConfig",
    "TraceContractsConfig",
    "TraceRedactConfig",
    "TraceStoreConfig",
    "ValidatorConfig",
    "normaliser_defaults",
]


def normaliser_defaults() -> dict[str, Any]:
    """What the builtin normaliser does unless told otherwise."""
    return {
        "drop_keys": list(DROP_KEYS),
        "drop_key_regex": [],
        "hash_paths": list(HASH_PATHS),
        "hash_strings_over": HASH_STRINGS_OVER,
    }


@dataclass(frozen=True, slots=True)
class TraceRedactConfig:
    """What must not be seen: places in payloads, as JSON pointers with `*` and `**`."""

    enabled: bool = False
    json_pointers: list[str] = field(default_factory=list)
    replacement: str = "<redacted>"


@dataclass(frozen=True, slots=True)
class TraceStoreConfig:
    """What is kept of a trace. Validators and fingerprint see all of it, whatever is kept.

    `full` keeps events, `compact` the digest of each event, `none` nothing but fingerprint and violations.
    """

    mode: Literal["full", "compact", "none"] = "full"
    include_payloads: bool = True
    max_events: int | None = None
    max_event_payload_bytes: int | None = None
    redact: TraceRedactConfig = field(default_factory=TraceRedactConfig)


@dataclass(frozen=True, slots=True)
class NormaliserConfig:
    """How payloads are brought into a normal form.

    `builtin` is `structural_v1`, told by `config` what to drop and hash. `import` is a function of your own,
    `package.module:function`, which is called with a payload, and with `config` as keyword arguments if there is any.
    """

    kind: Literal["builtin", "import"] = "builtin"
    name: str = "structural_v1"
    import_: str | None = None
    config: dict[str, Any] = field(default_factory=normaliser_defaults)
    allow_imports: bool = False
    """Whether code may be imported. Never read from a file."""


@dataclass(frozen=True, slots=True)
class FingerprintConfig:
    """Whether and how fingerprints are made."""

    enabled: bool = True
    algorithm: str = "sha256"
    normaliser: NormaliserConfig = field(default_factory=NormaliserConfig)


@dataclass(frozen=True, slots=True)
class GenerateBoundariesConfig:
    """Every generation that begins ends, and none begins inside another unless their ids say so."""

    enabled: bool = True
    start_kind: str = "generate_start"
    end_kind: str = "generate_end"
    generate_id_key: str = "generate_id"


@dataclass(frozen=True, slots=True)
class StreamBoundariesConfig:
    """Chunks stand inside their stream, in order; streams are told apart by their id."""

    enabled: bool = True
    start_kind: str = "stream_start"
    chunk_kind: str = "stream_chunk"
    end_kind: str = "stream_end"
    stream_id_key: str = "stream_id"
    chunk_index_key: str = "chunk_index"
    first_chunk_index: int = 0
    require_end: bool = True
    require_monotonic_chunks: bool = True


@dataclass(frozen=True, slots=True)
class ToolResultsConfig:
    """Every call is answered exactly once, and nothing is answered that was not asked."""

    enabled: bool = True
    call_start_kind: str = "tool_call_start"
    call_result_kind: str = "tool_result"
    call_id_key: str = "tool_call_id"
    require_exactly_one_result: bool = True


@dataclass(frozen=True, slots=True)
class ToolPayloadSchemaConfig:
    """What a tool may be given and what it may return, as JSON Schema; `required`: a call must carry arguments."""

    required: bool = True
    args_schema: Json = None
    result_schema: Json = None


@dataclass(frozen=True, slots=True)
class ToolPayloadsConfig:
    """The schemas of tools by name, and where in a payload name and arguments stand."""

    enabled: bool = True
    tool_key: str = "tool_name"
    args_key: str = "arguments"
    tools: dict[str, ToolPayloadSchemaConfig] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolOrderConfig:
    """What must come before, after or never after what.

    `must_precede: {a: [b]}`: every b needs an earlier a. `must_follow: {a: [b]}`: every a needs an earlier b.
    `only_after_success: {a: [b]}`: every a needs an earlier result of b that was ok. `eventually: {a: [b]}`: once a was
    called, b is called before the run ends. `forbidden_sequences` are calls at once after each other,
    `forbidden_subsequences` with others in between. `at_most: {a: 3}`. `allowed_tools` lists all there may be.
    """

    enabled: bool = True
    allow_unknown_tools: bool = False
    must_precede: dict[str, list[str]] = field(default_factory=dict)
    must_follow: dict[str, list[str]] = field(default_factory=dict)
    only_after_success: dict[str, list[str]] = field(default_factory=dict)
    eventually: dict[str, list[str]] = field(default_factory=dict)
    forbidden_sequences: list[list[str]] = field(default_factory=list)
    forbidden_subsequences: list[list[str]] = field(default_factory=list)
    at_most: dict[str, int] = field(default_factory=dict)
    allowed_tools: list[str] | None = None


@dataclass(frozen=True, slots=True)
class ProtocolConfig:
    """An accord contract that runs must follow: its text, or the file that holds it.

    `time_key` names the key of payloads that says when an event happened, where the contract uses time.
    """

    enabled: bool = True
    contract: str | None = None
    file: str | None = None
    protocol: str | None = None
    time_key: str | None = None


@dataclass(frozen=True, slots=True)
class ValidatorConfig:
    """A validator of your own: what makes one for each run, as `package.module:attribute`.

    It is called with `config` as keyword arguments, if there is any, and gives a `TraceValidator`.
    """

    enabled: bool = True
    import_: str | None = None
    config: dict[str, Any] = field(default_factory=dict)
    allow_imports: bool = False
    """Whether code may be imported. Never read from a file."""


@dataclass(frozen=True, slots=True)
class TraceContractsConfig:
    """What must hold in every run."""

    enabled: bool = True
    fail_fast: bool = False
    generate_boundaries: GenerateBoundariesConfig = field(default_factory=GenerateBoundariesConfig)
    stream_boundaries: StreamBoundariesConfig = field(default_factory=StreamBoundariesConfig)
    tool_results: ToolResultsConfig = field(default_factory=ToolResultsConfig)
    tool_payloads: ToolPayloadsConfig = field(default_factory=ToolPayloadsConfig)
    tool_order: ToolOrderConfig = field(default_factory=ToolOrderConfig)
    protocol: ProtocolConfig = field(default_factory=ProtocolConfig)
    validators: dict[str, ValidatorConfig] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OnViolationConfig:
    """What follows a violation: it is recorded, or the probe fails, or the whole run does."""

    mode: Literal["record", "fail_probe", "fail_run"] = "record"


@dataclass(frozen=True, slots=True)
class TraceConfig:
    """Everything about the traces of an agent.

    Example:
        >>> TraceConfig().to_contracts()["fail_fast"]
        False
    """

    version: int = 1
    enabled: bool = True
    store: TraceStoreConfig = field(default_factory=TraceStoreConfig)
    fingerprint: FingerprintConfig = field(default_factory=FingerprintConfig)
    contracts: TraceContractsConfig = field(default_factory=TraceContractsConfig)
    on_violation: OnViolationConfig = field(default_factory=OnViolationConfig)

    def to_contracts(self) -> dict[str, Any]:
        """What validators are made from: `tool_schemas`, `tool_order_rules`, `toggles` and `fail_fast`.

        `toggles` has one boolean for each validator. `tool_order_rules` has the rules as they were written, and under
        `contract` the accord contract that they compile to.
        """
        from accord.trace.order_rules import order_rules  # noqa: PLC0415 - it is made of these classes

        contracts = self.contracts
        on = self.enabled and contracts.enabled
        validators = {
            "generate_boundaries": contracts.generate_boundaries.enabled,
            "stream_boundaries": contracts.stream_boundaries.enabled,
            "tool_results": contracts.tool_results.enabled,
            "tool_payloads": contracts.tool_payloads.enabled,
            "tool_order": contracts.tool_order.enabled,
            "protocol": contracts.protocol.enabled
            and (contracts.protocol.contract is not None or contracts.protocol.file is not None),
            **{name: own.enabled for name, own in contracts.validators.items()},
        }
        schemas = {
            name: {"required": tool.required, "args_schema": tool.args_schema, "result_schema": tool.result_schema}
            for name, tool in contracts.tool_payloads.tools.items()
        }
        return {
            "tool_schemas": schemas,
            "tool_order_rules": order_rules(contracts),
            "toggles": {name: on and enabled for name, enabled in validators.items()},
            "fail_fast": contracts.fail_fast,
        }
