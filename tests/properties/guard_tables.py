"""What a campaign over guards looked at: what became of which calls, and how long a life sessions had."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tests.census import Census
from tests.properties.guard_contracts import CONSTRUCTS
from tests.properties.guard_reference import REMEMBERED_CALLS

MOST_REVIEWS = 100
"""So many questions are asked in one session at the most."""
MOST_OPEN = 32
"""The guard's own bound of questions that are open."""

ENDS = (
    "admitted", "returned", "result ok", "result bad", "undone", "done", "lost", "found", "not found", "unknown end",
    "held", "refused", "rests on", "asked", "waiting", "allowed", "modified", "denied", "expired",
)  # fmt: skip
ASKED = ("asked", "waiting", "allowed", "modified", "denied", "expired")
OTHERS = (
    "message", "late", "same id", "known id", "ended twice", "stuck", "stopped", "too many questions",
    "what became of it",
)  # fmt: skip
UNGATED = ("plain call", "unknown")
NEVER = {
    **{(construct, end): "a call that nobody gates is not asked about" for construct in UNGATED for end in ASKED},
    ("unknown", "rests on"): "no rule looks at it, so nothing about it rests on others",
    **{("unknown", end): "nobody looks at what it returns" for end in ("result ok", "result bad")},
    **{("fails undone", end): "it is taken back" for end in ("done", "lost", "found", "not found")},
    **{("fails done", end): "it has happened" for end in ("undone", "lost", "found", "not found")},
    **{("fails unknown", end): "nobody knows" for end in ("undone", "done")},
}
SIZES = ("0", "1", "2", "3–4", "5–8", "9–16", "17–32", "33+")


def size(count: int) -> str:
    """The column of a number."""
    return SIZES[min(len(SIZES) - 1, count if count < 2 else (count - 1).bit_length() + 1)]


LIVES = (
    "steps", "calls run", "calls in a batch", "calls out at once", "log while out", "refusals in a row", "questions",
    "open at once", "gates of a call",
)  # fmt: skip
_BEYOND = {
    ("steps", SIZES[:4]): "a session takes five steps at least",
    ("calls in a batch", ("0", *SIZES[5:])): "the reference looks at a world for each choice of what becomes of them",
    ("calls out at once", SIZES[5:]): "the same",
    ("gates of a call", SIZES[5:]): "no call of these contracts needs more people",
    ("questions", SIZES[SIZES.index(size(MOST_REVIEWS)) + 1 :]): "no more than `MOST_REVIEWS` are asked",
    ("open at once", SIZES[7:]): "no more than 32 questions are open",
}
TOO_LONG = {(what, place): why for (what, places), why in _BEYOND.items() for place in places}


@dataclass
class Health:
    """What a campaign looked at."""

    flavour: str = ""
    sessions: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    ends: Census = field(default_factory=lambda: Census("guarded call", CONSTRUCTS, ENDS, NEVER))
    longest: Counter[str] = field(default_factory=Counter)
    lives: Census = field(default_factory=lambda: Census("session", LIVES, SIZES, TOO_LONG))

    def sentence(self) -> str:
        longest = ", ".join(f"{self.longest[what]} {what}" for what in LIVES)
        return f"guard: {self.sessions:,} sessions, {dict(sorted(self.answers.items()))}; up to {longest}"

    @property
    def is_full(self) -> bool:
        """Whether everything was met, and some session has forgotten a call."""
        forgot = self.longest["calls run"] > REMEMBERED_CALLS
        return forgot and not self.ends.lacking(1) and not self.lives.lacking(1)

    def check_floors(self) -> None:
        assert all(self.answers[other] for other in OTHERS), self.sentence()
        assert self.longest["calls run"] > REMEMBERED_CALLS, self.sentence()
        self.ends.check(1)
        self.lives.check(1)
