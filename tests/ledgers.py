"""Ledgers for tests: honest ones, and forged ones whose hashes are right."""

from __future__ import annotations

import io
from contextlib import suppress

from accord import Ledger, MemorySink, Monitor, RecordedMonitor, UsageError
from accord.ledger import verify
from accord.ledger.entries import BEFORE_FIRST, FRAMED, OPENING, frame, seal
from accord.ledger.reading import bounded_lines

CONTRACT = "rec X.!Ask.?{Yes.X, No.X}"


def fill(ledger, attempts, session="s1"):
    """Some of everything: accepted, refused, not recognised, misused, with payloads and without."""
    m = RecordedMonitor(Monitor(CONTRACT, mode="refuse"), ledger, session=session)
    steps = [
        lambda: m.send("Ask", {"n": 1, "text": 'grüße "x" \\ \n 😀', "deep": [{"a": None}, [True, 1.5]]}),
        lambda: m.receive("Yes", at=12.25, meta={"shown": "Pay?", "to": "ana"}),
        lambda: m.send("Nonsense"),
        lambda: m.send("Ask"),
        lambda: m.receive("Unrecognized"),
        lambda: m.receive("No", by="ana"),
        lambda: m.send(7),
    ]
    for number in range(attempts):
        with suppress(UsageError):
            steps[number % len(steps)]()
    return ledger


def honest(attempts=8, key=None, identity="test"):
    """The lines of a ledger with that many attempts."""
    sink = MemorySink()
    fill(Ledger(sink, key=key, identity=identity), attempts)
    return lines_of(sink.data)


def lines_of(data):
    return list(bounded_lines(io.BytesIO(data)))


def check(data, key=None, head=None):
    """Verify bytes or lines as a file of them would be."""
    data = data if isinstance(data, bytes) else b"".join(data)
    return verify(bounded_lines(io.BytesIO(data)), key=key, head=head)


def body_of(line):
    return line[len(OPENING) : -FRAMED]


def forge(lines, number, change, key=None):
    """The ledger with the body of one entry changed, and everything after it hashed anew."""
    bodies = [body_of(line) for line in lines]
    bodies[number] = change(bodies[number])
    out, last = [], BEFORE_FIRST
    for body in bodies:
        marker = body.index(b'"prev":"') + 8 if b'"prev":"' in body else None
        linked = body if marker is None else body[:marker] + last.encode() + body[marker + 64 :]
        last = seal(linked, key)
        out.append(frame(linked, last))
    return out
