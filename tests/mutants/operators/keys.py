"""Mistakes in identities: something is remembered, looked up or sealed by less than what makes it one thing.

A part is left out wherever the same mapping is used in its class or module: left out in one place only it would be a
mere miss, which every test sees.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.mutants.text import Edit, Module

Found = Iterator[tuple[ast.AST, tuple[Edit, ...]]]

LOOKS_UP = {"get", "pop", "setdefault", "add", "discard", "remove"}
IDENTIFIES = re.compile(
    r"key|ident|place|digest|seal|sign|hash|hmac|checksum|fingerprint|slot|namespace", re.IGNORECASE
)
GENERIC = {"dict", "list", "tuple", "set", "frozenset", "type", "Counter", "defaultdict"}


def key(module: Module) -> Found:
    """A part of a key, in all uses of a mapping; or of what is sealed, digested or returned as somebody's key."""
    yield from _mappings(module)
    for node in module.of(ast.Call, ast.Return, ast.Assign):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args) if IDENTIFIES.search(name):
                parts = [part for whole in args for part in _parts(whole)]
                parts += args if len(args) > 1 and name[:1].isupper() else []
            case ast.Return(value=ast.expr() as whole) if IDENTIFIES.search(module.where(node).rpartition(".")[2]):
                parts = _parts(whole)
            case ast.Assign(targets=[ast.Name(id=name) | ast.Attribute(attr=name)], value=whole):
                parts = _parts(whole) if IDENTIFIES.search(name) else []
            case _:
                continue
        for part in parts:
            edit = part if isinstance(part, Edit) else module.put(part, b"None")
            if module.text[edit.start : edit.end] != b"None":
                yield node, (edit,)
    for node in module.of(ast.Call, ast.Return, ast.Assign, ast.Subscript):
        yield from ((node, (edit,)) for edit in _written(module, node))


def _mappings(module: Module) -> Found:
    """The uses of each mapping with a tuple as its key: by `self` in a class, by its name in a module."""
    uses: dict[tuple, list[ast.Tuple]] = {}
    for node in module.of(ast.Subscript, ast.Call, ast.Compare):
        match node:
            case ast.Subscript(value=mapping, slice=ast.Tuple() as parts):
                pass
            case ast.Call(func=ast.Attribute(value=mapping, attr=attr), args=[ast.Tuple() as parts, *_]):
                if attr not in LOOKS_UP:
                    continue
            case ast.Compare(left=ast.Tuple() as parts, ops=[ast.In() | ast.NotIn()], comparators=[mapping]):
                pass
            case _:
                continue
        match mapping:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                home = module.home(node, ast.ClassDef)
            case ast.Attribute(attr=name):
                home = module.tree
            case ast.Name(id=name) if name not in GENERIC and not name[:1].isupper():
                home = module.home(node, ast.FunctionDef, ast.AsyncFunctionDef)
            case _:
                continue
        if len(parts.elts) > 1 and not any(isinstance(each, ast.Slice | ast.Starred) for each in parts.elts):
            uses.setdefault((home, name, len(parts.elts)), []).append(parts)
    for (_, _, many), found in uses.items():
        for index in range(many):
            if not all(isinstance(each.elts[index], ast.Constant) for each in found):
                yield found[0], tuple(module.put(each.elts[index], b"None") for each in found)


def _parts(whole: ast.AST) -> list[ast.AST]:
    match whole:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) if len(parts) > 1:
            return [part for part in parts if not isinstance(part, ast.Constant | ast.Starred)]
        case ast.Dict(keys=keys, values=parts) if len(parts) > 1 and None not in keys:
            return [part for part in parts if not isinstance(part, ast.Constant)]
    return []


def _written(module: Module, node: ast.AST) -> Iterator[Edit]:
    """Parts of a key that is written as an f-string."""
    match node:
        case ast.Return(value=ast.JoinedStr() as text):
            name = module.where(node).rpartition(".")[2]
        case ast.Assign(targets=[ast.Name(id=name) | ast.Attribute(attr=name)], value=ast.JoinedStr() as text):
            pass
        case ast.Subscript(slice=ast.JoinedStr() as text):
            name = "key"
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[ast.JoinedStr() as text, *_]):
            name = "key" if name in LOOKS_UP else name
        case _:
            return
    start, end = module.span(text)
    holes = list(re.finditer(rb"\{[^{}]*\}", module.text[start:end]))
    many = sum(isinstance(each, ast.FormattedValue) for each in text.values)
    if IDENTIFIES.search(name) and len(holes) == many > 1:
        yield from (Edit(start + hole.start(), start + hole.end(), b"") for hole in holes)
