"""Where exceptions go: into the `except` that takes them, through every `finally`, or out of the method."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.agents.check.graph import Node, Throws

__all__ = ["PARTNER_CRASHED", "Catch", "Caught", "Later", "Outwards", "Through", "names_in"]

PARTNER_CRASHED = "PartnerCrashedError"

_NOT_FOR_EXCEPTION = {"BaseException", "KeyboardInterrupt", "SystemExit", "GeneratorExit", "CancelledError"}


class Later:
    """A node that is made when somebody goes there: most ways through a `finally` are never gone."""

    def __init__(self, make: Callable[[], Node]) -> None:
        self._make = make
        self._node: Node | None = None

    def __call__(self) -> Node:
        """The node."""
        if self._node is None:
            self._node = self._make()
        return self._node


def names_in(expression: ast.expr | None) -> tuple[str, ...] | None:
    """The names of the exceptions in `except …:`; `None` for all, empty if they are not known."""
    if expression is None:
        return None
    members = expression.elts if isinstance(expression, ast.Tuple) else [expression]
    names = [_last_name(member) for member in members]
    return tuple(name for name in names if name) if all(names) else ()


def _last_name(expression: ast.expr) -> str:
    if isinstance(expression, ast.Call):
        return _last_name(expression.func)
    if isinstance(expression, ast.Attribute):
        return expression.attr
    return expression.id if isinstance(expression, ast.Name) else ""


def _takes(caught: str, raised: str) -> bool | None:
    """Whether `except caught` takes `raised`; `None` if that cannot be told."""
    if caught in {raised, "BaseException"}:
        return True
    if caught == "Exception":
        return raised not in _NOT_FOR_EXCEPTION
    one, other = getattr(builtins, caught, None), getattr(builtins, raised, None)
    if isinstance(one, type) and isinstance(other, type):
        return issubclass(other, one)
    return None


@dataclass(frozen=True)
class Catch:
    """One `except`: what it takes (`None`: everything) and where it leads."""

    names: tuple[str, ...] | None
    node: Callable[[], Node]

    def takes(self, raised: str | None) -> bool | None:
        """Whether it takes an exception; `None` if it may."""
        if self.names is None:
            return True
        if raised is None:
            # Whatever is not seen to be raised is an `Exception`, or ends the agent anyway.
            return True if {"Exception", "BaseException"} & set(self.names) else None
        answers = [_takes(name, raised) for name in self.names]
        return True if True in answers else False if answers and None not in answers else None


@dataclass(frozen=True)
class Outwards:
    """Out of the method."""

    leave: Callable[[str | None], Node]
    _made: dict[str | None, Node] = field(default_factory=dict)

    def targets(self, raised: str | None) -> tuple[Node, ...]:
        """The one way out."""
        if raised not in self._made:
            self._made[raised] = self.leave(raised)
        return (self._made[raised],)


@dataclass(frozen=True)
class Caught:
    """To the first `except` that takes it, and further out if none is certain to."""

    catches: tuple[Catch, ...]
    outer: Throws
    _made: dict[str | None, tuple[Node, ...]] = field(default_factory=dict)

    def targets(self, raised: str | None) -> tuple[Node, ...]:
        """All that are possible."""
        if raised not in self._made:
            found: list[Node] = []
            for catch in self.catches:
                takes = catch.takes(raised)
                if takes is not False:
                    found.append(catch.node())
                if takes:
                    break
            else:
                found += self.outer.targets(raised)
            self._made[raised] = tuple(found)
        return self._made[raised]


@dataclass(frozen=True)
class Through:
    """Through a `finally`, and then further out."""

    copy: Callable[[tuple[Node, ...]], Node]
    outer: Throws
    _made: dict[str | None, Node] = field(default_factory=dict)

    def targets(self, raised: str | None) -> tuple[Node, ...]:
        """The beginning of what is done on the way."""
        if raised not in self._made:
            self._made[raised] = self.copy(self.outer.targets(raised))
        return (self._made[raised],)
