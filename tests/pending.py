"""The one switch for what only the reference semantics can run yet.

While it is off, tests of contracts with deadlines and slices leave out the machine and everything built on it.
"""

from __future__ import annotations

from functools import cache

from accord.diagnostics import Source
from accord.language import examine
from accord.language.rules import Within
from accord.language.tree import Deadline

MACHINE_RUNS_TIME_AND_SLICES = False


@cache
def is_pending(text: str) -> bool:
    """Whether a contract has deadlines or slices and the machine cannot run them yet."""
    if MACHINE_RUNS_TIME_AND_SLICES:
        return False
    document, _ = examine(Source(text))
    if any(item.each is not None for item in document.items):
        return True
    todo = [declaration.body for declaration in document.declarations]
    while todo:
        node = todo.pop()
        if isinstance(node, Deadline):
            return True
        todo += node.children()
    return any(isinstance(rule.body, Within) for rule in document.rules)
