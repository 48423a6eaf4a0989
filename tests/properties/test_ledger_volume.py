"""A long ledger: written through the real sink, verified from its file; how fast is told, never asserted."""

from __future__ import annotations

from time import perf_counter

from accord import FileSink, Ledger
from accord.ledger import Attempt, verify
from accord.ledger.reading import bounded_lines


def verified(path, head):
    with path.open("rb") as file:
        return verify(bounded_lines(file), head=head)


def test_a_long_ledger_verifies(tmp_path, soak, health):
    entries = 1_000_000 if soak else 20_000
    path = tmp_path / "long.ledger"
    attempt = Attempt(
        session="s1", contract="sha256:" + "ab" * 32, event="!Search", verdict="ok", payload={"city": "Lisbon", "n": 3}
    )
    with Ledger(FileSink(path, fsync="never")) as ledger:
        start = perf_counter()
        for _ in range(entries - 1):
            ledger.append(attempt)
        writing = perf_counter() - start
        head = ledger.head
    start = perf_counter()
    result = verified(path, head)
    seconds = perf_counter() - start
    assert result.ok
    assert result.entries == entries
    with path.open("r+b") as file:
        file.seek(-100, 2)
        file.write(b"X")
    assert verified(path, head).finding.entry == entries - 1
    rates = f"{entries / seconds:,.0f} a second, written at {entries / writing:,.0f} a second"
    health(f"ledger: {entries:,} entries verified in {seconds:.1f} s ({rates})")
