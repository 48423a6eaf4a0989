"""The contracts of the browser agent find what their page says, in the runs beside them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from accord import Guard, ToolCall, load
from accord.audit import audit

FOLDER = Path(__file__).parents[2] / "examples" / "browse_by_snapshot"


@pytest.mark.parametrize(
    ("contract", "violating"),
    [("snapshot", {"does-not-look", "guesses-a-ref"}), ("refs", {"looks-then-guesses"})],
)
def test_who_acts_without_looking_and_who_leaves_what_was_seen(contract, violating):
    with audit(load(FOLDER / f"{contract}.accord"), [str(FOLDER / "runs.jsonl")], jobs=1) as found:
        verdicts = list(found.verdicts())
    assert len(verdicts) == len((FOLDER / "runs.jsonl").read_text().splitlines()) == 6
    assert {verdict.run for verdict in verdicts if verdict.status == "violating"} == violating


@pytest.mark.parametrize(
    ("arguments", "runs"),
    [
        ({"target": "e17"}, True),
        ({"target": "f1e17"}, True),
        ({"target": "#e17"}, False),
        ({"target": "e17 > a"}, False),
        ({"target": "e"}, False),
        ({"target": 17}, False),
        ({}, False),
    ],
)
def test_what_a_reference_is(arguments, runs):
    """The same file before a live agent, whose page was looked at."""
    clicked = []
    named = re.findall(r"browser_\w+", (FOLDER / "refs.accord").read_text())
    tools = {**dict.fromkeys(named, dict), "browser_click": lambda **given: clicked.append(given)}
    tools["browser_snapshot"] = lambda: "- link [ref=e17]"
    guard = Guard(FOLDER / "refs.accord", tools=tools)
    guard.run([ToolCall("browser_click", {"target": "#before"}, "c0"), ToolCall("browser_snapshot", {}, "c1")])
    assert clicked.pop() == {"target": "#before"}
    guard.run([ToolCall("browser_click", arguments, "c2")])
    assert clicked == ([arguments] if runs else []), json.dumps(arguments)
