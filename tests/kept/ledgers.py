"""Ledgers in files: of monitors and of conversations, with notes, with a key, and torn by a crash."""

from __future__ import annotations

import json

from accord import FileSink, Ledger, Monitor, RecordedMonitor, RecordedSession, Session
from tests.kept.contracts import CONTRACTS
from tests.kept.sample import Sample, answers

__all__ = ["SAMPLES"]

KEY = b"the key of kept ledgers"
NOW = 1_772_442_000


def write(folder):
    with Ledger(FileSink(folder / "monitor.ledger"), identity="kept") as ledger:
        session = RecordedMonitor(Monitor(CONTRACTS["data"], mode="refuse"), ledger, session="order-17")
        answers(
            session,
            lambda s: s.receive("quote", {"total": 250, "note": "ünïcode \u202e 日本"}, at=NOW),
            lambda s: s.send("pay", {"amount": 1000}, at=NOW + 1, meta={"shown": "pay?", "to": "ana"}),
            lambda s: s.receive("Approval", by="ana", at=NOW + 2),
        )
        digest, detail = session.contract.digest, {"to": "ana", "n": [1, None]}
        ledger.note("order-17", digest, session.protocol, "person asked", detail)
        (folder / "monitor.head").write_text(ledger.head + "\n", encoding="utf-8")
        (folder / "monitor.json").write_text(json.dumps(session.snapshot()) + "\n", encoding="utf-8")
    with Ledger(FileSink(folder / "conversation.ledger"), key=KEY, identity="kept") as ledger:
        session = RecordedSession(Session(CONTRACTS["roles"], mode="refuse"), ledger, session="trip")
        session.observe("Traveller", "Agent", "Request")
        session.observe("Agent", "Traveller", "Offer")
        (folder / "conversation.json").write_text(json.dumps(session.snapshot(key=KEY)) + "\n", encoding="utf-8")
    whole = (folder / "monitor.ledger").read_bytes()
    (folder / "torn.ledger").write_bytes(whole[:-40])


def go_on(folder):
    found = {}
    head = (folder / "monitor.head").read_text(encoding="utf-8").strip()
    with Ledger(FileSink(folder / "monitor.ledger")) as ledger:
        before = ledger.verify(head=head)
        monitor = Monitor.restore(CONTRACTS["data"], (folder / "monitor.json").read_text(encoding="utf-8"))
        session = RecordedMonitor(monitor, ledger, session="order-17")
        then = answers(session, lambda s: s.send("pay", {"amount": 250}), lambda s: s.receive("receipt"))
        found["monitor"] = [before.ok, before.entries, *then, ledger.verify(head=head).ok, len(ledger)]
    with Ledger(FileSink(folder / "conversation.ledger"), key=KEY) as ledger:
        kept = (folder / "conversation.json").read_text(encoding="utf-8")
        session = RecordedSession(Session.restore(CONTRACTS["roles"], kept, key=KEY), ledger, session="trip")
        then = answers(session, lambda s: s.observe("Agent", "Airline", "Query"), lambda s: s.close())
        found["conversation"] = [*then, ledger.verify().ok, len(ledger)]
    with Ledger(FileSink(folder / "torn.ledger")) as ledger:
        found["torn"] = [ledger.mended > 0, ledger.verify().ok, len(ledger)]
    return found


SAMPLES = {"ledgers": Sample(write, go_on)}
