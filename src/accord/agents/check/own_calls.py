"""Calls of an agent's own methods, as they are written."""

from __future__ import annotations

import ast

__all__ = ["is_super", "own_call"]


def is_super(expression: ast.AST | None) -> bool:
    """Whether it is `super()`."""
    is_called = isinstance(expression, ast.Call) and isinstance(expression.func, ast.Name)
    return is_called and expression.func.id == "super" and not expression.args and not expression.keywords  # type: ignore[union-attr] # a call


def own_call(expression: ast.AST, self_name: str | None) -> str | None:
    """The name of the method in `self.name(…)` or `super().name(…)`."""
    if not isinstance(expression, ast.Call) or not isinstance(expression.func, ast.Attribute):
        return None
    base = expression.func.value
    if isinstance(base, ast.Name) and base.id == self_name is not None:
        return expression.func.attr
    return expression.func.attr if is_super(base) else None
