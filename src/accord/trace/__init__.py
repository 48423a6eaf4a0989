"""Traces of agent runs: recorded, brought into a normal form, fingerprinted, and held to contracts."""

from __future__ import annotations

from accord.trace.events import TraceEvent
from accord.trace.fingerprint import TraceFingerprint, event_hashes, fingerprint_events, trace_fingerprint
from accord.trace.normaliser import TracePayloadNormaliser
from accord.trace.reading import read_trace
from accord.trace.recorder import TraceRecorder
from accord.trace.redaction import Redaction
from accord.trace.sinks import JsonlSink, TraceSink

__all__ = [
    "JsonlSink",
    "Redaction",
    "TraceEvent",
    "TraceFingerprint",
    "TracePayloadNormaliser",
    "TraceRecorder",
    "TraceSink",
    "event_hashes",
    "fingerprint_events",
    "read_trace",
    "trace_fingerprint",
]
