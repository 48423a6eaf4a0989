"""Ledgers in files: verified whenever somebody looks, whatever they hold."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from accord import FileSink, Ledger, Monitor, RecordedMonitor
from accord.studio import ledgers as module
from accord.studio.ledgers import Ledgers
from tests.studio.asking import Asker

PAYMENT = Path(__file__).parents[2] / "examples" / "payment"


def written(path, events=3, key=None):
    with Ledger(FileSink(path), key=key) as ledger:
        monitor = RecordedMonitor(Monitor("rec L.{!a.L, end}", mode="refuse"), ledger, session="s")
        for _ in range(events):
            monitor.send("a")
        monitor.send("<script>\u202e")
    return path


def test_whole_and_tampered():
    asker = Asker(ledgers=Ledgers((PAYMENT / "payment.ledger", PAYMENT / "tampered.ledger")))
    whole, bad = asker.ask("ledgers")["ledgers"]
    assert (whole["ok"], whole["finding"]) == (True, None)
    assert not bad["ok"] and bad["read"] and "was changed" in bad["finding"]
    told = asker.ask("ledger", number=0)
    assert len(told["shown"]) == told["entries"] == whole["entries"]
    told = asker.ask("ledger", number=1)
    assert len(told["shown"]) == told["entries"] < whole["entries"]
    assert asker.ask("about")["ledgers"] == 2


def test_the_last_entries_are_shown_and_the_first_bad_one_ends_them(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_ENTRIES_SHOWN", 5)
    path = written(tmp_path / "long.ledger", 20)
    told = Ledgers((path,)).one(0)
    assert (len(told["shown"]), told["before"] + 5, told["ok"]) == (5, told["entries"], True)
    assert told["shown"][-1]["word"] == '!"<script>\\u202e"'
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:-1], lines[-1].replace(b"violation", b"ok______x")]))
    told = Ledgers((path,)).one(0)
    assert not told["ok"] and len(told["shown"]) == 5 and told["entries"] == len(lines) - 1


def test_keys(tmp_path):
    path = written(tmp_path / "keyed.ledger", key=b"secret")
    assert Ledgers((path,), b"secret").listed()[0]["ok"]
    assert "was written with a key" in Ledgers((path,)).listed()[0]["finding"]


def test_files_that_cannot_be_verified(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe.ledger")
    (tmp_path / "large.ledger").write_bytes(b"x" * 100)
    (tmp_path / "empty.ledger").write_bytes(b"")
    (tmp_path / "junk.ledger").write_bytes(bytes(range(256)))
    names = ["pipe", "large", "empty", "junk", "missing"]
    found = Ledgers(tuple(tmp_path / f"{name}.ledger" for name in names))
    monkeypatch.setattr(module, "_LARGEST", 99)
    told = dict(zip(names, found.listed(), strict=True))
    assert not any(one["ok"] for name, one in told.items() if name != "empty")
    assert [told[name]["read"] for name in ("pipe", "large", "missing")] == [False] * 3
    assert "accord verify" in told["large"]["finding"]
    monkeypatch.setattr(module, "_LARGEST", 10_000)
    assert found.listed()[3]["read"]


@pytest.mark.parametrize("number", [-1, 1, 10**9])
def test_ledgers_that_were_not_opened(number):
    asker = Asker(ledgers=Ledgers((PAYMENT / "payment.ledger",)))
    assert asker.post("ledger", number=number).status == 400
