"""Where exceptions go: into the `except` that takes them, through every `finally`, or out of the method."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from accord.agents.check.modules import Class, Value
from accord.agents.check.names import Outside

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.agents.check.graph import Node, Throws
    from accord.agents.check.modules import Scope
    from accord.agents.check.names import Program

__all__ = ["PARTNER_CRASHED", "Catch", "Caught", "Later", "Outwards", "Raised", "Through", "caught_by", "raised_by"]

PARTNER_CRASHED = "accord.agents.PartnerCrashedError"

_SAME = {
    "accord.agents.failures.PartnerCrashedError": PARTNER_CRASHED,
    "asyncio.TimeoutError": "TimeoutError",
    "asyncio.exceptions.CancelledError": "asyncio.CancelledError",
    "concurrent.futures.TimeoutError": "TimeoutError",
}
_DEEPEST = 16


class Raised(NamedTuple):
    """An exception that is raised on purpose: as it is written, and the classes it is of.

    `is_known` if these are all: then an `except` of any other does not take it.
    """

    shown: str
    kinds: tuple[str, ...] = ()
    is_known: bool = False


def raised_by(expression: ast.expr, scope: Scope, program: Program) -> Raised:
    """What `raise expression` raises."""
    named = expression.func if isinstance(expression, ast.Call) else expression
    kinds, is_known = _kinds(named, scope, program)
    shown = ast.unparse(named).rsplit(".", 1)[-1] if isinstance(named, ast.Name | ast.Attribute) else "Exception"
    return Raised(shown, kinds, is_known)


def _kinds(named: ast.expr, scope: Scope, program: Program, depth: int = 0) -> tuple[tuple[str, ...], bool]:
    """The names of an exception's class and of those above it, each the same wherever it is named."""
    meaning = program.resolve(named, scope) if isinstance(named, ast.Name | ast.Attribute) else None
    if isinstance(meaning, Class) and depth < _DEEPEST:
        found: dict[str, None] = {f"{meaning.module.source.name}:{meaning.node.lineno}": None}
        complete = True
        for base in meaning.node.bases:
            above, is_known = _kinds(base, meaning.scope, program, depth + 1)
            found |= dict.fromkeys(above)
            complete = complete and is_known
        return tuple(found), complete and bool(meaning.node.bases)
    if not isinstance(meaning, Outside) or meaning.why:
        return (), False
    name = _SAME.get(meaning.name, meaning.name).removeprefix("builtins.")
    known = getattr(builtins, name, None)
    if isinstance(known, type) and issubclass(known, BaseException):
        return tuple(above.__name__ for above in known.__mro__ if above is not object), True
    return ((name, "BaseException"), True) if name == "asyncio.CancelledError" else ((name,), False)


def caught_by(expression: ast.expr | None, scope: Scope, program: Program, depth: int = 0) -> tuple[str, ...] | None:
    """The exceptions in `except …:`; `None` for all, an empty name for one that is not known."""
    if expression is None:
        return None
    if isinstance(expression, ast.Tuple):
        found = [caught_by(member, scope, program, depth + 1) or ("",) for member in expression.elts]
        return tuple(name for names in found for name in names)
    meaning = program.resolve(expression, scope) if isinstance(expression, ast.Name | ast.Attribute) else None
    if isinstance(meaning, Value) and isinstance(meaning.expression, ast.Tuple) and depth < _DEEPEST:
        return caught_by(meaning.expression, meaning.scope, program, depth + 1)
    kinds, _ = _kinds(expression, scope, program)
    return kinds[:1] or ("",)


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


@dataclass(frozen=True)
class Catch:
    """One `except`: what it takes (`None`: everything) and where it leads."""

    names: tuple[str, ...] | None
    node: Callable[[], Node]

    def takes(self, raised: Raised | None) -> bool | None:
        """Whether it takes an exception; `None` if it may."""
        if self.names is None or "BaseException" in self.names:
            return True
        if raised is None:
            # Whatever is not seen to be raised is an `Exception`, or ends the agent anyway.
            return True if "Exception" in self.names else None
        if set(self.names) & set(raised.kinds):
            return True
        if raised.is_known:
            return None if "" in self.names else False
        return True if "Exception" in self.names else None


@dataclass(frozen=True)
class Outwards:
    """Out of the method."""

    leave: Callable[[Raised | None], Node]
    _made: dict[Raised | None, Node] = field(default_factory=dict)

    def targets(self, raised: Raised | None) -> tuple[Node, ...]:
        """The one way out."""
        if raised not in self._made:
            self._made[raised] = self.leave(raised)
        return (self._made[raised],)


@dataclass(frozen=True)
class Caught:
    """To the first `except` that takes it, and further out if none is certain to."""

    catches: tuple[Catch, ...]
    outer: Throws
    _made: dict[Raised | None, tuple[Node, ...]] = field(default_factory=dict)

    def targets(self, raised: Raised | None) -> tuple[Node, ...]:
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
    _made: dict[Raised | None, Node] = field(default_factory=dict)

    def targets(self, raised: Raised | None) -> tuple[Node, ...]:
        """The beginning of what is done on the way."""
        if raised not in self._made:
            self._made[raised] = self.copy(self.outer.targets(raised))
        return (self._made[raised],)
