"""Audits of random labelled runs by every way of judging, and by a monitor for each run, which is slow and obvious."""

from __future__ import annotations

import io
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

import pyarrow as pa
from pyarrow import parquet

from accord import Monitor, Unrecognized, UsageError, Violation
from accord.audit import worker
from accord.audit.results import Chunk, is_whole, read_result, seal, verdicts_of
from accord.audit.tally import Tally
from accord.audit.worker import Job
from accord.machine import compile_document
from accord.monitor.events import read_event
from tests.properties.differential import random_contract

STRANGERS = ("!zzz", "?zzz", "plain", "?Unrecognized", "!a", "?a", "!b", "?b", "!c", "?c")


@dataclass
class Seen:
    """What a campaign looked at."""

    contracts: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    events: int = 0
    scattered: int = 0

    def sentence(self) -> str:
        return (
            f"audits: {self.contracts:,} contracts, {self.statuses.total():,} runs with {self.events:,} events judged "
            f"in columns, by table, by steps and by monitors: {dict(self.statuses)}; in {self.scattered:,} files the "
            "rows of a run do not stand together"
        )


def random_run(rng, contract) -> list[str]:
    """Mostly what is legal, sometimes anything."""
    monitor, words = Monitor(contract, mode="refuse"), []
    for _ in range(rng.choice((0, 1, 3, 6, 12, 30))):
        legal = [word for word in monitor.allowed() if word[0] in "!?" and " " not in word]
        word = rng.choice(legal) if legal and rng.random() < 0.9 else rng.choice(STRANGERS)
        words.append(word)
        event = read_event(word if word[0] in "!?" else f"?{word}")
        with suppress(UsageError):
            (monitor.send if event.direction == "!" else monitor.receive)(event.label)
    return words


def by_monitor(contract, words):
    """Status, where the first refused event is, how many were refused; `None` if it cannot be judged."""
    monitor = Monitor(contract, mode="refuse")
    refused = []
    try:
        for position, word in enumerate(words):
            event = read_event(word if word[0] in "!?" else f"?{word}")
            verdict = (monitor.send if event.direction == "!" else monitor.receive)(event.label)
            if isinstance(verdict, Violation):
                refused.append((position, verdict.clause, verdict.got, verdict.explain()))
        closing = monitor.close()
    except UsageError:
        return None
    if refused:
        return "violating", refused[0], len(refused)
    if isinstance(closing, Unrecognized):
        return "unrecognised", None, 0
    if isinstance(closing, Violation):
        return "incomplete", (len(words), closing.clause, closing.got, closing.explain()), 0
    return "conforming", None, 0


def parquet_of(rng, runs: dict[str, list[str]], path, *, scattered: bool) -> None:
    """The runs as rows, in small pieces; scattered ones in any order that keeps that of each run."""
    rows = [(key, word) for key, words in runs.items() for word in words]
    if scattered:
        left = {key: list(reversed(words)) for key, words in runs.items() if words}
        rows = []
        while left:
            key = rng.choice(list(left))
            rows.append((key, left[key].pop()))
            if not left[key]:
                del left[key]
    table = pa.table({"run": [key for key, _ in rows], "label": [word for _, word in rows]})
    table = table.cast(pa.schema([("run", pa.string()), ("label", pa.string())]))
    parquet.write_table(table, path, row_group_size=rng.choice((3, 50, 1_000)))


def judged(way, job, path, tmp_path):
    """Verdicts by run, broken records and the tally, or `None` if the way is not for this."""
    stream = io.BytesIO()
    if not way(job, str(path), stream):
        return None
    seal(stream)
    result = tmp_path / "result"
    result.write_bytes(stream.getvalue())
    assert is_whole(result)
    verdicts, tally = [], None
    for line in read_result(result):
        if isinstance(line, Chunk):
            verdicts += verdicts_of(line, "f")
        else:
            tally = line
    assert isinstance(tally, Tally)
    return verdicts, tally


def comparable(tally):
    """A tally as values that do not depend on the order in which groups were met."""
    groups = [
        sorted((g.clause, g.state, g.runs, sorted(g.arrived.items()), g.example) for g in of)
        for of in (tally.violations, tally.owed)
    ]
    counts = [sorted(of.items()) for of in (tally.statuses, tally.unmatched, tally.blocked, tally.traffic)]
    sums = (tally.messages, tally.calls, tally.events, tally.refused, tally.ignored, tally.broken, tally.exercised)
    return groups, counts, sums


def random_job(rng) -> Job:
    while True:
        document, _ = random_contract(rng, rng.choice(("plain", "rules")))
        contract = compile_document(document)
        if contract.needs_more_than_labels == "":
            return Job(contract, contract.protocol_name(next(iter(contract.machines), None)))


def difference(rng, tmp_path, seen: Seen) -> str | None:
    """Judge random runs of a random contract in every way; the first difference, in words."""
    job = random_job(rng)
    runs = {f"r{number}": random_run(rng, job.contract) for number in range(rng.choice((1, 5, 30, 60)))}
    runs = {key: words for key, words in runs.items() if words}
    scattered = rng.random() < 0.3
    path = tmp_path / "runs.parquet"
    parquet_of(rng, runs, path, scattered=scattered)
    expected = {key: by_monitor(job.contract, words) for key, words in runs.items()}
    ways = {
        name: judged(way, job, path, tmp_path)
        for name, way in (
            ("columns", worker._judge_in_columns),
            ("table", worker._judge_by_table),
            ("steps", worker._judge_by_steps),
        )
    }
    seen.contracts += 1
    seen.scattered += scattered
    seen.events += sum(map(len, runs.values()))
    seen.statuses.update("broken" if answer is None else answer[0] for answer in expected.values())
    if ways["columns"] is None and None not in expected.values():
        return "the columns refused a file that they can judge"
    for name, found in ways.items():
        if found is None:
            continue
        verdicts, tally = found
        told = {}
        for verdict in verdicts:
            breach = verdict.breach
            what = (
                None
                if breach is None
                else (breach.position, breach.what.clause, breach.what.arrived, breach.what.sentence)
            )
            told[verdict.run] = (verdict.status, what, verdict.refused)
            if breach is not None and breach.index not in {None, breach.position}:
                return f"{name}: message {breach.index} is event {breach.position} of {verdict.run}"
        wanted = {key: answer for key, answer in expected.items() if answer is not None}
        if told != wanted:
            key = next(key for key in {**told, **wanted} if told.get(key) != wanted.get(key))
            return f"{name}: {runs[key]} is {told.get(key)}, by a monitor {wanted.get(key)}"
        if tally.broken != len(runs) - len(wanted):
            return f"{name}: {tally.broken} broken"
    if None in expected.values():
        return None
    tallies = {name: comparable(found[1]) for name, found in ways.items() if found is not None}
    if len({repr(tally) for tally in tallies.values()}) > 1:
        return f"the tallies differ: {tallies}"
    return None


def campaign(rng, contracts: int, tmp_path) -> tuple[Seen, str | None]:
    seen = Seen()
    while seen.contracts < contracts:
        found = difference(rng, tmp_path, seen)
        if found is not None:
            return seen, found
    return seen, None
