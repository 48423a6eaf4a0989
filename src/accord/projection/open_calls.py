"""Which call a result answers.

Recorded ids are not to be relied on: they repeat inside one run for another tool, are missing or empty, or are made up.
So a result answers the first call that is still open and fits best: by id and name, by id, and where one of the two has
no id, by name or by order.
"""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

__all__ = ["OpenCalls"]


class _Call(Protocol):
    @property
    def name(self) -> str | None: ...

    @property
    def call_id(self) -> str | None: ...


C = TypeVar("C", bound=_Call)

# More calls than this are never open at once but in runs made to be slow; the oldest are then left unanswered.
_MOST_OPEN = 256


class OpenCalls(Generic[C]):
    """The calls of one run that have no result yet, in their order."""

    __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open: list[C] = []

    def add(self, call: C) -> None:
        """A call is made."""
        self._open.append(call)
        if len(self._open) > _MOST_OPEN:
            del self._open[0]

    def answer(self, call_id: str | None, name: str | None) -> C | None:
        """The call that a result with this id and this name answers; it is open no longer."""
        calls = self._open
        if not calls:
            return None
        first = calls[0]
        if call_id and first.call_id == call_id and (name is None or first.name == name):  # nearly always
            del calls[0]
            return first
        found = self._find(call_id, name)
        return None if found is None else calls.pop(found)

    def _find(self, call_id: str | None, name: str | None) -> int | None:
        by_name = None
        if call_id:
            by_id = None
            for place, call in enumerate(self._open):
                if call.call_id == call_id:
                    if name is None or call.name == name:
                        return place
                    by_id = place if by_id is None else by_id
                elif not call.call_id and by_name is None and call.name == name:
                    by_name = place
            return by_name if by_id is None else by_id
        if name is None:
            return 0
        return next((place for place, call in enumerate(self._open) if call.name == name), None)
