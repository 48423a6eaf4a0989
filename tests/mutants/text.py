"""A module of the source as mutants see it: its bytes, the syntax that may be changed, and what a change is.

A mutant is some edits of the bytes, so that the file keeps its text but for the change. Its name is a digest of what is
changed and of the function it stands in, not of the line, so that `survivors.md` stays true when lines move.

Some syntax is never shown to operators: annotations, decorators and base classes, docstrings, `__repr__` and `__all__`,
what an exception or an f-string says, blocks for the type checker. Mistakes in those are another tool's to find.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

WORDS_ONLY = {"__repr__", "__str__", "__rich__", "__dir__", "__hash__"}  # a hash that says less is a slow one


@dataclass(frozen=True)
class Edit:
    """Bytes `start` to `end` become `new`."""

    start: int
    end: int
    new: bytes


@dataclass(frozen=True)
class Mutant:
    """One planted mistake; `where` is the function or class that holds it."""

    path: str
    where: str
    operator: str
    edits: tuple[Edit, ...]
    line: int
    id: str

    @property
    def place(self) -> str:
        return f"src/accord/{self.path}:{self.line}"


class Module:
    """One file: its bytes, and its syntax in the order of the text."""

    def __init__(self, path: str, text: bytes) -> None:
        self.path = path
        self.text = text
        self.tree = ast.parse(text)
        self.above: dict[ast.AST, ast.AST] = {}
        self.nodes = list(self._visible(self.tree))
        self._starts = [0]
        for line in text.split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def of(self, *kinds: type) -> Iterator:
        """The visible nodes of these kinds."""
        return (node for node in self.nodes if isinstance(node, kinds))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where a node stands, in bytes."""
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset

    def bytes_of(self, node: ast.AST) -> bytes:
        start, end = self.span(node)
        return self.text[start:end]

    def put(self, node: ast.AST, new: bytes) -> Edit:
        """The edit that replaces a node."""
        return Edit(*self.span(node), new)

    def between(self, left: ast.AST, right: ast.AST) -> tuple[int, int]:
        """What stands between two nodes: operators, brackets, comments."""
        return self.span(left)[1], self.span(right)[0]

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """What a node stands in, from the inside out."""
        while node in self.above:
            node = self.above[node]
            yield node

    def home(self, node: ast.AST, *kinds: type) -> ast.AST:
        """The innermost node of these kinds that it stands in; the module if there is none."""
        return next((each for each in self.around(node) if isinstance(each, kinds)), self.tree)

    def where(self, node: ast.AST) -> str:
        """The qualified name of the function or class that a node stands in."""
        names = [
            each.name
            for each in (node, *self.around(node))
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        ]
        return ".".join(reversed(names)) or "(module)"

    def line_of(self, offset: int) -> int:
        return self.text.count(b"\n", 0, offset) + 1

    def planted(self, edits: tuple[Edit, ...]) -> bytes:
        """The file with the mistake in it."""
        text = self.text
        for edit in sorted(edits, key=lambda each: each.start, reverse=True):
            text = text[: edit.start] + edit.new + text[edit.end :]
        return text

    def is_mistake(self, edits: tuple[Edit, ...]) -> bool:
        """Whether it compiles, and means something else than the file does."""
        try:
            tree = ast.parse(text := self.planted(edits))
            compile(text, self.path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return False
        return ast.dump(tree) != self._meaning

    @cached_property
    def _meaning(self) -> str:
        return ast.dump(self.tree)

    def _visible(self, node: ast.AST) -> Iterator[ast.AST]:
        yield node
        for child in _shown(node):
            self.above[child] = node
            yield from self._visible(child)


def _shown(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.JoinedStr() | ast.Raise() | ast.Import() | ast.ImportFrom() | ast.Assert():
            return
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            if name in WORDS_ONLY or any("overload" in ast.dump(each) for each in node.decorator_list):
                return
            children = [*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body]
        case ast.ClassDef():
            children = node.body
        case ast.Lambda():
            children = [node.body]
        case ast.AnnAssign():
            children = [node.target, *filter(None, [node.value])]
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            children = node.orelse
        case ast.Call(func=ast.Name(id="cast"), args=[_, value]):
            children = [value]
        case _:
            children = ast.iter_child_nodes(node)
    for child in children:
        match child:
            case ast.Expr(value=ast.Constant(value=str())):
                pass
            case ast.Assign(targets=[ast.Name(id="__all__")]):
                pass
            case _:
                yield child


def made(module: Module, operator: str, found: Iterator[tuple[ast.AST, tuple[Edit, ...]]]) -> Iterator[Mutant]:
    """Mutants from what an operator has found; equal ones in a function are told apart by their order."""
    seen: dict[str, int] = {}
    for node, edits in found:
        where = module.where(node)
        changed = [f"{module.text[edit.start : edit.end]!r}>{edit.new!r}" for edit in edits]
        about = "\n".join((module.path, where, operator, _context(module, edits), *changed))
        seen[about] = seen.get(about, 0) + 1
        name = sha256(f"{about}\n{seen[about]}".encode()).hexdigest()[:10]
        line = module.line_of(min(edit.start for edit in edits))
        yield Mutant(module.path, where, operator, edits, line, name)


def _context(module: Module, edits: tuple[Edit, ...]) -> str:
    """The lines that are changed, without their indentation."""
    lines = module.text.split(b"\n")
    return "\n".join(lines[module.line_of(edit.start) - 1].strip().decode() for edit in edits)


def difference(module: Module, mutant: Mutant) -> str:
    """The mistake as a diff."""
    before, after = (text.decode().splitlines() for text in (module.text, module.planted(mutant.edits)))
    lines = list(difflib.unified_diff(before, after, n=1, lineterm=""))[2:]
    return "\n".join((f"{mutant.place} in {mutant.where} ({mutant.operator}, {mutant.id})", *lines))
