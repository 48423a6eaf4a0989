"""What is known of each run in a file: its fingerprint, the digests of its events, its violations.

A file holds the events of traces, the records of probes, or a baseline; which, its first line tells. Events are read in
one pass and in bounded memory: of an event only its digest is kept. Where something is redacted there are two passes.

Where several runs of a file have the same name, they are told apart by their order.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from accord.trace.baselines import read_baseline
from accord.trace.events import as_event
from accord.trace.fingerprint import Fingerprinter
from accord.trace.importing import make_normaliser, make_redaction
from accord.trace.own_validators import ValidatorError
from accord.trace.reading import decode_json, open_trace, read_lines, read_pieces
from accord.trace.records import json_lines, record_events, record_summaries
from accord.trace.redaction import Cover
from accord.trace.run_summary import RunSummary, TraceSummary, run_name
from accord.trace.validation import Validation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accord.trace.events import RunKey, TraceEvent
    from accord.trace.reading import Line, TraceFile
    from accord.trace.run_summary import Kind
    from accord.trace.validation import TracePlan
    from accord.trace.violations import Violation

__all__ = ["MOST_KEPT", "find_event", "summarise"]

MOST_KEPT = 10_000
"""Violations of one file that are kept with all their facts; of the others, code and place."""


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
            return TraceSummary(
                name, kind, _named(record_summaries(seekable, name, plan, validate=validate, again=again))
            )
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
    _, value = next(json_lines(file, name), (0, None))
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
            with _covered(cover):
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
    with _covered(cover):
        by_run = _by_run(validation.finish() if validate else [], cover)
    places = validation.places
    for (run_id, example_id), printer in printers.items():
        print_ = printer.finish() if config.fingerprint.enabled else None
        yield RunSummary(
            run_name((run_id, example_id)),
            run_id,
            example_id,
            printer.count,
            None if print_ is None else print_.value,
            () if print_ is None else tuple(print_.hashes),
            tuple(by_run.pop((run_id, example_id), ())),
            places.pop((run_id, example_id), {}),
        )
    for run, found in places.items():  # of a trace without events
        yield RunSummary(run_name(run), *run, violations=tuple(by_run[run]), places=found)


@contextmanager
def _covered(cover: Cover) -> Iterator[None]:
    """What the user's own code says of its failure may hold what must not be seen."""
    try:
        yield
    except ValidatorError as error:
        raise error.covered(cover) from None


def _is_object(line: Line) -> bool:
    return isinstance(line.payload, dict)


def _by_run(violations: Iterable[Violation], cover: Cover) -> dict[RunKey, list[Violation]]:
    found: dict[RunKey, list[Violation]] = {}
    for violation in violations:
        found.setdefault((violation.run_id, violation.example_id), []).append(violation.covered(cover))
    return found


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
                (value for at, (_, value) in enumerate(json_lines(opened, name)) if at == wanted), {}
            )
            events = record_events(record)
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
