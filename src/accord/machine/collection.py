"""A set that only grows, with cheap old versions.

A session's registers are immutable: a refused step, a lost race and another possibility must not see what was added. A
copy per addition would make each step cost as much as the set is large. So versions share one dictionary from element
to the number of elements before it: a version of size n holds exactly the elements numbered below n. Adding to the
newest version is an insertion; adding to an older one copies first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accord.language.values import Frozen

__all__ = ["Collection"]


class _Shared:
    __slots__ = ("count", "number")

    def __init__(self, number: dict[Frozen, int]) -> None:
        self.number = number
        self.count = len(number)


class Collection:
    """One version of a growing set of frozen values."""

    __slots__ = ("_shared", "_size")

    def __init__(self, elements: Iterable[Frozen] = (), version: tuple[_Shared, int] | None = None) -> None:
        if version is None:
            shared = _Shared({element: index for index, element in enumerate(dict.fromkeys(elements))})
            version = shared, shared.count
        self._shared, self._size = version

    def __len__(self) -> int:
        return self._size

    def __contains__(self, element: Frozen) -> bool:
        return self._shared.number.get(element, self._size) < self._size

    def __iter__(self) -> Iterator[Frozen]:
        """The elements in the order in which they were added."""
        for element, number in list(self._shared.number.items()):
            if number < self._size:
                yield element

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Collection) and set(self) == set(other)

    def __hash__(self) -> int:
        return hash(frozenset(self))

    def with_elements(self, elements: Iterable[Frozen]) -> Collection:
        """The version that holds these too."""
        newest = self
        for element in elements:
            if element not in newest:
                newest = newest._with(element)
        return newest

    def _with(self, element: Frozen) -> Collection:
        shared, size = self._shared, self._size
        # INVARIANT: one line without a call, so that of two threads that extend the same version only one shares it.
        if shared.count == size: shared.count = size + 1; shared.number[element] = size; mine = True  # fmt: skip  # noqa: E701, E702
        else:
            mine = False
        if not mine:
            shared = _Shared({kept: index for index, kept in enumerate([*self, element])})
        return Collection(version=(shared, size + 1))
