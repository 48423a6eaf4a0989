"""Files that are not as they seem, change, or go; and results that cannot be kept."""

from __future__ import annotations

import os
import resource
import threading

import pytest

from accord import UsageError
from accord.audit import local, make_report
from accord.audit.cache import Cache
from accord.audit.results import seal
from accord.audit.worker import judge_file
from tests.audit.recorded import FINE, HASTY, write_tau


@pytest.fixture
def folder(tmp_path):
    runs = tmp_path / "runs"
    runs.mkdir()
    write_tau(runs / "a.json", [FINE, HASTY])
    write_tau(runs / "b.json", [FINE, FINE])
    return runs


def test_a_pipe_is_read_once_and_judged_as_a_file_is(audited, tmp_path):
    write_tau(tmp_path / "a.json", [FINE, HASTY])
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes((tmp_path / "a.json").read_bytes()))
    writer.start()
    found = audited([pipe], cache=tmp_path / "cache")
    writer.join()
    assert [(v.file, v.status) for v in found.verdicts()] == [(str(pipe), "conforming"), (str(pipe), "violating")]
    (finding,) = make_report(found).violations
    assert finding.lines
    (copy,) = found.plan.spooled
    found.close()
    assert not copy.exists()


def test_a_file_with_several_names_is_one_file(audited, tmp_path, monkeypatch):
    write_tau(tmp_path / "a.json", [FINE, HASTY])
    (tmp_path / "link.json").symlink_to(tmp_path / "a.json")
    (tmp_path / "loop").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    found = audited(["a.json", "./a.json", str(tmp_path / "a.json"), tmp_path, "**/*.json"])
    assert (found.tally.files, found.tally.runs) == (1, 2)
    assert [task.name for task in found.plan.files] == ["a.json"]
    os.link(tmp_path / "a.json", tmp_path / "copy.json")
    assert audited([tmp_path]).tally.files == 2


def test_the_result_of_a_file_that_changes_is_not_kept_as_that_of_what_it_was(audited, tmp_path, monkeypatch):
    path, cache = tmp_path / "a.json", tmp_path / "cache"
    write_tau(path, [FINE])
    old = path.read_bytes()

    def changing(job, name, stream):
        write_tau(path, [HASTY, HASTY])
        judge_file(job, name, stream)

    with monkeypatch.context() as patch:
        patch.setattr(local, "judge_file", changing)
        assert [v.status for v in audited([path], cache=cache).verdicts()] == ["violating", "violating"]
    path.write_bytes(old)
    again = audited([path], cache=cache)
    assert [v.status for v in again.verdicts()] == ["conforming"]
    assert again.run_info["files_from_cache"] == 0


def test_a_file_that_has_gone_since_is_reported_all_the_same(audited, tmp_path):
    write_tau(tmp_path / "a.json", [HASTY])
    found = audited([tmp_path / "a.json"])
    (tmp_path / "a.json").unlink()
    (finding,) = make_report(found).violations
    assert (finding.group.runs, finding.lines) == (1, ())


def test_a_result_that_has_gone_since_is_told(audited, tmp_path):
    write_tau(tmp_path / "a.json", [HASTY])
    found = audited([tmp_path / "a.json"], cache=tmp_path / "cache")
    for path in (tmp_path / "cache").glob("??/*"):
        path.unlink()
    with pytest.raises(UsageError, match="has gone from"):
        make_report(found)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_full_disk_ends_the_audit_and_is_no_broken_run(audited, folder, tmp_path, monkeypatch, jobs):
    """No file may be longer than a few bytes, which workers inherit."""
    monkeypatch.setattr(local, "_SMALL", 0)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, before[1]))
    try:
        with pytest.raises(UsageError, match=r"cannot keep results in .*cache: File too large"):
            audited([folder], cache=tmp_path / "cache", jobs=jobs)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list((tmp_path / "cache").rglob("*.jsonl")) == []


def test_what_killed_workers_left_behind_goes_and_what_is_being_written_stays(tmp_path):
    cache = Cache(tmp_path)
    with cache.writing("a" * 64) as writing:
        left = tmp_path / "aa" / ".left.part"
        left.write_bytes(b"x")
        os.utime(left, (0, 0))
        cache.tidy()
        assert not left.exists()
        writing.stream.write(b"x")
    assert cache.path("a" * 64).exists()


def test_clusters_are_not_told_of_damaged_results(tmp_path):
    cache = Cache(tmp_path)
    for number in range(2):
        with cache.writing(f"{number:064x}") as writing:
            writing.stream.write(b"{}\n")
            seal(writing.stream)
    damaged = cache.path(f"{1:064x}")
    damaged.write_bytes(damaged.read_bytes()[1:])
    assert cache.keys() == {f"{0:064x}"}


def test_an_outcome_that_no_run_has_is_told(audited, folder):
    with pytest.raises(UsageError, match="no run has a `rewrad`; did you mean `reward`"):
        make_report(audited([folder]), outcome="rewrad")
