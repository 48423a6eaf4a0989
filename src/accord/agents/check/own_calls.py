"""Calls of an agent's own methods, as they are written."""

from __future__ import annotations

import ast

__all__ = ["own_call"]


def own_call(expression: ast.AST, self_name: str | None) -> str | None:
    """The name of the method in `self.name(…)` or `super().name(…)`."""
    if not isinstance(expression, ast.Call) or not isinstance(expression.func, ast.Attribute):
        return None
    base = expression.func.value
    if isinstance(base, ast.Name) and base.id == self_name is not None:
        return expression.func.attr
    is_super = isinstance(base, ast.Call) and isinstance(base.func, ast.Name) and base.func.id == "super"
    return expression.func.attr if is_super else None
