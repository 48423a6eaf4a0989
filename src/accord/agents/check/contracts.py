"""Which protocol `follows` names, and the part that a role has in it.

A contract is written into the code as text, or lies in a file that the code loads. Files are not read here: `wanted`
says which ones the code names, and whoever calls brings their texts.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from accord.agents.check.modules import Value
from accord.agents.check.names import Outside
from accord.choreography import compile_choreography
from accord.choreography.compiling import examine_contract
from accord.errors import ContractError
from accord.language.global_tree import Enumeration, Record
from accord.language.labels import is_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from accord.agents.check.modules import Module, Scope
    from accord.agents.check.names import Program
    from accord.choreography import Choreography
    from accord.diagnostics import Diagnostic, Source
    from accord.language.tree import Document

__all__ = [
    "Compiled",
    "Given",
    "InFile",
    "Mistaken",
    "Named",
    "NotRead",
    "Undefined",
    "Written",
    "compile_text",
    "contracts_around",
    "given_by",
]

_LOADERS = frozenset({"accord.load", "accord.compile", "accord.Contract"})
_PATHS = frozenset({"pathlib.Path", "pathlib.PurePath"})
_BINDING = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr)


@dataclass(frozen=True)
class Written:
    """The text of a contract, in the code; `protocol` if one of several was taken."""

    text: str
    module: Module
    node: ast.Constant
    protocol: str | None = None


@dataclass(frozen=True)
class InFile:
    """A contract file that the code names; `beside` if the name is meant from where the code lies."""

    path: str
    module: str
    beside: bool
    protocol: str | None = None


@dataclass(frozen=True)
class Named:
    """A protocol by its name alone."""

    name: str


@dataclass(frozen=True)
class Mistaken:
    """A path where a text is meant, or the other way round."""

    what: str
    help: str


@dataclass(frozen=True)
class NotRead:
    """An expression of which nothing can be said before it runs."""

    why: str


@dataclass(frozen=True)
class Undefined:
    """An expression with a name in it that nothing defines."""

    name: str


Given = Written | InFile | Named | Mistaken | NotRead | Undefined


def given_by(expression: ast.expr, scope: Scope, program: Program, depth: int = 0) -> Given:
    """What contract or protocol an expression stands for."""
    if depth > 16:
        return NotRead("the name stands for itself")
    if isinstance(expression, ast.Constant):
        return _constant(expression, scope)
    if isinstance(expression, ast.Subscript):
        return _chosen(expression, scope, program, depth)
    if isinstance(expression, ast.Name | ast.Attribute):
        return _bound(expression, scope, program, depth)
    path = path_of(expression, scope, program)
    if path is not None:
        return InFile(path[0], scope.module.source.name, path[1])
    if isinstance(expression, ast.Call) and expression.args:
        called = program.resolve(expression.func, scope)
        if isinstance(called, Outside) and called.name in _LOADERS:
            return _loaded(expression, scope, program, is_file=called.name == "accord.load")
    return _unread(expression, scope, program, f"`{ast.unparse(expression)[:60]}` is made while the program runs")


def _constant(constant: ast.Constant, scope: Scope) -> Given:
    text = constant.value
    if not isinstance(text, str):
        what = f"a protocol is given as text, as a file or as a compiled contract, got `{text!r}`"
        return Mistaken(what, "write the text of a contract, or `accord.load(path)` for one in a file")
    if text.endswith((".accord", ".json")):
        return Mistaken("a text is a contract here, and no path", f"write `accord.load({text!r})`")
    return Named(text.strip()) if is_name(text.strip()) else Written(text, scope.module, constant)


def _unread(expression: ast.expr, scope: Scope, program: Program, why: str) -> Undefined | NotRead:
    """What cannot be read: because nothing defines a name in it, if that can be told."""
    for name in _names_in(expression):
        meaning = program.resolve(name, scope)
        if isinstance(meaning, Outside) and meaning.undefined:
            return Undefined(ast.unparse(name))
    return NotRead(why)


def _names_in(expression: ast.expr) -> Iterator[ast.Name | ast.Attribute]:
    """The names, with their dots, that an expression needs; not those in what binds names of its own."""
    todo: list[ast.AST] = [expression]
    while todo:
        node = todo.pop(0)
        if isinstance(node, ast.Name | ast.Attribute):
            yield node
        if not isinstance(node, _BINDING):
            todo += ast.iter_child_nodes(node)


def _chosen(expression: ast.Subscript, scope: Scope, program: Program, depth: int) -> Given:
    """`contract["Name"]`."""
    whole = given_by(expression.value, scope, program, depth + 1)
    name = _text(expression.slice, scope, program)
    if name is None:
        return _unread(expression.slice, scope, program, "the name in brackets is no text")
    if isinstance(whole, Written):
        return Written(whole.text, whole.module, whole.node, name)
    return InFile(whole.path, whole.module, whole.beside, name) if isinstance(whole, InFile) else whole


def _bound(expression: ast.Name | ast.Attribute, scope: Scope, program: Program, depth: int) -> Given:
    """What a name stands for."""
    meaning = program.resolve(expression, scope)
    if isinstance(meaning, Value):
        return given_by(meaning.expression, meaning.scope, program, depth + 1)
    if isinstance(meaning, Outside) and meaning.undefined:
        return Undefined(ast.unparse(expression))
    why = meaning.why if isinstance(meaning, Outside) and meaning.why else "it is not in the files that are checked"
    return NotRead(f"`{ast.unparse(expression)}` cannot be followed: {why}")


def contracts_around(scope: Scope, program: Program) -> Iterator[str]:
    """The names by which a scope can mean a contract; a name that stands for a text that is none is not among them."""
    at: Scope | None = scope
    while at is not None:
        for name in at.names:
            meaning = program.look_up(name, at)
            if isinstance(meaning, Value):
                given = given_by(meaning.expression, meaning.scope, program, 1)
                if isinstance(given, InFile) or (isinstance(given, Written) and "{" in given.text):
                    yield name
        at = at.parent


def _loaded(call: ast.Call, scope: Scope, program: Program, *, is_file: bool) -> Given:
    argument = call.args[0]
    path = path_of(argument, scope, program)
    if path is not None:
        return InFile(path[0], scope.module.source.name, path[1])
    text = _text(argument, scope, program)
    if text is None:
        return _unread(argument, scope, program, f"`{ast.unparse(argument)[:60]}` is no plain path")
    if is_file and (not text or any(sign in text for sign in "\n{}")):
        return Mistaken("`accord.load` takes the path of a file", "for the text of a contract write `accord.compile`")
    if is_file:
        return InFile(text, scope.module.source.name, beside=False)
    return given_by(argument, scope, program)


def _text(expression: ast.expr, scope: Scope, program: Program) -> str | None:
    if isinstance(expression, ast.Constant):
        return expression.value if isinstance(expression.value, str) else None
    if isinstance(expression, ast.Name):
        meaning = program.look_up(expression.id, scope)
        if isinstance(meaning, Value) and isinstance(meaning.expression, ast.Constant):
            return _text(meaning.expression, meaning.scope, program)
    return None


def path_of(expression: ast.expr, scope: Scope, program: Program, depth: int = 0) -> tuple[str, bool] | None:
    """A path and whether it begins where the file lies: `Path("x")`, `Path(__file__).parent / "x"` and the like."""
    if depth > 16:
        return None
    if isinstance(expression, ast.Name):
        meaning = program.look_up(expression.id, scope)
        return path_of(meaning.expression, meaning.scope, program, depth + 1) if isinstance(meaning, Value) else None
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Div):
        base = path_of(expression.left, scope, program, depth + 1)
        name = _text(expression.right, scope, program)
        return None if base is None or name is None else (f"{base[0]}/{name}" if base[0] else name, base[1])
    if isinstance(expression, ast.Attribute) and expression.attr == "parent":
        base = path_of(expression.value, scope, program, depth + 1)
        if base is None or not base[1]:
            return None
        return ("", True) if base[0] == "__file__" else (f"{base[0]}/.." if base[0] else "..", True)
    if isinstance(expression, ast.Call):
        return _path_call(expression, scope, program, depth)
    return None


def _path_call(call: ast.Call, scope: Scope, program: Program, depth: int) -> tuple[str, bool] | None:
    if isinstance(call.func, ast.Attribute) and call.func.attr in {"resolve", "absolute"} and not call.args:
        return path_of(call.func.value, scope, program, depth + 1)
    if isinstance(call.func, ast.Attribute) and call.func.attr == "with_name" and len(call.args) == 1:
        base = path_of(call.func.value, scope, program, depth + 1)
        name = _text(call.args[0], scope, program)
        return (name, True) if base == ("__file__", True) and name is not None else None
    called = program.resolve(call.func, scope)
    if not isinstance(called, Outside) or called.name not in _PATHS or len(call.args) != 1:
        return None
    argument = call.args[0]
    if isinstance(argument, ast.Name) and argument.id == "__file__":
        return "__file__", True
    text = _text(argument, scope, program)
    return None if text is None else (text, False)


@dataclass(frozen=True, eq=False)
class Compiled:
    """A contract text, read and compiled as far as it can be."""

    document: Document | None
    findings: tuple[Diagnostic, ...]
    choreographies: Mapping[str, Choreography] = field(default_factory=dict)
    line: int = 1
    """The line of its file on which the text begins."""

    @cached_property
    def records(self) -> dict[str, Record]:
        """Its records by name."""
        types = self.document.types if self.document is not None else ()
        return {found.name: found for found in types if isinstance(found, Record)}

    @cached_property
    def enums(self) -> dict[str, Enumeration]:
        """Its enums by name."""
        types = self.document.types if self.document is not None else ()
        return {found.name: found for found in types if isinstance(found, Enumeration)}


def compile_text(source: Source, line: int = 1) -> Compiled:
    """What a contract text declares between roles, and what is wrong with it; it begins on that line of its file."""
    try:
        document, contract, findings = examine_contract(source)
        if contract is None:
            return Compiled(document, findings)
        made = {found.name: compile_choreography(contract, found.name) for found in contract.document.globals}
    except ContractError as error:
        return Compiled(None, error.diagnostics)
    return Compiled(document, findings, made, line)
