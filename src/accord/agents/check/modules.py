"""Python files as text: what they bind to which name, and where everything stands.

Nothing is imported and nothing is run. A name means what its one binding says; a name that is bound in several ways
means nothing that could be relied on, and whoever asks is told so.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from posixpath import join, normpath
from typing import TypeAlias

from accord.diagnostics import Source, Span

__all__ = ["Binding", "Class", "Function", "Import", "Module", "Opaque", "Scope", "Value", "read_module"]

_BINDERS = frozenset(
    {"__builtins__", "__dict__", "__getattr__", "builtins", "exec", "globals", "locals", "modules", "setattr", "vars"}
)
"""What can bind a name of a file, or answer for it, without a statement that does so."""


@dataclass(frozen=True, eq=False)
class Module:
    """A Python file: its text, its tree, and where it lies."""

    source: Source
    tree: ast.Module
    folder: str = ""
    """Where its name begins, if it does not say it all."""

    @cached_property
    def path(self) -> PurePosixPath:
        """Where it lies."""
        return PurePosixPath(normpath(join(self.folder.replace("\\", "/"), self.source.name.replace("\\", "/"))))

    @cached_property
    def scope(self) -> Scope:
        """The names of its top level."""
        return Scope(self, self.tree.body)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Everything in it; it is looked at more than once."""
        return list(ast.walk(self.tree))

    @cached_property
    def calls(self) -> dict[str, list[ast.Call]]:
        """Every call of something that has a name, by the last part of that name."""
        found: dict[str, list[ast.Call]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
                name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
                found.setdefault(name, []).append(node)
        return found

    @cached_property
    def rebound(self) -> frozenset[str]:
        """The names that functions bind at the top level, by `global`."""
        if "global" not in self.source.text:
            return frozenset()
        return frozenset(n for node in self.nodes if isinstance(node, ast.Global) for n in node.names)

    @cached_property
    def binds_unseen(self) -> bool:
        """Whether names may be bound in it, or given to whoever asks, by something that its statements do not show."""
        if not any(word in self.source.text for word in _BINDERS):
            return False
        return any(
            (isinstance(node, ast.Name) and node.id in _BINDERS)
            or (isinstance(node, ast.Attribute) and node.attr in _BINDERS)
            or (isinstance(node, ast.FunctionDef) and node.name in _BINDERS)
            or (isinstance(node, ast.Import | ast.ImportFrom) and any(name.name in _BINDERS for name in node.names))
            for node in self.nodes
        )

    @cached_property
    def _is_ascii(self) -> bool:
        return self.source.text.isascii()

    def offset(self, line: int, column: int) -> int:
        """Where a place of the tree is in the text; trees count columns in bytes."""
        line = min(line, self.source.line_and_column(len(self.source.text))[0])
        if not self._is_ascii:
            column = len(self.source.line(line).encode()[:column].decode(errors="ignore"))
        return self.source.line_start(line) + column

    def span(self, node: ast.AST) -> Span:
        """The stretch of text a node was made from."""
        start = self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined] # only asked of nodes with places
        end = self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        return Span(start, max(start, end))

    def name_span(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> Span:
        """The name in `class Name` or `def name`."""
        start = self.offset(node.lineno, node.col_offset)
        at = self.source.text.find(node.name, start + len("class" if isinstance(node, ast.ClassDef) else "def"))
        return Span(at, at + len(node.name)) if at >= 0 else Span(start, start + 1)


@dataclass(frozen=True, eq=False)
class Class:
    """`class Name:`."""

    module: Module
    scope: Scope
    node: ast.ClassDef

    @property
    def name(self) -> str:
        """As it is declared, whatever it is called where it is used."""
        return self.node.name

    @cached_property
    def inside(self) -> Scope:
        """What its body binds."""
        return Scope(self.module, self.node.body, self.scope)


@dataclass(frozen=True, eq=False)
class Function:
    """`def name():`."""

    module: Module
    scope: Scope
    node: ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, eq=False)
class Value:
    """`name = expression`, `name: annotation = expression`."""

    module: Module
    scope: Scope
    expression: ast.expr


@dataclass(frozen=True)
class Import:
    """`import module`, `from module import name`: the dotted module and the name in it, if one is taken."""

    module: str
    name: str | None
    level: int = 0


@dataclass(frozen=True)
class Opaque:
    """A name that is bound in a way that says nothing, such as the variable of a loop."""

    why: str


Binding: TypeAlias = Class | Function | Value | Import | Opaque


@dataclass(eq=False)
class Scope:
    """The names that a body binds, nested functions and classes left out."""

    module: Module
    body: list[ast.stmt]
    parent: Scope | None = None
    arguments: ast.arguments | None = None
    """Those of the function whose body it is: what they hold, the caller decides."""
    stars: list[Import] = field(default_factory=list)

    @cached_property
    def names(self) -> dict[str, Binding]:
        """What each name is bound to."""
        found: dict[str, list[Binding]] = {}
        for statement in self.body:
            self._collect(statement, found)
        for argument in ast.walk(self.arguments) if self.arguments is not None else ():
            if isinstance(argument, ast.arg):
                found.setdefault(argument.arg, []).append(Opaque(f"`{argument.arg}` is an argument"))
        if self.parent is None:
            for name in self.module.rebound & found.keys():
                found[name].append(Opaque(f"`{name}` is bound by a function too"))
        return {
            name: bound[0] if len(bound) == 1 else Opaque(f"`{name}` is bound in several places")
            for name, bound in found.items()
        }

    def _collect(self, root: ast.stmt, found: dict[str, list[Binding]]) -> None:
        todo: list[ast.AST] = [root]
        while todo:
            node = todo.pop()
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(Class(self.module, self, node))
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found.setdefault(node.name, []).append(Function(self.module, self, node))
            elif isinstance(node, ast.Lambda):
                continue
            elif isinstance(node, ast.Import | ast.ImportFrom):
                self._imports(node, found)
            elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                found.setdefault(node.targets[0].id, []).append(Value(self.module, self, node.value))
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                if node.value is not None:
                    found.setdefault(node.target.id, []).append(Value(self.module, self, node.value))
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
                found.setdefault(node.id, []).append(Opaque(f"`{node.id}` is bound in a way that is not followed"))
            else:
                name = _bound_aside(node)
                if name is not None:
                    found.setdefault(name, []).append(Opaque(f"`{name}` is bound in a way that is not followed"))
                todo.extend(ast.iter_child_nodes(node))

    def _imports(self, node: ast.Import | ast.ImportFrom, found: dict[str, list[Binding]]) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.split(".")[0]
                bound = Import(alias.name if alias.asname else name, None)
                known = found.setdefault(name, [])
                if bound not in known:
                    known.append(bound)
            return
        for alias in node.names:
            imported = Import(node.module or "", alias.name, node.level)
            if alias.name == "*":
                self.stars.append(imported)
            elif imported not in found.setdefault(alias.asname or alias.name, []):
                found[alias.asname or alias.name].append(imported)


def _bound_aside(node: ast.AST) -> str | None:
    """The name that `except … as name` or a pattern binds, which is no node of its own."""
    if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        return node.name
    return node.rest if isinstance(node, ast.MatchMapping) else None


def read_module(source: Source, folder: str = "") -> Module:
    """The module of a text, whose name begins in that folder.

    Raises what `ast.parse` raises: `SyntaxError`, `ValueError`, `RecursionError`.
    """
    text = source.text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if text != source.text:
        source = Source(text, source.name)
    return Module(source, ast.parse(text), folder)
