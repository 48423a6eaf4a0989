"""Trace contracts as their users write them, and what is known to go wrong with them elsewhere."""

from __future__ import annotations

import copy
import json

import pytest
import yaml
from click.testing import CliRunner

from accord import (
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
from accord.cli.app import app
from accord.errors import ContractError
from accord.trace import Violation

EXAMPLE = """
version: 1
enabled: true
store:
  mode: full
  include_payloads: true
contracts:
  enabled: true
  fail_fast: false
  stream_boundaries:
    enabled: true
  tool_payloads:
    enabled: true
    tools:
      calculator:
        args_schema:
          required: [x, y]
          properties:
            x: {type: integer}
            y: {type: integer}
fingerprint:
  enabled: true
  algorithm: sha256
  normaliser:
    kind: builtin
    name: structural_v1
    config:
      drop_keys: [request_id, response_id, created, timestamp, latency_ms]
      hash_paths: [result, raw]
      hash_strings_over: 512
on_violation:
  mode: record
"""


def run(config, x=1):
    tools = {"calculator": lambda **given: sum(given.values())}
    probe = AgentProbe(tools=tools, trace_config=config)
    return probe.run(lambda data, tools: tools["calculator"](**data), {"x": x, "y": 2})


def test_the_classes_have_the_fields_that_are_known():
    config = TraceConfig()
    assert (config.version, config.enabled) == (1, True)
    assert isinstance(config.store, TraceStoreConfig) and isinstance(config.fingerprint, FingerprintConfig)
    assert isinstance(config.contracts, TraceContractsConfig) and isinstance(config.on_violation, OnViolationConfig)


AS_WRITTEN = """
from accord.trace_config import load_trace_config
with open("trace_config.yaml") as f:
    import yaml
    config_dict = yaml.safe_load(f)
config = load_trace_config(config_dict)
contracts = config.to_contracts()

from accord import AgentProbe, TraceConfig, load_trace_config, validate_with_config
tools = {"calculator": lambda **given: given}
probe = AgentProbe(tools=tools, trace_config=config)
result = probe.run(model, data)
if result.metadata.get("custom", {}).get("trace", {}).get("violations"):
    print("Violations found:", result.metadata["custom"]["trace"]["violations"])
"""


def test_the_examples_run_as_they_are_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trace_config.yaml").write_text(EXAMPLE)
    names = {"model": lambda data, tools: tools["calculator"](**data), "data": {"x": "", "y": ""}}
    exec(AS_WRITTEN, names)  # noqa: S102 - as users write it
    assert capsys.readouterr().out.startswith("Violations found: [{'code': 'TOOL_INVALID_ARG_TYPE', 'event_seq': 0")
    assert set(names["contracts"]) == {"tool_schemas", "tool_order_rules", "toggles", "fail_fast"}
    config = names["config"]
    assert config == load_trace_config(EXAMPLE) == load_trace_config(tmp_path / "trace_config.yaml")
    assert config.contracts.tool_payloads.tools["calculator"].args_schema["required"] == ["x", "y"]


def test_compiling_to_contracts():
    contracts = load_trace_config(EXAMPLE).to_contracts()
    assert list(contracts) == ["tool_schemas", "tool_order_rules", "toggles", "fail_fast"]
    assert contracts["tool_schemas"]["calculator"]["args_schema"]["required"] == ["x", "y"]
    assert contracts["toggles"]["tool_payloads"] is True and contracts["fail_fast"] is False


def test_running_a_probe():
    config = load_trace_config(yaml.safe_load(EXAMPLE))
    result = run(config)
    assert not result.metadata.get("custom", {}).get("trace", {}).get("violations")
    result = run(config, "1")
    found = result.metadata["custom"]["trace"]["violations"]
    assert [one["code"] for one in found] == ["TOOL_INVALID_ARG_TYPE"]
    assert set(result.metadata["custom"]["trace"]) >= {"fingerprint", "violations", "tool_sequence", "events"}


def test_the_example_files():
    assert run(load_trace_config("enabled: false"), "1").metadata == {"custom": {}}
    text = """
version: 1
enabled: true
contracts:
  enabled: true
  tool_payloads:
    enabled: true
    tools:
      search:
        args_schema:
          required: [query]
          properties:
            query: {type: string}
"""
    recorder = TraceRecorder()
    recorder.record_tool_call("search", {})
    recorder.record_tool_result("search", [])
    (violation,) = validate_with_config(recorder.events, load_trace_config(text))
    assert isinstance(violation, Violation)
    assert (violation.code, violation.event_seq, violation.context["missing_arg"]) == (
        "TOOL_MISSING_REQUIRED_ARG",
        0,
        "query",
    )
    strict = load_trace_config({**yaml.safe_load(EXAMPLE), "on_violation": {"mode": "fail_probe"}})
    assert run(strict).ok and not run(strict, "1").ok


# -- what is known to go wrong elsewhere -------------------------------------------------------------------------------


def outcome(config, tmp_path):
    """Everything that a configuration can change."""
    recorder = TraceRecorder()
    recorder.record_generate_start("p")
    recorder.record_generate_start("p")
    recorder.record_stream_chunk("c", 5)
    recorder.record_stream_start("p", id="x")
    recorder.record_tool_call("delete", {"token": "secret", "q": "x" * 600})
    recorder.record_tool_call("commit", {"q": 7})
    recorder.record("tool_call_start", {"name": "delete"})
    recorder.record_tool_result("delete", {"created": 1})
    recorder.record_tool_result("delete", {"created": 1})

    def agent(_, tools, recorder_=None, *, recorder):
        del recorder_, tools
        for event in events:
            recorder.record(event.kind, event.payload)

    events = recorder.events
    try:
        result = AgentProbe({}, config).run(agent, None)
    except Exception as error:
        return type(error).__name__
    return json.dumps([result.status, result.metadata], default=str)


CHANGES = {
    "enabled": False,
    "store.mode": "compact",
    "store.include_payloads": False,
    "store.max_events": 1,
    "store.max_event_payload_bytes": 10,
    "store.redact": {"enabled": True, "json_pointers": ["/arguments/token"]},
    "store.redact.replacement": "***",
    "fingerprint.enabled": False,
    "fingerprint.algorithm": "sha512",
    "fingerprint.normaliser.config.drop_keys": ["q"],
    "fingerprint.normaliser.config.drop_key_regex": ["^q$"],
    "fingerprint.normaliser.config.hash_paths": [],
    "fingerprint.normaliser.config.hash_strings_over": None,
    "contracts.enabled": False,
    "contracts.fail_fast": True,
    "contracts.generate_boundaries.enabled": False,
    "contracts.generate_boundaries.start_kind": "other",
    "contracts.generate_boundaries.end_kind": "generate_start",
    "contracts.stream_boundaries.enabled": False,
    "contracts.stream_boundaries.start_kind": "other",
    "contracts.stream_boundaries.chunk_kind": "other",
    "contracts.stream_boundaries.end_kind": "stream_chunk",
    "contracts.stream_boundaries.require_end": False,
    "contracts.tool_results.enabled": False,
    "contracts.tool_results.call_start_kind": "other",
    "contracts.tool_results.call_result_kind": "other",
    "contracts.tool_results.call_id_key": "tool_name",
    "contracts.tool_results.require_exactly_one_result": False,
    "contracts.tool_payloads.enabled": False,
    "contracts.tool_payloads.tool_key": "name",
    "contracts.tool_payloads.args_key": "args",
    "contracts.tool_payloads.tools": {"commit": {"args_schema": {"properties": {"q": {"type": "string"}}}}},
    "contracts.tool_order.enabled": False,
    "contracts.tool_order.allow_unknown_tools": True,
    "contracts.tool_order.must_precede": {"search": ["delete"]},
    "contracts.tool_order.must_follow": {"delete": ["auth"]},
    "contracts.tool_order.only_after_success": {"delete": ["auth"]},
    "contracts.tool_order.eventually": {"delete": ["close"]},
    "contracts.tool_order.forbidden_sequences": [["delete", "commit"]],
    "contracts.tool_order.forbidden_subsequences": [["delete", "commit"]],
    "contracts.tool_order.at_most": {"commit": 0},
    "contracts.tool_order.allowed_tools": [],
    "contracts.protocol.contract": "!commit.end",
    "on_violation.mode": "fail_probe",
}
BEFORE = {
    "store": {"redact": {"enabled": True, "json_pointers": ["/arguments/other"]}},
    "contracts": {"tool_payloads": {"tools": {"delete": {}}}},
}


@pytest.mark.parametrize("path", CHANGES)
def test_every_key_has_an_effect(path, tmp_path):
    def changed(value):
        config = copy.deepcopy(BEFORE)
        if path == "store.redact.replacement":
            config["store"]["redact"]["json_pointers"] = ["/arguments/token"]
        at = config
        *outer, last = path.split(".")
        for key in outer:
            at = at.setdefault(key, {})
        if value is not ...:
            at[last] = value
        return outcome(config, tmp_path)

    assert changed(CHANGES[path]) != changed(...)


def test_unknown_and_misspelt_keys_are_told():
    for wrong in ({"contract": {}}, {"contracts": {"tool_ordr": {}}}, {"store": {"modes": "full"}}):
        with pytest.raises(ContractError, match="did you mean"):
            load_trace_config(wrong)


def test_the_fingerprint_uses_the_normaliser():
    one, two = ([TraceEvent(0, "k", {"timestamp": at, "raw": {"created": at}})] for at in (1, 2))
    assert trace_fingerprint(one) == trace_fingerprint(two)
    assert trace_fingerprint(one, TracePayloadNormaliser(drop_keys=[])) != trace_fingerprint(
        two, TracePayloadNormaliser(drop_keys=[])
    )


def test_the_gates_fire_on_what_a_probe_writes(tmp_path):
    config = load_trace_config(EXAMPLE)
    for name, x in (("base", 1), ("other", "1")):
        (tmp_path / name).write_text(json.dumps(run(config, x).to_record()))
    base, other = str(tmp_path / "base"), str(tmp_path / "other")
    gate = CliRunner().invoke(app, ["trace", "diff", base, other, "--fail-on-trace-drift"])
    assert gate.exit_code == 4
    gate = CliRunner().invoke(app, ["trace", "diff", base, other, "--fail-on-trace-violations"])
    assert gate.exit_code == 3


def test_validators_do_not_change_their_input():
    events = [
        {"seq": 3, "kind": "stream_chunk", "payload": {"chunk_index": 1, "x": [1]}},
        {"seq": 1, "kind": "generate_end"},
    ]
    before = copy.deepcopy(events)
    validate_with_config(events, TraceConfig())
    assert events == before


def test_interleaved_streams_are_fine():
    recorder = TraceRecorder()
    for kind in ("start", "chunk", "end"):
        for stream in ("a", "b"):
            recorder.record(f"stream_{kind}", {"stream_id": stream, "chunk_index": 0})
    assert validate_with_config(recorder.events, TraceConfig()) == []


def schema(kind, value, **more):
    config = load_trace_config(
        {
            "contracts": {
                "tool_payloads": {"tools": {"t": {"args_schema": {"properties": {"x": {"type": kind, **more}}}}}}
            }
        }
    )
    recorder = TraceRecorder()
    recorder.record_tool_call("t", {"x": value})
    recorder.record_tool_result("t")
    return [violation.code for violation in validate_with_config(recorder.events, config)]


def test_schemas_are_whole():
    assert schema("integer", True) == ["TOOL_INVALID_ARG_TYPE"]  # noqa: FBT003
    assert schema("number", "1") == ["TOOL_INVALID_ARG_TYPE"]
    assert schema("number", 1, minimum=3) == schema("string", "b", enum=["a"]) == ["INVALID_PAYLOAD"]


def test_redaction_leaves_no_copies():
    normal = TracePayloadNormaliser(redact=["/arguments/key"]).normalise(
        {"arguments": {"key": "sk-12345"}, "prompt": "use sk-12345", "log": [{"sk-12345": "sk-12345"}]}
    )
    assert "sk-12345" not in json.dumps(normal)


def test_nan_infinity_and_null_are_not_alike():
    recorded = [[TraceRecorder().record("k", {"v": value})] for value in (float("nan"), float("inf"), None)]
    assert len({trace_fingerprint(events) for events in recorded}) == 3


def test_fail_fast_is_over_all_validators():
    recorder = TraceRecorder()
    recorder.record("generate_end")
    recorder.record_stream_chunk("c", 0)
    recorder.record_tool_result("t")
    config = load_trace_config({"contracts": {"fail_fast": True}})
    assert [violation.code for violation in validate_with_config(recorder.events, config)] == ["GENERATE_NO_START"]


def test_every_violated_order_rule_is_told_at_every_call():
    rules = {"must_precede": {"search": ["pay"]}, "forbidden_sequences": [["pay", "pay"]], "at_most": {"pay": 1}}
    config = load_trace_config({"contracts": {"tool_order": rules, "tool_results": {"enabled": False}}})
    events = [{"seq": n, "kind": "tool_call_start", "payload": {"tool_name": "pay"}} for n in range(5000)]
    assert len(validate_with_config(events, config)) == 3 * 5000 - 2
