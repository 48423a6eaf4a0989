"""Whether a message class is the record of a protocol: field by field, type by type.

A class fits if everything it can hold is what the record says, and the other way round as far as Python's types can
say it: `str` fits an enum, whose members are looked at when a message is sent. What a payload really carries is always
checked again while a conversation runs.
"""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from accord.agents.messages import is_message_class, typed_fields
from accord.diagnostics import did_you_mean
from accord.language.field_types import BASIC, python_type
from accord.language.global_tree import Enumeration, Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.language.global_tree import FieldType

__all__ = ["Types", "mismatches"]

Types = Mapping[str, Record | Enumeration]
"""What a contract declares, by name."""
Inside = frozenset[tuple[type, str]]
"""The classes and records that are being compared around one."""


def mismatches(message_class: type, record: Record, declared: Types, names: Mapping[str, Any]) -> list[str]:
    """Everything in which a class differs from a record, in words; empty if it fits."""
    return list(_Match(declared, names).record(message_class, record, frozenset()))


@dataclass(frozen=True, slots=True)
class _Match:
    declared: Types
    names: Mapping[str, Any]

    def record(self, message_class: type, record: Record, inside: Inside) -> Iterator[str]:
        """In what a class differs from a record."""
        if (message_class, record.name) in inside:  # a record that holds itself, in a list or an option
            return
        inside |= {(message_class, record.name)}
        fields = typed_fields(message_class, self.names)
        owner = message_class.__name__
        wanted = {field.name: field.type for field in record.fields}
        for name, type_ in wanted.items():
            if name not in fields:
                meant = did_you_mean(name, fields)
                hint = f"; did you mean it by `{meant}`?" if meant else f"; add `{name}: {python_type(type_)}`"
                yield f"`{owner}` has no field `{name}`, which record `{record.name}` has{hint}"
            else:
                yield from self.field(fields[name], type_, f"`{owner}.{name}`", inside)
        for name in fields:
            if name not in wanted and not record.is_open:
                meant = did_you_mean(name, wanted)
                hint = f"; did you mean `{meant}`?" if meant else f"; its fields are {', '.join(wanted) or 'none'}"
                yield f"`{owner}` has the field `{name}`, which record `{record.name}` does not have{hint}"

    def field(self, found: Any, type_: FieldType, where: str, inside: Inside) -> Iterator[str]:  # noqa: ANN401 - any annotation
        """Why an annotation is not the type of a field."""
        found = _bare(found)
        declaration = self.declared.get(type_.name)
        if type_.name == "Any" or found is Any:
            return
        if type_.name in {"Option", "List", "Map"}:
            yield from self.container(found, type_, where, inside)
        elif isinstance(declaration, Record) and is_message_class(found):
            yield from self.record(found, declaration, inside)
        elif isinstance(declaration, Enumeration):
            if found is not str and _texts(found) != set(declaration.members):
                listed = f"has the members {', '.join(declaration.members)}: write a `Literal` or a `StrEnum` of them"
                yield f"{where} is `{_shown(found)}`, and enum `{type_}` {listed}"
        elif not _is_plainly(found, type_, declaration):
            yield _wrong(found, type_, where)

    def container(self, found: Any, type_: FieldType, where: str, inside: Inside) -> Iterator[str]:  # noqa: ANN401 - any annotation
        """The same for types that are made of others."""
        origin, arguments = typing.get_origin(found), typing.get_args(found)
        if type_.name == "Option":
            parts = [(rest, where)] if (rest := _without_none(found)) is not None else None
        elif type_.name == "List":
            is_list = _is_list(origin or found) and (len(arguments) < 2 or arguments[1] is ...)
            parts = [(argument, f"{where}[]") for argument in arguments[:1]] if is_list else None
        else:
            is_map = _is_class(origin or found, Mapping)
            parts = list(zip(arguments, (f"a key of {where}", f"{where}[…]"), strict=False)) if is_map else None
        if parts is None:
            yield _wrong(found, type_, where)
            return
        for (part, place), inner in zip(parts, type_.arguments, strict=False):
            yield from self.field(part, inner, place, inside)


def _is_plainly(found: Any, type_: FieldType, declaration: Record | Enumeration | None) -> bool:  # noqa: ANN401 - any annotation
    """Whether an annotation is a type that holds no others, or a mapping for a record."""
    if isinstance(declaration, Record):
        return _is_class(typing.get_origin(found) or found, Mapping)
    return found in BASIC.get(type_.name, ()) or (type_.name == "String" and bool(_texts(found)))


def _wrong(found: Any, type_: FieldType, where: str) -> str:  # noqa: ANN401 - any annotation
    return f"{where} is `{_shown(found)}`, and `{type_}` is `{python_type(type_)}`"


def _bare(found: Any) -> Any:  # noqa: ANN401 - any annotation
    """Without what `Annotated` and `NewType` add."""
    while True:
        if typing.get_origin(found) is typing.Annotated:
            found = typing.get_args(found)[0]
        elif isinstance(found, typing.NewType):
            found = found.__supertype__
        else:
            return found


def _without_none(found: Any) -> Any:  # noqa: ANN401 - any annotation
    """What an optional annotation is beside `None`; `None` if it is not optional."""
    if not isinstance(found, types.UnionType) and typing.get_origin(found) is not typing.Union:
        return None
    members = typing.get_args(found)
    rest = [member for member in members if member is not types.NoneType]
    return typing.Union[tuple(rest)] if len(rest) < len(members) and rest else None  # noqa: UP007 - of a tuple


def _texts(found: Any) -> set[str]:  # noqa: ANN401 - any annotation
    """The texts that a `Literal` or an enumeration of texts allows; empty for anything else."""
    if typing.get_origin(found) is typing.Literal:
        values = set(typing.get_args(found))
    elif isinstance(found, type) and issubclass(found, enum.Enum):
        values = {member.value for member in found}
    else:
        return set()
    return values if all(isinstance(value, str) for value in values) else set()


def _is_list(found: object) -> bool:
    return _is_class(found, Sequence) and not _is_class(found, str) and not _is_class(found, bytes)


def _is_class(found: object, base: type) -> bool:
    return isinstance(found, type) and issubclass(found, base)


def _shown(found: object) -> str:
    return found.__name__ if isinstance(found, type) and not typing.get_args(found) else str(found)
