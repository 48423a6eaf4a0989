"""Message classes as they stand in the code: dataclasses, msgspec Structs, pydantic models, and their fields."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from accord.agents.check.modules import Class
from accord.agents.check.names import Outside
from accord.language.global_tree import CRASH

if TYPE_CHECKING:
    from accord.agents.check.modules import Scope
    from accord.agents.check.names import Meaning, Program

__all__ = ["MessageClass", "MessageField", "annotation_of", "label_of", "labels_in", "read_message"]

_DATACLASSES = frozenset({"dataclasses.dataclass", "pydantic.dataclasses.dataclass"})
_BASES = frozenset({"msgspec.Struct", "pydantic.BaseModel"})
_CRASH = frozenset({"accord.agents.Crash", "accord.agents.messages.Crash"})
_NOT_FIELDS = frozenset({"typing.ClassVar", "dataclasses.InitVar", "dataclasses.KW_ONLY"})
_RENAMING = frozenset({"rename", "tag", "tag_field", "array_like"})


@dataclass(frozen=True)
class MessageField:
    """A field as it is declared; the scope is where its annotation is read."""

    name: str
    annotation: ast.expr
    scope: Scope
    is_required: bool
    by_position: bool = True


@dataclass(frozen=True)
class MessageClass:
    """A class whose instances are messages. `unread` says why its fields are not known, if they are not."""

    declared: Class
    fields: tuple[MessageField, ...] = ()
    unread: str = ""

    @property
    def label(self) -> str:
        """The label of its messages."""
        return self.declared.name


def label_of(meaning: Meaning) -> str | None:
    """The label of the messages of a class; `None` if it is no class, as far as can be told."""
    if isinstance(meaning, Class):
        return meaning.name
    if isinstance(meaning, Outside) and not meaning.why:
        name = meaning.name.rsplit(".", 1)[-1]
        return CRASH if meaning.name in _CRASH else None if meaning.name.startswith("builtins.") else name
    return None


def annotation_of(expression: ast.expr | None) -> ast.expr | None:
    """An annotation, read if it was written as text."""
    if isinstance(expression, ast.Constant) and isinstance(expression.value, str):
        try:
            return ast.parse(expression.value.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError):
            return None
    return expression


def labels_in(expression: ast.expr | None, scope: Scope, program: Program) -> tuple[str, ...] | None:
    """The labels of `A`, `A | B`, `Union[A, B]`, `(A, B)`; `None` if it is anything else."""
    read = annotation_of(expression)
    if isinstance(read, ast.BinOp) and isinstance(read.op, ast.BitOr):
        members = [read.left, read.right]
    elif isinstance(read, ast.Tuple):
        members = list(read.elts)
    elif isinstance(read, ast.Subscript) and _outside(read.value, scope, program) == "typing.Union":
        members = list(read.slice.elts) if isinstance(read.slice, ast.Tuple) else [read.slice]
    elif isinstance(read, ast.Name | ast.Attribute):
        meaning = program.resolve(read, scope)
        if isinstance(getattr(meaning, "expression", None), ast.BinOp):  # Reply = Accepted | Refused
            return labels_in(meaning.expression, meaning.scope, program)  # type: ignore[union-attr] # a `Value`
        label = label_of(meaning)
        return None if label is None else (label,)
    else:
        return None
    found: dict[str, None] = {}
    for member in members:
        labels = labels_in(member, scope, program)
        if labels is None:
            return None
        found.update(dict.fromkeys(labels))
    return tuple(found)


def read_message(declared: Class, program: Program, depth: int = 0) -> MessageClass | None:
    """The message class that a class is; `None` if it is none."""
    kind = _kind(declared, program)
    node = declared.node
    inherited: list[MessageField] = []
    unread = ""
    for base in node.bases:
        meaning = program.resolve(base.value if isinstance(base, ast.Subscript) else base, declared.scope)
        if isinstance(meaning, Class) and depth < 16:
            above = read_message(meaning, program, depth + 1)
            if above is not None:
                kind = kind or "inherited"
                inherited += above.fields
                unread = unread or above.unread
        elif not isinstance(meaning, Outside) or meaning.name not in _BASES | {"typing.Generic", "builtins.object"}:
            unread = f"`{ast.unparse(base)}` is not in the files that are checked"
    if kind is None:
        return None
    if any(keyword.arg in _RENAMING for keyword in node.keywords):
        unread = "its fields are renamed"
    only_keywords = kind == "model" or _only_keywords(node)
    fields = {found.name: found for found in inherited}
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            read = _field(statement, declared.inside, program, by_position=not only_keywords)
            if read is not None:
                fields[statement.target.id] = read
        elif isinstance(statement, ast.Assign) and _sets(statement, "model_config"):
            unread = "its fields may be renamed by `model_config`"
    return MessageClass(declared, tuple(fields.values()), unread)


def _kind(declared: Class, program: Program) -> Literal["dataclass", "struct", "model", "inherited"] | None:
    for decorator in declared.node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if _outside(called, declared.scope, program) in _DATACLASSES:
            return "dataclass"
    for base in declared.node.bases:
        name = _outside(base, declared.scope, program)
        if name in _BASES:
            return "struct" if name == "msgspec.Struct" else "model"
    return None


def _only_keywords(node: ast.ClassDef) -> bool:
    given = [k for d in node.decorator_list if isinstance(d, ast.Call) for k in d.keywords] + node.keywords
    return any(k.arg == "kw_only" and isinstance(k.value, ast.Constant) and k.value.value is True for k in given)


def _field(statement: ast.AnnAssign, scope: Scope, program: Program, *, by_position: bool) -> MessageField | None:
    annotation = annotation_of(statement.annotation)
    if annotation is None or not isinstance(statement.target, ast.Name):
        return None
    bare = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    if _outside(bare, scope, program) in _NOT_FIELDS:
        return None
    name, value = statement.target.id, statement.value
    is_required = value is None
    if isinstance(value, ast.Call):  # field(default=…), Field(alias=…)
        given = {keyword.arg: keyword.value for keyword in value.keywords}
        if _outside(value.func, scope, program).rsplit(".", 1)[-1] in {"field", "Field"}:
            is_required = not {"default", "default_factory"} & set(given) and not value.args
        alias = given.get("alias") or given.get("serialization_alias") or given.get("name")
        if isinstance(alias, ast.Constant) and isinstance(alias.value, str):
            name = alias.value
    return MessageField(name, annotation, scope, is_required, by_position)


def _outside(expression: ast.expr, scope: Scope, program: Program) -> str:
    meaning = program.resolve(expression, scope) if isinstance(expression, ast.Name | ast.Attribute) else None
    return meaning.name if isinstance(meaning, Outside) else ""


def _sets(statement: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in statement.targets)
