"""Audits of random labelled runs by every way of judging, and by a monitor for each run, which is slow and obvious."""

from __future__ import annotations

import io
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace

import pyarrow as pa
from pyarrow import parquet

from accord import ContractError, Monitor, Unrecognized, UsageError, Violation
from accord.audit import worker
from accord.audit.results import Chunk, is_whole, read_result, seal, verdicts_of
from accord.audit.tally import Tally
from accord.audit.worker import Job
from accord.language.rules import Pattern
from accord.language.tree import Declaration, Document
from accord.machine import Contract, compile_document
from accord.monitor.events import read_event
from tests.census import Census
from tests.properties import made
from tests.properties.differential import random_contract
from tests.properties.met import bracket
from tests.properties.places import NAMES, walk

LABELS = ["!a", "?a", "!b", "?b", "!c", "?c"]
STRANGERS = ("!zzz", "?zzz", "plain", "?Unrecognized", *LABELS)


LEGAL = ("legal, sent", "legal, received")
WORDS = (*LEGAL, "known, not now", "unheard of", "without direction", "Unrecognized")
PLACES = ("first", "between", "last", "alone", "behind a refused one", "behind Unrecognized")
STATUSES = ("conforming", "violating", "incomplete", "unrecognised")
LENGTHS = ("1", "2 to 5", "6 to 15", "16 to 39", "40 and more")
RUNS = ("1", "2 to 9", "10 to 39", "40 and more")
PIECES = (3, 50, 1_000)
FORMS = made.FORMS[:-1]
CONSTRUCTS = ("message", "choice", "loop", "parts", *FORMS, "rules alone")


class Seen:
    """What a campaign looked at."""

    def __init__(self) -> None:
        self.contracts = 0
        self.events = 0
        self.words = Census("words of runs", WORDS, PLACES)
        self.broken = 0
        self.statuses = Census("contracts of audited runs", CONSTRUCTS, STATUSES)
        self.lengths = Census("lengths of audited runs", STATUSES, LENGTHS)
        columns = tuple(f"{how}, by {piece}" for how in ("together", "scattered") for piece in PIECES)
        self.files = Census("runs of a file", RUNS, columns)

    @property
    def is_full(self) -> bool:
        """Whether all tables are."""
        return not any(table.lacking(1) for table in self.tables())

    def tables(self) -> tuple[Census, ...]:
        """All tables."""
        return self.words, self.statuses, self.lengths, self.files

    def run(self, words: list[str], status: str | None, contract: Contract) -> None:
        """A run was judged by a monitor, or cannot be."""
        self.events += len(words)
        if status is None:
            self.broken += 1
            return
        self.lengths.add([(status, bracket(len(words), LENGTHS))])
        self.statuses.add((construct, status) for construct in constructs_of(contract))

    def sentence(self) -> str:
        return (
            f"audits: {self.contracts:,} contracts, {self.lengths.counts.total():,} runs with {self.events:,} events "
            f"judged in columns, by table, by steps and by monitors, from Parquet and CSV; {self.broken:,} are no runs"
        )


def constructs_of(contract: Contract) -> set[str]:
    """What a contract is made of."""
    document = contract.document
    found = {made.form_of(rule) for rule in document.rules}
    for declaration in document.declarations:
        found |= {NAMES[type(step)] for step, _ in walk(declaration.body)} & set(CONSTRUCTS)
    return found if document.declarations else found | {"rules alone"}


def random_run(rng, contract, seen: Seen) -> list[str]:
    """What is legal, with more or less of anything else, often until it may end."""
    monitor, words = Monitor(contract, mode="refuse"), []
    length, strange = rng.choice((0, 1, 2, 3, 6, 12, 30, 60)), rng.choice((0, 0, 0.03, 0.1, 0.5))
    patience = rng.choice((0, 15))
    puzzled = rng.random() < 0.15
    told: list[tuple[str, list[str]]] = []
    behind: list[str] = []
    while len(words) < length + patience:
        allowed = monitor.allowed()
        if len(words) >= length and "end" in allowed:
            break
        legal = [word for word in allowed if word[0] in "!?" and " " not in word]
        if not contract.machines:
            legal = LABELS  # rules alone allow what they do not refuse
        if not legal and rng.random() > strange:
            break
        word = rng.choice(legal) if legal and rng.random() >= strange else rng.choice(STRANGERS)
        words.append(word)
        told.append((kind_of(word, legal), behind))
        behind = list(behind_next(tell(monitor, word), word))
    if puzzled and length:
        words.append("?Unrecognized")
        told.append(("Unrecognized", behind))
    for place, (kind, behind) in enumerate(told):
        ends = ["alone"] if len(told) == 1 else ["first"] if not place else ["last"] if place == len(told) - 1 else []
        seen.words.add((kind, at) for at in [*(ends or ["between"]), *behind])
    return words


def tell(monitor, word):
    """What a monitor says of a word; `None` if it cannot say anything."""
    event = read_event(word if word[0] in "!?" else f"?{word}")
    with suppress(UsageError):
        return (monitor.send if event.direction == "!" else monitor.receive)(event.label)
    return None


def kind_of(word: str, legal: list[str]) -> str:
    """What kind of word it is where these are legal."""
    if word in legal:
        return LEGAL[word[0] == "?"]
    return {
        "plain": "without direction",
        "?Unrecognized": "Unrecognized",
        "!zzz": "unheard of",
        "?zzz": "unheard of",
    }.get(word, "known, not now")


def behind_next(verdict, word: str):
    """What the next word stands behind."""
    if isinstance(verdict, Violation):
        yield "behind a refused one"
    elif word == "?Unrecognized":
        yield "behind Unrecognized"


def by_monitor(contract, words):
    """Status, where the first refused event is, how many were refused; `None` if it cannot be judged."""
    monitor = Monitor(contract, mode="refuse")
    refused = []
    position = 0
    try:
        for index, word in enumerate(words):
            event = read_event(word if word[0] in "!?" else f"?{word}")
            if word[0] not in "!?" and not is_closed(contract) and not is_watched(contract, event.label):
                continue  # what a program reports and nothing names is no event, unless a protocol is closed
            verdict = (monitor.send if event.direction == "!" else monitor.receive)(event.label)
            if isinstance(verdict, Violation):
                refused.append((position, index, verdict.clause, verdict.got, verdict.explain()))
            position += 1
        closing = monitor.close()
    except UsageError:
        return None
    if refused:
        return "violating", refused[0], len(refused)
    if isinstance(closing, Unrecognized):
        return "unrecognised", None, 0
    if isinstance(closing, Violation):
        return "incomplete", (position, None, closing.clause, closing.got, closing.explain()), 0
    return "conforming", None, 0


def is_closed(contract) -> bool:
    """Whether a protocol refuses what it does not name."""
    return any(not declaration.is_open for declaration in contract.document.declarations)


def is_watched(contract, label: str) -> bool:
    """Whether a rule looks at what is received under a label."""
    return any(("?", label) in rule.watched for rule in contract.rules.machines)


def rows_of(rng, runs: dict[str, list[str]], *, scattered: bool) -> list[tuple[str, str]]:
    """The runs as rows; scattered ones in any order that keeps that of each run."""
    rows = [(key, word) for key, words in runs.items() for word in words]
    if scattered:
        left = {key: list(reversed(words)) for key, words in runs.items() if words}
        rows = []
        while left:
            key = rng.choice(list(left))
            rows.append((key, left[key].pop()))
            if not left[key]:
                del left[key]
    return rows


def write_parquet(rows: list[tuple[str, str]], path, piece: int) -> None:
    """Rows in pieces of this size."""
    table = pa.table({"run": [key for key, _ in rows], "label": [word for _, word in rows]})
    table = table.cast(pa.schema([("run", pa.string()), ("label", pa.string())]))
    parquet.write_table(table, path, row_group_size=piece)


def write_csv(rows: list[tuple[str, str]], path) -> None:
    """The same rows as text."""
    path.write_text("".join(f"{run},{label}\n" for run, label in [("run", "label"), *rows]))


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
        sorted((g.clause, g.state, g.runs, g.followed, sorted(g.arrived.items()), g.example) for g in of)
        for of in (tally.violations, tally.owed)
    ]
    counts = [sorted(of.items()) for of in (tally.statuses, tally.unmatched, tally.blocked, tally.traffic)]
    sums = (
        tally.messages,
        tally.calls,
        tally.events,
        tally.refused,
        tally.waited,
        tally.ignored,
        tally.broken,
        tally.exercised,
    )
    return groups, counts, sums


def of_labels(node):
    """A tree whose rules look at labels alone."""
    if type(node) is tuple:
        return tuple(of_labels(one) for one in node)
    if isinstance(node, Pattern):
        return replace(node, guards=(), gated=False)
    if isinstance(node, Document):
        return replace(node, items=of_labels(node.items))
    if not is_dataclass(node) or isinstance(node, Declaration):
        return node
    return replace(node, **{field.name: of_labels(getattr(node, field.name)) for field in fields(node) if field.init})


def random_job(rng) -> Job:
    while True:
        document, _ = random_contract(rng, rng.choice(("plain", "rules", "rules")))
        with suppress(ContractError):
            contract = compile_document(of_labels(document))
            return Job(contract, contract.protocol_name(next(iter(contract.machines), None)))


def difference(rng, tmp_path, seen: Seen) -> str | None:
    """Judge random runs of a random contract in every way; the first difference, in words."""
    job = random_job(rng)
    runs = {f"r{number}": random_run(rng, job.contract, seen) for number in range(rng.choice((1, 5, 25, 50)))}
    runs = {key: words for key, words in runs.items() if words} or {"r0": ["!a"]}
    scattered, piece = rng.random() < 0.4, rng.choice(PIECES)
    rows = rows_of(rng, runs, scattered=scattered)
    path, text = tmp_path / "runs.parquet", tmp_path / "runs.csv"
    write_parquet(rows, path, piece)
    write_csv(rows, text)
    expected = {key: by_monitor(job.contract, words) for key, words in runs.items()}
    ways = {
        name: judged(way, job, file, tmp_path)
        for name, way, file in (
            ("columns", worker._judge_in_columns, path),
            ("table", worker._judge_by_table, path),
            ("steps", worker._judge_by_steps, path),
            ("table of text", worker._judge_by_table, text),
        )
    }
    seen.contracts += 1
    seen.files.add([(bracket(len(runs), RUNS), f"{'scattered' if scattered else 'together'}, by {piece}")])
    for key, answer in expected.items():
        seen.run(runs[key], None if answer is None else answer[0], job.contract)
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
                else (breach.position, breach.index, breach.what.clause, breach.what.arrived, breach.what.sentence)
            )
            told[verdict.run] = (verdict.status, what, verdict.refused)
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
    """Audit random runs; it goes on for longer, up to four times, where something was never seen so far."""
    seen = Seen()
    while seen.contracts < contracts or (seen.contracts < 4 * contracts and not seen.is_full):
        found = difference(rng, tmp_path, seen)
        if found is not None:
            return seen, found
    return seen, None
