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
_RENAMING = frozenset({"array_like", "metaclass", "omit_defaults", "rename", "tag", "tag_field"})
_QUIET_DECORATORS = _DATACLASSES | {"functools.total_ordering", "typing.final", "typing_extensions.final"}
_HOOKS = frozenset(
    {
        "__copy__",
        "__deepcopy__",
        "__getattribute__",
        "__new__",
        "__replace__",
        "__setattr__",
        "model_copy",
        "model_dump",
    }
)
_WRITING = frozenset({"computed_field", "field_serializer", "model_serializer", "serializer"})
_QUIET_SETTINGS = frozenset(
    {"arbitrary_types_allowed", "extra", "from_attributes", "frozen", "json_schema_extra", "populate_by_name"}
    | {"protected_namespaces", "str_min_length", "str_strip_whitespace", "strict", "title", "validate_assignment"}
    | {"validate_by_alias", "validate_by_name", "validate_default"}
)


@dataclass(frozen=True)
class MessageField:
    """A field as it is declared; the scope is where its annotation is read."""

    name: str
    annotation: ast.expr
    scope: Scope
    is_required: bool
    by_position: bool = True
    default: ast.expr | None = None
    """What it holds if nothing is given, where that is written down."""
    is_left_out: bool = False
    """Whether it is not written where the message is."""


@dataclass(frozen=True)
class MessageClass:
    """A class whose instances are messages. `unread` says why its fields are not known, if they are not."""

    declared: Class
    fields: tuple[MessageField, ...] = ()
    unread: str = ""
    has_own_init: bool = False
    """Whether it is made in a way of its own, so that its fields do not say what it takes."""

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
    has_own_init = "__init__" in declared.inside.names
    for base in node.bases:
        meaning = program.resolve(base.value if isinstance(base, ast.Subscript) else base, declared.scope)
        if isinstance(meaning, Class) and depth < 16:
            above = read_message(meaning, program, depth + 1)
            if above is not None:
                kind = kind or "inherited"
                inherited += above.fields
                unread = unread or above.unread
                has_own_init = has_own_init or above.has_own_init
        elif not isinstance(meaning, Outside) or meaning.name not in _BASES | {"typing.Generic", "builtins.object"}:
            unread = f"`{ast.unparse(base)}` is not in the files that are checked"
    if kind is None:
        return None
    if any(keyword.arg in _RENAMING for keyword in node.keywords):
        unread = "it is written in a way of its own"
    only_keywords = kind == "model" or _only_keywords(node)
    fields = {found.name: found for found in inherited}
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            read = _field(statement, declared.inside, program, by_position=not only_keywords)
            if read is not None:
                fields[statement.target.id] = read
        elif isinstance(statement, ast.Assign) and _sets(statement, "model_config"):
            unread = unread or _renamed_by(statement.value)
    unread = unread or _written_otherwise(declared, fields, program)
    return MessageClass(declared, tuple(fields.values()), unread, has_own_init)


def _renamed_by(config: ast.expr) -> str:
    """What `model_config` may change in the fields as they are written; empty if nothing."""
    names: list[str | None] = []
    if isinstance(config, ast.Call):
        names = [keyword.arg for keyword in config.keywords]
    elif isinstance(config, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in config.keys]
        names = [key if isinstance(key, str) else None for key in keys]
    is_plain = isinstance(config, ast.Call | ast.Dict) and not getattr(config, "args", ())
    return "" if is_plain and set(names) <= _QUIET_SETTINGS else "its fields may be renamed by `model_config`"


def _written_otherwise(declared: Class, fields: dict[str, MessageField], program: Program) -> str:
    """Why a message may hold or become something else than its fields say; empty if not."""
    for decorator in declared.node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if _outside(called, declared.scope, program) not in _QUIET_DECORATORS:
            return f"what `@{ast.unparse(decorator)[:40]}` makes of it cannot be seen"
    for statement in declared.node.body:
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if statement.name in _HOOKS or statement.name in fields:
            return f"it has a `{statement.name}` of its own"
        for decorator in statement.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if ast.unparse(called).rsplit(".", 1)[-1] in _WRITING:
                return f"it is written in a way of its own, by `{statement.name}`"
    for found in fields.values():
        if found.is_left_out or "Serializer" in ast.unparse(found.annotation):
            return f"`{found.name}` is written in a way of its own"
    return ""


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
    is_required, default, is_left_out = value is None, value, False
    if isinstance(value, ast.Call):  # field(default=…), Field(alias=…)
        given = {keyword.arg: keyword.value for keyword in value.keywords}
        if _outside(value.func, scope, program).rsplit(".", 1)[-1] in {"field", "Field"}:
            is_required = not {"default", "default_factory"} & set(given) and not value.args
            default = _default(value, given)
            is_left_out = "exclude" in given
        alias = given.get("alias") or given.get("serialization_alias") or given.get("name")
        if isinstance(alias, ast.Constant) and isinstance(alias.value, str):
            name = alias.value
    is_left_out = is_left_out or (value is not None and ast.unparse(value).endswith("UNSET"))
    return MessageField(name, annotation, scope, is_required, by_position, default, is_left_out)


def _default(call: ast.Call, given: dict[str | None, ast.expr]) -> ast.expr | None:
    """What `field(…)` gives where nothing is given."""
    factory = given.get("default_factory")
    if isinstance(factory, ast.Lambda):
        return factory.body
    if isinstance(factory, ast.Name) and factory.id in {"list", "dict"}:
        return ast.List([]) if factory.id == "list" else ast.Dict([], [])
    return given.get("default") or (call.args[0] if call.args else None)


def _outside(expression: ast.expr, scope: Scope, program: Program) -> str:
    meaning = program.resolve(expression, scope) if isinstance(expression, ast.Name | ast.Attribute) else None
    return meaning.name if isinstance(meaning, Outside) else ""


def _sets(statement: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in statement.targets)
