"""What long lives looked at: constructs of contracts, and what became of calls that they decide about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from tests.census import Census

CONSTRUCTS = (
    "budget", "slice", "gate", "two gates", "result", "data", "loop", "restart", "said", "next to", "deadline",
)  # fmt: skip
ASKED = ("asked", "waits", "approved", "modified", "denied", "expired", "nobody left to ask")
KINDS = (
    "admitted", "returned", "undone", "done", "lost", "found", "not found", "kept", "not done", "interrupted",
    "unfit result", "started", "held", "refused", "rests on", "known id", "same id", "tried again", "late", "stops",
    "stopped", *ASKED,
)  # fmt: skip

encoded = msgspec.json.Encoder().encode


@dataclass
class Seen:
    """The table of a campaign."""

    calls: Census = field(default_factory=lambda: Census("calls in long lives", CONSTRUCTS, KINDS))
    kinds: Counter[str] = field(default_factory=Counter)

    def note(self, constructs: Iterable[str], kind: str) -> None:
        self.calls.add((construct, kind) for construct in constructs)
