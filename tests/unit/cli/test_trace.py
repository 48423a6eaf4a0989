"""`accord trace`: gates, baselines, drift, formats."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest

from accord.trace import AgentProbe, JsonlSink, TraceRecorder, summaries

CONFIG = """
contracts:
  tool_payloads:
    tools:
      search: {args_schema: {required: [query], properties: {query: {type: string}}}}
      pay: {}
  tool_order:
    must_precede: {search: [pay]}
"""


def parse(text):
    return ET.fromstring(text)  # noqa: S314 - our own


def record(path, *runs, append=False):
    """Write runs, each `(example_id, calls)` with `calls` as `(tool, arguments)`."""
    if not append:
        path.unlink(missing_ok=True)
    with JsonlSink(path) as sink:
        for number, (example, calls) in enumerate(runs):
            recorder = TraceRecorder(f"run-{path.stem}-{number}", example, sink=sink)
            for tool, arguments in calls:
                recorder.record_tool_call(tool, {**arguments, "timestamp": number})
                recorder.record_tool_result(tool, "ok")
    return path


GOOD = ("a", [("search", {"query": "x"}), ("pay", {})])
BAD = ("a", [("pay", {})])


@pytest.fixture
def config(write):
    return write(CONFIG, "trace.yaml")


@pytest.fixture
def trace(tmp_path):
    return lambda name, *runs: record(tmp_path / f"{name}.jsonl", *runs)


def test_validate(accord, trace, config):
    good, bad = trace("good", GOOD), trace("bad", ("a", [("pay", {}), ("search", {"query": 7})]), ("b", GOOD[1]))
    result = accord("trace", "validate", good, "--config", config)
    assert (result.exit_code, result.stdout) == (0, "1 run without violations\n")
    result = accord("trace", "validate", good, bad, "--config", config)
    assert result.exit_code == 1
    assert result.stdout == (
        f"a  {bad}\n"
        "  TOOL_ORDER_VIOLATION at event 0\n      `pay` needs an earlier `search`\n"
        "  TOOL_INVALID_ARG_TYPE at event 2\n      `query` of `search` is an integer; expected string\n"
        "2 violations in 1 of 3 runs\n"
    )
    assert accord("trace", "validate", bad, "--config", config, "--fail-on-trace-violations").exit_code == 3
    assert accord("trace", "validate", good, "--config", config, "--fail-on-trace-violations").exit_code == 0


def test_validate_as_json_and_junit(accord, trace, config):
    bad = trace("bad", BAD, ("b", GOOD[1]))
    found = json.loads(accord("trace", "validate", bad, "--config", config, "--format", "json").stdout)
    assert (found["violations"], found["new_violations"], found["drift"]) == (1, 1, 0)
    assert (
        found["runs"][0]["violations"][0]["code"] == "TOOL_ORDER_VIOLATION" and found["runs"][0]["violations"][0]["new"]
    )
    result = accord("trace", "validate", bad, "--config", config, "--format", "junit")
    suite = parse(result.stdout)[0]
    assert (suite.get("tests"), suite.get("failures"), result.exit_code) == ("2", "1", 1)
    assert [case.get("name") for case in suite] == ["a", "b"] and "TOOL_ORDER_VIOLATION" in suite[0][0].text


def test_junit_survives_hostile_names(accord, trace, config):
    bad = trace("bad", ('"<\x00\x1b&\u202e', [("<p\x01ay>&", {})]))
    result = accord("trace", "validate", bad, "--config", config, "--format", "junit")
    assert parse(result.stdout)[0].get("failures") == "1"
    assert "\x1b" not in accord("trace", "validate", bad, "--config", config).stdout


def test_standard_input(accord, trace, config):
    bad = trace("bad", BAD)
    result = accord("trace", "validate", "-", "--config", config, input=bad.read_bytes())
    assert result.exit_code == 1 and "TOOL_ORDER_VIOLATION" in result.stdout
    result = accord("trace", "diff", bad, "-", input=bad.read_bytes())
    assert (result.exit_code, result.stdout) == (0, "1 run without drift\n")
    other = trace("other", ("a", [("search", {"query": "y"})]))
    result = accord("trace", "diff", other, "-", input=bad.read_bytes())
    assert result.exit_code == 1 and '"pay"' in result.stdout
    assert accord("trace", "validate", "-", "-", input=b"").exit_code == 2
    assert accord("trace", "diff", "-", "-", input=b"").exit_code == 2


def test_known_violations_do_not_fail(accord, trace, config, tmp_path):
    bad, baseline = trace("bad", BAD), tmp_path / "baseline.json"
    result = accord("trace", "accept", bad, "--config", config, "--baseline", baseline)
    assert (result.exit_code, result.stdout) == (0, f"{baseline}: 1 run accepted, 1 known violation\n")
    gate = ("--config", config, "--baseline", baseline, "--fail-on-trace-violations")
    result = accord("trace", "validate", bad, *gate)
    assert (result.exit_code, result.stdout) == (0, "1 run without violations, 1 known violation\n")
    worse = trace("worse", ("a", [("pay", {}), ("pay", {})]))
    result = accord("trace", "validate", worse, *gate)
    assert result.exit_code == 3 and "at event 2" in result.stdout and "at event 0" not in result.stdout
    assert "1 violation in 1 of 1 run, 1 known violation" in result.stdout
    assert accord("trace", "validate", bad, *gate[:2], "--baseline", tmp_path / "no.json").exit_code == 2
    assert accord("trace", "validate", bad, *gate[:2], "--baseline", config).exit_code == 2
    assert accord("trace", "validate", baseline).exit_code == 2


@pytest.mark.parametrize(
    "violations",
    [["X"], [["X"]], ["X1"], [["X", "1"]], [["X", True]], [[1, 1]], [["X", 1, 2]], [{"0": 1, "1": 2}], {"X": 1}, None],
    ids=repr,
)
def test_a_baseline_that_says_anything_else_of_violations_is_refused(accord, trace, config, tmp_path, violations):
    run = {"fingerprint": None, "events": 1, "hashes": [], "violations": violations}
    baseline = tmp_path / "baseline.json"
    baseline.write_text(json.dumps({"accord_trace_baseline": 1, "runs": {"a": run}}))
    result = accord("trace", "validate", trace("bad", BAD), "--config", config, "--baseline", baseline)
    assert result.exit_code == 2
    assert "run `a` cannot be read" in result.stderr


def test_fingerprints(accord, trace):
    one, two = trace("one", GOOD), trace("two", ("b", []), GOOD)
    first = accord("trace", "fingerprint", one).stdout
    assert first.startswith("sha256:") and first.endswith("  a\n")
    assert accord("trace", "fingerprint", two).stdout == first
    found = json.loads(accord("trace", "fingerprint", one, "--json", "--events").stdout)
    assert len(found["hashes"]) == 4 and found["events"] == 4
    assert accord("trace", "fingerprint", one, "--events").stdout.count("\n") == 5


def test_drift(accord, trace, config):
    base = trace("base", GOOD, ("b", GOOD[1]), ("c", []), ("d", GOOD[1]))
    same = trace("same", ("d", GOOD[1]), GOOD, ("b", GOOD[1]))
    assert accord("trace", "diff", base, same, "--fail-on-trace-drift").exit_code == 0
    other = trace("other", ("a", [("search", {"query": "y"}), ("pay", {})]), ("b", GOOD[1][:1]), ("e", GOOD[1]))
    result = accord("trace", "diff", base, other, "--fail-on-trace-drift")
    assert result.exit_code == 4
    lines = result.stdout.splitlines()
    assert lines[0] == "a  DRIFT  it differs from event 0 on"
    assert lines[1].split() == ["base:", "event", "0", "candidate:", "event", "0"]
    assert "b  DRIFT  the same up to event 2, where it ends earlier" in lines
    assert lines[-3:] == [
        "d  DRIFT  the run is gone",
        "e  NEW  the run is new",
        "3 of 3 runs drifted, 1 new run",
    ]
    assert "! payload/arguments/query" in result.stdout and '"x"' in result.stdout and '"y"' in result.stdout
    assert accord("trace", "diff", base, other).exit_code == 1


def test_drift_against_a_baseline(accord, trace, config, tmp_path):
    base, baseline = trace("base", GOOD, ("b", GOOD[1])), tmp_path / "baseline.json"
    accord("trace", "accept", base, "--baseline", baseline)
    assert accord("trace", "diff", baseline, base, "--fail-on-trace-drift").exit_code == 0
    other = trace("other", ("a", [("search", {"query": "x"}), ("pay", {"much": 1})]), ("b", GOOD[1]))
    result = accord("trace", "diff", baseline, other, "--fail-on-trace-drift")
    assert result.exit_code == 4 and "a  DRIFT  it differs from event 2 on" in result.stdout
    kept = json.loads(baseline.read_text())
    told = json.loads(accord("trace", "diff", baseline, other, "--format", "json").stdout)["runs"][0]["comparison"]
    assert told["base_digest"] and told["base_digest"] in json.dumps(kept)
    assert f"base: the baseline keeps no payloads; the digest of its event is {told['base_digest']}" in result.stdout
    assert "candidate: event 2" in result.stdout and '"pay"' in result.stdout
    assert "nothing" not in result.stdout and "!" not in result.stdout
    longer = trace("longer", ("a", [*GOOD[1], *GOOD[1]]), ("b", GOOD[1]))
    result = accord("trace", "diff", baseline, longer)
    assert "where it goes on" in result.stdout and "base: nothing" in result.stdout  # it had ended there
    shorter = trace("shorter", ("a", GOOD[1][:1]), ("b", GOOD[1]))
    result = accord("trace", "diff", baseline, shorter)
    assert "the digest of its event is" in result.stdout and "candidate: nothing" in result.stdout
    accord("trace", "accept", other, "--baseline", baseline)
    assert accord("trace", "diff", baseline, other, "--fail-on-trace-drift").exit_code == 0
    more = trace("more", ("z", GOOD[1]))
    accord("trace", "accept", more, "--baseline", baseline)
    assert "z" in baseline.read_text() and '"a"' in baseline.read_text()
    assert accord("trace", "diff", baseline, more, "--fail-on-trace-drift").exit_code == 4
    accord("trace", "accept", more, "--baseline", baseline, "--replace")
    assert '"a"' not in baseline.read_text()
    assert accord("trace", "accept", more, more, "--baseline", baseline).exit_code == 2
    assert accord("trace", "accept", baseline, "--baseline", baseline).exit_code == 2


def test_both_gates(accord, trace, config, tmp_path):
    base, other = trace("base", GOOD), trace("other", BAD)
    both = ("--config", config, "--fail-on-trace-violations", "--fail-on-trace-drift")
    result = accord("trace", "diff", base, other, *both)
    assert result.exit_code == 3 and "DRIFT" in result.stdout and "TOOL_ORDER_VIOLATION" in result.stdout
    assert accord("trace", "diff", base, other, *both[:2], "--fail-on-trace-drift").exit_code == 4
    assert accord("trace", "diff", base, other, *both[:3]).exit_code == 3
    assert accord("trace", "diff", other, other, *both).exit_code == 0
    found = json.loads(accord("trace", "diff", base, other, *both, "--format", "json").stdout)
    assert (found["drift"], found["new_violations"]) == (1, 1)
    comparison = found["runs"][0]["comparison"]
    assert comparison["status"] == "drift" and comparison["first_difference"] == 0
    assert comparison["base_event"]["payload"]["tool_name"] == "search"
    suite = parse(accord("trace", "diff", base, other, *both, "--format", "junit").stdout)
    assert suite[0][0][0].get("type") == "violation and drift"


def test_runs_without_examples_are_matched(accord, trace):
    one, two = trace("one", (None, GOOD[1])), trace("two", (None, GOOD[1]))
    assert accord("trace", "diff", one, two, "--fail-on-trace-drift").exit_code == 0
    twice = trace("twice", GOOD, GOOD)
    again = trace("again", GOOD, ("a", []), BAD)
    result = accord("trace", "diff", twice, again)
    assert "a #2  DRIFT" in result.stdout


def records(path, agent, data, trace_config=None, **more):
    lines = []
    for example, item in data:
        result = AgentProbe({"add": lambda x, y: x + y}, trace_config or {}).run(
            agent, item, example_id=example, **more
        )
        lines.append(json.dumps(result.to_record()))
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_gates_fire_on_what_probes_write(accord, tmp_path):
    settings = {
        "contracts": {"tool_payloads": {"tools": {"add": {"args_schema": {"properties": {"x": {"minimum": 0}}}}}}}
    }

    def agent(data, tools):
        return tools["add"](data, 1)

    base = records(tmp_path / "base.jsonl", agent, [("one", 1), ("two", 2)], settings)
    same = records(tmp_path / "same.jsonl", agent, [("two", 2), ("one", 1)], settings, run_id="other")
    bad = records(tmp_path / "bad.jsonl", agent, [("one", 1), ("two", -2)], settings)
    both = ("--fail-on-trace-violations", "--fail-on-trace-drift")
    assert accord("trace", "diff", base, same, *both).exit_code == 0
    result = accord("trace", "diff", base, bad, *both)
    assert result.exit_code == 3 and "two  DRIFT  it differs from event 0 on" in result.stdout
    assert "! payload/arguments/x" in result.stdout and "INVALID_PAYLOAD at event 0" in result.stdout
    assert accord("trace", "validate", bad, both[0]).exit_code == 3
    compact = records(tmp_path / "compact.jsonl", agent, [("one", 1), ("two", 5)], {"store": {"mode": "compact"}})
    assert "two  DRIFT  it differs from event 0 on" in accord("trace", "diff", base, compact).stdout
    lost = records(tmp_path / "lost.jsonl", agent, [("one", 1), ("two", 2)], {"fingerprint": {"enabled": False}})
    result = accord("trace", "diff", base, lost, both[1])
    assert result.exit_code == 4 and "one  DRIFT  the run has no fingerprint any more" in result.stdout
    off = records(tmp_path / "off.jsonl", agent, [("one", 1), ("two", 2)], {"enabled": False})
    assert accord("trace", "diff", base, off, both[1]).exit_code == 4
    assert accord("trace", "diff", off, base, both[1]).exit_code == 0
    sha512 = records(tmp_path / "sha.jsonl", agent, [("one", 1), ("two", 2)], {"fingerprint": {"algorithm": "sha512"}})
    assert "it differs, and the events are not known" in accord("trace", "diff", base, sha512).stdout
    none = records(tmp_path / "none.jsonl", agent, [("one", 1), ("two", 3)], {"store": {"mode": "none"}})
    assert accord("trace", "diff", base, none, both[1]).exit_code == 4


def test_records_are_validated_again_where_a_configuration_is_given(accord, tmp_path, write):
    plain = records(tmp_path / "plain.jsonl", lambda data, tools: tools["add"](data, 1), [("one", 1)])
    assert accord("trace", "validate", plain).exit_code == 0
    strict = write("contracts: {tool_order: {allowed_tools: [sub]}}", "strict.yaml")
    assert "TOOL_UNKNOWN" in accord("trace", "validate", plain, "--config", strict).stdout


def test_redaction_reaches_what_is_printed(accord, trace, write):
    settings = write(
        "store: {redact: {enabled: true, json_pointers: [/arguments/query]}}\n"
        "contracts: {tool_payloads: {tools: {search: {args_schema: {properties: {query: {maxLength: 2}}}}}}}",
        "redact.yaml",
    )
    one, two = (
        trace("one", ("a", [("search", {"query": "s3cr3t-1", "n": 1})])),
        trace("two", ("a", [("search", {"query": "s3cr3t-2", "n": 2})])),
    )
    for format_ in ("text", "json", "junit"):
        result = accord("trace", "diff", one, two, "--config", settings, "--format", format_)
        assert "s3cr3t" not in result.stdout and result.exit_code == 1
        assert "s3cr3t" not in accord("trace", "validate", one, "--config", settings, "--format", format_).stdout
    assert "! payload/arguments/n" in accord("trace", "diff", one, two, "--config", settings).stdout


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"nonsense", "no JSON"),
        (b'{"kind": "a"}', "`seq` is missing"),
        (b'{"custom": {"trace": 7}}', "no object"),
        (b'{"custom": {"trace": {"fingerprint": 7}}}', "no fingerprint that can be read"),
        (b'{"custom": {"trace": {"violations": [7]}}}', "a violation is no object"),
        (b'{"custom": {"trace": {}}, "run_id": []}', "the id of a run"),
        (b'{"custom": {}}\n7', "expected the record"),
        (b'{"accord_trace_baseline": 2, "runs": {}}', "format 2"),
        (b'{"accord_trace_baseline": 1, "runs": {"a": {"hashes": 7}}}', "cannot be read"),
    ],
)
def test_files_that_cannot_be_read(accord, write, data, message):
    result = accord("trace", "diff", write(data, "t.jsonl"), write(b"", "e.jsonl"))
    assert result.exit_code == 2 and message in result.stderr


def test_usage(accord, write, tmp_path, trace):
    assert accord("trace", "validate", tmp_path).exit_code == 2
    assert accord("trace", "validate", "").exit_code == 2
    assert accord("trace", "validate", tmp_path / "no").exit_code == 2
    result = accord("trace", "validate", trace("t", GOOD), "--config", write("contracts: {fail_fsat: 1}", "c.yaml"))
    assert result.exit_code == 1 and "did you mean `fail_fast`?" in result.stderr
    imports = write("fingerprint: {normaliser: {kind: import, import: 'os.path:basename'}}", "i.yaml")
    assert accord("trace", "fingerprint", trace("t", GOOD), "--config", imports).exit_code == 1
    result = accord("trace", "fingerprint", trace("t", GOOD), "--config", imports, "--allow-imports")
    assert result.exit_code != 0  # it is allowed, and no normaliser
    assert accord("trace", "accept", trace("t", GOOD), "--baseline", tmp_path / "no" / "b.json").exit_code == 2


def test_an_empty_trace(accord, write, config):
    assert (
        accord("trace", "validate", write(b"", "e.jsonl"), "--config", config).stdout == "0 runs without violations\n"
    )
    asks = write("contracts: {protocol: {contract: '!a.end'}}", "p.yaml")
    assert "PROTOCOL_INCOMPLETE" in accord("trace", "validate", write(b"", "e.jsonl"), "--config", asks).stdout


def test_what_fails_inside_is_no_violation(accord, trace, monkeypatch):
    from accord.trace import summaries

    monkeypatch.setattr(summaries, "summarise", lambda *_, **__: 1 / 0)
    result = accord("trace", "validate", trace("t", GOOD))
    assert result.exit_code == 70 and "please report it" in result.stderr


def test_of_very_many_violations_the_first_are_told_and_all_are_counted(accord, trace, config, monkeypatch, tmp_path):
    monkeypatch.setattr(summaries, "MOST_KEPT", 3)
    many = trace("many", ("a", [("pay", {})] * 5), ("b", [("pay", {})] * 2))
    result = accord("trace", "validate", many, "--config", config, "--fail-on-trace-violations")
    assert result.exit_code == 3
    assert result.stdout.count("TOOL_ORDER_VIOLATION") == 3 and "  and 2 more\n" in result.stdout
    assert result.stdout.endswith("7 violations in 2 of 2 runs\n") and "\nb  " in result.stdout
    found = json.loads(accord("trace", "validate", many, "--config", config, "--format", "json").stdout)
    assert found["violations"] == found["new_violations"] == 7
    assert [(len(run["violations"]), run["violations_left_out"]) for run in found["runs"]] == [(3, 2), (0, 2)]
    suite = parse(accord("trace", "validate", many, "--config", config, "--format", "junit").stdout)
    assert suite.get("failures") == "2" and "2 violations more" in suite[0][1][0].text
    baseline = tmp_path / "b.json"
    accord("trace", "accept", many, "--config", config, "--baseline", baseline)
    assert json.loads(baseline.read_text())["runs"]["a"]["violations"] == [
        ["TOOL_ORDER_VIOLATION", n] for n in range(0, 10, 2)
    ]
    known = accord("trace", "validate", many, "--config", config, "--baseline", baseline)
    assert known.exit_code == 0 and "7 known violations" in known.stdout
    more = trace("more", ("a", [("pay", {})] * 6), ("b", [("pay", {})] * 2))
    result = accord("trace", "validate", more, "--config", config, "--baseline", baseline)
    assert result.exit_code == 1 and result.stdout.endswith("1 violation in 1 of 2 runs, 7 known violations\n")


@pytest.mark.parametrize(
    "store",
    [
        {"redact": {"enabled": True, "json_pointers": ["/arguments/amount"]}},
        {"max_event_payload_bytes": 20},
        {"include_payloads": False},
        {"max_events": 1},
    ],
)
def test_what_was_not_kept_as_it_happened_is_not_judged_again(accord, write, tmp_path, store):
    schema = {"properties": {"amount": {"maxLength": 6, "type": "string"}}}
    config = {"store": store, "contracts": {"tool_payloads": {"tools": {"pay": {"args_schema": schema}}}}}
    probe = AgentProbe({"pay": lambda amount: "paid"}, config)  # noqa: ARG005
    for amount, status in (("12 EUR", 0), ("120000 EUR", 1)):
        record = probe.run(lambda data, tools: tools["pay"](amount=data), amount).to_record()
        (tmp_path / "r.jsonl").write_text(json.dumps(record))
        result = accord("trace", "validate", tmp_path / "r.jsonl", "--config", write(json.dumps(config), "c.yaml"))
        assert result.exit_code == status, result.stdout
