"""`accord sessions` on a SQLite file; that stores are alike is the business of the conformance suite."""

from __future__ import annotations

import json
import sqlite3

import pytest

import accord as library
from accord import Guard, SQLiteStore, StoredSession, ToolCall

TEXT = "protocol Order = !ask.?answer.end"


@pytest.fixture
def path(tmp_path):
    with SQLiteStore(tmp_path / "sessions.db") as store:
        done = StoredSession(store, TEXT, "done")
        done.send("ask")
        done.receive("answer")
        waiting = StoredSession(store, TEXT, "waiting")
        waiting.send("pay", {"amount": 3})
        waiting.send("ask")
        StoredSession(store, "!a.end", "old", expires_after=5).send("a", at=0)
        store.sweep(10)
    return tmp_path / "sessions.db"


@pytest.fixture
def corrupted(path):
    db = sqlite3.connect(path)
    db.execute("UPDATE sessions SET sealed = 'x' WHERE key = 'done'")
    db.execute("UPDATE entries SET line = 'x' WHERE key = 'waiting' AND number = 1")
    db.commit()
    db.close()
    return path


def test_the_list(accord, path):
    result = accord("sessions", "list", path)
    assert result.exit_code == 0
    lines = [line.split() for line in result.output.splitlines()]
    assert lines[0] == ["done", "complete", "2", "events", "Order"]
    assert lines[1] == ["old", "expired", "1", "event", "(bare)"]
    assert lines[2] == ["waiting", "running", "2", "events", "Order"]
    assert lines[3] == ["3", "sessions"]


def test_the_list_for_programs(accord, path, write):
    result = accord("sessions", "list", path, "--json", "--status", "running", "--contract", write(TEXT))
    (info,) = map(json.loads, result.output.splitlines())
    assert info["key"] == "waiting"
    assert info["contract"] == library.compile(TEXT).digest
    assert info["events"] == 2
    assert "fault" not in info


def test_a_status_that_is_none(accord, path):
    result = accord("sessions", "list", path, "--status", "paused")
    assert result.exit_code == 2
    assert "a status is one of running" in result.output


def test_a_stopped_session(accord, path):
    with SQLiteStore(path) as store:
        guard = Guard("{!a.end, end}", store=store, key="halted", tools={"a": lambda: 1, "b": lambda: 2}, patience=1)
        guard.run([ToolCall("b", {}, "c1")])
    result = accord("sessions", "list", path, "--status", "stopped")
    assert result.exit_code == 0
    assert "halted" in result.output and "1 session" in result.output
    assert json.loads(accord("sessions", "show", path, "halted", "--json").output)["status"] == "stopped"
    assert "halted" not in accord("sessions", "list", path, "--status", "complete").output


def test_one_session(accord, path):
    result = accord("sessions", "show", path, "waiting")
    assert result.exit_code == 0
    assert "its ledger is whole: 3 entries" in result.output
    assert "VIOLATION" in result.output
    shown = json.loads(accord("sessions", "show", path, "waiting", "--json").output)
    assert shown["ledger"] == {"ok": True, "entries": 3, "finding": None}
    assert [entry["event"] for entry in shown["entries"][1:]] == ["!pay", "!ask"]


def test_a_long_session_is_shown_from_its_end(accord, path):
    with SQLiteStore(path, fsync="never") as store:
        session = StoredSession(store, "rec X.!a.X", "long")
        for _ in range(30):
            session.send("a")
    assert "… 11 before" in accord("sessions", "show", path, "long").output
    assert "before" not in accord("sessions", "show", path, "long", "--all").output


def test_an_expired_session(accord, path):
    result = accord("sessions", "show", path, "old")
    assert result.exit_code == 0
    assert "its ledger is gone" in result.output


def test_corrupted_sessions(accord, corrupted, write):
    listed = accord("sessions", "list", corrupted)
    assert listed.exit_code == 1
    assert "done" in listed.output
    assert "CORRUPTED" in listed.output
    assert "3 sessions, 1 of them corrupted" in listed.output
    shown = accord("sessions", "show", corrupted, "done")
    assert shown.exit_code == 1
    assert "session `done` is corrupted" in shown.output
    assert json.loads(accord("sessions", "show", corrupted, "done", "--json").output)["fault"]
    assert accord("sessions", "close", corrupted, "done", write(TEXT)).exit_code == 2
    shown = accord("sessions", "show", corrupted, "waiting")
    assert shown.exit_code == 1
    assert "its ledger is bad: entry 1" in shown.output


def test_closing(accord, path, write):
    contract = write(TEXT)
    result = accord("sessions", "close", path, "done", contract)
    assert (result.exit_code, result.output) == (0, "complete\n")
    result = accord("sessions", "close", path, "waiting", contract, "--json")
    assert result.exit_code == 1
    said = json.loads(result.output)
    assert (said["ok"], said["status"]) == (False, "incomplete")
    assert "`answer`" in said["explanation"]
    result = accord("sessions", "close", path, "waiting", write("!other.end", "other.accord"))
    assert result.exit_code == 2
    assert "another contract" in result.output


def test_exporting(accord, path, tmp_path):
    result = accord("sessions", "export", path, "done", tmp_path / "done.ledger")
    assert result.exit_code == 0
    head = result.output.split()[1]
    assert accord("verify", tmp_path / "done.ledger", "--head", head).exit_code == 0
    result = accord("sessions", "export", path, "done", tmp_path / "done.ledger")
    assert result.exit_code == 2
    assert "not overwritten" in result.output


def test_moving(accord, path):
    result = accord("sessions", "move", path, "done", "acme%2F17")
    assert (result.exit_code, result.output) == (0, "done is acme%2F17 now\n")
    shown = accord("sessions", "show", path, "acme%2F17")
    assert shown.exit_code == 0
    assert "its ledger is whole: 4 entries" in shown.output
    for key, new, said in [
        ("done", "other", "there is no session `done`"),
        ("waiting", "acme%2F17", "there is a session `acme%2F17` already; nothing was moved"),
        ("waiting", "waiting", "there is a session `waiting` already"),
        ("waiting", "x" * 201, "200 characters at the most"),
        ("old", "other", "has expired and its ledger is gone"),
    ]:
        result = accord("sessions", "move", path, key, new)
        assert result.exit_code == 2
        assert said in result.output
    assert accord("sessions", "show", path, "waiting").exit_code == 0


def test_a_store_in_the_environment(accord, path, monkeypatch):
    monkeypatch.setenv("STORE", str(path))
    assert accord("sessions", "list", "env:STORE").exit_code == 0
    result = accord("sessions", "list", "env:NONE_SUCH")
    assert result.exit_code == 2
    assert "is not set or empty" in result.output


def test_a_store_with_a_secret(accord, tmp_path, monkeypatch):
    with SQLiteStore(tmp_path / "s.db", secret=b"secret") as store:
        StoredSession(store, TEXT, "s1").send("ask")
    monkeypatch.setenv("SECRET", "secret")
    assert accord("sessions", "show", tmp_path / "s.db", "s1", "--key-env", "SECRET").exit_code == 0
    assert accord("sessions", "show", tmp_path / "s.db", "s1").exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["list", "nowhere.db"], "there is no store at nowhere.db"),
        (["list", "mysql://x"], "no store is known that is reached by `mysql:`"),
        (["list", "redis://127.0.0.1:1/0"], "Redis says"),
        (["list", "postgresql://127.0.0.1:1/x"], "PostgreSQL says"),
    ],
)
def test_stores_that_are_not_there(accord, arguments, said):
    result = accord("sessions", *arguments)
    assert result.exit_code == 2
    assert said in result.output


def test_a_session_that_is_not_there(accord, path):
    result = accord("sessions", "show", path, "nobody")
    assert result.exit_code == 2
    assert "there is no session `nobody`" in result.output


@pytest.mark.parametrize("escalate", ["stop", "review"])
def test_a_stopped_session_goes_on_when_a_person_says_so(accord, path, write, escalate):
    contract = write("!ask.end")
    with SQLiteStore(path) as store:
        guard = Guard(contract, store=store, key="stuck", patience=2, escalate=escalate)
        for name in ("one", "two"):
            guard.reserve([ToolCall(name)])
        assert not guard.reserve([ToolCall("ask")])[0].admitted
    resume = ("sessions", "resume", path, "stuck", contract, "--by", "ana", "--reason", "it was the prompt")
    result = accord(*resume, "--json")
    assert (result.exit_code, json.loads(result.output)) == (0, {"key": "stuck", "status": "running"})
    again = accord(*resume)
    assert (again.exit_code, "the session is not stopped" in again.stderr) == (1, True)
    with SQLiteStore(path) as store:
        assert Guard(contract, store=store, key="stuck").reserve([ToolCall("ask")])[0].admitted
        assert any(b'"what":"resumed"' in line and b"it was the prompt" in line for line in store.ledger("stuck"))


def test_only_sessions_under_a_guard_are_resumed(accord, path, write):
    resume = ("sessions", "resume", path, "waiting", write(TEXT), "--by", "ana", "--reason", "?")
    assert accord(*resume).exit_code == 1
    assert accord(*resume[:5], "--by", "ana").exit_code == 2
