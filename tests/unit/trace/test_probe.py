"""`AgentProbe`: agents of all kinds, what is kept, what follows a violation."""

# ruff: noqa: ARG002, ARG005 - agents and tools have the parameters they have

from __future__ import annotations

import asyncio
import json
import sys
import types

import pytest

from accord import AgentProbe, TraceConfig, load_trace_config, trace_fingerprint
from accord.errors import ContractError, UsageError
from accord.testing.traces import TraceCase
from accord.trace import JsonlSink, TraceViolationError, read_trace
from accord.trace.config import ProtocolConfig, TraceContractsConfig

ADD = {"add": lambda x, y: x + y}
SCHEMA = {"contracts": {"tool_payloads": {"tools": {"add": {"args_schema": {"required": ["x", "y"]}}}}}}


def trace_of(result):
    return result.metadata["custom"]["trace"]


def test_an_agent_is_a_function_of_data_and_tools():
    result = AgentProbe(ADD).run(lambda data, tools: tools["add"](data, 1), 2, run_id="r", example_id="e")
    assert (result.output, result.status, result.ok) == (3, "success", True)
    trace = trace_of(result)
    assert trace["tool_sequence"] == ["add"] and trace["violations"] == [] and trace["event_count"] == 2
    assert trace["events"][0] == {
        "seq": 0, "kind": "tool_call_start", "run_id": "r", "example_id": "e",
        "payload": {"tool_name": "add", "arguments": {"x": 2, "y": 1}, "step": 0, "tool_call_id": "call-0"},
    }  # fmt: skip
    assert trace["fingerprint"] == trace_fingerprint(trace["events"])
    assert json.loads(json.dumps(result.to_record()))["custom"]["trace"]["fingerprint"] == trace["fingerprint"]


class Agent:
    def run(self, data, *, tools, recorder):
        with recorder.generation(data):
            return tools["add"](x=data, y=1)


class Model:
    def generate(self, prompt):
        return f"echo {prompt}"


def test_agents_of_all_kinds():
    probe = AgentProbe(ADD)
    assert probe.run(Agent(), 1).output == 2
    assert trace_of(probe.run(Agent(), 1))["events"][0]["kind"] == "generate_start"
    result = probe.run(Model(), "hi")
    assert result.output == "echo hi" and [e["kind"] for e in trace_of(result)["events"]] == [
        "generate_start",
        "generate_end",
    ]
    assert probe.run(lambda data: data, 5).output == 5
    assert probe.run(lambda data, recorder: recorder.record("x", {}).kind, 5).output == "x"
    assert probe.run(lambda *given: len(given), 5).output == 2
    three = AgentProbe(ADD, agent=lambda model, data, tools: model.generate(tools["add"](data, 1)))
    assert three.run(Model(), 1).output == "echo 2"

    class Own(AgentProbe):
        def run_agent(self, model, data, tools, recorder):
            return tools["add"](model, data)

    assert Own(ADD).run(1, 2).output == 3
    assert probe.run(7).error_type == "UsageError"
    assert AgentProbe([len, sorted]).run(lambda data, tools: tools["len"](data), "abc").output == 3


def test_the_trace_is_kept_when_things_raise():
    def boom():
        raise ValueError("no")

    def stubborn(data, tools):
        try:
            tools["boom"]()
        except ValueError:
            tools["boom"]()

    result = AgentProbe({"boom": boom}).run(stubborn)
    assert (result.status, result.error, result.error_type) == ("error", "no", "ValueError")
    assert isinstance(result.exception, ValueError)
    kinds = [(e["kind"], e["payload"].get("ok")) for e in trace_of(result)["events"]]
    assert kinds == [("tool_call_start", None), ("tool_result", False)] * 2 + [("error", None)]
    assert trace_of(result)["violations"] == []
    wrong = AgentProbe(ADD).run(lambda data, tools: tools["add"](1, 2, 3))
    assert wrong.error_type == "TypeError" and trace_of(wrong)["events"][0]["payload"]["arguments"] == {
        "args": [1, 2, 3]
    }


def test_interruptions_are_raised_on_with_the_trace():
    def interrupted(data, tools):
        tools["add"](1, 2)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        AgentProbe(ADD).run(interrupted)
    assert trace_of(caught.value.accord_result)["tool_sequence"] == ["add"]


def test_asynchronous_agents():
    async def slow(x):
        await asyncio.sleep(0)
        if x == 3:
            raise ValueError(x)
        return x

    async def agent(data, tools):
        return await asyncio.gather(*(tools["slow"](n) for n in data), return_exceptions=True)

    probe = AgentProbe({"slow": slow, "lazy": lambda x: slow(x)})  # noqa: PLW0108
    result = probe.run(agent, [1, 2, 3])
    assert result.output[:2] == [1, 2] and trace_of(result)["violations"] == []
    assert [e["payload"]["tool_call_id"] for e in trace_of(result)["events"]] == ["call-0", "call-1", "call-2"] * 2

    async def inside():
        again = await probe.arun(agent, [1, 2, 3])
        refused = probe.run(agent, [1])
        plain = await probe.arun(lambda data, tools: data, 4)
        lazy = await probe.arun(lambda data, tools: tools["lazy"](data), 4)
        return again, refused, plain, lazy

    again, refused, plain, lazy = asyncio.run(inside())
    assert trace_of(again)["fingerprint"] == trace_of(result)["fingerprint"]
    assert refused.error_type == "UsageError" and "arun" in refused.error
    assert plain.output == lazy.output == 4 and trace_of(lazy)["violations"] == []


def test_cancelled_agents_keep_their_trace():
    async def hang():
        await asyncio.Event().wait()

    async def main():
        task = asyncio.create_task(AgentProbe({"hang": hang}).arun(lambda data, tools: tools["hang"]()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError as error:
            return error.accord_result

    assert trace_of(asyncio.run(main()))["tool_sequence"] == ["hang"]


def bad(data, tools):
    return tools["add"](**data)


@pytest.mark.parametrize(("mode", "status"), [("record", "success"), ("fail_probe", "violation")])
def test_what_follows_a_violation(mode, status):
    probe = AgentProbe({"add": lambda **k: 0}, {**SCHEMA, "on_violation": {"mode": mode}})
    assert probe.run(bad, {"x": 1, "y": 2}).ok
    result = probe.run(bad, {"x": 1})
    assert result.status == status and [v.code for v in result.violations] == ["TOOL_MISSING_REQUIRED_ARG"]
    assert trace_of(result)["violations"][0]["context"] == {"tool_name": "add", "missing_arg": "y"}
    assert (result.error is None) == (mode == "record")


def test_fail_run_raises():
    probe = AgentProbe({"add": lambda **k: 0}, {**SCHEMA, "on_violation": {"mode": "fail_run"}})
    assert probe.run(bad, {"x": 1, "y": 2}).ok
    with pytest.raises(TraceViolationError, match="TOOL_MISSING_REQUIRED_ARG at event 0") as caught:
        probe.run(bad, {"x": 1})
    assert trace_of(caught.value.result)["tool_sequence"] == ["add"]


def test_an_error_of_the_agent_is_not_hidden_by_violations():
    probe = AgentProbe({}, {"on_violation": {"mode": "fail_probe"}})

    def agent(data, tools, recorder):
        recorder.record_tool_call("t")
        raise ValueError("own")

    result = probe.run(agent)
    assert result.status == "error" and result.error == "own" and result.violations[0].code == "TOOL_NO_RESULT"


def keep(store, agent=None, data=3):
    probe = AgentProbe(ADD, {"store": store})
    return trace_of(probe.run(agent or (lambda n, tools: [tools["add"](i, 1) for i in range(n)]), data))


def test_what_is_kept():
    full, compact, nothing = keep({"mode": "full"}), keep({"mode": "compact"}), keep({"mode": "none"})
    assert len(full["events"]) == 6 and len(full["event_hashes"]) == 6
    assert "events" not in compact and compact["event_hashes"] == full["event_hashes"]
    assert "events" not in nothing and "event_hashes" not in nothing
    assert full["fingerprint"] == compact["fingerprint"] == nothing["fingerprint"]
    few = keep({"max_events": 2})
    assert len(few["events"]) == 2 and few["events_left_out"] == 4 and few["event_count"] == 6
    assert few["fingerprint"] == full["fingerprint"]
    assert all("payload" not in event for event in keep({"include_payloads": False})["events"])
    small = keep({"max_event_payload_bytes": 60}, lambda n, tools: tools["add"](1, int("9" * 40)))
    assert small["events"][0]["payload"]["$accord"] == "left out" and small["events"][0]["payload"]["bytes"] > 60
    assert keep({"max_event_payload_bytes": 10_000})["events"] == full["events"]


def test_switched_off():
    result = AgentProbe(ADD, {"enabled": False}).run(lambda n, tools: tools["add"](n, 1), 3)
    assert result.output == 4 and result.metadata == {"custom": {}} and result.trace == {}
    no_print = AgentProbe(ADD, {"fingerprint": {"enabled": False}}).run(lambda n, tools: tools["add"](n, 1), 3)
    assert trace_of(no_print)["fingerprint"] is None
    other = AgentProbe(ADD, {"fingerprint": {"algorithm": "sha512"}}).run(lambda n, tools: tools["add"](n, 1), 3)
    assert trace_of(other)["fingerprint"].startswith("sha512:")


def test_nothing_is_left_that_must_not_be_seen():
    config = {
        "store": {"redact": {"enabled": True, "json_pointers": ["/arguments/token"]}},
        "contracts": {
            "tool_payloads": {"tools": {"login": {"args_schema": {"properties": {"token": {"maxLength": 3}}}}}}
        },
        "on_violation": {"mode": "fail_probe"},
    }

    def agent(data, tools, recorder):
        recorder.record_generate_start(f"log in with {data}")
        tools["login"](token=data)
        recorder.record_generate_end(f"{data} worked")
        return f"done with {data}"

    results = [
        AgentProbe({"login": lambda token: f"hello {token}"}, config).run(agent, token)
        for token in ("s3cr3t-a", "s3cr3t-b")
    ]
    for result, token in zip(results, ("s3cr3t-a", "s3cr3t-b"), strict=True):
        assert (
            token not in json.dumps(result.to_record())
            and token not in str(result.violations)
            and token not in result.error
        )
        assert result.output == f"done with {token}"
    assert trace_of(results[0])["fingerprint"] == trace_of(results[1])["fingerprint"]
    assert trace_of(results[0])["events"] == trace_of(results[1])["events"]


def test_a_sink_gets_everything(tmp_path):
    path = tmp_path / "t.jsonl"
    with JsonlSink(path) as sink:
        result = AgentProbe(ADD, sink=sink).run(lambda n, tools: tools["add"](n, 1), 3, run_id="r")
    assert [event.to_dict() for event in read_trace(path)] == trace_of(result)["events"]


def test_a_sink_gets_nothing_that_must_not_be_seen(tmp_path):
    path = tmp_path / "t.jsonl"
    config = {"store": {"redact": {"enabled": True, "json_pointers": ["/arguments/token"]}}}

    def agent(data, tools, recorder):
        recorder.record("note", {"text": f"will log in with {data}"})
        return tools["login"](token=data)

    probe = AgentProbe({"login": lambda token: f"hello {token}"}, config, sink=JsonlSink(path))
    result = probe.run(agent, "s3cr3t-a")
    probe._sink.close()
    assert b"s3cr3t" not in path.read_bytes()
    assert [event.to_dict() for event in read_trace(path)] == trace_of(result)["events"] != []


class Full:
    def __init__(self):
        self.asked = 0

    def write(self, event):
        self.asked += 1
        raise OSError(28, "No space left on device")

    def close(self):
        raise AssertionError("the probe did not open it")


@pytest.mark.parametrize("redacted", [False, True])
def test_a_sink_that_fails_is_told_and_breaks_nothing(redacted):
    sink = Full()
    config = {"store": {"redact": {"enabled": redacted, "json_pointers": ["/arguments/x"]}}}
    result = AgentProbe(ADD, config, sink=sink).run(lambda n, tools: tools["add"](n, 1), 3)
    assert result.ok and "No space left" in trace_of(result)["sink_error"] and sink.asked == 1
    assert trace_of(result)["event_count"] == 2


def test_a_normaliser_of_ones_own(monkeypatch):
    module = types.ModuleType("own_normaliser")
    module.names = lambda payload, keep=("tool_name",): {key: payload.get(key) for key in keep}
    module.broken = lambda payload: 1 / 0
    monkeypatch.setitem(sys.modules, "own_normaliser", module)

    def config(name, **more):
        return {"fingerprint": {"normaliser": {"kind": "import", "import": f"own_normaliser:{name}", **more}}}

    with pytest.raises(ContractError, match="allow_imports"):
        AgentProbe(ADD, config("names"))
    probe = AgentProbe(ADD, config("names"), allow_imports=True)
    prints = {trace_of(probe.run(lambda n, tools: tools["add"](n, 1), n))["fingerprint"] for n in (1, 2)}
    assert len(prints) == 1
    more = AgentProbe(ADD, config("names", config={"keep": ["arguments"]}), allow_imports=True)
    assert trace_of(more.run(lambda n, tools: tools["add"](n, 1), 1))["fingerprint"] not in prints
    broken = trace_of(AgentProbe(ADD, config("broken"), allow_imports=True).run(lambda n, tools: tools["add"](n, 1), 1))
    assert broken["fingerprint"] is None and "ZeroDivisionError" in broken["fingerprint_error"]
    for wrong in ("nothing", "__name__"):
        with pytest.raises(UsageError, match="normaliser"):
            AgentProbe(ADD, config(wrong), allow_imports=True)


def test_misuse_is_told():
    for tools in ([lambda: 1], {"": len}, {"a": 1}, [len, len], {1: len}):
        with pytest.raises(UsageError):
            AgentProbe(tools)
    assert AgentProbe().run(lambda data: data, 1).output == 1
    assert isinstance(AgentProbe(trace_config=TraceConfig()).trace_config, TraceConfig)
    assert AgentProbe(trace_config=load_trace_config({})).trace_config == TraceConfig()


def test_one_probe_runs_many_at_once():
    from concurrent.futures import ThreadPoolExecutor

    probe = AgentProbe(ADD)
    with ThreadPoolExecutor(4) as pool:
        results = list(
            pool.map(lambda n: probe.run(lambda data, tools: [tools["add"](data, i) for i in range(20)], n), range(8))
        )
    assert [result.output[0] for result in results] == list(range(8))
    assert all(trace_of(result)["event_count"] == 40 and not result.violations for result in results)


# -- a contract instead of a configuration -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x.accord", "X.ACCORD"])
def test_a_contract_file_is_taken_as_the_contract(tmp_path, name):
    path = tmp_path / name
    path.write_text("protocol P = !search.?search.!book.?book.end\n")
    probe = AgentProbe({"search": lambda: "found", "book": lambda: "booked"}, path)
    assert probe.trace_config == TraceConfig(contracts=TraceContractsConfig(protocol=ProtocolConfig(file=str(path))))
    right = probe.run(lambda _, tools: [tools["search"](), tools["book"]()])
    assert (right.status, right.violations) == ("success", ())
    (wrong,) = probe.run(lambda _, tools: tools["book"]()).violations
    assert "`book` is not allowed yet" in str(wrong)
    assert load_trace_config(path) == probe.trace_config
    assert TraceCase("test", tmp_path, update=False).probe({}, path).trace_config == probe.trace_config


def test_what_is_wrong_with_a_contract_file_is_told_in_its_lines(tmp_path):
    path = tmp_path / "x.accord"
    with pytest.raises(UsageError, match=r"x\.accord"):
        AgentProbe({}, path)
    path.write_text("protocol P =\n  !a.!!b.end\n")
    with pytest.raises(ContractError) as told:
        AgentProbe({}, path)
    assert (told.value.diagnostics[0].source.name, told.value.diagnostics[0].code) == (str(path), "E013")
    path.write_text("protocol P = !a.(?b within 1h else end).end\n")
    with pytest.raises(UsageError, match="`time_key`"):
        AgentProbe({}, path)
    with pytest.raises(UsageError, match=r"for the file write `Path\('x.accord'\)`"):
        AgentProbe({}, "x.accord")


def test_a_file_of_any_other_name_is_a_configuration(tmp_path):
    for name in ("x.yaml", "x.conf", "accord"):
        path = tmp_path / name
        path.write_text("contracts: {fail_fast: true}\n")
        assert AgentProbe({}, path).trace_config.contracts.fail_fast
