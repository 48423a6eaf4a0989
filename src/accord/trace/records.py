"""The traces in the records of probes: one JSON object in a line, with the trace under `custom`.

What was found when a record was made stands in it. With a configuration it is found again in the events, but only
where they are there as they happened: what was redacted or left out would be judged for that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

from accord.errors import UsageError
from accord.ledger.represent import MARK
from accord.trace.keeping import LEFT_OUT
from accord.trace.reading import decode_json, pieces
from accord.trace.run_summary import RunSummary, run_name
from accord.trace.validation import validate_with_config
from accord.trace.violations import Violation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from accord.trace.events import RunId
    from accord.trace.validation import TracePlan

__all__ = ["json_lines", "record_events", "record_summaries"]


def record_summaries(
    file: BinaryIO, name: str, plan: TracePlan, *, validate: bool, again: bool
) -> Iterator[RunSummary]:
    """The traces in the records of probes: what was found when they were made.

    With `again` it is found again in the events, where all of them are there as they happened. With `validate`, a
    record whose validators failed when it was made is an error, unless it is judged again.
    """
    for number, record in json_lines(file, name):
        where = f"{name}:{number}"
        if not isinstance(record, dict):
            raise UsageError(f"{where}: expected the record of a probe, an object")
        custom = record.get("custom")
        trace = custom.get("trace") if isinstance(custom, dict) else None
        run_id, example_id = _id(record.get("run_id"), where), _id(record.get("example_id"), where)
        if trace is None:
            yield RunSummary(run_name((run_id, example_id)), run_id, example_id)
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
        events = record_events(record)
        if validate and again and len(events) == count and not trace.get("redacted") and all(map(_is_whole, events)):
            violations = validate_with_config(events, plan)
        elif validate and trace.get("validation_error") is not None:
            raise UsageError(f"{where}: the trace was not judged when it was made: {trace['validation_error']!s:.500}")
        yield RunSummary(
            run_name((run_id, example_id)),
            run_id,
            example_id,
            count if type(count) is int else len(hashes),
            fingerprint,
            tuple(hashes),
            tuple(violations),
            _places(violations),
        )


def json_lines(file: BinaryIO, name: str) -> Iterator[tuple[int, Any]]:
    """Every value of a file of JSON lines, with the number of its line."""
    number = 1
    for piece in pieces(file, name):
        for line in piece.split(b"\n"):
            if line.strip():
                yield number, decode_json(line, f"{name}:{number}")
            number += 1
        number -= 1  # the end of the last line begins none


def _is_whole(event: object) -> bool:
    """Whether an event was kept as it happened."""
    payload = event.get("payload") if isinstance(event, dict) else None
    return isinstance(payload, dict) and payload.get(MARK) != LEFT_OUT


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


def record_events(record: Mapping[str, Any]) -> list[Any]:
    """The events of a record; none, if it has kept none."""
    custom = record.get("custom")
    trace = custom.get("trace") if isinstance(custom, dict) else None
    events = trace.get("events") if isinstance(trace, dict) else None
    return events if isinstance(events, list) else []
