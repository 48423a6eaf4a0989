"""Which files are meant, and their bytes: compressed, damaged, too large, from standard input."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import sys

import pytest
import zstandard
from tests.recorded import EXPECTED, SAMPLES, summary

from accord.errors import UsageError
from accord.limits import Limits
from accord.sources import Broken, Run, files_of, read_runs, reader_named
from accord.sources.registry import detect

DATA = SAMPLES["anthropic"]


def test_folders_patterns_and_files(tmp_path):
    for name in ("b.json", "a.jsonl", "c.json.gz", "d.txt", ".hidden.json", "deep/e.csv", "f.parquet.zst"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"")
    names = [file.removeprefix(f"{tmp_path}/") for file in files_of([str(tmp_path), str(tmp_path / "b.json")])]
    assert names == ["a.jsonl", "b.json", "c.json.gz", "deep/e.csv", "f.parquet.zst"]
    assert files_of([str(tmp_path / "*.txt")]) == [str(tmp_path / "d.txt")]
    assert files_of(["-"]) == ["-"]


@pytest.mark.parametrize("path", ["nothing", "no*thing", "nul\0byte"])
def test_what_is_not_there(path, tmp_path):
    with pytest.raises(UsageError):
        files_of([str(tmp_path / path)])
    with pytest.raises(UsageError, match="no file of runs"):
        files_of([str(tmp_path)])


@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstandard.compress])
@pytest.mark.parametrize("suffix", [".json", ".json.gz", ""])
def test_compressed_whatever_it_is_called(tmp_path, compress, suffix):
    path = tmp_path / f"runs{suffix}"
    path.write_bytes(compress(DATA))
    (run,) = read_runs(str(path))
    assert summary(run.messages) == EXPECTED


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
def test_a_bomb_is_broken(tmp_path, compress):
    path = tmp_path / "bomb.json"
    path.write_bytes(compress(b'{"messages": [' + b" " * 10_000_000 + b"]}"))
    limits = Limits(decompressed_bytes=1_000_000)
    (found,) = read_runs(str(path), limits=limits)
    assert found == Broken(
        str(path), None, "it unfolds to more than 1000000 bytes; `Limits(decompressed_bytes=…)` allows more"
    )
    (found,) = read_runs(str(path), reader_named("openai-chat"))
    assert isinstance(found, Run)


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
@pytest.mark.parametrize("cut", [3, 12, 60, -1])
def test_a_damaged_file_is_broken(tmp_path, compress, cut):
    path = tmp_path / "runs.json"
    path.write_bytes(compress(DATA * 3)[:cut])
    found = list(read_runs(str(path), reader_named("anthropic")))
    assert "the compressed file is damaged or ends too early" in found[-1].reason


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
@pytest.mark.parametrize("keep", [0.3, 0.7, 0.999])
def test_of_a_file_that_is_cut_off_the_runs_before_the_cut_are_read(tmp_path, compress, keep):
    lines = [json.dumps({"id": n, "messages": [{"role": "user", "content": f"{n * n:09}"}]}) for n in range(60_000)]
    data = compress("\n".join(lines).encode())
    path = tmp_path / "runs.jsonl"
    path.write_bytes(data[: int(len(data) * keep)])
    *runs, broken = read_runs(str(path))
    assert "the compressed file is damaged or ends too early" in broken.reason
    assert [run.key for run in runs] == [str(n) for n in range(len(runs))]
    assert keep - 0.15 < len(runs) / len(lines) < 1


def test_frames_follow_each_other_and_nothing_else_may(tmp_path):
    path = tmp_path / "runs.json"
    half = len(DATA) // 2
    frames = zstandard.compress(DATA[:half]) + zstandard.compress(DATA[half:])
    path.write_bytes(frames)
    (run,) = read_runs(str(path))
    assert summary(run.messages) == EXPECTED
    path.write_bytes(frames + b"junk")
    assert isinstance(list(read_runs(str(path)))[-1], Broken)


def test_what_cannot_be_looked_into_is_not_passed_over(tmp_path, monkeypatch):
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "a.json").write_bytes(DATA)
    (tmp_path / "shut").mkdir()
    (tmp_path / "nowhere.json").symlink_to(tmp_path / "gone.json")
    (tmp_path / "round.json").symlink_to(tmp_path / "round.json")
    (tmp_path / "open" / "again").symlink_to(tmp_path)
    scan = os.scandir

    def scandir(path):
        if str(path).endswith("shut"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    names = [path.removeprefix(f"{tmp_path}/") for path in files_of([str(tmp_path)])]
    assert names == ["nowhere.json", "open/a.json", "round.json", "shut"]
    for name in ("nowhere.json", "round.json", "shut"):
        with pytest.raises(UsageError, match="cannot read"):
            list(read_runs(str(tmp_path / name)))


@pytest.mark.parametrize("data", [b"", b"\n  \n", b"\xef\xbb\xbf", b"[]\n"])
def test_an_empty_file_has_no_runs(tmp_path, data):
    path = tmp_path / "runs.json"
    path.write_bytes(data)
    assert list(read_runs(str(path))) == []


@pytest.mark.parametrize(
    "data", [b"hello", b"[1, 2]", b"{}", b"\x00\xff", b'"traj"', b'{"text": "\\"traj\\": \\"reward\\":"}']
)
def test_what_nobody_recognises_is_broken(tmp_path, data):
    path = tmp_path / "runs.json"
    path.write_bytes(data)
    (found,) = read_runs(str(path))
    assert found.reason == "no format is recognised; say which it is (`--source`), or describe it by a mapping"


def test_a_file_that_cannot_be_opened(tmp_path):
    with pytest.raises(UsageError, match="cannot read"):
        list(read_runs(str(tmp_path / "nothing.json")))


class _Pipe(io.RawIOBase):
    """Gives a byte at a time, as a slow pipe does, and cannot go back."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def readable(self):
        return True

    def readinto(self, buffer):
        piece = self.data[self.at : self.at + 1]
        buffer[: len(piece)] = piece
        self.at += len(piece)
        return len(piece)


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_standard_input(monkeypatch, compress):
    class Stdin:
        buffer = io.BufferedReader(_Pipe(compress(DATA)))

    monkeypatch.setattr(sys, "stdin", Stdin)
    (run,) = read_runs("-")
    assert summary(run.messages) == EXPECTED


def test_formats_have_names():
    assert reader_named("tau-bench").name == "tau-bench"
    with pytest.raises(UsageError, match="did you mean `langfuse`"):
        reader_named("langfuze")
    with pytest.raises(UsageError, match="it is one of `parquet`"):
        reader_named("x")
    with pytest.raises(UsageError, match="cannot read"):
        reader_named("nothing.yaml")


def test_what_an_agent_says_about_a_format_does_not_make_it_one():
    chat = SAMPLES["openai-chat"].replace(
        b"looking", b'{\\"suite_name\\": 1, \\"user_task_id\\": 2, \\"traj\\": [], \\"reward\\": 1}'
    )
    assert detect(chat).name == "openai-chat"
