"""Traces in tests: a run held to a contract, and to what it was when it was last accepted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from accord.errors import UsageError
from accord.machine.contract import Contract
from accord.trace import (
    AgentProbe,
    ProbeResult,
    TraceConfig,
    TraceEvent,
    TraceRecorder,
    Violation,
    load_trace_config,
    read_trace,
    validate_with_config,
)
from accord.trace.baselines import AcceptedRun, Baseline, read_baseline, write_baseline
from accord.trace.config import ProtocolConfig, TraceContractsConfig
from accord.trace.drift import Comparison, compare
from accord.trace.fingerprint import fingerprint_events
from accord.trace.importing import make_normaliser, make_redaction
from accord.trace.reading import decode_json
from accord.trace.run_summary import RunSummary, TraceSummary

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TraceCase", "assert_conforms"]

Trace: TypeAlias = TraceRecorder | ProbeResult | Path | str | Iterable[TraceEvent | Mapping[str, Any]]
Held: TypeAlias = str | Path | Contract | TraceConfig | Mapping[str, Any]

_SHOWN = 10
_PLAIN_NAME = re.compile(r"[\w.-]{1,100}")


def assert_conforms(trace: Trace, contract: Held, *, protocol: str | None = None) -> None:
    """Fail unless a trace conforms to a contract.

    The trace is a recorder, the result of a probe, events, or a `Path` to a file of them. The contract is an accord
    contract (its text, a `Path` to an `.accord` file, compiled) or a trace configuration (a mapping, a `Path` to a YAML
    file, loaded). `protocol` names one of a contract that declares several.

    Example:
        >>> recorder = TraceRecorder()
        >>> _ = recorder.record_tool_call("pay", {}), recorder.record_tool_result("pay", "paid")
        >>> assert_conforms(recorder, "!pay.end")
        >>> assert_conforms(recorder, "!ask.!pay.end")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        AssertionError: the trace does not conform: 1 violation
          PROTOCOL_VIOLATION at event 0: `pay` is not allowed yet: first call `ask`, then `pay`.
    """
    __tracebackhide__ = True
    violations = validate_with_config(events_of(trace), _config_of(contract, protocol))
    if violations:
        raise AssertionError(_complaint(violations))


def _complaint(violations: list[Violation]) -> str:
    count = "1 violation" if len(violations) == 1 else f"{len(violations)} violations"
    lines = [f"  {violation}" for violation in violations[:_SHOWN]]
    if len(violations) > _SHOWN:
        lines.append(f"  and {len(violations) - _SHOWN} more")
    return "\n".join((f"the trace does not conform: {count}", *lines))


def events_of(trace: Trace) -> list[TraceEvent | Mapping[str, Any]]:
    """The events of whatever holds a trace."""
    if isinstance(trace, TraceRecorder):
        if trace.count != len(trace.events):
            raise UsageError("the recorder has not kept all events; give the file it wrote them to")
        return list(trace.events)
    if isinstance(trace, ProbeResult):
        if "events" not in trace.trace:
            raise UsageError("the result has no events; its configuration says `store.mode: full` to keep them")
        return list(trace.trace["events"])
    if isinstance(trace, str | Path):
        return list(read_trace(Path(trace)))
    return list(trace)


def _config_of(contract: Held, name: str | None = None) -> TraceConfig:
    if isinstance(contract, TraceConfig | Mapping):
        return load_trace_config(contract)
    if isinstance(contract, Path) and contract.suffix in {".yaml", ".yml"}:
        return load_trace_config(contract)
    if isinstance(contract, Contract):
        protocol = ProtocolConfig(contract=contract.document.source.text, protocol=name)
    elif isinstance(contract, Path):
        protocol = ProtocolConfig(file=str(contract), protocol=name)
    else:
        protocol = ProtocolConfig(contract=contract, protocol=name)
    return TraceConfig(contracts=TraceContractsConfig(protocol=protocol))


class TraceCase:
    """The trace of one test: a recorder, and snapshots beside the test file.

    A snapshot holds the fingerprint and the digests of the events, and no payloads. It is written when the tests run
    with `--accord-update`, and a test fails if its trace is another one.
    """

    def __init__(self, name: str, folder: Path, *, update: bool) -> None:
        self.recorder = TraceRecorder(example_id=name)
        self.name = name
        self.folder = folder
        self.update = update
        self._used: set[str] = set()

    @property
    def events(self) -> list[TraceEvent]:
        """What was recorded."""
        return self.recorder.events

    def probe(
        self, tools: Mapping[str, Callable[..., Any]] | None = None, trace_config: Held | None = None
    ) -> AgentProbe:
        """A probe for an agent."""
        if isinstance(trace_config, str | Contract):
            trace_config = _config_of(trace_config)
        return AgentProbe(tools, trace_config)

    def assert_conforms(self, contract: Held) -> None:
        """Fail unless what was recorded conforms to a contract."""
        __tracebackhide__ = True
        assert_conforms(self.recorder, contract)

    def assert_unchanged(self, trace: Trace | None = None, *, name: str = "", trace_config: Held | None = None) -> None:
        """Fail unless the fingerprint is that of the snapshot; `name` tells several snapshots of a test apart."""
        __tracebackhide__ = True
        key = f"{self.name}:{name}" if name else self.name
        if key in self._used:
            raise UsageError("a test with several snapshots gives each a `name`")
        self._used.add(key)
        events = events_of(self.recorder if trace is None else trace)
        run = _run(key, events, TraceConfig() if trace_config is None else _config_of(trace_config))
        path = self.folder / f"{_file_name(key)}.json"
        if self.update:
            self.folder.mkdir(parents=True, exist_ok=True)
            accepted = AcceptedRun(run.fingerprint, run.events, run.hashes)
            path.write_text(write_baseline(Baseline({key: accepted})), encoding="utf-8")
            return
        if not path.exists():
            raise AssertionError(f"there is no snapshot {path}; `pytest --accord-update` writes it")
        value = decode_json(path.read_bytes(), str(path))
        accepted_run = read_baseline(value if isinstance(value, dict) else {}, str(path)).runs.get(key)
        if accepted_run is None:
            raise AssertionError(f"the snapshot {path} is of another test; `pytest --accord-update` writes it anew")
        base = RunSummary(
            key, events=accepted_run.events, fingerprint=accepted_run.fingerprint, hashes=accepted_run.hashes
        )
        (found,) = compare(TraceSummary("", "baseline", {key: base}), TraceSummary("", "events", {key: run}))
        if found.status != "same":
            raise AssertionError(_drifted(found, events, path))


def _run(key: str, events: list[TraceEvent | Mapping[str, Any]], config: TraceConfig) -> RunSummary:
    redaction = make_redaction(config.store.redact)
    if redaction:
        plain = [event.to_dict() if isinstance(event, TraceEvent) else dict(event) for event in events]
        cover = redaction.cover(event.get("payload") for event in plain)
        events = [{**event, "payload": redaction.redact(event.get("payload") or {}, cover)} for event in plain]
    settings = config.fingerprint
    found = fingerprint_events(events, make_normaliser(settings.normaliser), algorithm=settings.algorithm)
    return RunSummary(key, events=len(found), fingerprint=found.value, hashes=tuple(found.hashes))


def _drifted(found: Comparison, events: list[TraceEvent | Mapping[str, Any]], path: Path) -> str:
    lines = [f"the trace has drifted from {path}: {found.text}"]
    if found.place is not None and found.place < len(events):
        event = events[found.place]
        shown = event.to_dict() if isinstance(event, TraceEvent) else dict(event)
        lines.append(f"  now: {shown.get('kind')} {shown.get('payload')!r:.500}")
    lines.append("  if that is meant, `pytest --accord-update` accepts it")
    return "\n".join(lines)


def _file_name(key: str) -> str:
    """A name that every file system takes, and no two tests share."""
    if _PLAIN_NAME.fullmatch(key):
        return key
    plain = re.sub(r"[^\w.-]+", "-", key, flags=re.ASCII)[:60].strip("-.")
    return f"{plain}-{sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
