"""From files to a result: what is counted, kept, merged, and used again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from accord import UsageError, compile
from accord.audit import audit, auditing, local, make_report, summary_of
from accord.audit.cache import Cache, default_folder
from accord.audit.results import seal
from accord.audit.tally import Tally, merge, of_file
from accord.audit.worker import Job, judge_file, result_key
from tests.audit.recorded import CONFIRM, FINE, HASTY, TWICE, chat, write_tau


@pytest.fixture
def folder(tmp_path):
    runs = tmp_path / "runs"
    runs.mkdir()
    write_tau(runs / "a.json", [FINE, HASTY, TWICE], [1.0, 1.0, 0.0])
    write_tau(runs / "b.json", [FINE, FINE], [0.0, 1.0])
    (runs / "c.jsonl").write_text(
        json.dumps({"messages": FINE}) + "\n{broken\n" + json.dumps({"messages": HASTY}) + "\n"
    )
    return runs


def test_runs_have_statuses_and_first_violations(audited, folder):
    found = audited([folder])
    verdicts = {(Path(v.file).name, v.run): v for v in found.verdicts()}
    hasty = verdicts["a.json", "1/0"]
    assert hasty.status == "violating"
    assert (hasty.breach.index, hasty.breach.position, hasty.breach.what.arrived) == (1, 0, "!Pay")
    assert hasty.breach.what.clause == 'rule "confirm first"'
    assert "First the user must say so (`Yes`), then `pay`." in hasty.breach.what.sentence
    twice = verdicts["a.json", "2/0"]
    assert (twice.breach.index, twice.breach.position, twice.refused, twice.metadata["reward"]) == (3, 2, 1, 0.0)
    assert verdicts["b.json", "0/0"].status == "conforming"
    found.close()


def test_everything_is_counted(audited, folder):
    tally = audited([folder]).tally
    assert tally.files == 3
    assert tally.statuses == {"conforming": 4, "violating": 3, "incomplete": 0, "unrecognised": 0}
    assert (tally.broken, tally.first_broken[0].line) == (1, 2)
    assert tally.first_broken[0].file.endswith("c.jsonl")
    assert tally.calls == 4 + 2 + 2
    assert tally.ignored == 4
    assert tally.unmatched["user"] == 6
    assert tally.unmatched["result pay"] == 8
    assert tally.refused == 3
    assert tally.blocked == {"!Pay (pay)": 3}
    assert tally.exercised == [0]
    (group,) = tally.violations
    assert (group.runs, group.arrived) == (3, {"!Pay": 3})
    assert Path(group.example.file).name == "a.json"
    assert group.example.run == "1/0"


def test_a_report_tells_what_matters(audited, folder):
    report = make_report(audited([folder]), by=["file"])
    rows = [(Path(row.value).name, row.runs) for row in report.tables.by["file"]]
    assert rows == [("a.json", 3), ("b.json", 2), ("c.jsonl", 2)]
    outcome = report.tables.outcome
    assert (outcome.key, outcome.passed, outcome.passed_but_violated) == ("reward", 3, 1)
    assert report.vacuous.rules == ("never after closing",)
    (finding,) = report.violations
    assert [(line.kind, line.label, line.refused) for line in finding.lines] == [
        ("user", None, False), ("call", "!Pay", True), ("result", None, False),
    ]  # fmt: skip
    summary = summary_of(report)
    assert summary["enforcing_would_have_blocked"] == {"actions": 3, "words": {"!Pay (pay)": 3}}
    assert json.loads(json.dumps(summary))["total"]["runs"] == 7


def test_only_the_call_that_was_refused_is_marked(audited, tmp_path):
    """Three calls of one message have the same number; the second is the one."""
    calls = [{"id": f"c{n}", "type": "function", "function": {"name": "pay", "arguments": "{}"}} for n in range(3)]
    write_tau(tmp_path / "a.json", [[*chat("user: yes"), {"role": "assistant", "content": "x", "tool_calls": calls}]])
    (finding,) = make_report(audited([tmp_path / "a.json"])).violations
    told = [(line.number, line.kind, line.refused) for line in finding.lines]
    called = [(1, "call", False), (1, "call", True), (1, "call", False)]
    assert told == [(0, "user", False), (1, "agent", False), *called]


def test_steps_that_no_run_took_are_told(audited, tmp_path):
    write_tau(tmp_path / "a.json", [chat("call a", "result: x")])
    report = make_report(audited([tmp_path / "a.json"], "protocol P = !a.?{a.end, b.!c.end}"))
    assert {word for _, word, _ in report.vacuous.steps} == {"?b", "!c"}
    assert report.tally.traffic


def test_a_call_that_the_events_do_not_name_is_refused_under_a_protocol(audited, tmp_path):
    events = "events { Pay when call pay }\n"
    write_tau(tmp_path / "a.json", [chat("call other", "call pay")])
    under_protocol = audited([tmp_path / "a.json"], f"{events}protocol P = !Pay.end")
    (verdict,) = under_protocol.verdicts()
    assert (verdict.status, verdict.breach.what.arrived) == ("violating", "!other")
    assert "name no such call" in verdict.breach.what.sentence
    # A tool that is called as a label is named is no such event either.
    write_tau(tmp_path / "b.json", [chat("call Pay")])
    (verdict,) = audited([tmp_path / "b.json"], f"{events}protocol P = !Pay.end").verdicts()
    assert verdict.status == "violating"
    under_rules = audited([tmp_path / "a.json"], f'{events}rule "r" {{ at most 1 Pay }}')
    assert [v.status for v in under_rules.verdicts()] == ["conforming"]
    assert under_rules.tally.unmatched["call other"] == 1


def test_a_run_that_cannot_be_judged_is_broken_and_told(audited, tmp_path):
    write_tau(tmp_path / "a.json", [chat("call a")])
    found = audited([tmp_path / "a.json"], "!a within 3s else (!b.end).end")
    assert found.tally.runs == 0
    assert "the contract uses time, and message 0 was recorded without one" in found.tally.first_broken[0].reason


# -- keeping results ---------------------------------------------------------------------------------------------------


def test_what_has_not_changed_is_not_judged_again(audited, folder, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    first = audited([folder], cache=cache)
    assert first.run_info["files_from_cache"] == 0
    monkeypatch.setattr(local, "judge_file", lambda *_: pytest.fail("judged again"))
    again = audited([folder], cache=cache)
    assert again.run_info["files_from_cache"] == 3
    assert list(again.verdicts()) == list(first.verdicts())
    assert summary(again) == summary(first)


def summary(found):
    told = summary_of(make_report(found))
    del told["run_info"]
    return told


def test_a_changed_file_contract_or_name_is_judged_again(audited, folder, tmp_path):
    cache = tmp_path / "cache"
    audited([folder], cache=cache)
    write_tau(folder / "b.json", [HASTY])
    assert audited([folder], cache=cache).run_info["files_from_cache"] == 2
    assert audited([folder], CONFIRM.replace("before each", "before"), cache=cache).run_info["files_from_cache"] == 0
    (folder / "a.json").rename(folder / "z.json")  # a run may be named after its file
    assert audited([folder], cache=cache).run_info["files_from_cache"] == 2


def test_damaged_results_are_worked_out_again(audited, folder, tmp_path):
    cache = tmp_path / "cache"
    whole = audited([folder], cache=cache)
    for number, path in enumerate(sorted(cache.glob("??/*.jsonl"))):
        data = path.read_bytes()
        flipped = data.replace(b'"status":"cvv"', b'"status":"ccv"') if b'"cvv"' in data else data[:-40] + data[-39:]
        path.write_bytes([data[: len(data) // 2], b"", flipped][number])
    again = audited([folder], cache=cache)
    assert again.run_info["files_from_cache"] == 0
    assert summary(again) == summary(whole)


def test_the_cache_does_not_grow_without_bound(tmp_path):
    cache = Cache(tmp_path)
    for number in range(5):
        with cache.writing(f"{number:064x}") as writing:
            writing.stream.write(b"x" * 1000)
            seal(writing.stream)
    cache.tidy(2500)
    assert len(cache.keys()) == 2


def test_nothing_is_left_of_a_result_that_failed(tmp_path):
    cache = Cache(tmp_path)
    with pytest.raises(ZeroDivisionError), cache.writing("a" * 64):
        raise ZeroDivisionError
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_results_are_kept_where_caches_are(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "accord" / "audit"


# -- merging -----------------------------------------------------------------------------------------------------------


def tallies(audited, folder):
    found = audited([folder])
    return [audited([task.path]).tally for task in found.plan.files], found.tally


def test_merging_does_not_depend_on_the_grouping(audited, folder):
    parts, whole = tallies(audited, folder)
    a, b, c = parts
    assert merge(a, b, c) == merge(merge(a, b), c) == merge(a, merge(b, c)) == whole
    assert merge(Tally(), a) == a


def test_merging_leaves_its_parts_alone(audited, folder):
    parts, _ = tallies(audited, folder)
    before = [repr(part) for part in parts]
    merge(*parts)
    assert [repr(part) for part in parts] == before
    assert of_file(parts[0], "new").violations[0].example.file == "new"
    assert [repr(part) for part in parts] == before


# -- processes ---------------------------------------------------------------------------------------------------------


def test_processes_give_the_same_report(audited, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(local, "_SMALL", 0)
    alone, together = audited([folder], jobs=1), audited([folder], jobs=2)
    assert summary(alone) == summary(together)
    assert list(alone.verdicts()) == list(together.verdicts())


def test_batches_hold_every_file_once_and_the_largest_first(folder):
    plan = auditing.make_plan([str(folder)])
    groups = local.batches(plan.files, 2)
    assert sorted(task.number for group in groups for task in group) == [0, 1, 2]
    sizes = [group[0].size for group in groups]
    assert sizes == sorted(sizes, reverse=True)


def test_ctrl_c_leaves_a_partial_result_to_go_on_from(audited, folder, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    judge, judged = local.judge_file, []

    def interrupted(job, path, stream):
        if len(judged) == 2:
            raise KeyboardInterrupt
        judged.append(path)
        judge(job, path, stream)

    monkeypatch.setattr(local, "judge_file", interrupted)
    found = audited([folder], cache=cache)
    assert (found.unfinished, found.tally.files, summary(found)["complete"]) == (1, 2, False)
    monkeypatch.setattr(local, "judge_file", judge)
    again = audited([folder], cache=cache)
    assert (again.unfinished, again.run_info["files_from_cache"]) == (0, 2)


def test_a_file_that_cannot_be_read_does_not_stop_the_rest(audited, folder, monkeypatch):
    def failing(job, path, stream):
        if path.endswith("b.json"):
            raise MemoryError("no more")
        judge_file(job, path, stream)

    monkeypatch.setattr(local, "judge_file", failing)
    found = audited([folder])
    assert found.tally.broken == 2
    assert found.tally.runs == 5
    assert any("accord failed inside" in one.reason for one in found.tally.first_broken)


def test_misuse_is_told(audited, folder, tmp_path):
    with pytest.raises(UsageError, match="no such file"):
        audited([tmp_path / "nothing.json"])
    with pytest.raises(UsageError, match="no format is called"):
        audited([folder], source="tau-bensh")
    with pytest.raises(UsageError, match="declares no protocol"):
        audited([folder], protocol="P")
    with pytest.raises(UsageError, match="1 or more"):
        audited([folder], jobs=0)
    with pytest.raises(UsageError, match="an engine is one of"):
        audited([folder], engine="dask")
    with pytest.raises(UsageError, match="no run has a `modle`"):
        make_report(audited([folder]), by=["modle"])


def test_the_name_of_a_result_depends_on_all_that_decides_it(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("[]")
    one, other = Job(compile("!a.end")), Job(compile("!b.end"))
    key = result_key(one.identity(), str(path))
    assert key == result_key(Job(compile("!a . end")).identity(), str(path))
    assert key != result_key(other.identity(), str(path))
    assert key != result_key(Job(compile("!a.end"), source="chat").identity(), str(path))
    path.write_text("[ ]")
    assert key != result_key(one.identity(), str(path))


def test_standard_input_is_read(monkeypatch, tmp_path):
    import io
    import sys

    path = tmp_path / "a.json"
    write_tau(path, [FINE, HASTY])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    found = audit(compile(CONFIRM), ["-"], jobs=1)
    assert {v.file for v in found.verdicts()} == {"-"}
    assert found.tally.runs == 2
    (spooled,) = found.plan.spooled
    found.close()
    assert not spooled.exists()


def test_results_that_a_protocol_does_not_speak_of_are_no_events_as_for_a_guard(audited, tmp_path):
    write_tau(tmp_path / "a.json", [chat("call send", "result: done")])
    found = audited([tmp_path / "a.json"], "!send.end")
    assert [verdict.status for verdict in found.verdicts()] == ["conforming"]
    assert found.tally.unmatched["result send"] == 1
    (verdict,) = audited([tmp_path / "a.json"], "!send.?other.end").verdicts()
    assert verdict.status == "incomplete"
    # What a recording itself calls an event is one.
    (tmp_path / "rows.csv").write_text("run,label\nr,!send\nr,?send\n")
    (verdict,) = audited([tmp_path / "rows.csv"], "!send.end").verdicts()
    assert verdict.status == "violating"
