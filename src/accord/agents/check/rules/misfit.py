"""E084: a message class that is not the record of its name, or a message made with the wrong fields."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from accord.agents.check.literals import cannot_be
from accord.agents.check.missteps import Misstep, listed
from accord.diagnostics.agent_codes import MISFIT
from accord.language.field_types import python_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from accord.agents.check.fitting import Misfit
    from accord.agents.check.messages import MessageClass
    from accord.language.global_tree import Enumeration, Record

__all__ = ["class_misfit", "wrongly_made"]


def class_misfit(misfit: Misfit) -> Misstep:
    """A difference between class and record."""
    return Misstep(MISFIT, misfit.message, misfit.help)


def wrongly_made(
    call: ast.Call, message: MessageClass, record: Record | None, enums: Mapping[str, Enumeration]
) -> Iterator[tuple[ast.AST, Misstep]]:
    """What is wrong with `Message(…)` as it is written."""
    if message.unread or message.has_own_init or any(isinstance(arg, ast.Starred) for arg in call.args):
        return
    if any(keyword.arg is None for keyword in call.keywords):
        return
    names = [field.name for field in message.fields if field.by_position]
    given = dict(zip(names, call.args, strict=False))
    if len(call.args) > len(names):
        what = f"`{message.label}` takes {len(names)} fields by position, got {len(call.args)}"
        fields = listed((field.name for field in message.fields), "and")
        yield call.args[len(names)], Misstep(MISFIT, what, f"its fields are {fields}")
    known = {field.name for field in message.fields}
    for keyword in call.keywords:
        if keyword.arg is not None and keyword.arg not in known:
            what = f"`{message.label}` has no field `{keyword.arg}`"
            yield keyword.value, Misstep(MISFIT, what, f"its fields are {listed(sorted(known), 'and') or 'none'}")
        elif keyword.arg is not None:
            given[keyword.arg] = keyword.value
    missing = [field.name for field in message.fields if field.is_required and field.name not in given]
    if missing:
        what = f"`{message.label}` is made without {listed(missing, 'and')}"
        yield call, Misstep(MISFIT, what, "every field without a default is given", "field missing")
    types = {} if record is None else {field.name: field.type for field in record.fields}
    for name, value in given.items():
        if name in types and cannot_be(value, types[name], enums):
            wanted = python_type(types[name])
            what = f"`{name}` of `{message.label}` is `{wanted}`, got `{ast.unparse(value)[:40]}`"
            enum = enums.get(types[name].name)
            help_ = f"give it a value of type `{wanted}`" if enum is None else f"it is one of {listed(enum.members)}"
            yield value, Misstep(MISFIT, what, help_, "wrong type")
