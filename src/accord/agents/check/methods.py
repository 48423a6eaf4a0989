"""A method of an agent, and what can be asked of its text alone."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from accord.agents.check.modules import Class, Scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.agents.check.modules import Module

__all__ = ["VERBS", "Method", "own_nodes"]

VERBS = frozenset({"send", "reply", "receive"})


@dataclass(frozen=True, eq=False)
class Method:
    """A method, with the scope its names are read in."""

    name: str
    node: ast.FunctionDef | ast.AsyncFunctionDef
    owner: Class

    @property
    def module(self) -> Module:
        """The file it stands in."""
        return self.owner.module

    @cached_property
    def nodes(self) -> list[tuple[ast.AST, ast.AST | None]]:
        """Everything in it, each with what it stands in; it is looked at more than once."""
        found: list[tuple[ast.AST, ast.AST | None]] = [(self.node, None)]
        for node, _ in found:  # it grows while it is walked
            found.extend([(child, node) for child in ast.iter_child_nodes(node)])
        return found

    @cached_property
    def shared(self) -> frozenset[str]:
        """Names that nested functions, or others, bind as well."""
        return frozenset(n for node, _ in self.nodes if isinstance(node, ast.Nonlocal | ast.Global) for n in node.names)

    @cached_property
    def steady(self) -> frozenset[str]:
        """Names whose truth stays as it is until they are bound again: they are only asked and shown.

        What is called, subscripted, passed on or given another name may be changed there, as a list is by `pop`.
        """
        asked = (ast.If, ast.While, ast.IfExp, ast.BoolOp, ast.UnaryOp, ast.FormattedValue, ast.Assert)
        names: set[str] = set()
        changing: set[str] = set()
        for node, parent in self.nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                (names if isinstance(parent, asked) else changing).add(node.id)
        return frozenset(names - changing - self.shared)

    @cached_property
    def scope(self) -> Scope:
        """The names it binds itself, and those around its class."""
        return Scope(self.module, self.node.body, self.owner.scope, self.node.args)

    @cached_property
    def parameters(self) -> list[ast.arg]:
        """Its arguments that can be given by position."""
        return [*self.node.args.posonlyargs, *self.node.args.args]

    @cached_property
    def self_name(self) -> str | None:
        """What it calls its agent; `None` if it is static or of the class."""
        quiet = {ast.unparse(decorator) for decorator in self.node.decorator_list}
        if quiet & {"staticmethod", "classmethod"} or not self.parameters:
            return None
        return self.parameters[0].arg


def own_nodes(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    """What stands in a function, and not in those nested in it."""
    todo: list[ast.AST] = list(function.body)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            todo.extend(ast.iter_child_nodes(node))
