"""Who is still alive, told by looking: pure counting, without a clock that two machines would have to share.

Everybody who lives changes its beat now and then. Who has been seen with the same beat at `LOOKS` looks in a row after
the first, each of which was answered, is given up for dead. A look that fails starts all counts again: when a server
comes back, everybody has the whole time to be heard of. The same holds for a machine that was asleep with all its
processes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LOOKS", "Watch"]

LOOKS = 4


class Watch:
    """The beats as they were seen last, and for how many looks they have been the same.

    Example:
        >>> watch = Watch()
        >>> [watch.look({"a": str(number), "b": "0"}) for number in range(LOOKS + 1)][-2:]
        [{}, {'b': '0'}]
    """

    def __init__(self) -> None:
        self._seen: dict[str, tuple[str, int]] = {}

    def look(self, beats: Mapping[str, str]) -> dict[str, str]:
        """Take note of a look; those that have been silent for too long, with the beat they stopped at."""
        before, self._seen = self._seen, {}
        for name, beat in beats.items():
            known, times = before.get(name, ("", 0))
            self._seen[name] = (beat, times + 1 if beat == known else 0)
        return {name: beat for name, (beat, times) in self._seen.items() if times >= LOOKS}

    def forget(self) -> None:
        """Begin again."""
        self._seen = {}
