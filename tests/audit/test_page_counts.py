"""Every number on the page is one of the JSON report, or follows from it."""

from __future__ import annotations

import io
import json
import re
from collections import Counter

import pytest

from accord.audit import make_report
from accord.audit.outputs.as_json import write_json
from accord.audit.outputs.page import write_page
from tests.audit.recorded import chat, write_tau

EVENTS = """
events {
    Ask when agent says "sure?"
    Yes when user says matches "(?i)yes"
    No when user says matches "(?i)no"
    Pay when call pay
    Log when call log
    Paid when result of pay
}
"""
RULES = """
rule "confirm first" { before each Pay require Yes }
rule "never log" { at most 0 Log }
rule "never" { at most 0 Nothing }
"""
IN_A_ROW = f"{EVENTS}protocol Payment = rec L.!{{Ask.?{{Yes, No.L}}.!Pay.?Paid.end, Log.L}}\n{RULES}"
SIDE_BY_SIDE = f"{EVENTS}protocol Payment = (!Ask.?Yes.end | !Pay.?Paid.end | !Log.end).?No.end\n{RULES}"
NO_PROTOCOL = f"{EVENTS}{RULES}"

RUNS = [
    chat("agent: sure?", "user: yes", "call pay", "result: paid"),
    chat("agent: sure?", "user: no", "call pay", "result: paid"),
    chat("call pay", "result: paid"),  # the protocol and a rule, both in the first state
    chat("call log"),
    chat("call log"),
    chat("call log", "call log", "call pay"),
    chat("user: yes", "call pay"),
    chat("agent: sure?", "call log"),
    chat("agent: sure?", "user: yes"),
    chat("user: hello", "call other"),
]


@pytest.fixture(params=[IN_A_ROW, SIDE_BY_SIDE, NO_PROTOCOL], ids=["in a row", "side by side", "no protocol"])
def written(request, audited, tmp_path):
    """A report as JSON, the data of the page, and the page itself."""
    path = tmp_path / "a.json"
    write_tau(path, RUNS, [float(number % 2) for number in range(len(RUNS))])
    report = make_report(audited([path], request.param), by=["file", "task"])
    as_json, page = io.StringIO(), io.StringIO()
    write_json(report, as_json)
    write_page(report, page)
    text = page.getvalue()
    found = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(as_json.getvalue()), json.loads(found[1]), text


def drawn_states(page):
    """How many violating runs the drawing has in each state, and underneath it."""
    groups = re.findall(r'<g class="state[^"]*">.*?</g>', page)
    shown = [re.findall(r"<text[^>]*>([^<]*)</text>", group) for group in groups]
    counts = {texts[0]: int(texts[1].split()[0].replace(",", "")) for texts in shown if len(texts) > 1}
    under = re.search(r'class="elsewhere">[^:]*: (.*?)\.</p>', page)
    if under is not None:
        counts |= {state: int(runs) for runs, state in re.findall(r"([0-9]+) in (.+?)(?:, (?=[0-9])|$)", under[1])}
    return counts


def test_everything_of_the_report_is_on_the_page_as_it_is(written):
    report, data, _ = written
    summary = {name: value for name, value in report.items() if name != "runs"}
    assert {name: data[name] for name in summary} == summary


def test_runs_are_those_of_the_report(written):
    report, data, _ = written
    assert sorted(map(json.dumps, data["shown"])) == sorted(map(json.dumps, report["runs"]))
    assert report["total"]["runs"] == len(report["runs"]) == len(RUNS)
    assert Counter(run["status"] for run in report["runs"]) == {
        status: number for status in data["statuses"] if (number := report["total"][status])
    }
    assert sum(run["events"] for run in report["runs"]) == report["total"]["events"]
    blocked = report["enforcing_would_have_blocked"]
    total = report["total"]
    assert (
        sum(run["refused"] for run in report["runs"]) == total["refused"] == total["first_causes"] + total["followed"]
    )
    assert sum(run["followed"] for run in report["runs"]) == total["followed"]
    assert sum(one["followed"] for one in report["violations"]) == total["followed"] > 0
    # A guard refuses what the agent does; what it hears and says has happened.
    assert 0 < blocked["actions"] == sum(blocked["words"].values()) <= total["refused"]
    assert all(word.startswith("!") and not word.startswith("!Ask") for word in blocked["words"])
    # The page says in how many runs something would have been refused.
    assert sum(run["refused"] > 0 for run in report["runs"]) == report["total"]["violating"]


def test_rules_are_counted_as_in_the_report(written):
    report, data, _ = written
    by_clause = Counter(run["violation"]["clause"] for run in report["runs"] if run["violation"])
    assert {f'rule "{rule["name"]}"': rule["runs"] for rule in data["rules"]} == {
        f'rule "{name}"': by_clause[f'rule "{name}"'] for name in ("confirm first", "never log", "never")
    }
    assert [rule["name"] for rule in data["rules"] if not rule["exercised"]] == report["vacuous"]["rules"]


def test_each_state_is_drawn_with_all_runs_that_violated_in_it(written):
    """Several clauses may refuse in one state; where parts run side by side, it is no state of the drawing."""
    report, _, page = written
    states = Counter(run["violation"]["state"] for run in report["runs"] if run["status"] == "violating")
    by_group: Counter[str] = Counter()
    for finding in report["violations"]:
        by_group[finding["state"]] += finding["runs"]
        assert sum(finding["arrived"].values()) == finding["runs"]
    assert by_group == states
    if not report["contract"]["has_protocol"]:
        assert drawn_states(page) == {}
        return
    assert len({(one["clause"], one["state"]) for one in report["violations"]}) > len(states)
    assert drawn_states(page) == states
    assert sum(states.values()) == report["total"]["violating"] > 0


def test_each_edge_is_drawn_with_its_traffic(written):
    report, _, page = written
    drawn = Counter(re.findall(r"<tspan[^>]*>([^<]+?)  ([0-9,]+)</tspan>", page))
    traffic = report["traffic"]
    expected = Counter((step["word"].replace('"', "&quot;"), f"{step['times']:,}") for step in traffic)
    assert drawn == expected
    unused = [step for step in traffic if not step["times"]]
    assert report["vacuous"]["steps"] == [{key: step[key] for key in ("state", "word", "to")} for step in unused]
    if report["contract"]["has_protocol"]:
        assert any(step["times"] for step in traffic)
