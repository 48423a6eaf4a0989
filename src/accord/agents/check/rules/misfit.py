"""E084: a message class that is not the record of its name, or a message made with the wrong fields."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from accord.agents.check.fitting import python_type
from accord.agents.check.missteps import Misstep, listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from accord.agents.check.fitting import Misfit
    from accord.agents.check.messages import MessageClass
    from accord.language.global_tree import Enumeration, FieldType, Record

__all__ = ["class_misfit", "wrongly_made"]

_KINDS: dict[str, tuple[type, ...]] = {"String": (str,), "Int": (int,), "Float": (int, float), "Bool": (bool,)}


def class_misfit(misfit: Misfit) -> Misstep:
    """A difference between class and record."""
    return Misstep("E084", misfit.message, misfit.help)


def wrongly_made(
    call: ast.Call, message: MessageClass, record: Record | None, enums: Mapping[str, Enumeration]
) -> Iterator[tuple[ast.AST, Misstep]]:
    """What is wrong with `Message(…)` as it is written."""
    if message.unread or any(isinstance(arg, ast.Starred) for arg in call.args):
        return
    if any(keyword.arg is None for keyword in call.keywords):
        return
    names = [field.name for field in message.fields if field.by_position]
    given = dict(zip(names, call.args, strict=False))
    if len(call.args) > len(names):
        what = f"`{message.label}` takes {len(names)} fields by position, got {len(call.args)}"
        yield call.args[len(names)], Misstep("E084", what, f"its fields are {listed(f.name for f in message.fields)}")
    known = {field.name for field in message.fields}
    for keyword in call.keywords:
        if keyword.arg is not None and keyword.arg not in known:
            what = f"`{message.label}` has no field `{keyword.arg}`"
            yield keyword.value, Misstep("E084", what, f"its fields are {listed(sorted(known)) or 'none'}")
        elif keyword.arg is not None:
            given[keyword.arg] = keyword.value
    missing = [field.name for field in message.fields if field.is_required and field.name not in given]
    if missing:
        what = f"`{message.label}` is made without {listed(missing, 'and')}"
        yield call, Misstep("E084", what, "every field without a default is given", "field missing")
    types = {} if record is None else {field.name: field.type for field in record.fields}
    for name, value in given.items():
        if name in types and isinstance(value, ast.Constant) and not _is_of(value.value, types[name], enums):
            wanted = python_type(types[name])
            what = f"`{name}` of `{message.label}` is `{wanted}`, got `{ast.unparse(value)[:40]}`"
            yield value, Misstep("E084", what, f"give it a value of type `{wanted}`", "wrong type")


def _is_of(value: object, type_: FieldType, enums: Mapping[str, Enumeration]) -> bool:
    """Whether a constant can stand in a field."""
    if type_.name == "Option":
        return value is None or _is_of(value, type_.arguments[0], enums)
    if type_.name in enums:
        return value in enums[type_.name].members
    kind = _KINDS.get(type_.name)
    if kind is None:
        return type_.name == "Any"
    return isinstance(value, kind) and (isinstance(value, bool) == (bool in kind))
