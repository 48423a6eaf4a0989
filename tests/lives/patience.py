"""How long a guard is patient with an agent that asks for the same again and again: the one place that says it.

It is not said to the refusal. A session is never stopped sooner than after `limit` refusals of the tool since it went
on, or of anything in a row, however they came, and never goes on for ever.
"""

from __future__ import annotations

from collections import Counter

ENDLESS = 1_000_000


class Patience:
    """Refusals of each tool since it was last let through, and of all since anything was."""

    def __init__(self, limit: int | None) -> None:
        self.counts = limit is not None
        self.limit = ENDLESS if limit is None else limit
        self.times: Counter[str] = Counter()
        self.forbidden: Counter[str] = Counter()
        self.in_a_row = 0

    def refused(self, tool: str, *, for_now: bool) -> None:
        """A call was refused; `for_now` says that it was, or may have been, told to come again."""
        self.times[tool] += 1
        self.forbidden[tool] += not for_now
        self.in_a_row += 1

    def accepted(self, tool: str) -> None:
        self.times[tool] = self.forbidden[tool] = self.in_a_row = 0

    def resumed(self) -> None:
        self.times.clear()
        self.forbidden.clear()
        self.in_a_row = 0

    def may_stop(self, tool: str) -> bool:
        """Whether it is not too early."""
        return max(self.times[tool], self.in_a_row) >= self.limit

    def must_stop(self, tool: str) -> bool:
        """Whether it is too late."""
        return self.forbidden[tool] >= 3 * self.limit
