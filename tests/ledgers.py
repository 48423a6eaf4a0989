"""Ledgers for tests: honest ones, and forged ones whose hashes are right."""

from __future__ import annotations

import io
from contextlib import suppress

from accord import Ledger, MemorySink, Monitor, RecordedMonitor, UsageError
from accord.ledger import verify
from accord.ledger.entries import BEFORE_FIRST, FRAMED, OPENING, Attempt, frame, seal
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


ANSWERS = {
    "ok": {
        "protocol": "Pay",
        "payload": {"n": 1, "text": 'grüße "x" \\ \n 😀', "deep": [{"a": None}, [True, 1.5]]},
        "at": 12.25,
        "meta": {"shown": "Pay?"},
    },
    "violation": {"clause": "protocol", "expected": ["?Yes", "?No"], "explanation": "it is not its turn"},
    "blocked": {"clause": "rule", "by": "ana", "explanation": "nothing after that counts"},
    "unrecognized": {"payload": "what?", "by": "ana"},
    "misuse": {"given": {"label": 7}, "explanation": "a label is a text"},
}
"""What attempts carry, by how they were answered."""
KINDS = ("begin", *ANSWERS, "note", "mend")


def assorted(kinds, key=None, identity="test"):
    """The lines of a ledger with entries of these kinds, in this order, behind the one that begins it."""
    sink = MemorySink()
    ledger = Ledger(sink, key=key, identity=identity)
    contract = "sha256:" + "c" * 64
    for kind in kinds:
        if kind == "note":
            ledger.note("s1", contract, "Pay", "decided", {"by": "ana", "how": ["yes", 1.5]})
        elif kind == "mend":
            sink.write(sink.size, OPENING)
            ledger = Ledger(sink, key=key)
        else:
            ledger.append(Attempt(session="s1", contract=contract, event="!Pay", verdict=kind, **ANSWERS[kind]))
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
