"""`trace_fingerprint`: one short text that stays the same while an agent does the same.

Each event has a digest over the canonical JSON of its number, its kind and its payload in normal form. The fingerprint
is a digest over these digests in order, so two traces with different fingerprints differ first where their digests do.
The ids of a run name it and are no part of what happened in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from accord.canonical import encode
from accord.errors import UsageError
from accord.trace.events import TraceEvent, as_event
from accord.trace.normaliser import TracePayloadNormaliser
from accord.trace.reading import Line
from accord.trace.values import NotJsonError, check_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.trace.redaction import Cover

    Normalise = TracePayloadNormaliser | Callable[[dict[str, Any]], Mapping[str, Any]]

__all__ = [
    "ALGORITHMS",
    "Fingerprinter",
    "TraceFingerprint",
    "event_hashes",
    "fingerprint_events",
    "trace_fingerprint",
]

ALGORITHMS = ("sha256", "sha384", "sha512", "sha3_256", "blake2b")

_REMEMBERED_KINDS = 1000
_MOST_WAITING = 1 << 15
_PREFIX = b"accord.trace/1\n"
_AS_IT_IS = TracePayloadNormaliser((), (), (), None)

EventLike = TraceEvent | Line | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TraceFingerprint:
    """A fingerprint and the digest of each event. It is the fingerprint's text wherever a text is wanted."""

    value: str
    digests: bytes
    size: int

    @property
    def hashes(self) -> list[str]:
        """The digest of each event, in order."""
        return [self.digests[at : at + self.size].hex() for at in range(0, len(self.digests), self.size)]

    def __str__(self) -> str:
        return self.value

    def __len__(self) -> int:
        return len(self.digests) // self.size


class Fingerprinter:
    """Takes events one by one; what it keeps of each is its digest, or nothing with `keep=False`."""

    def __init__(self, normaliser: Normalise | None = None, algorithm: str = "sha256", *, keep: bool = True) -> None:
        if algorithm not in ALGORITHMS:
            raise UsageError(f"the algorithm of a fingerprint is one of {', '.join(ALGORITHMS)}, got {algorithm!r}")
        self.algorithm = algorithm
        self.count = 0
        self._new = getattr(hashlib, algorithm)
        self._whole = self._new(_PREFIX)
        self._own = normaliser if isinstance(normaliser, TracePayloadNormaliser) else None
        self._other = None if self._own is not None or normaliser is None else normaliser
        if normaliser is None:
            self._own = TracePayloadNormaliser()
        self._openings: dict[str, bytes] = {}
        # Those that wait to become part of the whole, or all of them.
        self._digests = bytearray()
        self._keep = keep

    def add(self, seq: int, kind: str, payload: Any, cover: Cover | None = None) -> bytes:  # noqa: ANN401 - payload
        """The digest of the next event."""
        try:
            if self._own is not None and isinstance(payload, dict):
                data = self._own.encode(payload, cover)
            else:
                data = self._encode_other(payload, seq)
        except NotJsonError as error:
            raise UsageError(f"event {seq} has no fingerprint: {error.within('payload')}") from None
        except ValueError:
            raise UsageError(f"event {seq} has no fingerprint: an integer has too many digits") from None
        opening = self._openings.get(kind)
        if opening is None:
            opening = b'{"kind":%b,"payload":' % encode(kind)
            if len(self._openings) < _REMEMBERED_KINDS:
                self._openings[kind] = opening
        digest: bytes = self._new(opening + data + b',"seq":%d}' % seq).digest()
        self._digests += digest
        self.count += 1
        self._let_go()
        return digest

    def extend(self, lines: Iterable[Line]) -> None:
        """The same as `add` for many; in one piece because it is hot."""
        if self._own is None:
            for line in lines:
                self.add(line.seq, line.kind, line.payload)
            return
        normal_bytes, new, opening_of, digests = self._own.encode, self._new, self._openings.get, self._digests
        for line in lines:
            payload, opening = line.payload, opening_of(line.kind)
            if opening is None or type(payload) is not dict:
                self.add(line.seq, line.kind, payload)
                continue
            try:
                data = normal_bytes(payload)
            except (UsageError, ValueError):
                self.add(line.seq, line.kind, payload)  # which says what is wrong
                continue
            digests += new(opening + data + b',"seq":%d}' % line.seq).digest()
            self.count += 1
        self._let_go()

    def _let_go(self) -> None:
        if not self._keep and len(self._digests) > _MOST_WAITING:
            self._whole.update(self._digests)
            self._digests.clear()

    def _encode_other(self, payload: Any, seq: int) -> bytes:  # noqa: ANN401 - payload
        if payload is None:
            payload = {}
        if not isinstance(payload, dict):  # it is no payload; still, what it is counts
            check_json(payload)
            return encode(payload)
        normal = payload if self._other is None else self._other(dict(payload))
        if not isinstance(normal, Mapping):
            raise UsageError(f"the normaliser made a `{type(normal).__name__}` of the payload of event {seq}")
        return _AS_IT_IS.encode(dict(normal))

    @property
    def value(self) -> str:
        """The fingerprint of all events so far."""
        whole = self._whole.copy()
        whole.update(self._digests)
        return f"{self.algorithm}:{whole.hexdigest()}"

    def finish(self) -> TraceFingerprint:
        """The fingerprint with the digests of the events."""
        return TraceFingerprint(self.value, bytes(self._digests) if self._keep else b"", self._whole.digest_size)


def trace_fingerprint(
    events: Iterable[EventLike], normaliser: Normalise | None = None, *, algorithm: str = "sha256"
) -> str:
    """The fingerprint of a trace, `sha256:…`.

    Example:
        >>> one = [{"seq": 0, "kind": "tool_call_start", "payload": {"tool_name": "search", "timestamp": 1}}]
        >>> two = [{"seq": 0, "kind": "tool_call_start", "payload": {"timestamp": 2, "tool_name": "search"}}]
        >>> trace_fingerprint(one) == trace_fingerprint(two)
        True
    """
    return fingerprint_events(events, normaliser, algorithm=algorithm).value


def event_hashes(
    events: Iterable[EventLike], normaliser: Normalise | None = None, *, algorithm: str = "sha256"
) -> list[str]:
    """The digest of each event."""
    return fingerprint_events(events, normaliser, algorithm=algorithm).hashes


def fingerprint_events(
    events: Iterable[EventLike], normaliser: Normalise | None = None, *, algorithm: str = "sha256"
) -> TraceFingerprint:
    """The fingerprint of a trace with the digest of each event.

    Where something is redacted, the events are gone through twice: a copy may stand before what it is a copy of.
    """
    printer = Fingerprinter(normaliser, algorithm)
    cover = None
    if isinstance(normaliser, TracePayloadNormaliser) and normaliser.redaction:
        events = list(events)
        cover = normaliser.redaction.cover(
            event.get("payload") if isinstance(event, Mapping) else event.payload for event in events
        )
    for place, event in enumerate(events):
        if not isinstance(event, TraceEvent | Line):
            if type(event) is dict and type(event.get("seq")) is int and type(event.get("kind")) is str:
                printer.add(event["seq"], event["kind"], event.get("payload"), cover)
                continue
            event = as_event(event, place)  # noqa: PLW2901 - the same event
        printer.add(event.seq, event.kind, event.payload, cover)
    return printer.finish()
