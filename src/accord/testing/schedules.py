"""Schedules for agents: who moves next, at random or in every possible order.

`Supervisor(schedule=…)` asks a schedule whenever all agents wait and several could go on. Then a run depends on the
answers alone, as long as the agents wait for each other only: the same answers give the same run.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["EverySchedule", "FreshSchedules", "RandomSchedule"]


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


class FreshSchedules:
    """Schedules at random, none of them twice, up to `most` of them; `complete` says whether these were all.

    Of a small program that is every schedule. Of a large one they are spread over all of it, where `EverySchedule`
    would try the last choices of one beginning.

    Example:
        >>> runs = []
        >>> fresh = FreshSchedules(most=100)
        >>> for schedule in fresh:
        ...     first = schedule(["a", "b"])
        ...     runs.append((first, schedule(["b"] if first == 0 else ["a", "c"])))
        >>> sorted(runs), fresh.complete
        ([(0, 0), (1, 0), (1, 1)], True)
    """

    def __init__(self, most: int, seed: int = 0) -> None:
        self.most = most
        self.complete = False
        self._random = Random(seed)

    def __iter__(self) -> Iterator[_Fresh]:
        root = _Fork()
        for _ in range(self.most):
            fresh = _Fresh(root, self._random)
            yield fresh
            for fork, chosen in reversed(fresh.taken):
                fork.left.remove(chosen)
                fork.behind.pop(chosen, None)
                if fork.left:
                    break
            else:
                self.complete = True
                return


class _Fork:
    """A place where something is chosen: what has not been tried to its end, and the forks behind it."""

    def __init__(self) -> None:
        self.left: list[int] = []
        self.behind: dict[int, _Fork] = {}


class _Fresh:
    """One run that differs from all before it."""

    def __init__(self, root: _Fork, chance: Random) -> None:
        self.taken: list[tuple[_Fork, int]] = []
        self._here = root
        self._random = chance

    def __call__(self, waiting: Sequence[str]) -> int:
        """The index of one that waits."""
        here = self._here
        if not here.left:
            here.left = list(range(len(waiting)))
        chosen = self._random.choice(here.left)
        self.taken.append((here, chosen))
        self._here = here.behind.setdefault(chosen, _Fork())
        return chosen
