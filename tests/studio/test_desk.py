"""Sessions, ledgers and reviews on the page."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing

import pytest

from accord import Guard, SQLiteStore, StoredSession, ToolCall
from accord.studio import desk
from tests.studio.asking import Asker

CONTRACT = "protocol P = !read.?read.?Approval by human.!pay(amount <= 500).?pay.end\n"
HOSTILE = {"amount": 99, "to": "\x1b[2J<b>ACME</b>\u202e"}


@pytest.fixture
def opened(tmp_path):
    """A store with a question in it, and the folder of its contract."""
    path = tmp_path / "p.accord"
    path.write_text(CONTRACT)
    store = SQLiteStore(tmp_path / "sessions.db", fsync="never")
    guard = Guard(path, store=store, key="order-17", tools={"read": dict, "pay": lambda **_: "paid"})
    guard.run([ToolCall("read", {}, "c1")])
    guard.run([ToolCall("pay", HOSTILE, "c2")])
    StoredSession(store, "!a.end", "other").send("a")
    yield store, path, guard
    store.close()


def test_sessions_and_reviews_are_listed(opened):
    store, path, _ = opened
    told = Asker(paths=[path], store=store).ask("sessions")
    assert [session["key"] for session in told["sessions"]] == ["order-17", "other"]
    (review,) = told["reviews"]
    assert (review["session"], review["state"], review["word"]) == ("order-17", "open", "!pay")
    assert review["payload"] == HOSTILE
    assert "\\u001b[2J<b>ACME</b>\\u202e" in review["shown"]


def test_a_session_and_its_ledger(opened):
    store, path, _ = opened
    asker = Asker(paths=[path], store=store)
    told = asker.ask("session", key="order-17")
    assert told["ledger"]["ok"] and told["ledger"]["entries"] == len(told["entries"]) > 0
    assert told["guard"]["reviews"]
    assert asker.post("session", key="nobody").status == 400


def test_a_stopped_session_is_not_complete(opened):
    store, path, _ = opened
    guard = Guard("{!a.end, end}", store=store, key="halted", tools={"a": lambda: None, "b": lambda: None}, patience=1)
    guard.run([ToolCall("b", {}, "c1")])
    asker = Asker(paths=[path], store=store)
    assert asker.ask("session", key="halted")["status"] == "stopped"
    listed = {session["key"]: session["status"] for session in asker.ask("sessions")["sessions"]}
    assert listed["halted"] == "stopped"


def test_a_ledger_that_was_changed_is_told(opened):
    store, path, _ = opened
    with closing(sqlite3.connect(path.with_name("sessions.db"))) as database, database:
        database.execute("update entries set line = cast(replace(cast(line as text), 'read', 'reap') as blob)")
    told = Asker(paths=[path], store=store).ask("session", key="order-17")
    assert not told["ledger"]["ok"] and told["ledger"]["finding"]
    assert told["entries"] == []


def decide(asker, review, /, **more):
    request = {"session": "order-17", "review": review, "answer": "allow", "by": "ana", **more}
    return asker.post("decide", **request)


def test_deciding(opened):
    store, path, guard = opened
    review = guard.reviews()[0].id
    reader = Asker(paths=[path], store=store)
    refused = decide(reader, review)
    assert refused.status == 400 and "--write" in refused.json["error"]
    writer = Asker(paths=[path], store=store, writable=True)
    for wrong in ({"by": "  "}, {"review": "1-0000"}, {"session": "other"}, {"answer": "maybe"}, {"payload": {}}):
        assert decide(writer, review, **wrong).status == 400
    assert guard.reviews()[0].state == "open"
    decided = decide(writer, review, reason="fine")
    assert decided.status == 200 and decided.json["state"] == "allowed" and decided.json["by"] == "ana"
    assert decide(writer, review).status == 400
    assert guard.run([ToolCall("pay", HOSTILE, "c3")])[0].content == "paid"


def test_what_has_expired_is_not_decided_and_that_is_told(opened):
    store, path, _ = opened
    tools = {"read": dict, "pay": lambda **_: "paid"}
    guard = Guard(path, store=store, key="late", tools=tools, review_lasts=60, clock=lambda: 1_772_442_000)
    guard.run([ToolCall("read", {}, "c1")])
    guard.run([ToolCall("pay", HOSTILE, "c2")])
    (review,) = guard.reviews()
    refused = decide(Asker(paths=[path], store=store, writable=True), review.id, session="late")
    assert refused.status == 400
    assert "has expired at 2026-03-02T09:01:00Z; nothing was decided" in refused.json["error"]
    assert "Have the agent ask for `pay` again: that opens a new review" in refused.json["error"]
    assert guard.review(review.id).state == "open"


def test_of_two_who_decide_at_the_same_time_one_is_told(opened):
    """Two browsers, or the studio and `accord review`: a review has one answer, and who came second learns of it."""
    store, path, guard = opened
    review = guard.reviews()[0].id
    together = threading.Barrier(2)
    answers = {}

    def person(name, answer):
        asker = Asker(paths=[path], store=store, writable=True)
        together.wait()
        answers[name] = decide(asker, review, by=name, answer=answer)

    threads = [threading.Thread(target=person, args=pair) for pair in (("ana", "allow"), ("bo", "deny"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first, second = sorted(answers.values(), key=lambda answer: answer.status)
    assert (first.status, second.status) == (200, 400)
    assert "no such review any more" in second.json["error"] or "cannot be changed" in second.json["error"]
    (told,) = Asker(paths=[path], store=store).ask("sessions")["reviews"] or [first.json]
    assert (told["by"], told["state"]) == (first.json["by"], first.json["state"])


def test_deciding_needs_the_contract(opened, tmp_path):
    store, _, guard = opened
    other = tmp_path / "other.accord"
    other.write_text("!b.end")
    answer = decide(Asker(paths=[other], store=store, writable=True), guard.reviews()[0].id)
    assert answer.status == 400
    assert "not among the files" in answer.json["error"]


def test_without_a_store():
    answer = Asker().post("sessions")
    assert answer.status == 400
    assert "--store" in answer.json["error"]
    assert not Asker().ask("about")["store"]


def test_many_reviews_are_shown_in_part_and_those_that_wait_first(opened, monkeypatch):
    store, path, _ = opened
    for key in ("a-1", "a-2", "a-3"):
        other = Guard(path, store=store, key=key, tools={"read": dict, "pay": lambda **_: "paid"})
        other.run([ToolCall("read", {}, "c1")])
        other.run([ToolCall("pay", {"amount": 5}, "c2")])
        other.decide(other.reviews()[0].id, "deny", by="ana")
    monkeypatch.setattr(desk, "_REVIEWS_SHOWN", 2)
    told = Asker(paths=[path], store=store).ask("sessions")
    assert [(review["session"], review["state"]) for review in told["reviews"]] == [
        ("order-17", "open"), ("a-1", "denied"),
    ]  # fmt: skip
    assert told["more_reviews"] == 2


def test_a_store_that_is_too_large_is_told(opened, monkeypatch):
    store, path, _ = opened
    monkeypatch.setattr(desk, "_PATIENCE", -1.0)
    answer = Asker(paths=[path], store=store).post("sessions")
    assert answer.status == 400 and "`accord review` can" in answer.json["error"]


def test_a_payload_that_a_browser_would_change_is_not_modified(opened):
    store, path, _ = opened
    guard = Guard(path, store=store, key="large", tools={"read": dict, "pay": lambda **_: "paid"})
    guard.run([ToolCall("read", {}, "c1")])
    guard.run([ToolCall("pay", {"amount": 5, "account": 2**53 + 1}, "c2")])
    asker = Asker(paths=[path], store=store, writable=True)
    request = {"session": "large", "review": guard.reviews()[0].id, "by": "ana"}
    refused = asker.post("decide", **request, answer="modify", payload={"amount": 4, "account": 2**53})
    assert refused.status == 400 and "cannot hold 9007199254740993" in refused.json["error"]
    assert asker.post("decide", **request, answer="allow").status == 200
