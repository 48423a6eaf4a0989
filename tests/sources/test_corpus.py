"""Every file of real runs is read, runs and calls are as many as counted elsewhere, and known answers come out."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

from accord import Monitor, Violation, compile
from accord.projection.projection import projection_of
from accord.sources import KINDS, detect
from tests.sources.corpus import folder, manifest, read

EXAMPLES = Path(__file__).parents[2] / "examples"

FORMATS = {
    "tau1": "tau-bench",
    "tau2": "tau2-bench",
    "agentdojo": "agentdojo",
    "booking": "trajectory",
    "otel-genai": "otel-spans",
    "openinference": "openinference",
    "langfuse": "langfuse",
}

# The count kept with the runs knows observations of the type TOOL alone; in these files tools were recorded as SPAN.
MORE_CALLS = {
    "langfuse/ag2-2026-03-09.json": 1,  # by OpenTelemetry, as `execute_tool`
    "langfuse/koog-2025-08-26.trace.json": 2,  # likewise
    "langfuse/langgraph-2025-08-22.json": 1,  # returned a message that says which call it answers
}


def test_every_file_is_read(capsys):
    rows = defaultdict(Counter)
    for file, entry in manifest().items():
        row = rows[file.split("/")[0]]
        assert detect((folder() / file).read_bytes()[: 1 << 20]).name == FORMATS[file.split("/")[0]], file
        runs, broken = read(file)
        kinds = Counter(message.kind for run in runs for message in run.messages)
        calls = kinds["call"] + kinds["user call"]
        assert len(runs) == entry["trajectories"], file
        assert calls == entry["tool_calls"] + MORE_CALLS.get(file, 0), file
        assert broken == [], file
        assert len({run.key for run in runs}) == len(runs), file
        row.update(kinds)
        row.update(files=1, runs=len(runs), calls=calls, broken=len(broken), counted=entry["tool_calls"])
    columns = ("files", "runs", "calls", "counted", "broken", *KINDS)
    lines = ["".join(f"{column:>11}" for column in columns)]
    lines += ["".join(f"{row[column]:>11,}" for column in columns) + f"  {name}" for name, row in rows.items()]
    with capsys.disabled():
        print("\n\nreal runs, as they are read (`counted` is what was counted elsewhere)", *lines, sep="\n")  # noqa: T201
    assert set(rows) == set(FORMATS)


def test_ids_that_repeat_for_another_tool():
    """In tau1 an id comes again 73 times; no result may be taken for that of another tool."""
    repeated = 0
    (file,) = [file for file in manifest() if file.startswith("tau1/")]
    for run in read(file)[0]:
        calls = [message for message in run.messages if message.kind == "call"]
        tools = defaultdict(set)
        for call in calls:
            repeated += bool(tools[call.call_id]) and call.name not in tools[call.call_id]
            tools[call.call_id].add(call.name)
        for message in run.messages:
            if message.kind == "result":
                assert message.answers is not None
                assert message.answers.name == message.name
                assert message.answers.index == message.index - 1
    assert repeated > 20


def test_results_without_ids_find_their_calls():
    missing = answered = 0
    for file in manifest():
        if file.startswith(("agentdojo/", "booking/")):
            for run in read(file)[0]:
                missing += sum(message.kind == "call" and not message.call_id for message in run.messages)
                for message in run.messages:
                    if message.kind in {"result", "error"}:
                        assert message.answers is not None
                        assert message.answers.name == message.name
                        answered += 1
    assert missing > 300
    assert answered > 1000


def test_everything_in_a_run_can_be_looked_at():
    for file in manifest():
        for run in read(file)[0]:
            for message in run.messages:
                assert isinstance(message.text, str)
                assert isinstance(message.payload, dict)
                assert message.at is None or message.at > 1.6e9


# -- known answers -----------------------------------------------------------------------------------------------------


def judge(contract, run):
    """How a run ends: `violating`, or the status of the session when it is closed."""
    projection = projection_of(contract)
    monitor = Monitor(contract, mode="refuse")
    violated = False
    for message in run.messages:
        outcome, event, _, _ = projection.event(message)
        if event is None:
            violated |= outcome == "unknown call"
        else:
            act = monitor.send if event.direction == "!" else monitor.receive
            violated |= isinstance(act(event.label, event.payload), Violation)
    if violated:
        return "violating"
    monitor.close()
    return monitor.status


def mutating(name):
    contract = compile(EXAMPLES / "confirm_before_mutate" / f"{name}.accord")
    (file,) = [file for file in manifest() if file.startswith("tau1/")]
    runs = read(file)[0]
    passed = [run for run in runs if run.metadata["reward"] == 1]
    assert (len(passed), len(runs) - len(passed)) == (84, 116)
    found = {run.key for run in runs if judge(contract, run) == "violating"}
    return {run.key for run in passed} & found, found - {run.key for run in passed}


def test_confirm_before_mutate():
    passing, failing = mutating("loose")
    assert passing == {"2/2"}
    assert failing == {"0/1", "28/0", "28/1"}
    passing, failing = mutating("strict")
    assert (len(passing), len(failing)) == (8, 39)


def test_confirm_before_mutate_elsewhere():
    found = {}
    for name in ("loose", "strict"):
        contract = compile(EXAMPLES / "confirm_before_mutate" / f"{name}.accord")
        for file in manifest():
            if file.startswith("tau2/"):
                rewards = [run.metadata["reward"] for run in read(file)[0] if judge(contract, run) == "violating"]
                found[name, file.removeprefix("tau2/")] = (rewards.count(1), len(rewards) - rewards.count(1))
    assert {key: counts for key, counts in found.items() if any(counts)} == {
        ("loose", "toolorchestra-retail.json"): (2, 1),
        ("strict", "claude-sonnet-4-5-airline.json"): (6, 4),
        ("strict", "gpt-oss-120b-airline.json"): (2, 16),
        ("strict", "toolorchestra-retail.json"): (32, 6),
    }


def test_present_before_booking():
    contract = compile(EXAMPLES / "present_before_booking" / "booking.accord")
    found = defaultdict(Counter)
    for file in manifest():
        if file.startswith("booking/"):
            (run,) = read(file)[0]
            status = judge(contract, run)
            found[run.metadata["model"]][status] += 1
            told = {"ok": "complete", "violated": "violating", "unrecognized": "unrecognised"}
            assert told[run.metadata["outcome"]] == status, file
    assert {model: dict(counts) for model, counts in found.items()} == {
        "claude-haiku-4-5-20251001": {"violating": 3, "unrecognised": 8, "complete": 9},
        "claude-sonnet-4-6": {"violating": 2, "unrecognised": 8, "complete": 10},
        "claude-opus-4-7": {"unrecognised": 8, "complete": 12},
    }


def test_claims_of_success():
    contract = compile(EXAMPLES / "claims_of_success" / "claims.accord")
    found = Counter()
    for file in manifest():
        if file.startswith(("tau1/", "tau2/")):
            found[file] += sum(judge(contract, run) == "violating" for run in read(file)[0])
    assert {file: count for file, count in found.items() if count} == {"tau2/gpt-oss-120b-airline.json": 1}
