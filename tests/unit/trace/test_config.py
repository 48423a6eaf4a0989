"""Configurations: defaults, every key, what is wrong with them and where."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import pytest
import yaml

from accord.diagnostics import Source
from accord.errors import ContractError, UsageError
from accord.trace import TraceConfig, compile_trace_config, load_trace_config
from accord.trace import config as tables
from accord.trace.yaml_text import LONGEST, read_yaml

# Every key with its default, as users write them.
DEFAULTS = """
version: 1
enabled: true
store:
  mode: full
  include_payloads: true
  max_events: null
  max_event_payload_bytes: null
  redact: {enabled: false, json_pointers: [], replacement: "<redacted>"}
fingerprint:
  enabled: true
  algorithm: sha256
  normaliser:
    kind: builtin
    name: structural_v1
    import: null
    config:
      drop_keys: [request_id, response_id, created, timestamp, latency_ms]
      drop_key_regex: []
      hash_paths: [result, raw]
      hash_strings_over: 512
contracts:
  enabled: true
  fail_fast: false
  generate_boundaries: {enabled: true, start_kind: generate_start, end_kind: generate_end, generate_id_key: generate_id}
  stream_boundaries:
    enabled: true
    start_kind: stream_start
    chunk_kind: stream_chunk
    end_kind: stream_end
    stream_id_key: stream_id
    chunk_index_key: chunk_index
    first_chunk_index: 0
    require_end: true
    require_monotonic_chunks: true
  tool_results:
    enabled: true
    call_start_kind: tool_call_start
    call_result_kind: tool_result
    call_id_key: tool_call_id
    require_exactly_one_result: true
  tool_payloads: {enabled: true, tool_key: tool_name, args_key: arguments, tools: {}}
  tool_order:
    enabled: true
    allow_unknown_tools: false
    must_precede: {}
    must_follow: {}
    only_after_success: {}
    eventually: {}
    forbidden_sequences: []
    forbidden_subsequences: []
    at_most: {}
    allowed_tools: null
  protocol: {enabled: true, contract: null, file: null, protocol: null, time_key: null}
  validators: {}
on_violation: {mode: record}
"""


def problems(source, **more):
    """Code, line and the words of each finding."""
    with pytest.raises(ContractError) as caught:
        load_trace_config(source, **more)
    return [
        (d.code, d.source.line_and_column(d.span.start)[0], f"{d.message} | {d.help}") for d in caught.value.diagnostics
    ]


def test_the_defaults():
    assert load_trace_config(DEFAULTS) == load_trace_config("") == load_trace_config({}) == TraceConfig()
    assert load_trace_config(yaml.safe_load(DEFAULTS)) == TraceConfig()
    assert load_trace_config(TraceConfig(enabled=False)) == TraceConfig(enabled=False)


def keys_of(value, prefix=""):
    for field in fields(value):
        inner = getattr(value, field.name)
        name = f"{prefix}{field.name.rstrip('_')}"
        yield name
        if is_dataclass(inner):
            yield from keys_of(inner, f"{name}.")


def test_every_field_has_its_key():
    known = {key for key in keys_of(TraceConfig()) if not key.endswith("allow_imports")}

    def walk(value, prefix=""):
        for key, inner in value.items():
            yield f"{prefix}{key}"
            if isinstance(inner, dict):
                yield from walk(inner, f"{prefix}{key}.")

    written = {key for key in walk(yaml.safe_load(DEFAULTS)) if not key.startswith("fingerprint.normaliser.config.")}
    assert written == known


def test_all_the_classes_are_there():
    names = (
        "TraceConfig TraceStoreConfig TraceRedactConfig FingerprintConfig NormaliserConfig TraceContractsConfig "
        "GenerateBoundariesConfig StreamBoundariesConfig ToolResultsConfig ToolPayloadsConfig ToolPayloadSchemaConfig "
        "ToolOrderConfig OnViolationConfig"
    )
    import accord.trace

    for name in names.split():
        assert is_dataclass(getattr(accord.trace, name))
        getattr(accord.trace, name)()


@pytest.mark.parametrize(
    ("written", "mode"),
    [
        ("full", "full"),
        ("compact", "compact"),
        ("none", "none"),
        ("fingerprint", "compact"),
        ("off", "none"),
        ("'off'", "none"),
    ],
)
def test_older_spellings(written, mode):
    assert load_trace_config(f"store: {{mode: {written}}}").store.mode == mode


def test_a_file(tmp_path):
    path = tmp_path / "t.yaml"
    path.write_text("\ufeffcontracts: {fail_fast: true}")
    assert load_trace_config(path).contracts.fail_fast
    with pytest.raises(UsageError, match="cannot read"):
        load_trace_config(tmp_path / "no.yaml")
    with pytest.raises(UsageError, match="for the file write `Path"):
        load_trace_config("trace.yaml")
    path.write_bytes(b"a: \xff")
    assert problems(path)[0][0] == "E017"
    for wrong in (7, None, [1]):
        with pytest.raises(UsageError, match="a configuration is"):
            load_trace_config(wrong)


@pytest.mark.parametrize(
    ("text", "code", "line", "words"),
    [
        ("version: 2", "E063", 1, "version 2 is not supported"),
        ("version: '1'", "E063", 1, "this accord reads version 1"),
        ("version: true", "E063", 1, "not supported"),
        ("\nenabeld: true", "E061", 2, "unknown key `enabeld` | did you mean `enabled`?"),
        ("contracts:\n  fail_fsat: true", "E061", 2, "in `contracts` | did you mean `fail_fast`?"),
        ("a:\n  b: 1", "E061", 1, "there are `version`"),
        ("enabled: 1", "E062", 1, "`enabled` is a number; expected `true` or `false`"),
        ("enabled: 'true'", "E062", 1, "`enabled` is a text"),
        ("contracts: []", "E062", 1, "`contracts` is a list; expected a mapping"),
        ("store: {mode: fll}", "E062", 1, "did you mean `full`?"),
        ("store: {mode: on}", "E062", 1, "`store.mode` is a boolean"),
        ("store: {max_events: -1}", "E062", 1, "expected at least 0"),
        ("store: {max_events: true}", "E062", 1, "expected a whole number"),
        ("store: {redact: {json_pointers: [key]}}", "E062", 1, "begins with `/`"),
        ("fingerprint: {algorithm: md5}", "E062", 1, "`fingerprint.algorithm` is `md5`"),
        ("fingerprint: {normaliser: {name: structural_v2}}", "E062", 1, "did you mean `structural_v1`?"),
        ("fingerprint: {normaliser: {config: {drop_key: []}}}", "E061", 1, "did you mean `drop_keys`?"),
        ("fingerprint: {normaliser: {config: {drop_key_regex: ['(']}}}", "E062", 1, "no pattern of RE2"),
        ("fingerprint: {normaliser: {config: {drop_keys: created}}}", "E062", 1, "expected a list"),
        ("fingerprint: {normaliser: {kind: import}}", "E067", 1, "package.module:function"),
        ("fingerprint: {normaliser: {import: 'os:system'}}", "E067", 1, "only where `kind` is `import`"),
        ("contracts: {tool_order: {forbidden_sequences: [a, b]}}", "E062", 1, "sequences is meant: `[[a, b]]`"),
        ("contracts: {tool_order: {forbidden_sequences: [[a, 1]]}}", "E062", 1, "[0][1]` is a number"),
        ("contracts: {tool_order: {forbidden_sequences: [[]]}}", "E068", 1, "at least one tool"),
        ("contracts: {tool_order: {must_follow: {a: [a]}}}", "E068", 1, "cannot come before itself"),
        ("contracts: {tool_order: {eventually: {a: [a]}}}", "E068", 1, "after itself"),
        ("contracts: {tool_order: {at_most: {a: many}}}", "E062", 1, "expected a whole number"),
        ("contracts: {tool_order: {must_precede: {no: [a]}}}", "E062", 1, "is a YAML bool and no text | write `'no'`"),
        ("contracts: {tool_order: {must_precede: {'': [a]}}}", "E062", 1, "an empty key"),
        ("contracts:\n tool_payloads:\n  tools:\n   t:\n    args_schema:\n     type: intger", "E066", 6, "not valid"),
        ("contracts: {tool_payloads: {tools: {t: {args_schema: 7}}}}", "E066", 1, "object or a boolean"),
        ("contracts: {tool_payloads: {tools: {t: {args_schema: {const: .nan}}}}}", "E066", 1, "no JSON"),
        ("contracts: {tool_payloads: {tools: {t: {arg_schema: {}}}}}", "E061", 1, "did you mean `args_schema`?"),
        ("contracts: {protocol: {contract: '!a ?b'}}", "E069", 1, "expected `.`"),
        ("contracts: {protocol: 7}", "E062", 1, "`contracts.protocol` is a number"),
        ("contracts:\n  protocol: [\n    7]\non_violation: {}", "E062", 2, "`contracts.protocol` is a list"),
        ("store: {redact: {replacement: 7}}", "E062", 1, "`store.redact.replacement` is a number; expected a text"),
        ("on_violation: {mode: fail}", "E062", 1, "expected one of `record`, `fail_probe`, `fail_run`"),
        ("enabled: true\nenabled: false", "E065", 2, "the key `enabled` stands twice"),
        ("store: {redact: {replacement: 2020-01-01}}", "E062", 1, "a YAML timestamp"),
        ("store: {redact: {replacement: !!binary aGk=}}", "E062", 1, "a YAML binary"),
        ("store: !!python/object/new:os.system [x]", "E062", 1, "tag"),
        ("[1]", "E062", 1, "the configuration is a list"),
        ("a: [", "E060", 1, "no YAML"),
        ("enabled: true\nstore: }\nversion: 1\n", "E060", 2, "no YAML"),
        ("a: *b", "E060", 1, "stands for nothing"),
        ("a: &b [*b]", "E060", 1, "stands for nothing"),
        ("enabled: true\n---\nenabled: true", "E060", 2, "second document"),
        ("? {a: 1}\n: 2", "E060", 1, "a key is a text"),
        ("\x01", "E060", 1, "no YAML"),
        ("a: " + "[" * 70 + "]" * 70, "E064", 1, "nested deeper than 64"),
        ("#" * (LONGEST + 1), "E064", 1, "longer than"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)  # fmt: skip
def test_what_is_wrong_and_where(text, code, line, words):
    found = problems(text)
    assert any(one[0] == code and one[1] == line and words in one[2] for one in found), found


def test_many_mistakes_at_once():
    text = "version: 3\nenbled: 1\nstore: {mod: x}\ncontracts: {fail_fast: 7, tool_order: {at_most: []}}\n"
    assert [(code, line) for code, line, _ in problems(text)] == [
        ("E063", 1), ("E061", 2), ("E061", 3), ("E062", 4), ("E062", 4),
    ]  # fmt: skip


def test_mappings_are_told_the_path():
    with pytest.raises(ContractError) as caught:
        load_trace_config({"contracts": {"tool_order": {"must_precede": {1: ["a"]}, "at_most": {"x": "y"}}}})
    shown = str(caught.value)
    assert "contracts.tool_order.at_most.x: 'y'" in shown and "in `contracts.tool_order.must_precede`" in shown


def laughs(levels):
    lines = ["a0: &a0 [x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines)


def test_aliases_are_bounded():
    assert problems(laughs(9))[0][0] == "E064"
    merged = "x: &a {enabled: false}\n" + "<<: [" + ", ".join(["*a"] * 60_000) + "]"
    assert problems(merged)[0][0] == "E064"


def test_aliases_and_merges_work():
    text = """
contracts:
  tool_payloads:
    tools:
      a: &base {args_schema: &schema {required: [q]}}
      b: *base
      c: {<<: *base, required: false}
      d: {<<: [{required: false}, *base], result_schema: *schema}
"""
    tools = load_trace_config(text).contracts.tool_payloads.tools
    assert tools["a"] == tools["b"] and tools["c"] == replace(tools["a"], required=False)
    assert tools["d"].result_schema == {"required": ["q"]} and not tools["d"].required
    assert yaml.safe_load(text)["contracts"]["tool_payloads"]["tools"]["d"]["required"] is False


def test_places_count_characters():
    (finding,) = problems("# 😀 é\n'😀': 1")
    assert finding[:2] == ("E061", 2)


def test_imports_need_permission():
    source = {"fingerprint": {"normaliser": {"kind": "import", "import": "os:getcwd"}}}
    (problem,) = problems(source)
    assert problem[0] == "E067" and "--allow-imports" in problem[2]
    config = load_trace_config(source, allow_imports=True)
    assert config.fingerprint.normaliser.allow_imports and config.fingerprint.normaliser.config == {}
    assert problems({"fingerprint": {"normaliser": {"kind": "import", "import": "no colon"}}}, allow_imports=True)
    assert problems("fingerprint: {normaliser: {allow_imports: true}}")[0][0] == "E061"


def test_configurations_in_python_are_checked_too():
    for wrong in (
        tables.TraceContractsConfig(tool_order=tables.ToolOrderConfig(must_precede={"a": ["a"]})),
        tables.TraceContractsConfig(tool_order=tables.ToolOrderConfig(at_most={"a": -1})),
        tables.TraceContractsConfig(tool_order=tables.ToolOrderConfig(forbidden_sequences=[[]])),
        tables.TraceContractsConfig(tool_order=tables.ToolOrderConfig(allowed_tools=[7])),
        tables.TraceContractsConfig(
            tool_payloads=tables.ToolPayloadsConfig(
                tools={"a": tables.ToolPayloadSchemaConfig(args_schema={"type": "x"})}
            )
        ),
        tables.TraceContractsConfig(protocol=tables.ProtocolConfig(contract="!a", file="b")),
    ):
        with pytest.raises(UsageError):
            compile_trace_config(TraceConfig(contracts=wrong))


def test_the_extra_is_named_where_a_package_is_missing(monkeypatch):
    import builtins

    real = builtins.__import__

    def refuse(name, *more):
        if name in {"yaml", "jsonschema_rs"}:
            raise ImportError(name)
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    for source in ("enabled: true", {"contracts": {"tool_payloads": {"tools": {"a": {"args_schema": {}}}}}}):
        with pytest.raises(UsageError, match=re.escape("install `accord-contracts[trace]`")):
            load_trace_config(source)
    assert load_trace_config({"contracts": {"fail_fast": True}}).contracts.fail_fast


def test_random_text_gives_a_configuration_or_findings():
    import random

    chance = random.Random(5)
    pieces = [
        "contracts",
        "store",
        ":",
        " ",
        "\n",
        "{",
        "}",
        "[",
        "]",
        "&a",
        "*a",
        "- ",
        "true",
        "<<",
        "'",
        '"',
        "!!",
        "\t",
        "1",
        "#",
        "|",
        "?",
        ",",
    ]
    read = 0
    for _ in range(3000):
        text = "".join(chance.choice(pieces) for _ in range(chance.randrange(1, 25)))
        try:
            load_trace_config(text)
            read += 1
        except ContractError as error:
            str(error)
    assert read > 20


def test_no_file_of_a_package_is_read_by_accident(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("t.yaml").write_text("contracts: {protocol: {file: /etc/hostname}}")
    assert problems(Path("t.yaml"))[0][0] == "E069"


@pytest.mark.parametrize("text", ["protocol P = !a.", "protocol P = !a.end\nprotocol P = !b.end"])
def test_what_is_wrong_with_a_contract_of_its_own_is_told_when_it_is_loaded(tmp_path, text):
    path = tmp_path / "own.accord"
    path.write_text(text)
    with pytest.raises(ContractError, match=r"own\.accord"):
        load_trace_config(path)
    path.write_text("protocol P = !a.end")
    assert load_trace_config(path).contracts.protocol.file == str(path)


def test_the_place_of_a_value_ends_where_it_ends():
    text = "a: [1, 2]\nb:\n  c: {d: x}\n  e: [\n    3]\nf: []\n"
    _, places, _ = read_yaml(Source(text, "x.yaml"))
    ends = {path: text[span.start : span.end] for path, span in places.values.items()}
    assert (ends["a",], ends["a", 1], ends["b", "c"], ends["f",]) == ("[1, 2", "2", "{d: x", "[")
    assert ends["b", "e"] == "[\n    3"
