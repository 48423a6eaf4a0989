"""What a value is, where its text shows it, against the type of a field."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from accord.language.field_types import BASIC

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.language.global_tree import Enumeration, FieldType

__all__ = ["cannot_be"]

_LISTS = (ast.List, ast.ListComp, ast.Set, ast.SetComp, ast.Tuple)
_MAPS = (ast.Dict, ast.DictComp)
_NOTHING = (ast.GeneratorExp, ast.Lambda)


def cannot_be(value: ast.expr, type_: FieldType, enums: Mapping[str, Enumeration]) -> bool:
    """Whether a value certainly does not stand in a field of a type."""
    if type_.name == "Any":
        return isinstance(value, _NOTHING)
    if type_.name == "Option":
        is_none = isinstance(value, ast.Constant) and value.value is None
        return not is_none and cannot_be(value, type_.arguments[0], enums)
    if isinstance(value, ast.IfExp):
        return cannot_be(value.body, type_, enums) or cannot_be(value.orelse, type_, enums)
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
        value = value.operand
    if isinstance(value, ast.Constant):
        return not _is_of(value.value, type_, enums)
    if isinstance(value, ast.JoinedStr):
        return type_.name != "String" and type_.name not in enums
    if isinstance(value, _LISTS):
        elements = value.elts if isinstance(value, ast.List | ast.Tuple | ast.Set) else []
        return type_.name != "List" or any(cannot_be(element, type_.arguments[0], enums) for element in elements)
    if isinstance(value, _MAPS):
        return type_.name in BASIC or type_.name in enums or type_.name == "List"
    return isinstance(value, _NOTHING)


def _is_of(value: object, type_: FieldType, enums: Mapping[str, Enumeration]) -> bool:
    """Whether a constant can stand in a field."""
    if type_.name in enums:
        return value in enums[type_.name].members
    kind = BASIC.get(type_.name)
    return kind is not None and isinstance(value, kind) and isinstance(value, bool) == (bool in kind)
