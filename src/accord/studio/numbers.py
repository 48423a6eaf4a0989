"""Numbers that a browser would change.

What the page is told as a value it sends back as one. Its numbers are floats: an integer beyond 2⁵³ would come back as
another one, and the verdict would be about that. So such numbers do not get in.
"""

from __future__ import annotations

from accord.errors import UsageError

__all__ = ["check_numbers"]

_EXACT = 2**53


def check_numbers(value: object, instead: str) -> None:
    """Raise `UsageError` if a value holds an integer that a browser cannot hold; `instead` names what can."""
    todo = [value]
    while todo:
        here = todo.pop()
        if isinstance(here, int) and abs(here) > _EXACT:
            raise UsageError(f"a browser cannot hold {here} exactly, so nothing was done; `{instead}` can")
        if isinstance(here, dict):
            todo += here.values()
        elif isinstance(here, list | tuple):
            todo += here
