"""Whether a message class is the record of a protocol, field by field, as far as its annotations say."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accord.agents.check.literals import cannot_be
from accord.agents.check.messages import annotation_of, read_message
from accord.agents.check.modules import Class, Value
from accord.agents.check.names import Outside
from accord.diagnostics import did_you_mean
from accord.language.field_types import BASIC, python_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.agents.check.contracts import Compiled
    from accord.agents.check.messages import MessageClass
    from accord.agents.check.modules import Scope
    from accord.agents.check.names import Program
    from accord.language.global_tree import FieldType, Record

__all__ = ["Misfit", "misfits"]

_LISTS = {"list", "tuple", "List", "Tuple", "Sequence", "MutableSequence"}
_MAPS = {"dict", "Dict", "Mapping", "MutableMapping"}
_WRAPPERS = {"Annotated", "Final", "Required", "ReadOnly"}
_DEEPEST = 24


@dataclass(frozen=True)
class Misfit:
    """One difference: where in the code, what, and how to mend it. `not_read` if it is a doubt and no difference."""

    scope: Scope
    node: ast.AST
    message: str
    help: str = ""
    not_read: bool = False


def misfits(message: MessageClass, record: Record, compiled: Compiled, program: Program) -> list[Misfit]:
    """Everything in which a class differs from a record."""
    return list(_Fit(compiled, program).differences(message, record, frozenset()))


@dataclass(frozen=True)
class _Fit:
    compiled: Compiled
    program: Program

    def differences(self, message: MessageClass, record: Record, inside: frozenset[str]) -> Iterator[Misfit]:
        if record.name in inside or len(inside) > _DEEPEST:  # a record that holds itself, in a list or an option
            return
        inside |= {record.name}
        declared = message.declared
        if message.unread:
            what = f"the fields of `{message.label}` are not known: {message.unread}"
            yield Misfit(declared.scope, declared.node, what, not_read=True)
            return
        fields = {field.name: field for field in message.fields}
        wanted = {field.name: field.type for field in record.fields}
        for name, type_ in wanted.items():
            if name not in fields:
                meant = did_you_mean(name, set(fields) - set(wanted))
                hint = f"did you mean it by `{meant}`?" if meant else f"add `{name}: {python_type(type_)}`"
                what = f"`{message.label}` has no field `{name}`, which record `{record.name}` has"
                yield Misfit(declared.scope, declared.node, what, hint)
            else:
                field = fields[name]
                yield from self.unlike(
                    field.annotation, field.scope, type_, f"`{message.label}.{name}`", inside, field.annotation
                )
                if field.default is not None and cannot_be(field.default, type_, self.compiled.enums):
                    what = f"`{message.label}.{name}` is `{ast.unparse(field.default)[:40]}` where nothing is given"
                    hint = f"`{type_}` is `{python_type(type_)}`: give it such a default, or none"
                    yield Misfit(field.scope, field.annotation, what, hint)
        for name, field in fields.items():
            if name not in wanted and not record.is_open:
                hint = f"the fields of the record are {', '.join(f'`{w}`' for w in wanted) or 'none'}"
                what = f"`{message.label}` has the field `{name}`, which record `{record.name}` does not have"
                yield Misfit(field.scope, field.annotation, what, hint)

    def unlike(
        self,
        found: ast.expr,
        scope: Scope,
        type_: FieldType,
        where: str,
        inside: frozenset[str],
        place: ast.AST,
        depth: int = 0,
    ) -> Iterator[Misfit]:
        """Why an annotation is not the type of a field."""
        read = annotation_of(found)
        if read is None or depth > _DEEPEST:
            yield Misfit(scope, place, f"the type of {where} is not known", not_read=True)
            return
        name, arguments, meaning = self.parts(read, scope)
        if type_.name == "Any" or name == "Any":
            return
        if isinstance(meaning, Value):  # Name = list[str], Name = NewType("Name", str)
            yield from self.unlike(self.meant(meaning), meaning.scope, type_, where, inside, place, depth + 1)
            return
        if name in _WRAPPERS and arguments:
            yield from self.unlike(arguments[0], scope, type_, where, inside, place, depth + 1)
            return
        shown = ast.unparse(read)
        wrong = Misfit(
            scope,
            place,
            f"{where} is `{shown}`, and `{type_}` is `{python_type(type_)}`",
            f"declare it as `{python_type(type_)}`",
        )
        if type_.name in BASIC:
            if name not in {kind.__name__ for kind in BASIC[type_.name]} and not (
                type_.name == "String" and self.texts(read, scope)
            ):
                yield wrong if self.is_known(name, meaning) else self.doubt(scope, place, where, shown)
        elif type_.name in {"Option", "List", "Map"}:
            for inner, wanted, there in self.inside(read, scope, type_, where):
                if inner is None:
                    yield wrong
                else:
                    yield from self.unlike(inner, scope, wanted, there, inside, place, depth + 1)
        else:
            yield from self.unlike_declared(read, scope, type_, wrong, inside)

    def inside(
        self, read: ast.expr, scope: Scope, type_: FieldType, where: str
    ) -> list[tuple[ast.expr | None, FieldType, str]]:
        """The types in an option, a list or a map, and what they should be; `None` if it is no such thing."""
        name, arguments, _ = self.parts(read, scope)
        if type_.name == "Option":
            return [(self.without_none(read, scope), type_.arguments[0], where)]
        if name not in (_LISTS if type_.name == "List" else _MAPS):
            return [(None, type_, where)]
        places = [f"{where}[]"] if type_.name == "List" else [f"a key of {where}", f"{where}[…]"]
        return list(zip(arguments, type_.arguments, places, strict=False))

    def unlike_declared(
        self, read: ast.expr, scope: Scope, type_: FieldType, wrong: Misfit, inside: frozenset[str]
    ) -> Iterator[Misfit]:
        """The same for the name of an enum or of a record."""
        name, _, meaning = self.parts(read, scope)
        if type_.name in self.compiled.enums:
            members = self.compiled.enums[type_.name].members
            if name == "str" or self.texts(read, scope) == set(members):
                return
            hint = f"write `str`, a `Literal` or a `StrEnum` of {', '.join(f'`{member}`' for member in members)}"
            yield Misfit(wrong.scope, wrong.node, wrong.message, hint)
        elif type_.name in self.compiled.records and name not in _MAPS:
            message = read_message(meaning, self.program) if isinstance(meaning, Class) else None
            if message is not None:
                yield from self.differences(message, self.compiled.records[type_.name], inside)
            elif isinstance(meaning, Outside) and not meaning.name.startswith("builtins."):
                yield self.doubt(wrong.scope, wrong.node, "a field", name)
            else:
                yield wrong

    def meant(self, value: Value) -> ast.expr:
        """What a name for a type stands for."""
        made = value.expression
        if isinstance(made, ast.Call) and len(made.args) == 2:
            return made.args[1] if ast.unparse(made.func).rsplit(".", 1)[-1] == "NewType" else made
        return made

    def doubt(self, scope: Scope, place: ast.AST, where: str, shown: str) -> Misfit:
        return Misfit(
            scope, place, f"the type of {where} is `{shown}`, which is not in the files that are checked", not_read=True
        )

    def parts(self, read: ast.expr, scope: Scope) -> tuple[str, list[ast.expr], object]:
        """The last name of an annotation, what stands in its brackets, and what the name means."""
        arguments: list[ast.expr] = []
        if isinstance(read, ast.Subscript):
            arguments = list(read.slice.elts) if isinstance(read.slice, ast.Tuple) else [read.slice]
            read = read.value
        if not isinstance(read, ast.Name | ast.Attribute):
            return "", arguments, None
        meaning = self.program.resolve(read, scope)
        if isinstance(meaning, Outside):
            return meaning.name.rsplit(".", 1)[-1], arguments, meaning
        return "", arguments, meaning

    def is_known(self, name: str, meaning: object) -> bool:
        """Whether a name that is not the one that was wanted is certainly something else."""
        if isinstance(meaning, Outside):
            return (
                meaning.name.startswith(("builtins.", "typing.", "collections.", "datetime.", "decimal.")) or not name
            )
        return True

    def without_none(self, read: ast.expr, scope: Scope) -> ast.expr | None:
        """What an optional annotation is beside `None`; `None` if it is not optional."""
        if isinstance(read, ast.BinOp) and isinstance(read.op, ast.BitOr):
            for none, rest in ((read.left, read.right), (read.right, read.left)):
                if isinstance(none, ast.Constant) and none.value is None:
                    return rest
            inner = self.without_none(read.left, scope)
            return None if inner is None else ast.BinOp(inner, ast.BitOr(), read.right)
        name, arguments, _ = self.parts(read, scope)
        if name == "Optional" and arguments:
            return arguments[0]
        if name == "Union" and len(arguments) == 2:
            rest_of = [a for a in arguments if not (isinstance(a, ast.Constant) and a.value is None)]
            return rest_of[0] if len(rest_of) == 1 else None
        return None

    def texts(self, read: ast.expr, scope: Scope) -> set[str]:
        """The texts that a `Literal` or an enumeration of texts allows; empty for anything else."""
        name, arguments, meaning = self.parts(read, scope)
        values: list[object] = []
        if name == "Literal":
            values = [a.value if isinstance(a, ast.Constant) else None for a in arguments]
        elif isinstance(meaning, Class) and any("Enum" in ast.unparse(base) for base in meaning.node.bases):
            for statement in meaning.node.body:
                if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                    value = statement.value
                    is_auto = isinstance(value, ast.Call) and ast.unparse(value.func).endswith("auto")
                    auto = statement.targets[0].id.lower() if is_auto else None
                    values.append(value.value if isinstance(value, ast.Constant) else auto)
        texts = {value for value in values if isinstance(value, str)}
        return texts if len(texts) == len(values) else set()
