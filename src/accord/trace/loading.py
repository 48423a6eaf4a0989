"""`load_trace_config`: a configuration from YAML text, a file or a mapping, or everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path as FilePath
from typing import Any

from accord.diagnostics import Diagnostic, Source, Span
from accord.errors import ContractError, UsageError
from accord.trace import config as c
from accord.trace.fingerprint import ALGORITHMS
from accord.trace.importing import is_address
from accord.trace.order_rules import rules_in
from accord.trace.protocol import protocol_plan
from accord.trace.redaction import read_pointer
from accord.trace.shapes import (
    BAD,
    Findings,
    Path,
    Shape,
    boolean,
    choice,
    dotted,
    each_of,
    list_of,
    map_of,
    nothing_or,
    schema,
    table,
    text,
    whole,
    wrong,
)
from accord.trace.yaml_text import LONGEST, read_yaml

__all__ = ["load_trace_config"]

VERSION = 1

_TAKEN = frozenset(field.name for field in fields(c.TraceContractsConfig))

_TOOLS = each_of(text)
_RULES = map_of(_TOOLS)


def _pattern(findings: Findings, value: Any, path: Path) -> Any:  # noqa: ANN401 - any value
    found = text(findings, value, path)
    if found is not BAD:
        from accord.language.patterns import PatternError, compile_pattern  # noqa: PLC0415 - loads RE2

        try:
            compile_pattern(found)
        except PatternError as error:
            return findings.report("E062", f"`{dotted(path)}` is no pattern of RE2: {error}", path, value)
    return found


def _pointer(findings: Findings, value: Any, path: Path) -> Any:  # noqa: ANN401 - any value
    found = text(findings, value, path)
    if found is not BAD:
        try:
            read_pointer(found)
        except UsageError as error:
            return findings.report("E062", f"`{dotted(path)}`: {error}", path, value)
    return found


def _any_text(findings: Findings, value: Any, path: Path) -> Any:  # noqa: ANN401 - any value
    return value if isinstance(value, str) else wrong(findings, value, path, "a text")


def _version(findings: Findings, value: Any, path: Path) -> Any:  # noqa: ANN401 - any value
    if type(value) is int and value == VERSION:
        return value
    message = f"version {value!r:.40} is not supported" if value is not None else "the version is missing"
    return findings.report("E063", message, path, value, f"this accord reads version {VERSION}")


def _whole_number(findings: Findings, value: Any, path: Path) -> Any:  # noqa: ANN401 - any value
    return value if type(value) is int else wrong(findings, value, path, "a whole number")


def _sequences(findings: Findings, value: Any, path: Path) -> Any:  # noqa: ANN401 - any value
    if isinstance(value, list | tuple) and value and all(isinstance(item, str) for item in value):
        shown = ", ".join(map(str, value))[:80]
        help_ = f"a list of sequences is meant: `[[{shown}]]`"
        return findings.report("E062", f"`{dotted(path)}` is one flat list", path, value, help_)
    return list_of(list_of(text, "each sequence is a list of tools"), "a list of sequences, each a list of tools")(
        findings, value, path
    )


_NORMALISER = table(
    dict,
    {
        "drop_keys": list_of(text),
        "drop_key_regex": list_of(_pattern),
        "hash_paths": list_of(text),
        "hash_strings_over": nothing_or(whole(0)),
    },
)


_FREE_MAPPING = map_of(lambda _findings, value, _path: value)


def _normaliser(findings: Findings, value: Any, path: Path) -> Any:  # noqa: ANN401 - any value
    """Whose `config` depends on its `kind`."""
    imported = isinstance(value, Mapping) and value.get("kind") == "import"
    read = table(
        c.NormaliserConfig,
        {
            "kind": choice("builtin", "import"),
            "name": text if imported else choice("structural_v1"),
            "import": nothing_or(text),
            "config": _FREE_MAPPING if imported else _NORMALISER,
        },
        {"import": "import_"},
    )
    found = read(findings, value, path)
    if not isinstance(found, c.NormaliserConfig):
        return found
    if imported:
        given = value.get("import")
        if is_address(given):
            return replace(found, config=dict(found.config) if "config" in value else {})
        if given is None or isinstance(given, str):
            message = "`import` says `package.module:function` where `kind` is `import`"
            findings.report("E067", message, (*path, "import") if given else path, given)
        return found
    if found.import_ is not None:
        findings.report(
            "E067", "`import` has a meaning only where `kind` is `import`", (*path, "import"), found.import_
        )
    return replace(found, config={**c.normaliser_defaults(), **found.config})


_KIND, _KEY = text, text

_STORE = table(
    c.TraceStoreConfig,
    {
        "mode": choice("full", "compact", "none", older={"fingerprint": "compact", "off": "none", False: "none"}),
        "include_payloads": boolean,
        "max_events": nothing_or(whole(0)),
        "max_event_payload_bytes": nothing_or(whole(0)),
        "redact": table(
            c.TraceRedactConfig,
            {"enabled": boolean, "json_pointers": list_of(_pointer), "replacement": _any_text},
        ),
    },
)
_FINGERPRINT = table(
    c.FingerprintConfig, {"enabled": boolean, "algorithm": choice(*ALGORITHMS), "normaliser": _normaliser}
)
_ORDER_FIELDS: dict[str, Shape] = {
    "enabled": boolean,
    "allow_unknown_tools": boolean,
    "must_precede": _RULES,
    "must_follow": _RULES,
    "only_after_success": _RULES,
    "eventually": _RULES,
    "forbidden_sequences": _sequences,
    "forbidden_subsequences": _sequences,
    "at_most": map_of(whole(0)),
    "allowed_tools": nothing_or(list_of(text)),
}
_ORDER_TABLE = table(c.ToolOrderConfig, _ORDER_FIELDS)


def _order(findings: Findings, value: Any, path: Path) -> Any:  # noqa: ANN401 - any value
    found = _ORDER_TABLE(findings, value, path)
    if isinstance(found, c.ToolOrderConfig):
        for name in _ORDER_FIELDS:
            if name not in {"enabled", "allow_unknown_tools", "allowed_tools"} and getattr(found, name):
                try:
                    list(rules_in(c.ToolOrderConfig(**{name: getattr(found, name)})))
                except UsageError as error:
                    findings.report("E068", str(error), (*path, name), getattr(found, name))
    return found


_OWN_FIELDS: dict[str, Shape] = {"enabled": boolean, "import": nothing_or(text), "config": _FREE_MAPPING}
_OWN = map_of(table(c.ValidatorConfig, _OWN_FIELDS, {"import": "import_"}))


def _own(findings: Findings, value: Any, path: Path) -> Any:  # noqa: ANN401 - any value
    found = _OWN(findings, value, path)
    for name, given in value.items() if isinstance(value, Mapping) else ():
        if name in _TAKEN:
            message = f"`{name}` means something else in `contracts`"
            findings.report("E062", message, (*path, name), name, "give the validator another name", key=True)
        if given is not None and not isinstance(given, Mapping):
            continue  # which is told already
        address = (given or {}).get("import")
        if address is None and _OWN_FIELDS.keys() >= set(given or ()):  # else it may be there, misspelt
            findings.report("E067", _NO_ADDRESS, (*path, name), given)
        elif isinstance(address, str) and address and not is_address(address):
            findings.report("E067", _NO_ADDRESS, (*path, name, "import"), address)
    return found


_NO_ADDRESS = "`import` of a validator says `package.module:attribute`"

_CONTRACTS_FIELDS: dict[str, Shape] = {
    "enabled": boolean,
    "fail_fast": boolean,
    "generate_boundaries": table(
        c.GenerateBoundariesConfig,
        {"enabled": boolean, "start_kind": _KIND, "end_kind": _KIND, "generate_id_key": _KEY},
    ),
    "stream_boundaries": table(
        c.StreamBoundariesConfig,
        {
            "enabled": boolean,
            "start_kind": _KIND,
            "chunk_kind": _KIND,
            "end_kind": _KIND,
            "stream_id_key": _KEY,
            "chunk_index_key": _KEY,
            "first_chunk_index": _whole_number,
            "require_end": boolean,
            "require_monotonic_chunks": boolean,
        },
    ),
    "tool_results": table(
        c.ToolResultsConfig,
        {
            "enabled": boolean,
            "call_start_kind": _KIND,
            "call_result_kind": _KIND,
            "call_id_key": _KEY,
            "require_exactly_one_result": boolean,
        },
    ),
    "tool_payloads": table(
        c.ToolPayloadsConfig,
        {
            "enabled": boolean,
            "tool_key": _KEY,
            "args_key": _KEY,
            "tools": map_of(
                table(
                    c.ToolPayloadSchemaConfig,
                    {"required": boolean, "args_schema": nothing_or(schema), "result_schema": nothing_or(schema)},
                )
            ),
        },
    ),
    "tool_order": _order,
    "validators": _own,
}


def _contracts(base: FilePath | None) -> Shape:
    protocol_table = table(
        c.ProtocolConfig,
        {
            "enabled": boolean,
            "contract": nothing_or(text),
            "file": nothing_or(text),
            "protocol": nothing_or(text),
            "time_key": nothing_or(text),
        },
    )

    def protocol(findings: Findings, value: Any, path: Path) -> Any:  # noqa: ANN401 - any value
        found = protocol_table(findings, value, path)
        if not isinstance(found, c.ProtocolConfig):
            return found
        if found.file is not None and base is not None:
            found = replace(found, file=str(base / found.file))
        try:
            protocol_plan(found)
        except ContractError as error:
            first = error.diagnostics[0]
            line, column = first.source.line_and_column(first.span.start)
            message = (
                f"the contract has errors; the first, in line {line}, column {column}: {first.message} [{first.code}]"
            )
            where = "contract" if found.contract is not None else "file"
            findings.report("E069", message, (*path, where), value, first.help)
        except UsageError as error:
            findings.report("E069", str(error), path, value)
        return found

    return table(c.TraceContractsConfig, {**_CONTRACTS_FIELDS, "protocol": protocol})


def _root(base: FilePath | None) -> Shape:
    return table(
        c.TraceConfig,
        {
            "version": _version,
            "enabled": boolean,
            "store": _STORE,
            "fingerprint": _FINGERPRINT,
            "contracts": _contracts(base),
            "on_violation": table(c.OnViolationConfig, {"mode": choice("record", "fail_probe", "fail_run")}),
        },
    )


def load_trace_config(
    source: Mapping[str, Any] | FilePath | str | c.TraceConfig, *, allow_imports: bool = False
) -> c.TraceConfig:
    """A configuration from a mapping, a file (`Path`) or YAML text (`str`).

    What it leaves out has its default. `allow_imports` lets it import a normaliser and validators of your own, which
    runs their code. A contract file is looked for beside the configuration. A `Path` that ends in `.accord` is a
    contract itself: traces are held to it, and everything else has its default.

    Raises `ContractError` with everything that is wrong, each with its path, its line and a way to mend it.

    Example:
        >>> load_trace_config("contracts: {fail_fast: true}").contracts.fail_fast
        True
    """
    if isinstance(source, c.TraceConfig):
        return source
    if isinstance(source, FilePath) and source.suffix.lower() == ".accord":
        protocol = c.ProtocolConfig(file=str(source))
        protocol_plan(protocol)  # what is wrong with the contract is told now, in its own lines
        return c.TraceConfig(contracts=c.TraceContractsConfig(protocol=protocol))
    base: FilePath | None = None
    findings = Findings(None)
    if isinstance(source, Mapping):
        value: Any = source
    else:
        text_of, base = _source(source)
        value, findings.places, found = read_yaml(text_of)
        findings.found += found
    config = _root(base)(findings, value, ())
    if isinstance(config, c.TraceConfig):
        config = _with_imports(config, findings, allow_imports=allow_imports)
    if findings.found:
        raise ContractError(tuple(sorted(findings.found, key=_order_of)))
    if not isinstance(config, c.TraceConfig):  # pragma: no cover - else something was found
        raise TypeError(config)
    return config


def _order_of(finding: Diagnostic) -> int:
    return finding.span.start if finding.source.name != "<config>" else 0


def _with_imports(config: c.TraceConfig, findings: Findings, *, allow_imports: bool) -> c.TraceConfig:
    """The same with what it imports allowed; what is not allowed is found."""
    normaliser, own = config.fingerprint.normaliser, config.contracts.validators
    if normaliser.kind == "import":
        _permit(findings, normaliser, ("fingerprint", "normaliser"), allow_imports=allow_imports)
        normaliser = replace(normaliser, allow_imports=allow_imports)
    for name, validator in own.items():
        if validator.enabled:
            _permit(findings, validator, ("contracts", "validators", name), allow_imports=allow_imports)
    own = {name: replace(validator, allow_imports=allow_imports) for name, validator in own.items()}
    return replace(
        config,
        fingerprint=replace(config.fingerprint, normaliser=normaliser),
        contracts=replace(config.contracts, validators=own),
    )


def _permit(
    findings: Findings, named: c.NormaliserConfig | c.ValidatorConfig, path: Path, *, allow_imports: bool
) -> None:
    if not allow_imports:
        what = "normaliser" if isinstance(named, c.NormaliserConfig) else "validator"
        help_ = "allow it with `allow_imports=True` or `--allow-imports`, if you trust this file"
        findings.report("E067", f"a {what} that is imported runs code", (*path, "import"), named.import_, help_)


def _source(source: FilePath | str) -> tuple[Source, FilePath | None]:
    if isinstance(source, str):
        if "\n" not in source and source.endswith((".yaml", ".yml", ".json", ".accord")):
            raise UsageError(f"a `str` is the text of a configuration; for the file write `Path({source!r})`")
        return Source(source, "<config text>"), None
    if not isinstance(source, FilePath):
        raise UsageError(f"a configuration is a mapping, a `Path` or YAML text, got `{type(source).__name__}`")
    try:
        with source.open("rb") as file:
            data = file.read(LONGEST * 4 + 4)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {source}: {getattr(error, 'strerror', None) or error}") from None
    try:
        return Source(data.decode("utf-8-sig"), str(source)), source.parent
    except UnicodeDecodeError as error:
        here = Source(data[: error.start].decode("utf-8", "replace"), str(source))
        finding = Diagnostic("E017", f"byte {error.start} is not UTF-8", here, Span(len(here.text), len(here.text)))
        raise ContractError((finding,)) from None
