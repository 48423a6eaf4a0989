"""What is known to go wrong with trace contracts elsewhere."""

from __future__ import annotations

import copy
import json

import pytest

from accord import (
    AgentProbe,
    TraceConfig,
    TraceEvent,
    TracePayloadNormaliser,
    TraceRecorder,
    load_trace_config,
    trace_fingerprint,
    validate_with_config,
)
from accord.errors import ContractError


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
