"""Schedules for agents: who moves next, at random or in every possible order.

`Supervisor(schedule=…)` asks a schedule whenever all agents wait and several could go on. Then a run depends on the
answers alone, as long as the agents wait for each other only: the same answers give the same run.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["EverySchedule", "RandomSchedule"]


class RandomSchedule:
    """Goes on with any of those that wait; the same seed gives the same run."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def __call__(self, waiting: Sequence[str]) -> int:
        """The index of one that waits."""
        return self._random.randrange(len(waiting))


class EverySchedule:
    """All schedules, one after the other, up to `most` of them; `complete` says whether these were all.

    Each one is used for one run before the next is asked for: which schedules there are is learnt from the runs.

    Example:
        >>> runs = []
        >>> for schedule in EverySchedule(most=100):
        ...     first = schedule(["a", "b"])
        ...     runs.append((first, schedule(["b"] if first == 0 else ["a", "c"])))
        >>> runs
        [(0, 0), (1, 0), (1, 1)]
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.complete = False

    def __iter__(self) -> Iterator[_Replay]:
        prefix: list[int] = []
        for _ in range(self.most):
            replay = _Replay(prefix)
            yield replay
            taken = replay.taken
            while taken and taken[-1][0] + 1 == taken[-1][1]:
                taken.pop()
            if not taken:
                self.complete = True
                return
            prefix = [chosen for chosen, _ in taken]
            prefix[-1] += 1


class _Replay:
    """Begins with these choices, and then takes the first of whatever waits."""

    def __init__(self, prefix: list[int]) -> None:
        self._prefix = prefix
        self.taken: list[tuple[int, int]] = []
        """What was chosen, of how many."""

    def __call__(self, waiting: Sequence[str]) -> int:
        """The index of one that waits."""
        place = len(self.taken)
        chosen = self._prefix[place] if place < len(self._prefix) else 0
        self.taken.append((chosen, len(waiting)))
        return chosen
