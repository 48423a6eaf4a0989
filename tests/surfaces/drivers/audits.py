"""`accord audit` and the studio, over runs written in every format that can carry them; and traces with a validator."""

from __future__ import annotations

import hashlib
import io
from typing import TYPE_CHECKING

from accord.audit import worker
from accord.audit.results import Chunk, read_result, verdicts_of
from accord.audit.worker import Job
from accord.machine.contract import Contract
from accord.sources import Run as Recorded
from accord.sources import reader_named
from accord.sources.mapping import mapped_reader
from accord.studio import runs as studio
from accord.studio.bounds import Bounds
from accord.studio.requests import OneRun
from accord.studio.requests import Recorded as Sent
from accord.studio.workshop import Workshop
from accord.trace import TraceConfig, TraceRecorder, validate_with_config
from accord.trace.config import ProtocolConfig, TraceContractsConfig
from tests.surfaces.drivers.formats import MAPPING, WRITERS
from tests.surfaces.drivers.room import room
from tests.surfaces.drivers.told import clause_of
from tests.surfaces.happenings import Finding, Outcome, Run

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["NotCarriedError", "by_audit", "by_studio", "by_trace"]


class NotCarriedError(Exception):
    """The format has not given back the run that was written in it."""


def reader_of(source: str):
    """The reader of a format."""
    return mapped_reader(MAPPING, "mapping") if source == "mapping" else reader_named(source)


def read_back(source: str, data: bytes, run: Run) -> tuple[Recorded, dict[int, list[int]]]:
    """The run as it is read, and which happenings each of its messages holds."""
    read = list(reader_of(source).read(io.BufferedReader(io.BytesIO(data)), "file"))
    if len(read) != 1 or not isinstance(read[0], Recorded):
        raise NotCarriedError(f"{source}: {read}")
    told = [(message.kind, message.name or "") for message in read[0].messages]
    if told != [(one.kind, one.name) for one in run]:
        raise NotCarriedError(f"{source}: {told}")
    places: dict[int, list[int]] = {}
    for place, message in enumerate(read[0].messages):
        places.setdefault(message.index, []).append(place)
    return read[0], places


def by_audit(contract: Contract, run: Run, source: str) -> Outcome:
    """The file as `accord audit` judges it, in a worker."""
    data = WRITERS[source](run)
    _, places = read_back(source, data, run)
    path, result = room() / "runs", room() / "result"
    path.write_bytes(data)
    job = Job(contract, contract.protocol_name(None), None if source == "mapping" else source)
    with result.open("w+b") as stream:
        _judge(job, path, stream, source)
    lines = list(read_result(result))
    verdicts = [verdict for line in lines if isinstance(line, Chunk) for verdict in verdicts_of(line, "f")]
    if len(verdicts) != 1:
        raise NotCarriedError(f"{source}: {lines}")
    return outcome_of(verdicts[0], places, lines[-1])


def _judge(job: Job, path: Path, stream, source: str) -> None:
    if source != "mapping":
        worker.judge_file(job, str(path), stream)
        return
    original, worker._runs = (
        worker._runs,
        lambda _job, _path, outputs=True: reader_of(source).read(  # noqa: ARG005
            io.BufferedReader(io.BytesIO(path.read_bytes())), "file"
        ),
    )
    try:
        worker.judge_file(job, str(path), stream)
    finally:
        worker._runs = original


def outcome_of(verdict, places: dict[int, list[int]], tally) -> Outcome:
    """What a verdict says, told of happenings; `tally` counts the calls that would have waited."""
    waited = getattr(tally, "waited", None)
    if verdict.status != "violating":
        return Outcome((), verdict.status == "conforming", waited)
    breach = verdict.breach
    first = Finding(frozenset(places[breach.index]), clause_of(breach.what.clause), breach.what.sentence)
    return Outcome((first,), None, waited, only_first=True, count=verdict.refused)


def by_studio(contract: Contract, run: Run, source: str = "session") -> Outcome:
    """The run as the studio shows it, message by message."""
    data = WRITERS[source](run)
    recorded, _ = read_back(source, data, run)
    name = hashlib.sha256(data).hexdigest()
    path = room() / name
    path.write_bytes(data)
    request = OneRun(contract.document.source.text, Sent(name="file", file=name), recorded.key)
    answer = studio.one_run(Workshop(Bounds(), room()), request)
    path.unlink()
    findings = [
        Finding(place, "*", message["explanation"])
        for place, message in enumerate(answer["messages"])
        if message["verdict"] == "refused"
    ]
    return Outcome(tuple(findings), answer["status"] == "complete")


def by_trace(contract: Contract, run: Run) -> Outcome:
    """Recorded by the recorder, held against the contract by its validator."""
    recorder = TraceRecorder()
    for one in run:
        if one.kind == "call":
            recorder.record_tool_call(one.name, one.body, one.id)
        elif one.kind == "result":
            recorder.record_tool_result(one.name, one.body, one.id, ok=True)
        elif one.kind == "error":
            recorder.record_tool_result(one.name, None, one.id, ok=False, error=one.body)
        elif one.kind == "event":
            recorder.record(one.name, {**one.body, **({"by": one.by} if one.by else {})})
        elif one.kind == "user":
            recorder.record_generate_start(one.body)
        else:
            recorder.record_generate_end(one.body)
    protocol = ProtocolConfig(contract=contract.document.source.text)
    config = TraceConfig(contracts=TraceContractsConfig(protocol=protocol))
    found = validate_with_config(list(recorder.events), config)
    told = [violation for violation in found if violation.code == "PROTOCOL_VIOLATION"]
    findings = [
        Finding(violation.event_seq, clause_of(violation.context.get("clause", "")), violation.detail)
        for violation in told
    ]
    owed = any(violation.code == "PROTOCOL_INCOMPLETE" for violation in found)
    is_protocol = bool(contract.machines)
    complete = None if is_protocol and told else not owed
    return Outcome(tuple(findings[:1] if is_protocol else findings), complete, only_first=is_protocol)
