"""Formats that a mapping describes, and what is wrong with mappings."""

from __future__ import annotations

import pytest
from tests.recorded import EXPECTED, TRAJECTORY, as_json, as_lines, read, summary, without_errors

from accord.diagnostics import Source
from accord.errors import ContractError
from accord.sources import Broken, read_runs, reader_named
from accord.sources.mapping_files import read_mapping

MAPPING = """
version: 1
runs: file
key: [task_id, trial]
metadata: {model: model, outcome: outcome}
kinds:
  - {kind: user, where: {type: user}, body: content}
  - {kind: agent, where: {type: [agent_text, agent_said]}, body: content}
  - {kind: call, where: {type: agent_tool_call}, name: name, body: args}
  - {kind: result, where: {type: tool_result}, name: name, body: content}
"""


def mapped(tmp_path, mapping, data):
    path = tmp_path / "map.yaml"
    path.write_text(mapping)
    return read(data, str(path))


def test_a_mapping_reads_what_the_reader_of_the_format_reads(tmp_path):
    (run,) = mapped(tmp_path, MAPPING, as_lines(TRAJECTORY))
    assert summary(run.messages) == without_errors(EXPECTED)
    assert (run.key, run.metadata) == ("t7/0", {"model": "m-1", "outcome": "ok"})
    (built_in,) = read(as_lines(TRAJECTORY))
    assert run.messages == built_in.messages


NESTED = """
runs: record
messages: log.turns
key: id
metadata: {score: grade.score}
kinds:
  - {kind: error, where: {role: tool, ok: false}, name: tool.name, body: out, id: tool.id, at: t}
  - {kind: result, where: {role: tool}, name: tool.name, body: out, id: tool.id, at: t}
  - {kind: call, where: {role: call}, name: tool.name, body: tool.args.0, id: tool.id, at: t}
  - {kind: user call, where: {role: user call}, name: tool.name}
  - {kind: event, where: {role: null}, name: what}
"""


def test_messages_inside_records(tmp_path):
    turns = [
        {"role": "call", "tool": {"name": "a", "id": "1", "args": [{"x": 1}]}, "t": 3},
        {"role": "tool", "tool": {"name": "a", "id": "1"}, "out": "fine", "t": "1970-01-01T00:00:05Z"},
        {"role": "tool", "ok": False, "tool": {"name": "b"}, "out": None, "t": []},
        {"role": None, "what": "approved"},
        {"role": "user call", "tool": {"name": 3}},
        {"role": "other"},
        "text",
    ]
    records = [
        {"id": 1, "log": {"turns": turns}, "grade": {"score": 0.5}},
        {"id": 1, "log": {"turns": []}},
        {"id": 2},
        {"id": 3, "log": {"turns": turns[0]}},
    ]
    runs = mapped(tmp_path, NESTED, as_json(records))
    assert [run.key for run in runs] == ["1", "1#2", "2", "3"]
    assert runs[0].metadata == {"score": 0.5}
    assert [(m.kind, m.name, m.at, m.index) for m in runs[0].messages] == [
        ("call", "a", 3.0, 0),
        ("result", "a", 5.0, 1),
        ("error", "b", None, 2),
        ("event", "approved", None, 3),
        ("user call", None, None, 4),
    ]
    assert runs[0].messages[1].payload == {"text": "fine", "error": None, "call": {"x": 1}, "call_id": "1"}
    assert [len(run.messages) for run in runs] == [5, 0, 0, 1]


def test_a_field_tells_which_calls_were_asked_for_together(tmp_path):
    mapping = (
        "together: turn.id\nkinds:\n  - {kind: call, where: {out: null}, name: tool}\n  - {kind: result, name: tool}"
    )
    turns = [("a", 1), ("b", 1), ("c", 2), ("d", None), ("e", None)]
    records = [{"tool": name, "out": None, "turn": {"id": turn}} for name, turn in turns]
    records.insert(2, {"tool": "a", "out": "fine", "turn": {"id": 1}})
    (run,) = mapped(tmp_path, mapping, as_lines(records))
    assert [(m.kind, m.name, m.index) for m in run.messages] == [
        ("call", "a", 0), ("call", "b", 0), ("result", "a", 2), ("call", "c", 3), ("call", "d", 4), ("call", "e", 5),
    ]  # fmt: skip


def test_runs_told_apart_by_a_field(tmp_path):
    mapping = "runs: s.id\nkinds: [{kind: user, body: text}]"
    records = [{"s": {"id": n % 2}, "text": str(n)} for n in range(4)] + [{"text": "x"}, {"s": {"id": [1]}}]
    found = mapped(tmp_path, mapping, as_lines(records))
    assert [run.line for run in found if isinstance(run, Broken)] == [5, 6]
    runs = [run for run in found if not isinstance(run, Broken)]
    assert [(run.key, [m.text for m in run.messages]) for run in runs] == [("0", ["0", "2"]), ("1", ["1", "3"])]


def test_what_a_mapping_says_is_part_of_its_name(tmp_path):
    path = tmp_path / "map.yaml"
    names = set()
    for text in (MAPPING, MAPPING, MAPPING.replace("content", "text")):
        path.write_text(text)
        names.add(reader_named(str(path)).name)
    assert len(names) == 2
    assert all(name.startswith("mapping:") for name in names)


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("", "E062", "the configuration is nothing; expected a mapping"),
        ("[1]", "E062", "the configuration is a list; expected a mapping"),
        ("kinds: []", "E062", "at least one kind"),
        ("runs: file", "E062", "says in `kinds`"),
        ("kinds: [{kind: users}]", "E062", "`kinds[0].kind` is `users`; expected one of"),
        ("kinds: [{kind: call}]", "E062", "`kinds[0]` is a call without a `name`"),
        ("kinds: [{body: x}]", "E062", "`kinds[0]` has no `kind`"),
        ("kinds: [{kind: user, bdy: x}]", "E061", "unknown key `bdy`"),
        ("kinds: [{kind: user, body: 3}]", "E062", "`kinds[0].body` is a number; expected a text"),
        ("kinds: [{kind: user, body: a..b}]", "E062", "`kinds[0].body` is no path"),
        ("kinds: [{kind: user, where: [x]}]", "E062", "expected a mapping"),
        ("kinds: [{kind: user, where: {x: {y: 1}}}]", "E062", "expected a value, or a list of them"),
        ("kinds: [{kind: user, where: {.x: 1}}]", "E062", "is no path"),
        ("runs: 3\nkinds: [{kind: user}]", "E062", "`runs` is a number"),
        ("version: 2\nkinds: [{kind: user}]", "E063", "version 2 is not supported"),
        ("kinds: [{kind: user}]\nkinds: [{kind: user}]", "E065", "stands twice"),
        ("kinds: {", "E060", ""),
    ],
)
def test_wrong_mappings(text, code, says):
    with pytest.raises(ContractError) as caught:
        read_mapping(Source(text, "map.yaml"))
    assert code in {finding.code for finding in caught.value.diagnostics}
    assert any(says in finding.message for finding in caught.value.diagnostics)


def test_all_that_is_wrong_is_told_in_order(tmp_path):
    path = tmp_path / "map.yaml"
    path.write_text("runs: 3\nkinds: [{kind: usr}, {kind: user, bdy: x}]")
    with pytest.raises(ContractError) as caught:
        list(read_runs("x", reader_named(str(path))))
    assert [finding.code for finding in caught.value.diagnostics] == ["E062", "E062", "E061"]
    path.write_bytes(b"\xff")
    with pytest.raises(ContractError, match="not UTF-8"):
        reader_named(str(path))
