"""What long lives looked at: constructs of contracts, and what became of calls that they decide about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tests.census import Census
from tests.lives.scenes import SCENES

CONSTRUCTS = (
    "budget", "slice", "gate", "two gates", "result", "data", "loop", "restart", "said", "next to", "deadline",
)  # fmt: skip
ASKED = ("asked", "waits", "approved", "modified", "denied", "expired")
KINDS = (
    "admitted", "returned", "undone", "done", "lost", "found", "not found", "kept", "not done", "interrupted",
    "unfit result", "started", "held", "refused", "rests on", "known id", "same id", "tried again", "late", "stops",
    "stopped", *ASKED,
)  # fmt: skip

_FAILS = {
    "undone": ("undone",), "done": ("done",), "unknown": ("lost", "found", "not found", "tried again"),
}  # fmt: skip


def _never() -> dict[tuple[str, str], str]:
    """The cells that stay empty because of what the scenes are."""
    found: dict[tuple[str, str], str] = {}
    for construct in CONSTRUCTS:
        tools = [
            (scene, tool)
            for scene in SCENES.values()
            for tool, constructs in scene.constructs.items()
            if construct in constructs
        ]
        for meaning, kinds in _FAILS.items():
            if all(scene.tools[tool] != meaning for scene, tool in tools):
                found |= {(construct, kind): f"none of its tools fails {meaning}" for kind in kinds}
        if all((scene, tool) not in GATED for scene, tool in tools):
            found |= {(construct, kind): "nobody is asked about its tools" for kind in ASKED}
        if all(scene is not SCENES["deadlines"] for scene, _ in tools):
            found[construct, "late"] = "nothing is due in its scenes"
            if all((scene, tool) != (SCENES["bookings"], "search") for scene, tool in tools):
                found[construct, "unfit result"] = "every result is fit"
    return found


GATED = {(SCENES["payments"], "pay"), (SCENES["transfers"], "wire"), (SCENES["deadlines"], "promise")}

encoded = msgspec.json.Encoder().encode


@dataclass
class Seen:
    """The table of a campaign."""

    calls: Census = field(default_factory=lambda: Census("calls in long lives", CONSTRUCTS, KINDS, _never()))
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
        if kind in KINDS:
            self.calls.add((construct, kind) for construct in constructs)
