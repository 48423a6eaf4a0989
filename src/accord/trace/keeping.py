"""What is kept of a trace, by its configuration.

Validators and fingerprint see every event while it happens. What must not be seen is known at the end only, because a
copy may stand before what it is a copy of; so where something is redacted, events are held until then.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from accord.canonical import encode
from accord.errors import UsageError
from accord.ledger.represent import MARK
from accord.trace.fingerprint import Fingerprinter
from accord.trace.importing import make_normaliser, make_redaction
from accord.trace.own_validators import ValidatorError
from accord.trace.redaction import Cover
from accord.trace.sealed import unseal
from accord.trace.validation import Validation

if TYPE_CHECKING:
    from accord.trace.config import TraceConfig, TraceStoreConfig
    from accord.trace.events import TraceEvent
    from accord.trace.fingerprint import TraceFingerprint
    from accord.trace.sinks import TraceSink
    from accord.trace.validation import TracePlan
    from accord.trace.violations import Violation

__all__ = ["LEFT_OUT", "TraceKeeper", "kept_event"]

LEFT_OUT = "left out"
"""Marks a payload that was too large to be kept."""


class TraceKeeper:
    """Takes the events of one run and gives its trace as plain values; with a `sink` it passes them on."""

    def __init__(self, plan: TracePlan, sink: TraceSink | None = None) -> None:
        self.config: TraceConfig = plan.config
        self._sink = sink
        self.sink_error: Exception | None = None
        """What the sink failed with first. Nothing is written to it after that."""
        self._validation = Validation(plan)
        self._redaction = make_redaction(self.config.store.redact)
        fingerprint = self.config.fingerprint
        self._printer: Fingerprinter | None = None
        if fingerprint.enabled:
            self._printer = Fingerprinter(make_normaliser(fingerprint.normaliser), fingerprint.algorithm)
        self._failure = ""
        self._validation_failure: ValidatorError | None = None
        self._held: list[TraceEvent] = []
        self._events: list[dict[str, Any]] = []
        self._tools: list[str] = []
        self._count = 0
        self.violations: list[Violation] = []
        self.cover = Cover((), self.config.store.redact.replacement)
        """What must not be seen; known once the trace is finished."""

    def take(self, event: TraceEvent) -> None:
        """The next event."""
        self._count += 1
        try:
            self._validation.feed((event,))
        except ValidatorError as error:
            self._validation_failure = error
        contracts = self.config.contracts
        if event.kind == contracts.tool_results.call_start_kind:
            tool = event.payload.get(contracts.tool_payloads.tool_key)
            if isinstance(tool, str):
                self._tools.append(tool)
        if self._redaction:
            self._held.append(event)
        else:
            self._keep(event, event.payload)

    def _keep(self, event: TraceEvent, payload: dict[str, Any]) -> None:
        if self._printer is not None:
            try:
                self._printer.add(event.seq, event.kind, payload)
            except Exception as error:  # noqa: BLE001 - a normaliser of the user's own may do anything
                self._printer = None
                self._failure = str(error) if isinstance(error, UsageError) else f"{type(error).__name__}: {error}"
        if self._sink is not None and self.sink_error is None:
            try:
                self._sink.write(event if payload is event.payload else replace(event, payload=payload))
            except Exception as error:  # noqa: BLE001 - recording never breaks what is recorded
                self.sink_error = error
        store = self.config.store
        if store.mode == "full" and (store.max_events is None or len(self._events) < store.max_events):
            self._events.append(kept_event(event, payload, store))

    def finish(self) -> dict[str, Any]:
        """The trace as it is kept: fingerprint, violations, tool sequence, and by `store` events or their digests."""
        if self._redaction:
            self.cover = self._redaction.cover(event.payload for event in self._held)
            for event in self._held:
                self._keep(event, self._redaction.redact(event.payload, self.cover))
            self._held = []
        self.violations = [violation.covered(self.cover) for violation in self._found()]
        printed: TraceFingerprint | None = None if self._printer is None else self._printer.finish()
        trace: dict[str, Any] = {
            "fingerprint": None if printed is None else printed.value,
            "violations": [violation.to_dict() for violation in self.violations],
            "tool_sequence": self.cover.over(self._tools),
            "event_count": self._count,
        }
        if self._failure:
            trace["fingerprint_error"] = self.cover.text(self._failure)
        if self._validation_failure is not None:
            trace["validation_error"] = str(self._validation_failure.covered(self.cover))
        if self.cover:
            trace["redacted"] = True
        store = self.config.store
        if store.mode != "none" and printed is not None:
            trace["event_hashes"] = printed.hashes
        if store.mode == "full":
            trace["events"] = self._events
            if store.max_events is not None and self._count > len(self._events):
                trace["events_left_out"] = self._count - len(self._events)
        return trace

    def _found(self) -> list[Violation]:
        try:
            return self._validation.finish()
        except ValidatorError as error:
            self._validation_failure = error
            return self._validation.violations()


def kept_event(event: TraceEvent, payload: dict[str, Any], store: TraceStoreConfig) -> dict[str, Any]:
    """An event as it is kept."""
    kept = event.to_dict()
    if not store.include_payloads:
        del kept["payload"]
        return kept
    kept["payload"] = unseal(payload)
    if store.max_event_payload_bytes is not None:
        data = encode(kept["payload"])
        if len(data) > store.max_event_payload_bytes:
            kept["payload"] = {MARK: LEFT_OUT, "bytes": len(data), "sha256": sha256(data).hexdigest()}
    return kept
