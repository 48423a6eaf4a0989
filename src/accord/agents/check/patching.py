"""Where the files change classes after they were declared: what is read in their bodies is then not all.

Only what stands in the files can be found here. That nobody else reaches into an agent is taken on trust.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from accord.agents.check.descent import FOLLOWS, dotted_name
from accord.agents.check.modules import Class, Import

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from accord.agents.check.modules import Module
    from accord.agents.check.names import Program

__all__ = ["patches_in"]

_SETTING = frozenset({"delattr", "setattr"})


def patches_in(module: Module, program: Program, classes: Collection[ast.ClassDef]) -> Iterator[tuple[ast.AST, str]]:
    """Where a file sets what one of these classes holds, or makes an agent of a class by hand, and why that matters."""
    text = module.source.text
    if "follows" not in text and not any(node.name in text for node in classes):
        return
    ours = {name for name, bound in module.scope.names.items() if isinstance(bound, Import) and bound.name == "follows"}
    decorators = {
        id(decorator.func)
        for node in module.nodes
        if isinstance(node, ast.ClassDef)
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call)
    }
    for node in module.nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            changed = _changed(node.value, module, program, classes)
            if changed:
                yield node, f"`{changed}` is changed here: what is then called by `{node.attr}` cannot be seen"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _SETTING:
            changed = _changed(node.args[0], module, program, classes) if node.args else ""
            if changed:
                yield node, f"`{changed}` is changed here, by `{node.func.id}`"
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            if isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "globals":
                yield node, "what a name stands for is changed here, by `globals`"
        elif id(node) not in decorators and _is_follows(node, ours, module, program):
            yield node, "`follows` stands on no class here: whom it makes an agent cannot be seen"


def _is_follows(node: ast.AST, ours: Collection[str], module: Module, program: Program) -> bool:
    is_named = (isinstance(node, ast.Name) and node.id in {"follows", *ours}) or (
        isinstance(node, ast.Attribute) and node.attr == "follows"
    )
    return is_named and dotted_name(node, module.scope, program) in FOLLOWS  # type: ignore[arg-type] # a name


def _changed(base: ast.expr, module: Module, program: Program, classes: Collection[ast.ClassDef]) -> str:
    meaning = program.resolve(base, module.scope) if isinstance(base, ast.Name | ast.Attribute) else None
    return meaning.name if isinstance(meaning, Class) and meaning.node in classes else ""
