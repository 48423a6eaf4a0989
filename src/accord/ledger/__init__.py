"""The ledger: what an agent tried and what it was answered, as a record that nobody can edit unseen.

`entries` says what one line holds, `chain` how lines hang together, `sinks` and `file_sink` where they are kept,
`Ledger` appends, and `RecordedMonitor` writes each attempt of a session before it is answered.
"""

from __future__ import annotations

from accord.ledger.chain import Finding, Verification, verify
from accord.ledger.entries import Attempt
from accord.ledger.file_sink import FileSink
from accord.ledger.ledger import Ledger
from accord.ledger.recorded import RecordedMonitor
from accord.ledger.recorded_session import RecordedSession
from accord.ledger.sinks import MemorySink, Sink

__all__ = [
    "Attempt",
    "FileSink",
    "Finding",
    "Ledger",
    "MemorySink",
    "RecordedMonitor",
    "RecordedSession",
    "Sink",
    "Verification",
    "verify",
]
