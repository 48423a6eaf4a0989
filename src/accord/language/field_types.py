"""The types of fields, as Python has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.language.global_tree import FieldType

__all__ = ["BASIC", "python_type"]

BASIC: Mapping[str, tuple[type, ...]] = {"String": (str,), "Int": (int,), "Float": (float, int), "Bool": (bool,)}
"""What a field of a type holds, for the types that hold no others; the first is how it is declared."""

_CONTAINERS = {"List": "list", "Map": "dict"}


def python_type(type_: FieldType) -> str:
    """How a field's type is written in Python.

    Example:
        >>> from accord.language.global_tree import FieldType
        >>> python_type(FieldType("Option", (FieldType("List", (FieldType("Int"),)),)))
        'list[int] | None'
    """
    inside = [python_type(argument) for argument in type_.arguments]
    if type_.name == "Option":
        return f"{inside[0]} | None"
    name = BASIC[type_.name][0].__name__ if type_.name in BASIC else _CONTAINERS.get(type_.name, type_.name)
    return f"{name}[{', '.join(inside)}]" if inside else name
