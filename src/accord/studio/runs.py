"""Recorded runs held against a contract: all of them counted, some of them listed, one of them message by message.

Files were sent before, and a request names them by their digests. They are judged as `accord audit` judges them, and
the result of each is kept on disk, by the digest of what it is a result of: verdicts and a tally, read in a stream. So
every figure is one of all runs, however many are listed, and looking at others of them judges nothing again.
"""

from __future__ import annotations

from collections import Counter
from time import monotonic
from typing import TYPE_CHECKING

from accord.audit.cache import Cache
from accord.audit.coverage import edges_taken
from accord.audit.groups import make_tables, text_of
from accord.audit.judging import standing_of
from accord.audit.results import Chunk, read_result, read_tally, verdicts_of
from accord.audit.tally import Tally, add_to, of_file
from accord.audit.worker import Job, judge_file
from accord.calls.replay import Replay
from accord.canonical import digest
from accord.diagnostics.visible import visible
from accord.errors import UsageError
from accord.language.labels import print_word
from accord.monitor.step import status
from accord.monitor.verdicts import Blocked, Ok, Violation
from accord.sources import Run, read_runs
from accord.stepping.moves import occupied
from accord.studio.uploads import uploaded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from accord.audit.model import Status, Verdict
    from accord.calls.replay import Judged
    from accord.machine.contract import Contract
    from accord.machine.tables import Machine
    from accord.studio.requests import Judge, OneRun, Recorded, Runs
    from accord.studio.workshop import Workshop

__all__ = ["judge", "one_run", "several_runs"]

_ORDER: tuple[Status, ...] = (
    "violating",
    "incomplete",
    "unrecognised",
    "conforming",
)  # what somebody looks for comes first
_SHOWN_RUNS = 200
_MOST_BROKEN = 50
_MOST_MESSAGES = 1_000
_LONGEST_TEXT = 4_000
_BETWEEN = 0.2  # seconds from one word about how far it is to the next


def judge(shop: Workshop, request: Judge) -> dict[str, object]:
    """Judge a file, telling how far it is; what becomes of it is kept."""
    contract = shop.compiled(request.text)
    tally = read_tally(_result(shop, contract, request.protocol, request.file))
    return {"runs": tally.runs, "unreadable": tally.broken}


def several_runs(shop: Workshop, request: Runs) -> dict[str, object]:
    """What the contract says of all runs of some files, and a stretch of the list of those that are asked for."""
    contract = shop.compiled(request.text)
    results = [_result(shop, contract, request.protocol, file) for file in request.files]
    tally = Tally()
    for file, result in zip(request.files, results, strict=True):
        add_to(tally, of_file(read_tally(result), file.name))

    def chunks() -> Iterator[tuple[int, Chunk]]:
        for number, result in enumerate(results):
            for line in read_result(result):
                if isinstance(line, Chunk):
                    shop.tell({"read": number})  # a million runs take longer to be read than a request may take
                    yield number, line

    names = [file.name for file in request.files]
    tables = make_tables(((chunk, names[number]) for number, chunk in chunks()), (), None)
    keys = [*tables.keys, *(["file"] if len(names) > 1 and "file" not in tables.keys else [])]
    by = next((key for key in (request.by, "model", *keys) if key in keys), "")
    if by and by not in tables.by:
        tables = make_tables(((chunk, names[number]) for number, chunk in chunks()), (by,), None)

    def matching() -> Iterator[tuple[int, Verdict]]:
        for number, chunk in chunks():
            for verdict in verdicts_of(chunk, names[number]):
                if _is_asked_for(verdict, by, request):
                    yield number, verdict

    everything = not request.status and request.value is None and not request.search
    found: Counter[str] = (
        Counter(tally.statuses) if everything else Counter(verdict.status for _, verdict in matching())
    )
    machine = contract.machine(contract.protocol_name(request.protocol)) if contract.machines else None
    return {
        "statuses": tally.statuses,
        "keys": keys,
        "by": by,
        "groups": [{"value": row.value, "statuses": row.statuses} for row in tables.by.get(by, ())],
        "found": sum(found.values()),
        "first": request.first,
        "runs": list(_stretch(matching(), found, request.first)),
        "broken": [
            {"file": visible(one.file), "line": one.line, "reason": visible(one.reason)}
            for one in tally.first_broken[:_MOST_BROKEN]
        ],
        "unreadable": tally.broken,
        "unmatched": {visible(name): count for name, count in tally.unmatched.items()},
        "traffic": [] if machine is None else list(_traffic(machine, tally.traffic)),
    }


def _result(shop: Workshop, contract: Contract, protocol: str | None, file: Recorded) -> Path:
    """The result of a file under a contract, worked out unless it was kept."""
    path = uploaded(shop.uploads, file.file)
    job = Job(contract, contract.protocol_name(protocol), None, shop.bounds.limits)
    kept = Cache(shop.uploads / "results")
    key = digest([job.identity(), file.file])
    if not kept.has(key):
        with kept.writing(key) as writing:
            judge_file(job, str(path), writing.stream, _now_and_then(shop.tell))
        kept.tidy(shop.bounds.uploads_bytes)
    return kept.path(key)


def _now_and_then(tell: Callable[[dict[str, object]], None]) -> Callable[[int], None]:
    told = monotonic()

    def watch(judged: int) -> None:
        nonlocal told
        now = monotonic()
        if now - told >= _BETWEEN:
            told = now
            tell({"judged": judged})

    return watch


def _is_asked_for(verdict: Verdict, by: str, request: Runs) -> bool:
    if request.status and verdict.status != request.status:
        return False
    if request.value is not None:
        value = verdict.file if by == "file" and "file" not in verdict.metadata else verdict.metadata.get(by)
        if text_of(value) != request.value:
            return False
    if not request.search:
        return True
    what = verdict.breach.what if verdict.breach is not None else None
    about = f"{verdict.run} {verdict.file} {what.clause if what else ''} {what.sentence if what else ''}"
    return request.search.lower() in about.lower()


def _stretch(matching: Iterator[tuple[int, Verdict]], found: Counter[str], first: int) -> Iterator[dict[str, object]]:
    """The runs from `first` on in the order of their statuses, and within one in that of the files."""
    begins = dict(zip(_ORDER, _sums(found), strict=True))
    taken: list[tuple[int, int, Verdict]] = []
    for number, verdict in matching:
        place = begins[verdict.status]
        begins[verdict.status] += 1
        if first <= place < first + _SHOWN_RUNS:
            taken.append((place, number, verdict))
    for _, number, verdict in sorted(taken, key=lambda one: one[0]):
        yield {**verdict.to_json(), "number": number}


def _sums(found: Counter[str]) -> Iterator[int]:
    total = 0
    for name in _ORDER:
        yield total
        total += found[name]


def _traffic(machine: Machine, counted: dict[str, int]) -> Iterator[dict[str, object]]:
    """How often each edge was taken, as drawings name edges."""
    for place, times in counted.items():
        state, symbol = map(int, place.split("/"))
        for index, target in getattr(machine.states[state], "edges", ()):
            if index == symbol:
                yield {"from": state, "word": machine.symbols[symbol].word, "to": target, "times": times}


def one_run(shop: Workshop, request: OneRun) -> dict[str, object]:
    """One run, message by message, each with its label, its verdict and the states after it."""
    contract = shop.compiled(request.text)
    for run in read_runs(str(uploaded(shop.uploads, request.file.file)), None, shop.bounds.limits):
        if isinstance(run, Run) and run.key == request.key:
            return {"file": request.file.name, "run": run.key, **_messages(contract, request.protocol, run)}
    raise UsageError(f"{request.file.name} holds no run `{request.key}`")


def _messages(contract: Contract, protocol: str | None, run: Run) -> dict[str, object]:
    """The messages as they were recorded, each with what became of it, judged as an audit does."""
    protocol = contract.protocol_name(protocol)
    replay = Replay(contract, protocol)
    machine = contract.machine(protocol) if contract.machines else None
    told: dict[int, dict[str, object]] = {}
    heat: Counter[str] = Counter()
    states = sorted(occupied(replay.calls.settled))
    path: set[int] = set(states)
    for judged in replay.follow(run.messages):
        message, event, verdict = judged.happened, judged.projected.event, judged.verdict
        counts = machine is not None and type(verdict) is Ok and event is not None and not event.to_rules
        if counts and event is not None and judged.before is not None:
            taken = edges_taken(standing_of(judged.before, event), event)
            heat.update(f"{state}/{symbol}" for state, symbol in taken)
        states = sorted(occupied(replay.reached))
        path |= set(states)
        refused = isinstance(verdict, Violation | Blocked)
        told[id(message)] = {
            "index": message.index,
            "kind": message.kind,
            "name": None if message.name is None else visible(message.name),
            "text": _shown(message.text),
            "word": None if event is None else print_word(event.direction, event.label),
            "verdict": "refused" if refused else "" if verdict is None else "ok",
            "follows": False,
            "explanation": visible(verdict.explain()) if isinstance(verdict, Violation | Blocked) else _note(judged),
            "states": states,
        }
    refusals = [told[id(message)] for message in run.messages if told[id(message)]["verdict"] == "refused"]
    for refusal in refusals[1:]:  # the first is a cause; what is refused behind it may follow from that, as in reports
        refusal["follows"] = True
    shown = [told[id(message)] for message in run.messages[:_MOST_MESSAGES]]
    return {
        "messages": shown,
        "left_out": max(len(run.messages) - len(shown), 0),
        "metadata": run.metadata,
        "status": _status(replay),
        "path": sorted(path),
        "traffic": [] if machine is None else list(_traffic(machine, dict(heat))),
    }


def _status(replay: Replay) -> str:
    """How the run stands; it is not complete while something may be owed by what became of a call."""
    found = status(replay.reached)
    if found not in {"running", "complete"}:
        return found
    return "complete" if type(replay.close(replay.now)[1]) is Ok else "running"


def _note(judged: Judged) -> str:
    """What is to be said of a message that was not refused."""
    if judged.follows:
        return "It follows a refusal: the call that it ends would not have run."
    return "A guard would have held it until an earlier call of its message had ended." if judged.waited else ""


def _shown(text: str) -> str:
    """Text of a message, its lines kept and everything hidden made visible."""
    cut = text[:_LONGEST_TEXT]
    lines = "\n".join(visible(line) for line in cut.split("\n"))
    return lines if len(text) <= _LONGEST_TEXT else f"{lines}…"
