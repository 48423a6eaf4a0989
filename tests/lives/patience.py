"""How long a guard is patient with an agent that asks for the same again and again: the one place that says it.

It is not said to the refusal. A session is never stopped sooner than after `limit` refusals of the tool in a row,
however they came, and never goes on for ever.
"""

from __future__ import annotations

from collections import Counter

ENDLESS = 1_000_000


class Patience:
    """Refusals of each tool since it was last let through."""

    def __init__(self, limit: int | None) -> None:
        self.counts = limit is not None
        self.limit = ENDLESS if limit is None else limit
        self.times: Counter[str] = Counter()

    def refused(self, tool: str) -> None:
        self.times[tool] += 1

    def accepted(self, tool: str) -> None:
        self.times[tool] = 0

    def resumed(self) -> None:
        self.times.clear()

    def may_stop(self, tool: str) -> bool:
        """Whether it is not too early."""
        return self.times[tool] >= self.limit

    def must_stop(self, tool: str) -> bool:
        """Whether it is too late."""
        return self.times[tool] >= 3 * self.limit
