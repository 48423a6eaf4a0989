"""What the ledger costs: verifying a million entries, and recording one attempt.

The long ledger is made of one entry of a real session, repeated with the right number and link. Verifying reads it
from a file, which the operating system has in memory by then.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import accord
from accord.ledger import verify
from accord.ledger.entries import FRAMED, OPENING, frame, seal
from accord.ledger.reading import bounded_lines

if TYPE_CHECKING:
    from accord.ledger import Sink

__all__ = ["ENTRIES", "LedgerCosts", "measure_ledger"]

ENTRIES = 1_000_000

_ATTEMPTS = {"memory": 5_000, "file, never flushed": 5_000, "file, always flushed": 500}
_CONTRACT = accord.compile("rec X.!Search.?Results.X")
_PAYLOAD: dict[str, object] = {"city": "Lisbon", "nights": 3, "total": 149.5}
_KEY = b"a key of the benchmark"


@dataclass(frozen=True, slots=True)
class LedgerCosts:
    """Seconds to verify all entries, by kind of hash; bytes of an entry; seconds to record one attempt, by sink."""

    verifying: dict[str, float]
    entry_bytes: float
    recording: dict[str, float]

    def per_second(self, kind: str) -> float:
        """Entries verified in a second."""
        return ENTRIES / self.verifying[kind]


def measure_ledger() -> LedgerCosts:
    """Everything, once: each figure is over many entries."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "long.ledger")
        verifying = {}
        for kind, key in (("SHA-256", None), ("HMAC", _KEY)):
            _write(path, key)
            start = perf_counter()
            with path.open("rb") as file:
                result = verify(bounded_lines(file), key=key)
            verifying[kind] = perf_counter() - start
            if result.entries != ENTRIES or not result.ok:
                raise AssertionError(result)
        size = path.stat().st_size / ENTRIES
        sinks: dict[str, Sink] = {
            "memory": accord.MemorySink(),
            "file, never flushed": accord.FileSink(Path(folder, "never"), fsync="never"),
            "file, always flushed": accord.FileSink(Path(folder, "always")),
        }
        return LedgerCosts(verifying, size, {name: _record(sink, _ATTEMPTS[name]) for name, sink in sinks.items()})


def _write(path: Path, key: bytes | None) -> None:
    sink = accord.MemorySink()
    ledger = accord.Ledger(sink, key=key)
    accord.RecordedMonitor(accord.Monitor(_CONTRACT), ledger, session="bench").send("Search", _PAYLOAD)
    beginning, line = sink.data.splitlines(keepends=True)
    body = line[len(OPENING) : -FRAMED]
    before, _, rest = body.partition(b'"prev":"')
    between, _, after = rest[64:].partition(b'"seq":1')
    last = beginning[-67:-3].decode()
    with path.open("wb") as file:
        file.write(beginning)
        for number in range(1, ENTRIES):
            linked = b'%b"prev":"%b%b"seq":%d%b' % (before, last.encode(), between, number, after)
            last = seal(linked, key)
            file.write(frame(linked, last))


def _record(sink: Sink, attempts: int) -> float:
    with accord.Ledger(sink) as ledger:
        session = accord.RecordedMonitor(accord.Monitor(_CONTRACT), ledger, session="bench")
        start = perf_counter()
        for _ in range(attempts // 2):
            session.send("Search", _PAYLOAD)
            session.receive("Results")
        return (perf_counter() - start) / attempts
