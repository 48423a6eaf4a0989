"""Any lines give violations, or an error that names the line; and all ways of judging a trace say the same."""

from __future__ import annotations

import io
import json
import random

import pytest

from accord.errors import UsageError
from accord.trace import compile_trace_config, load_trace_config, validate_file, validate_with_config
from accord.trace.order_rules import rules_in
from accord.trace.summaries import summarise
from accord.trace.validation import iter_violations
from tests.fuzz.tracing import Life, Seen, as_lines, files_census, random_trace, spoiled

PAYLOADS = {
    "tools": {
        "a": {"args_schema": {"required": ["x"], "properties": {"x": {"type": "integer"}}}},
        "b": {"required": False, "result_schema": {"type": "object", "required": ["x"]}},
    }
}
ORDER = {
    "must_precede": {"a": ["b"]},
    "must_follow": {"c": ["b"]},
    "only_after_success": {"b": ["a"]},
    "eventually": {"a": ["b"]},
    "forbidden_sequences": [["a", "b", "a"], ["é"]],
    "forbidden_subsequences": [["b", "b"]],
    "at_most": {"a": 2},
}
CONFIGS = [
    {
        "store": {"redact": {"enabled": True, "json_pointers": ["/arguments/*", "/**/error"]}},
        "contracts": {
            "tool_payloads": PAYLOADS,
            "tool_order": ORDER,
            "protocol": {"contract": "protocol P = each id: rec L.{!a(x as r).?a(id == r).L, ?note by human.L, end}"},
        },
    },
    {
        "contracts": {
            "tool_payloads": PAYLOADS,
            "tool_order": {**ORDER, "allowed_tools": ["a", "b", "c", "é"]},
            "protocol": {"contract": 'rule "answered" { after a require b }\nrule "once" { at most 1 note }'},
        }
    },
    {
        "contracts": {
            "tool_order": {**ORDER, "allow_unknown_tools": True},
            "tool_results": {"require_exactly_one_result": False},
            "stream_boundaries": {"require_end": False, "require_monotonic_chunks": False},
            "protocol": {"contract": "protocol P = rec L.{!a.?a.L, !b.L}"},
        }
    },
]


def plans():
    """Each configuration, and the same with `fail_fast`."""
    for config in CONFIGS:
        first = {**config, "contracts": {**config["contracts"], "fail_fast": True}}
        yield compile_trace_config(load_trace_config(config)), compile_trace_config(load_trace_config(first))


def rules_of(plan):
    """Which kinds of rules of order a plan has."""
    order = plan.config.contracts.tool_order
    known = [] if plan.order.tools is None else ["allowed_tools" if plan.order.listed else "allow_unknown_tools"]
    return {*known, *(rule.kind for rule in rules_in(order))}


def test_random_traces(soak, health):
    chance, seen = random.Random(11), Seen()
    both = list(plans())
    count = 10_000 if soak else 600
    for _ in range(count):
        plan, first = chance.choice(both)
        events = random_trace(chance, seen)
        lines = as_lines(events)
        found = validate_file(io.BytesIO(lines), plan)
        summary = summarise(io.BytesIO(lines), plan)
        assert sum(len(run.violations) for run in summary.runs.values()) == len(found)
        for violation in found:
            json.dumps(violation.to_dict())
        assert validate_file(io.BytesIO(lines), first) == found[:1]
        judged_alike(events, plan, found)
        seen.found(events, found, rules_of(plan))
    for table in seen.tables():
        table.check(count // 300)
        health(table.table())


def test_spoiled_lines(soak, health):
    """A line that is no event is named; any other leaves a trace that is judged."""
    chance, table = random.Random(12), files_census()
    plan = next(plans())[0]
    count = 10_000 if soak else 800
    for _ in range(count):
        events = [{"seq": place, **Life(chance, ("r", None)).next()[1]} for place in range(chance.randrange(3, 9))]
        lines, wrong, where, number = spoiled(chance, events)
        try:
            validate_file(io.BytesIO(lines), plan)
        except UsageError:
            table.add([(wrong, f"{where}, refused")])
            for judge in (validate_file, summarise):
                with pytest.raises(UsageError, match=f"^<trace>:{number}: "):
                    judge(io.BytesIO(lines), plan)
        else:
            table.add([(wrong, f"{where}, judged")])
            summarise(io.BytesIO(lines), plan)
    table.check(count // 300)
    health(table.table())


def judged_alike(events, plan, expected):
    """A file, its events, its events one by one, and each of its runs alone."""
    assert validate_with_config(events, plan) == expected
    one_by_one = list(iter_violations(events, plan))
    assert sorted(map(repr, one_by_one)) == sorted(map(repr, expected))
    runs = {(event.get("run_id"), event.get("example_id")) for event in events}
    for key in runs:
        alone = [event for event in events if (event.get("run_id"), event.get("example_id")) == key]
        assert validate_with_config(alone, plan) == [one for one in expected if (one.run_id, one.example_id) == key]
