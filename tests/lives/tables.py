"""What long lives looked at: constructs of contracts, and what became of calls that they decide about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

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

    lives: int = 0
    steps: int = 0
    longest: int = 0

    def lived(self, life: Any) -> None:
        """A life is over, and nothing was wrong with it."""
        self.lives += 1
        self.steps += life.steps
        self.longest = max(self.longest, life.steps)
        self.kinds += life.kinds

    def sentence(self) -> str:
        others = {kind: count for kind, count in sorted(self.kinds.items()) if kind not in KINDS}
        return f"long lives: {self.lives} sessions, {self.steps:,} steps, up to {self.longest:,} in one; {others}"

    def note(self, constructs: Iterable[str], kind: str) -> None:
        self.calls.add((construct, kind) for construct in constructs)
