"""Contracts and machines in JSON, traces with their baseline, and results of an audit."""

from __future__ import annotations

import json
import os
import shutil
from itertools import count
from pathlib import Path

from click.testing import CliRunner

import accord
from accord import AgentProbe, Monitor
from accord.audit.auditing import audit
from accord.cli.app import app
from accord.language.interchange import document_to_json
from accord.machine.codec import decode_machine, encode_machine
from accord.trace import JsonlSink
from tests.kept.contracts import CONTRACTS
from tests.kept.sample import Sample

__all__ = ["SAMPLES"]

CONFIG = """
version: 1
contracts:
  tool_order: {must_precede: {search: [book]}, at_most: {book: 1}}
"""


def write_contracts(folder):
    for name, text in CONTRACTS.items():
        contract = accord.compile(text)
        kept = {
            "digest": contract.digest,
            "contract": contract.to_json(),
            "machines": [encode_machine(machine) for machine in contract.machines.values()],
        }
        (folder / f"{name}.json").write_text(json.dumps(kept) + "\n", encoding="utf-8")


def go_on_contracts(folder):
    found = {}
    for name, text in CONTRACTS.items():
        kept = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        contract = accord.compile(kept["contract"])
        machines = [decode_machine(machine) for machine in kept["machines"]]
        found[name] = {
            "same digest": contract.digest == kept["digest"] == accord.compile(text).digest,
            "same machines": machines == list(contract.machines.values()),
            "same tree": document_to_json(contract.document) == kept["contract"],
            "begins with": [] if name == "roles" else Monitor(contract, at=0).allowed(),
        }
    return found


# -- traces ------------------------------------------------------------------------------------------------------------


def agent(city, tools, *, hasty):
    if not hasty:
        tools["search"](city=city)
    return tools["book"](trip=f"{city}-1")


def record(folder, name, *, hasty):
    numbers = count()
    tools = {
        "search": lambda city: [{"trip": city, "request_id": next(numbers)}],
        "book": lambda trip: f"booked {trip}",
    }
    with JsonlSink(folder / name) as sink:
        probe = AgentProbe(tools, folder / "trace.yaml", sink=sink)
        for city in ("Rome", "Oslo"):
            probe.run(lambda data, given: agent(data, given, hasty=hasty and data == "Oslo"), city, example_id=city)


def command(folder, *arguments):
    here = Path.cwd()
    os.chdir(folder)
    try:
        result = CliRunner().invoke(app, ["trace", *arguments])
    finally:
        os.chdir(here)
    return result.exit_code, result.output


def judged(folder, *arguments):
    """What a command says of each run: its state, and the codes and places of its violations."""
    status, output = command(folder, *arguments, "--config", "trace.yaml", "--format", "json")
    found = {"exit": status}
    for run in json.loads(output)["runs"]:
        comparison = run.get("comparison", {})
        found[run["key"]] = {
            "events": run["events"],
            "fingerprint": run["fingerprint"],
            "violations": [[each["code"], each["event_seq"], each["new"]] for each in run["violations"]],
            "drift": [comparison.get("status"), comparison.get("first_difference")],
        }
    return found


def write_traces(folder):
    (folder / "trace.yaml").write_text(CONFIG, encoding="utf-8")
    record(folder, "base.jsonl", hasty=False)
    record(folder, "hasty.jsonl", hasty=True)
    command(folder, "accept", "base.jsonl", "--config", "trace.yaml", "--baseline", "baseline.json")


def go_on_traces(folder):
    record(folder, "today.jsonl", hasty=False)
    return {
        "held to the contract": judged(folder, "validate", "base.jsonl"),
        "validated": judged(folder, "validate", "hasty.jsonl", "--baseline", "baseline.json"),
        "drifted": judged(folder, "diff", "baseline.json", "hasty.jsonl"),
        "recorded today": judged(folder, "diff", "baseline.json", "today.jsonl"),
        "held to old events": judged(folder, "diff", "base.jsonl", "today.jsonl"),
    }


# -- audits ------------------------------------------------------------------------------------------------------------

RUNS = [
    [("user", "yes, pay"), ("get_invoice", {}), ("pay_invoice", {"amount": 3})],
    [("get_invoice", {}), ("pay_invoice", {"amount": 3})],
]


def chat(run):
    messages = []
    for number, (name, given) in enumerate(run):
        if name == "user":
            messages.append({"role": "user", "content": given})
            continue
        function = {"name": name, "arguments": json.dumps(given)}
        calls = [{"id": f"c{number}", "type": "function", "function": function}]
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": "{}"})
    return {"messages": messages}


def audited(folder):
    contract = accord.compile(CONTRACTS["events"])
    with audit(contract, [str(folder / "runs.jsonl")], cache=folder / "cache", jobs=1) as found:
        return [plainly(verdict.to_json()) for verdict in found.verdicts()]


def plainly(verdict):
    """A verdict without the name of its file, which is a temporary one, and without the sentence that explains it."""
    violation = verdict["violation"]
    return {**verdict, "file": None, "violation": violation and {**violation, "sentence": None}}


def write_audit(folder):
    lines = [json.dumps(chat(run)) + "\n" for run in RUNS]
    (folder / "runs.jsonl").write_text("".join(lines), encoding="utf-8")
    audited(folder)


def go_on_audit(folder):
    """With the results of then and without any. A version may judge anew, but not come to other verdicts."""
    verdicts = audited(folder)
    shutil.rmtree(folder / "cache")
    return {"verdicts": verdicts, "the same without": audited(folder) == verdicts}


SAMPLES = {
    "contracts": Sample(write_contracts, go_on_contracts),
    "traces": Sample(write_traces, go_on_traces),
    "audit": Sample(write_audit, go_on_audit),
}
