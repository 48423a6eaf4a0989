"""Mistakes in values: bounds, arguments in the wrong order, a copy that is not made, the wrong answer."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.mutants.text import Edit, Module

Found = Iterator[tuple[ast.AST, tuple[Edit, ...]]]

COPIES = {"own_copy", "dict", "list", "tuple", "set", "frozenset", "deepcopy", "copy", "MappingProxyType"}
IN_THEIR_ORDER = {"isinstance", "issubclass", "getattr", "setattr", "hasattr", "cast", "range", "zip", "min", "max"}
NEVER = b"1_000_000_000"


def bound(module: Module) -> Found:
    """One too many, one too few, or no bound at all."""
    for node in module.of(ast.Constant, ast.BinOp, ast.Slice):
        above = module.above.get(node)
        match node:
            case ast.Constant(value=bool()):
                pass
            case ast.Constant(value=int() as number) if _bounds(module, node, above):
                yield node, (module.put(node, str(number + 1).encode()),)
                if number > 1:
                    yield node, (module.put(node, str(number - 1).encode()),)
                if isinstance(above, ast.Assign | ast.AnnAssign):
                    yield node, (module.put(node, NEVER),)
            case ast.BinOp(op=ast.Add() | ast.Sub(), left=left, right=ast.Constant(value=1)):
                yield node, (module.put(node, b"(" + module.bytes_of(left) + b")"),)
            case ast.Slice(lower=lower, upper=upper, step=None) if lower is not None or upper is not None:
                yield node, (module.put(node, b":"),)


def _bounds(module: Module, node: ast.AST, above: ast.AST | None) -> bool:
    """Whether a number is a bound: in a comparison or a slice, or a constant of the module or class."""
    if isinstance(above, ast.UnaryOp):
        above = module.above.get(above)
    match above:
        case ast.Compare() | ast.Slice():
            return True
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name.isupper() or isinstance(module.above.get(above), ast.ClassDef)
    return False


def arguments(module: Module) -> Found:
    """Two arguments of a call in the wrong order."""
    for node in module.of(ast.Call):
        name = _called(node)
        if name in IN_THEIR_ORDER:
            continue
        for left, right in zip(node.args, node.args[1:], strict=False):
            if isinstance(left, ast.Starred) or isinstance(right, ast.Starred):
                continue
            if any(isinstance(each, ast.Constant | ast.JoinedStr | ast.Lambda) for each in (left, right)):
                continue
            if module.bytes_of(left) != module.bytes_of(right):
                yield node, (module.put(left, module.bytes_of(right)), module.put(right, module.bytes_of(left)))


def copy(module: Module) -> Found:
    """The thing itself where a copy was meant."""
    for node in module.of(ast.Call, ast.List, ast.Dict):
        match node:
            case ast.Call(args=[ast.Name() | ast.Attribute() | ast.Subscript() | ast.Call() as whole], keywords=[]):
                if _called(node) in COPIES:
                    yield node, (module.put(node, module.bytes_of(whole)),)
            case ast.Call(func=ast.Attribute(value=whole, attr="copy"), args=[], keywords=[]):
                yield node, (module.put(node, module.bytes_of(whole)),)
            case ast.List(elts=[ast.Starred(value=whole)]) | ast.Dict(keys=[None], values=[whole]):
                yield node, (module.put(node, module.bytes_of(whole)),)


def result(module: Module) -> Found:
    """Yes for no: what is returned, given or kept."""
    for node in module.of(ast.Constant):
        above = module.above.get(node)
        is_check = isinstance(above, ast.keyword) and above.arg == "strict"  # of `zip`: a check, and not an answer
        if isinstance(node.value, bool) and not is_check and not isinstance(above, ast.If | ast.While | ast.Compare):
            yield node, (module.put(node, str(not node.value).encode()),)


def minmax(module: Module) -> Found:
    """The least for the greatest."""
    for node in module.of(ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in {"min", "max"}:
            yield node, (module.put(node.func, b"max" if node.func.id == "min" else b"min"),)


def _called(node: ast.Call) -> str:
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""
