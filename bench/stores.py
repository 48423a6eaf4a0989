"""What keeping a session costs: one step, against the bare statements that any program would need for it.

For each store four contestants take turns. `bare` runs the statements of one step, state and ledger together, in one
atomic step, with bytes that were made before: no judging, no hashing, nothing of accord. Two are a
`StoredSession` whose session has 10 and 100,000 entries of history. All of them write the same number of bytes. The
last is a `Guard` that runs a tool: two such steps, one before the tool and one after it, with what people have been
asked and what was refused beside the session.

A store on a disk is measured twice: flushed before each answer, as it is used, and not flushed, where the disk hides
nothing of what accord adds. `memory` has no statements to compare with; its figure stands for itself.

Where nothing is flushed the best round counts, as everywhere in this benchmark. A flush takes what the device likes,
sometimes a tenth of what it took before, so the best round would say who was lucky; there the median counts.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import accord
from accord import Guard, MemoryStore, PostgresStore, RedisStore, SQLiteStore, StoredSession, ToolCall
from accord.ledger.entries import fields_of
from accord.ledger.linking import link
from accord.stores import Row
from accord.stores import postgres as postgres_module
from accord.stores import redis as redis_module
from accord.stores import sqlite as sqlite_module
from accord.stores.record import read, write
from accord.stores.store import Change
from accord.testing.servers import PostgresServer, RedisServer
from bench.measure import Entry, race

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from accord.stores import Store
    from bench.measure import Timing

__all__ = ["BARE", "GUARDED", "LONG", "SHORT", "StoreCosts", "measure_stores"]

SHORT, LONG = 10, 100_000
BARE = "bare"
GUARDED = "a tool under guard"

FLUSHED = ", flushed"

_STEPS = 10
_ROUNDS, _FLUSHED_ROUNDS = 200, 40
_CHUNK = 2_000
_CONTRACT = accord.compile("rec X.!Search.?Results.X")
_PAYLOAD: dict[str, object] = {"city": "Lisbon", "nights": 3, "total": 149.5}


@dataclass(frozen=True, slots=True)
class StoreCosts:
    """Times of one step by store and contestant, and why a store was not measured."""

    times: dict[str, dict[str, Timing]]
    skipped: dict[str, str]

    def share(self, store: str) -> float | None:
        """How many times the bare statements a step costs; `None` where there are none."""
        if BARE not in self.times[store]:
            return None
        return max(self.seconds(store, str(n)) for n in (SHORT, LONG)) / self.seconds(store, BARE)

    def guarded(self, store: str) -> float | None:
        """How many times the bare statements of two steps a tool under guard costs; `None` where there are none."""
        of = self.times[store]
        return None if BARE not in of else self.seconds(store, GUARDED) / (2 * self.seconds(store, BARE))

    def growth(self, store: str) -> float:
        """How many times as long a step takes after a long history as after a short one."""
        return self.seconds(store, str(LONG)) / self.seconds(store, str(SHORT))

    def seconds(self, store: str, contestant: str) -> float:
        """The figure that counts: the best round, or the median where a device decides."""
        time = self.times[store][contestant]
        return time.median if store.endswith(FLUSHED) else time.best


def measure_stores() -> StoreCosts:
    """Everything."""
    times, skipped = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        times["memory"] = _measure(MemoryStore(), None, rounds=_ROUNDS)
        for name, fsync, rounds in ((f"SQLite{FLUSHED}", "always", _FLUSHED_ROUNDS), ("SQLite", "never", _ROUNDS)):
            path = Path(folder, f"{fsync}.db")
            with SQLiteStore(path, fsync=fsync) as store:  # type: ignore[arg-type] # both are
                times[name] = _measure(store, _bare_sqlite, rounds=rounds)
    for kind, server, opener, bare in (
        ("PostgreSQL", PostgresServer, PostgresStore, _bare_postgres),
        ("Redis", RedisServer, RedisStore, _bare_redis),
    ):
        missing = server.why_not()
        for flush in (True, False):
            name = f"{kind}{FLUSHED}" if flush else kind
            if missing is not None:
                skipped[name] = missing
                continue
            with server(flush=flush) as running, opener(running.url, timeout=120) as store:
                times[name] = _measure(store, bare, rounds=_FLUSHED_ROUNDS if flush else _ROUNDS)
    return StoreCosts(times, skipped)


def _measure(
    store: Store, bare: Callable[[Any, Row, bytes], Callable[[], None]] | None, rounds: int
) -> dict[str, Timing]:
    entries = {}
    for length in (SHORT, LONG):
        session = StoredSession(store, _CONTRACT, f"history of {length}")
        _make_history(store, session, length)
        entries[str(length)] = Entry(_stepping(session))
    guard = Guard("rec X.!Search.?Search.X", store=store, key=GUARDED, tools={"Search": lambda **_: {"found": 3}})
    entries[GUARDED] = Entry(_guarding(guard))
    if bare is not None:
        _make_history(store, StoredSession(store, _CONTRACT, BARE), SHORT)
        row = store.row(BARE)
        if row is None:
            raise AssertionError(BARE)
        entries[BARE] = Entry(_repeating(bare(store, row, store.lines(BARE, 1, 1)[0])))
    times = race(entries, rounds=rounds, warm_up=2)
    for length in (SHORT, LONG):
        if not store.verify(f"history of {length}").ok:
            raise AssertionError(length)
    return times


def _make_history(store: Store, session: StoredSession, length: int) -> None:
    """A session with so many entries, written in large pieces: each is the first attempt again, linked to the last."""
    session.send("Search", _PAYLOAD)
    session.receive("Results")
    key = session.key
    row = store.row(key)
    if row is None:
        raise AssertionError(key)
    record = read(key, row, None)
    attempt = accord.ledger.Attempt(
        session=key, contract=_CONTRACT.digest, event="!Search", verdict="violation", payload=_PAYLOAD
    )
    fields = fields_of(attempt)
    number, head = record.version, record.head
    while number < length:
        lines = []
        for _ in range(min(_CHUNK, length - number)):
            number += 1
            line, head = link(fields, number, head, None)
            lines.append(line)
        after = write(_replaced(record, version=number, head=head), None)
        change = Change(after, number - len(lines) + 1, tuple(lines))
        store.exchange(key, None, lambda _, change=change: change)  # type: ignore[misc]


def _replaced(record: Any, **changes: object) -> Any:  # noqa: ANN401
    from msgspec.structs import replace

    return replace(record, **changes)


def _stepping(session: StoredSession) -> Callable[[], float]:
    def run() -> float:
        start = perf_counter_ns()
        for _ in range(_STEPS // 2):
            session.send("Search", _PAYLOAD)
            session.receive("Results")
        return (perf_counter_ns() - start) / 1e9 / _STEPS

    return run


def _guarding(guard: Guard) -> Callable[[], float]:
    calls = [ToolCall("Search", _PAYLOAD)]

    def run() -> float:
        start = perf_counter_ns()
        for _ in range(_STEPS):
            results = guard.run(calls)
        seconds = (perf_counter_ns() - start) / 1e9 / _STEPS
        if not results[0].ok:
            raise AssertionError(results[0].error)
        return seconds

    return run


def _repeating(step: Callable[[], None]) -> Callable[[], float]:
    def run() -> float:
        start = perf_counter_ns()
        for _ in range(_STEPS):
            step()
        return (perf_counter_ns() - start) / 1e9 / _STEPS

    return run


# -- the bare statements -----------------------------------------------------------------------------------------------


def _turns(row: Row) -> Iterator[tuple[Row, Row]]:
    """What is there and what it becomes, again and again; no store may notice that nothing has changed."""
    other = Row(row.version + 1, row.expires, row.sealed[:-10] + b"0" * 10)
    return cycle([(row, other), (other, row)])


def _bare_sqlite(store: SQLiteStore, row: Row, line: bytes) -> Callable[[], None]:
    with store._using() as db:  # noqa: SLF001 - the same connection, so that nobody pays for being another one
        pass
    numbers = iter(range(row.version + 1, 1 << 40))
    execute, statement = db.execute, sqlite_module._STEP  # noqa: SLF001 - the same statement
    rows = _turns(row)

    def step() -> None:
        before, after = next(rows)
        execute("BEGIN IMMEDIATE")
        execute(statement, (*after, BARE, *before))
        execute("INSERT INTO entries VALUES (?, ?, ?)", (BARE, next(numbers), line))
        execute("COMMIT")

    return step


def _bare_postgres(store: PostgresStore, row: Row, line: bytes) -> Callable[[], None]:
    with store._using() as db:  # noqa: SLF001 - the same connection: where a server puts another one is luck
        pass
    numbers = iter(range(row.version + 1, 1 << 40))
    statement = postgres_module._STEP  # noqa: SLF001 - the same statement
    rows = _turns(row)

    def step() -> None:
        before, after = next(rows)
        if db.execute(statement, (*after, BARE, *before, next(numbers), line)).rowcount != 1:
            raise AssertionError

    return step


def _bare_redis(store: RedisStore, row: Row, line: bytes) -> Callable[[], None]:
    client, script = store._client, store._script  # noqa: SLF001 - the same script
    keys = store._key(BARE, "session"), store._key(BARE, "ledger")  # noqa: SLF001
    packed = redis_module._packed  # noqa: SLF001
    numbers = iter(range(row.version + 1, 1 << 40))
    rows = cycle([(packed(before), packed(after)) for before, after in islice(_turns(row), 2)])

    def step() -> None:
        if client.evalsha(script, 2, *keys, *next(rows), next(numbers), b"12345678", line)[1] != 1:
            raise AssertionError

    return step


# -- by itself ---------------------------------------------------------------------------------------------------------


def main() -> int:
    """Measure stores alone; the exit code."""
    from bench.bars import judge_stores
    from bench.printing import print_tables
    from bench.tables import bars_table, stores_table

    costs = measure_stores()
    bars = judge_stores(costs)
    print_tables([stores_table(costs), bars_table(bars)])
    return 0 if all(bar.passed for bar in bars) else 1


if __name__ == "__main__":
    sys.exit(main())
