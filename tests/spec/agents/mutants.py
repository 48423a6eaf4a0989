"""Mutants: a correct agent with one thing changed, in every way that a hurried person would.

A mutant is text again. Not every one is wrong: a reply in place of a send to the same role is as good. Whether it is
decided by running it.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from functools import partial
from itertools import zip_longest
from random import Random
from typing import NamedTuple

VERBS = {"send", "reply", "receive"}


KINDS = (
    "dropped", "twice", "sometimes", "again and again", "unless work fails", "return before", "return in front",
    "raise before", "swapped", "another message", "another role", "reply for send", "send for reply", "not awaited",
    "another type", "the other way round", "no else", "without a method", "one message more",
)  # fmt: skip
_BEGINNINGS = {
    "to ": "another role", "reply instead": "reply for send", "send to": "send for reply", "receive ": "another type",
    "without ": "without a method",
}  # fmt: skip


class Mutant(NamedTuple):
    """What was changed, and the text."""

    what: str
    text: str

    @property
    def kind(self) -> str:
        """Which of the kinds of changes it is."""
        if " also: " in self.what:
            return "one message more"
        known = self.what.partition(":")[0]
        begins = next((kind for begin, kind in _BEGINNINGS.items() if self.what.startswith(begin)), "another message")
        return known if known in KINDS else begins


def verb_in(node: ast.AST) -> str | None:
    """The first of `send`, `reply` and `receive` that something does."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr in VERBS:
            return inner.func.attr
    return None


def _bodies(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """Every list of statements inside methods."""
    for node in ast.walk(tree):
        if isinstance(node, ast.AsyncFunctionDef):
            for inner in ast.walk(node):
                for name in ("body", "orelse", "finalbody"):
                    body = getattr(inner, name, None)
                    if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                        yield body


def _is_simple(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr | ast.Assign | ast.Return | ast.Raise | ast.AugAssign)


def _parse(text: str) -> list[ast.stmt]:
    return ast.parse(text).body


Change = Callable[[list[ast.stmt], int], list[ast.stmt] | None]


def _of_statements() -> Iterator[tuple[str, Change]]:
    def if_flip(body: list[ast.stmt], at: int) -> list[ast.stmt]:
        return [ast.If(ast.parse("flip()", mode="eval").body, [body[at]], [])]

    def loop(body: list[ast.stmt], at: int) -> list[ast.stmt]:
        return [ast.While(ast.parse("flip()", mode="eval").body, [body[at]], [])]

    def suppressed(body: list[ast.stmt], at: int) -> list[ast.stmt]:
        try_ = _parse("try:\n    work('x')\nexcept ValueError:\n    pass")[0]
        try_.body.append(body[at])  # type: ignore[attr-defined]
        return [try_]

    yield "dropped", lambda *_: _parse("pass")
    yield "twice", lambda body, at: [body[at], copy.deepcopy(body[at])]
    yield "sometimes", if_flip
    yield "again and again", loop
    yield "unless work fails", suppressed
    yield "return before", lambda body, at: [*_parse("if flip():\n    return"), body[at]]
    yield "return in front", lambda body, at: [*_parse("return"), body[at]]
    yield "raise before", lambda body, at: [*_parse("if flip():\n    raise RuntimeError"), body[at]]
    yield "swapped", lambda body, at: [body[at + 1], body[at]] if at + 1 < len(body) else None


Make = Callable[[ast.Module], bool]
"""Changes a tree; whether there was anything to change."""


def _statement_mutants(tree: ast.Module) -> Iterator[tuple[str, Make]]:
    for number, body in enumerate(_bodies(tree)):
        for at, statement in enumerate(body):
            if not _is_simple(statement):
                continue
            for what, change in _of_statements():
                if verb_in(statement) is not None or what in {"dropped", "return before", "swapped"}:
                    yield f"{what}: {ast.unparse(statement)[:50]}", partial(_change_statement, number, at, what, change)


def _change_statement(number: int, at: int, what: str, change: Change, tree: ast.Module) -> bool:
    here = list(_bodies(tree))[number]
    new = change(here, at)
    if new is not None:
        here[at : at + (2 if what == "swapped" else 1)] = new
    return new is not None


def _expression_mutants(tree: ast.Module, labels: list[str], roles: list[str]) -> Iterator[tuple[str, Make]]:
    for number, node in enumerate(ast.walk(tree)):
        for what, change in _of_expressions(node, labels, roles):
            yield what, lambda tree, change=change, number=number: change(list(ast.walk(tree))[number])


def _of_expressions(
    node: ast.AST, labels: list[str], roles: list[str]
) -> Iterator[tuple[str, Callable[[ast.AST], bool]]]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in labels:
        for label in labels:
            if label != node.func.id:
                yield f"{label} instead of {node.func.id}", lambda n, label=label: _set_message(n, label)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "send":
        for role in roles:
            yield f"to {role}", lambda n, role=role: _set_role(n, role)
        yield "reply instead of send", _to_reply
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "reply":
        for role in roles:
            yield f"send to {role} instead of reply", lambda n, role=role: _to_send(n, role)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Await) and verb_in(node):
        yield "not awaited", _not_awaited
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "receive":
        for label in labels:
            yield f"receive {label}", lambda n, label=label: _set_type(n, label)
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        yield "the other way round", _negate
    if isinstance(node, ast.If) and node.orelse:
        yield "no else", _no_else
    if isinstance(node, ast.ClassDef) and any(isinstance(s, ast.AsyncFunctionDef) for s in node.body):
        for at, statement in enumerate(node.body):
            if isinstance(statement, ast.AsyncFunctionDef) and len(node.body) > 1:
                yield f"without {statement.name}", lambda n, at=at: _without(n, at)


def _added(tree: ast.Module, labels: list[str], roles: list[str]) -> Iterator[tuple[str, Make]]:
    """One message more than there was, at the beginning or at the end of a method."""
    extra = [f"await self.reply(make_{label}())" for label in labels]
    extra += [f"await self.receive({label})" for label in labels]
    extra += [f"await self.send({role!r}, make_{label}())" for label in labels for role in roles]
    for number, node in enumerate(ast.walk(tree)):
        if isinstance(node, ast.AsyncFunctionDef):
            for text in extra:
                for at in (0, 1_000):
                    yield f"{node.name} also: {text}", partial(_add, number, at, text)


def _add(number: int, at: int, text: str, tree: ast.Module) -> bool:
    method = list(ast.walk(tree))[number]
    assert isinstance(method, ast.AsyncFunctionDef)
    method.body[at:at] = _parse(text)
    return True


def _set_message(node, label: str) -> bool:
    node.func.id, node.args, node.keywords = f"make_{label}", [], []
    return True


def _set_role(node, role: str) -> bool:
    if not node.args or not isinstance(node.args[0], ast.Constant) or node.args[0].value == role:
        return False
    node.args[0] = ast.Constant(role)
    return True


def _to_reply(node) -> bool:
    node.func.attr, node.args = "reply", node.args[1:]
    return len(node.args) == 1


def _to_send(node, role: str) -> bool:
    node.func.attr, node.args = "send", [ast.Constant(role), *node.args]
    return True


def _not_awaited(node) -> bool:
    node.value = node.value.value
    return True


def _set_type(node, label: str) -> bool:
    if ast.unparse(node.args[0]) == label:
        return False
    node.args = [ast.Name(label)]
    return True


def _negate(node) -> bool:
    node.test = ast.UnaryOp(ast.Not(), node.test)
    return True


def _no_else(node) -> bool:
    node.orelse = []
    return True


def _without(node, at: int) -> bool:
    del node.body[at]
    return True


def mutants(
    text: str, front: str, labels: list[str], roles: list[str], most: int | None, chance: Random
) -> list[Mutant]:
    """Mutants of the agents in a text, all or `most` of them; `front` is what stands before them and stays."""
    tree = ast.parse(text.removeprefix(front))
    changes = [*_statement_mutants(tree), *_expression_mutants(tree, labels, roles), *_added(tree, labels, roles)]
    chance.shuffle(changes)
    by_kind: dict[str, list[tuple[str, Make]]] = {}
    for change in changes:
        by_kind.setdefault(Mutant(change[0], "").kind, []).append(change)
    # One of each kind, then another: most ways to go wrong would else be one message more.
    changes = [change for turn in zip_longest(*by_kind.values()) for change in turn if change is not None]
    found: dict[str, str] = {}
    for what, make in changes:
        mutated = copy.deepcopy(tree)
        if make(mutated):
            made = ast.unparse(ast.fix_missing_locations(mutated))
            found.setdefault(made, what)
        found.pop(ast.unparse(tree), None)
        if most is not None and len(found) >= most:
            break
    return [Mutant(what, f"{front}\n{made}\n") for made, what in found.items()]
