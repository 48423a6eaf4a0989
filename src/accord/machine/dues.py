"""What is due when, for any number of instances: an immutable queue that gives the earliest first.

It is a leftist heap, so adding and taking off cost the logarithm of its size and share all the rest with the queue
before. Nothing is ever removed from the middle: an entry whose instance has moved on since is stale, and is left out
when it comes up. When most entries are stale the queue is made anew from those that are not, so that it never holds
more than a constant times what is really due. Whoever asks for the first entry keeps the queue that comes with it:
otherwise the same stale entries would be left out again and again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.language.values import Frozen
    from accord.machine.clocks import Time

__all__ = ["NOTHING_DUE", "Dues"]

# Rank (length of the right spine), time, key, left and right.
_Heap: TypeAlias = "tuple[int, Time, Frozen, _Heap | None, _Heap | None]"

_FEW = 64


def _merge(one: _Heap | None, other: _Heap | None) -> _Heap | None:
    if one is None or other is None:
        return other if one is None else one
    if other[1] < one[1]:
        one, other = other, one
    _, due, key, left, right = one
    merged = _merge(right, other)  # as deep as right spines are long: the logarithm of the size
    assert merged is not None  # noqa: S101 - the other is something
    if left is None:
        return (1, due, key, merged, None)
    return (merged[0] + 1, due, key, left, merged) if left[0] >= merged[0] else (left[0] + 1, due, key, merged, left)


class Dues(NamedTuple):
    """Times with the keys of the instances they belong to."""

    heap: _Heap | None = None
    size: int = 0

    def with_due(self, due: Time, key: Frozen) -> Dues:
        """The queue with one entry more."""
        return Dues(_merge(self.heap, (1, due, key, None, None)), self.size + 1)

    def may_have(self, at: Time) -> bool:
        """Whether something may have been due before this time; a stale entry is not recognised here."""
        return self.heap is not None and self.heap[1] < at

    def first(self, is_current: Callable[[Time, Frozen], bool]) -> tuple[tuple[Time, Frozen] | None, Dues]:
        """The earliest entry that is not stale, and the queue without the stale ones before it."""
        heap, size = self.heap, self.size
        while heap is not None:
            _, due, key, left, right = heap
            if is_current(due, key):
                return (due, key), self if size == self.size else Dues(heap, size)
            heap, size = _merge(left, right), size - 1
        return None, NOTHING_DUE

    def tidied(self, current: int, is_current: Callable[[Time, Frozen], bool]) -> Dues:
        """The queue, without the stale entries if far more than `current` are in it.

        Only the queue itself is looked through, never all instances: most of them may have nothing due.
        """
        if self.size <= 2 * current + _FEW:
            return self
        kept: dict[Frozen, Time] = {}  # an instance that came back to the same time has two entries
        todo = [self.heap]
        while todo:
            heap = todo.pop()
            if heap is not None:
                _, due, key, left, right = heap
                if is_current(due, key):
                    kept[key] = due
                todo += (left, right)
        fresh = NOTHING_DUE
        for key, due in kept.items():
            fresh = fresh.with_due(due, key)
        return fresh


NOTHING_DUE = Dues()
