"""Audits of random labelled runs by every way of judging, and by a monitor for each run, which is slow and obvious."""

from __future__ import annotations

import io
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace

import pyarrow as pa
from pyarrow import parquet

from accord import Limits, Monitor, Unrecognized, UsageError, Violation
from accord.audit import worker
from accord.audit.results import Chunk, is_whole, read_result, seal, verdicts_of
from accord.audit.tally import Tally
from accord.audit.worker import Job
from accord.diagnostics import Source
from accord.language.checks import check_document
from accord.language.rules import After, AfterForbid, AtMost, Before, ForbidSequence, Pattern, Rule
from accord.language.tree import Declaration, Document
from accord.machine import compile_document
from accord.monitor.events import read_event
from tests.census import Census
from tests.properties.generate import random_protocol
from tests.properties.generate_data import random_rule
from tests.properties.places import NAMES, cells

LIMITS = Limits(search=200)  # the shortest way is looked for elsewhere, and takes long
STRANGERS = ("!zzz", "?zzz", "plain", "?Unrecognized", "!a", "?a", "!b", "?b", "!c", "?c")


STATUSES = (
    "conforming", "violating at once", "violating later", "violating at last", "by a rule", "several times",
    "incomplete", "unrecognised",
)  # fmt: skip
SIZES = ("1", "2", "3–8", "9–32", "33+")
FILES = ("runs in a file", "events of a run", "runs scattered", "kinds of events", "rules")
TOO_MANY = {("rules", "9–32"): "there are three at the most", ("rules", "33+"): "there are three at the most"}


PARTS = tuple(name for name in NAMES.values() if name != "deadline")  # labels alone tell no time


def constructs(document) -> set[str]:
    """What a contract is made of."""
    found = {name for each in document.declarations for name, _ in cells(each.body)}
    return {*found, *(RULES[type(rule.body)] for rule in document.rules)}


RULES = {
    Before: "before", After: "after", AfterForbid: "after, forbid", AtMost: "at most", ForbidSequence: "forbid",
}  # fmt: skip


def size(count: int) -> str:
    """The column of a number."""
    return SIZES[0 if count < 2 else 1 if count == 2 else 2 if count < 9 else 3 if count < 33 else 4]


def outcome(answer, words) -> list[str]:
    """What became of a run, and where."""
    if answer is None:
        return []
    status, breach, refused = answer
    if status != "violating":
        return [status]
    position = breach[0]
    place = "at once" if not position else "at last" if position == len(words) - 1 else "later"
    found = [f"violating {place}"]
    found += ["by a rule"] if breach[1].startswith("rule ") else []
    return found + (["several times"] if refused > 1 else [])


@dataclass
class Seen:
    """What a campaign looked at."""

    runs: Census = field(default_factory=lambda: Census("run of a contract with", (*PARTS, *RULES.values()), STATUSES))
    files: Census = field(default_factory=lambda: Census("audited file", FILES, SIZES, TOO_MANY))
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


def random_run(rng, contract, strangers) -> list[str]:
    """Mostly what is legal, sometimes anything."""
    monitor, words = Monitor(contract, mode="refuse"), []
    for _ in range(rng.choice((0, 1, 2, 3, 6, 12, 40))):
        legal = [word for word in monitor.allowed() if word[0] in "!?" and " " not in word]
        if rng.random() < 0.05:  # whom it is with is left out, which may be too little
            legal = [word[1:] for word in monitor.allowed() if word[1:2] in {"!", "?"}] or legal
        word = rng.choice(legal) if legal and rng.random() < 0.92 else rng.choice(strangers)
        words.append(word)
        event = read_event(word if word[0] in "!?" else f"?{word}")
        with suppress(UsageError):
            (monitor.send if event.direction == "!" else monitor.receive)(event.label)
    return [*words, "?Unrecognized"] if rng.random() < 0.06 else words


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
    """A contract that labels alone decide: a protocol, rules that look at no data, or both."""
    while True:
        body, _ = random_protocol(rng)
        items: list[Declaration | Rule] = [Declaration("P", body)] if rng.random() < 0.85 else []
        if not items or rng.random() < 0.6:
            items += [without_data(random_rule(rng, f"rule {number}")) for number in range(rng.randint(1, 3))]
        document = Document(tuple(items), Source(""))
        if not any(found.severity == "error" for found in check_document(document, LIMITS)):
            contract = compile_document(document, LIMITS)
            assert contract.needs_more_than_labels == ""
            return Job(contract, contract.protocol_name(next(iter(contract.machines), None)))


def without_data(node):
    """A rule whose patterns look at labels alone."""
    if isinstance(node, Pattern):
        return replace(node, guards=(), gated=False)
    if isinstance(node, tuple):
        return tuple(map(without_data, node))
    if is_dataclass(node):
        return replace(
            node, **{each.name: without_data(getattr(node, each.name)) for each in fields(node) if each.init}
        )
    return node


def difference(rng, tmp_path, seen: Seen) -> str | None:
    """Judge random runs of a random contract in every way; the first difference, in words."""
    job = random_job(rng)
    strangers = STRANGERS if rng.random() < 0.8 else (*STRANGERS, *(f"?l{number}" for number in range(99)))
    runs = {f"r{number}": random_run(rng, job.contract, strangers) for number in range(rng.choice((1, 2, 5, 20, 45)))}
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
    kinds = constructs(job.contract.document)
    for key, answer in expected.items():
        seen.runs.add((kind, what) for kind in kinds for what in outcome(answer, runs[key]))
    labels = {word for words in runs.values() for word in words}
    file = [(FILES[0], len(runs)), (FILES[3], len(labels)), (FILES[4], len(job.contract.document.rules))]
    file += [(FILES[1], len(words)) for words in runs.values()]
    file += [(FILES[2], len(runs))] if scattered else []
    seen.files.add((what, size(count)) for what, count in file if count)
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
    """Audits of runs of so many contracts; the first difference, in words."""
    seen = Seen()
    while seen.contracts < contracts:
        found = difference(rng, tmp_path, seen)
        if found is not None:
            return seen, found
    return seen, None
