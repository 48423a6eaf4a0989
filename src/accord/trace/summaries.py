"""What is known of each run in a file: its fingerprint, the digests of its events, its violations.

A file holds the events of traces, the records of probes, or a baseline; which, its first line tells. Events are read in
one pass and in bounded memory: of an event only its digest is kept. Where something is redacted there are two passes.

A run is known by its `example_id`, or else by its `run_id`. Where several runs of a file have the same name, they are
told apart by their order.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, cast

from accord.errors import UsageError
from accord.trace.baselines import Baseline, read_baseline
from accord.trace.events import as_event
from accord.trace.fingerprint import Fingerprinter
from accord.trace.importing import make_normaliser, make_redaction
from accord.trace.reading import decode_json, open_trace, pieces, read_lines, read_pieces
from accord.trace.redaction import Cover
from accord.trace.validation import Validation, validate_with_config
from accord.trace.violations import Violation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from accord.trace.events import RunId, RunKey, TraceEvent
    from accord.trace.reading import Line, TraceFile
    from accord.trace.validation import TracePlan

__all__ = ["MOST_KEPT", "RunSummary", "TraceSummary", "find_event", "summarise"]

Kind = Literal["events", "records", "baseline"]


MOST_KEPT = 10_000
"""Violations of one file that are kept with all their facts; of the others, code and place."""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run. `hashes` are those of its events, if they are known.

    `violations` are the first ones, `places` are those of all: by code the numbers of events.
    """

    key: str
    run_id: RunId = None
    example_id: RunId = None
    events: int = 0
    fingerprint: str | None = None
    hashes: tuple[str, ...] = ()
    violations: tuple[Violation, ...] = ()
    places: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @property
    def violation_count(self) -> int:
        """How many violations there are."""
        return sum(map(len, self.places.values()))


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """All runs of a file, in the order of their beginning."""

    name: str
    kind: Kind
    runs: dict[str, RunSummary] = field(default_factory=dict)
    baseline: Baseline | None = None


def summarise(
    file: TraceFile, plan: TracePlan, *, validate: bool = True, again: bool = True, hashes: bool = True
) -> TraceSummary:
    """What is known of the runs in a file.

    Without `validate` no violations are looked for; without `again` those of records are what they were. Without
    `hashes` the digests of events are not kept.
    """
    with open_trace(file) as (opened, name), _seekable(opened) as seekable:
        kind, first = _kind(seekable, name)
        if kind == "baseline":
            baseline = read_baseline(cast("dict[str, Any]", first), name)
            runs = {
                key: RunSummary(key, events=run.events, fingerprint=run.fingerprint, hashes=run.hashes)
                for key, run in baseline.runs.items()
            }
            return TraceSummary(name, kind, runs, baseline)
        if kind == "records":
            return TraceSummary(name, kind, _named(_records(seekable, name, plan, validate=validate and again)))
        return TraceSummary(name, kind, _named(_runs(seekable, name, plan, validate=validate, hashes=hashes)))


@contextmanager
def _seekable(file: BinaryIO) -> Iterator[BinaryIO]:
    """A file that can be read twice: itself, or what comes through a pipe, kept."""
    if file.seekable():
        yield file
        return
    with tempfile.SpooledTemporaryFile(max_size=1 << 24) as kept:
        while data := file.read(1 << 20):
            kept.write(data)
        kept.seek(0)
        yield cast("BinaryIO", kept)


def _kind(file: BinaryIO, name: str) -> tuple[Kind, object]:
    start = file.tell()
    head = file.read(1 << 16)
    file.seek(start)
    if b'"accord_trace_baseline"' in head:
        value = decode_json(file.read(), name)
        file.seek(start)
        if isinstance(value, dict) and "accord_trace_baseline" in value:
            return "baseline", value
    _, value = next(_values(file, name), (0, None))
    file.seek(start)
    if isinstance(value, dict) and "kind" not in value and "custom" in value:
        return "records", value
    return "events", None


def _named(runs: Iterable[RunSummary]) -> dict[str, RunSummary]:
    """Runs by name; those of the same name are numbered."""
    found: dict[str, RunSummary] = {}
    counts: Counter[str] = Counter()
    for run in runs:
        counts[run.key] += 1
        key = run.key if counts[run.key] == 1 else f"{run.key} #{counts[run.key]}"
        while key in found:
            key += "'"
        found[key] = replace(run, key=key)
    return found


def _name(run: RunKey) -> str:
    run_id, example_id = run
    name = example_id if example_id is not None else run_id
    return "(run)" if name is None else str(name)


# -- events ------------------------------------------------------------------------------------------------------------


def _runs(file: BinaryIO, name: str, plan: TracePlan, *, validate: bool, hashes: bool) -> Iterator[RunSummary]:
    config = plan.config
    redaction = make_redaction(config.store.redact)
    cover = Cover((), redaction.replacement)
    if redaction:
        start = file.tell()
        cover = redaction.cover(line.payload for line in read_lines(file, name))
        file.seek(start)
    validation = Validation(plan, most=MOST_KEPT)
    normaliser = make_normaliser(config.fingerprint.normaliser)
    printers: dict[RunKey, Fingerprinter] = {}
    for piece in read_pieces(file, name):
        lines = list(piece)
        if validate:
            validation.feed(lines)
        for line in lines:
            key = line.run_id, line.example_id
            printer = printers.get(key)
            if printer is None:
                printer = printers[key] = Fingerprinter(
                    normaliser, config.fingerprint.algorithm, keep=hashes and config.fingerprint.enabled
                )
            if config.fingerprint.enabled:
                payload = redaction.redact(line.payload, cover) if redaction and _is_object(line) else line.payload
                printer.add(line.seq, line.kind, payload)
            else:
                printer.count += 1
    by_run = _by_run(validation.finish() if validate else [], cover)
    places = validation.places
    for (run_id, example_id), printer in printers.items():
        print_ = printer.finish() if config.fingerprint.enabled else None
        yield RunSummary(
            _name((run_id, example_id)),
            run_id,
            example_id,
            printer.count,
            None if print_ is None else print_.value,
            () if print_ is None else tuple(print_.hashes),
            tuple(by_run.pop((run_id, example_id), ())),
            places.pop((run_id, example_id), {}),
        )
    for run, found in places.items():  # of a trace without events
        yield RunSummary(_name(run), *run, violations=tuple(by_run[run]), places=found)


def _is_object(line: Line) -> bool:
    return isinstance(line.payload, dict)


def _by_run(violations: Iterable[Violation], cover: Cover) -> dict[RunKey, list[Violation]]:
    found: dict[RunKey, list[Violation]] = {}
    for violation in violations:
        found.setdefault((violation.run_id, violation.example_id), []).append(violation.covered(cover))
    return found


# -- records -----------------------------------------------------------------------------------------------------------


def _records(file: BinaryIO, name: str, plan: TracePlan, *, validate: bool) -> Iterator[RunSummary]:
    """The traces in the records of probes: what was found when they were made.

    With `validate` it is found again in the events, where all of them are there.
    """
    for number, record in _values(file, name):
        where = f"{name}:{number}"
        if not isinstance(record, dict):
            raise UsageError(f"{where}: expected the record of a probe, an object")
        custom = record.get("custom")
        trace = custom.get("trace") if isinstance(custom, dict) else None
        run_id, example_id = _id(record.get("run_id"), where), _id(record.get("example_id"), where)
        if trace is None:
            yield RunSummary(_name((run_id, example_id)), run_id, example_id)
            continue
        if not isinstance(trace, dict):
            raise UsageError(f"{where}: `custom.trace` is no object")
        fingerprint, hashes = trace.get("fingerprint"), trace.get("event_hashes", [])
        if not isinstance(fingerprint, str | None) or not _is_list_of_texts(hashes):
            raise UsageError(f"{where}: `custom.trace` has no fingerprint that can be read")
        found = trace.get("violations", [])
        if not isinstance(found, list):
            raise UsageError(f"{where}: the violations of `custom.trace` are no list")
        count = trace.get("event_count")
        violations = [_violation(one, run_id, example_id, where) for one in found]
        events = _events_of(record)
        if (
            validate
            and len(events) == count
            and all(isinstance(event, dict) and "payload" in event for event in events)
        ):
            violations = validate_with_config(events, plan)
        yield RunSummary(
            _name((run_id, example_id)),
            run_id,
            example_id,
            count if type(count) is int else len(hashes),
            fingerprint,
            tuple(hashes),
            tuple(violations),
            _places(violations),
        )


def _values(file: BinaryIO, name: str) -> Iterator[tuple[int, Any]]:
    """Every value of a file of JSON lines, with the number of its line."""
    number = 1
    for piece in pieces(file, name):
        for line in piece.split(b"\n"):
            if line.strip():
                yield number, decode_json(line, f"{name}:{number}")
            number += 1
        number -= 1  # the end of the last line begins none


def _places(violations: Iterable[Violation]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for violation in violations:
        places.setdefault(violation.code, []).append(violation.event_seq)
    return places


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _id(value: object, where: str) -> RunId:
    if value is None or type(value) is str or type(value) is int:
        return value
    raise UsageError(f"{where}: the id of a run is a text or a whole number")


def _violation(value: Any, run_id: RunId, example_id: RunId, where: str) -> Violation:  # noqa: ANN401 - any JSON
    if not isinstance(value, dict):
        raise UsageError(f"{where}: a violation is no object")
    code, seq, detail = value.get("code"), value.get("event_seq"), value.get("detail")
    if not isinstance(code, str) or type(seq) is not int or not isinstance(detail, str):
        raise UsageError(f"{where}: a violation has `code`, `event_seq` and `detail`")
    kind, context = value.get("event_kind"), value.get("context")
    shown = context if isinstance(context, dict) else {}
    return Violation(code, seq, detail, kind if isinstance(kind, str) else None, shown, run_id, example_id)


# -- one event ---------------------------------------------------------------------------------------------------------


def find_event(file: TraceFile, summary: TraceSummary, key: str, place: int, plan: TracePlan) -> TraceEvent | None:
    """An event of a run by its place, as it may be shown; `None` if it is not kept there."""
    run = summary.runs.get(key)
    if run is None or summary.kind == "baseline":
        return None
    redaction = make_redaction(plan.config.store.redact)
    with open_trace(file) as (opened, name):
        if not opened.seekable():
            return None
        opened.seek(0)
        if summary.kind == "records":
            wanted = list(summary.runs).index(key)
            record: dict[str, Any] = next(
                (value for at, (_, value) in enumerate(_values(opened, name)) if at == wanted), {}
            )
            events = _events_of(record)
            return as_event(events[place]) if place < len(events) else None
        cover = Cover((), redaction.replacement)
        if redaction:
            cover = redaction.cover(line.payload for line in read_lines(opened, name))
            opened.seek(0)
        of_run = (
            line for line in read_lines(opened, name) if line.run_id == run.run_id and line.example_id == run.example_id
        )
        line = next(islice(of_run, place, None), None)
        if line is None:
            return None
        payload = line.payload if _is_object(line) else {"": line.payload}
        shown = redaction.redact(payload, cover) if redaction else payload
        return as_event({"seq": line.seq, "kind": line.kind, "payload": shown})


def _events_of(record: Mapping[str, Any]) -> list[Any]:
    custom = record.get("custom")
    trace = custom.get("trace") if isinstance(custom, dict) else None
    events = trace.get("events") if isinstance(trace, dict) else None
    return events if isinstance(events, list) else []
