"""Makes the graph of a method, from its last statement to its first: what comes next is always made already."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from accord.agents.check.exceptions import Catch, Caught, Later, Outwards, Through, names_in
from accord.agents.check.expressions import Expressions
from accord.agents.check.graph import Bind, Case, Leave, Node, Pass, Risk, Round, Rounds, Unseen

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.agents.check.declarations import AgentClass, Method
    from accord.agents.check.graph import Operation, Throws

__all__ = ["Around", "Graph", "TooLargeError", "build"]

_MOST_NODES = 50_000
_MOST_ROUNDS = 32


class TooLargeError(Exception):
    """A method with more ways through it than anybody can follow."""


@dataclass(frozen=True)
class Around:
    """What a statement stands in: where `return`, `break`, `continue` and exceptions lead."""

    throws: Throws
    returns: Callable[[], Node]
    breaks: Callable[[], Node] | None = None
    continues: Callable[[], Node] | None = None


@dataclass(frozen=True)
class Graph:
    """A method's graph."""

    method: Method
    start: Node


def build(method: Method, effectful: frozenset[str], agent: AgentClass) -> Graph:
    """The graph of a method; calls of the methods named `effectful` are followed."""
    builder = _Builder(method, effectful, agent)
    outwards = Outwards(builder.leave)
    returned = builder.node(Leave("return"), method.node, [], outwards)
    around = Around(outwards, lambda: returned)
    return Graph(method, builder.block(method.node.body, returned, around))


class _Builder(Expressions):
    def __init__(self, method: Method, effectful: frozenset[str], agent: AgentClass) -> None:
        super().__init__(method, effectful, agent)
        self.count = 0

    def node(self, operation: Operation, tree: ast.AST | None, next_: list[Node], throws: Throws) -> Node:
        self.count += 1
        if self.count > _MOST_NODES:
            raise TooLargeError
        return Node(self.count, operation, tree, next_, throws)

    def leave(self, raised: str | None) -> Node:
        kind = Leave("fail") if raised is None else Leave("raise", raised)
        return self.node(kind, None, [], Outwards(self.leave))

    def block(self, statements: list[ast.stmt], then: Node, around: Around) -> Node:
        for statement in reversed(statements):
            then = self.statement(statement, then, around)
        return then

    def statement(self, statement: ast.stmt, then: Node, around: Around) -> Node:
        make = getattr(self, f"on_{type(statement).__name__}", None)
        if make is not None:
            made: Node = make(statement, then, around)
            return made
        if isinstance(statement, ast.Pass | ast.Global | ast.Nonlocal):
            return then
        if id(statement) in self.hidden:
            return self.node(Unseen(self.hidden[id(statement)]), statement, [then], around.throws)
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return self.bind(statement.name, None, statement, then, around)
        return self.node(Risk(), statement, [then], around.throws)  # import, del, assert

    def bind(self, name: str, value: ast.expr | None, tree: ast.AST, then: Node, around: Around) -> Node:
        return self.node(Bind(name, value), tree, [then], around.throws)

    def targets(self, target: ast.expr, value: ast.expr | None, then: Node, around: Around) -> Node:
        """What is bound by an assignment."""
        if isinstance(target, ast.Name):
            return self.bind(target.id, value, target, then, around)
        for inner in ast.walk(target):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                then = self.bind(inner.id, None, inner, then, around)
        if id(target) in self.hidden:
            return self.node(Unseen(self.hidden[id(target)]), target, [then], around.throws)
        is_own = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)
        return then if is_own else self.node(Risk(), target, [then], around.throws)

    def on_Expr(self, statement: ast.Expr, then: Node, around: Around) -> Node:  # noqa: N802 - by the name of the node
        return self.expression(statement.value, then, around)

    def on_Assign(self, statement: ast.Assign, then: Node, around: Around) -> Node:  # noqa: N802
        for target in reversed(statement.targets):
            then = self.targets(target, statement.value, then, around)
        return self.expression(statement.value, then, around)

    def on_AnnAssign(self, statement: ast.AnnAssign, then: Node, around: Around) -> Node:  # noqa: N802
        if statement.value is None:
            return then
        then = self.targets(statement.target, statement.value, then, around)
        return self.expression(statement.value, then, around)

    def on_AugAssign(self, statement: ast.AugAssign, then: Node, around: Around) -> Node:  # noqa: N802
        then = self.targets(statement.target, None, then, around)
        then = self.node(Risk(), statement, [then], around.throws)
        return self.expression(statement.value, then, around)

    def on_Assert(self, statement: ast.Assert, then: Node, around: Around) -> Node:  # noqa: N802
        failed = self.node(Pass(), statement, list(around.throws.targets(None)), around.throws)
        return self.test(statement.test, then, failed, around)

    def on_Return(self, statement: ast.Return, then: Node, around: Around) -> Node:  # noqa: N802
        del then
        leaving = self.node(Pass("returns here"), statement, [around.returns()], around.throws)
        bound = self.bind("return", statement.value, statement, leaving, around)
        return bound if statement.value is None else self.expression(statement.value, bound, around)

    def on_Raise(self, statement: ast.Raise, then: Node, around: Around) -> Node:  # noqa: N802
        del then
        names = names_in(statement.exc) if statement.exc is not None else None
        raised = None if statement.exc is None else names[0] if names else "Exception"
        leaving = self.node(Pass("raises"), statement, list(around.throws.targets(raised)), around.throws)
        return leaving if statement.exc is None else self.expression(statement.exc, leaving, around)

    def on_Break(self, _: ast.Break, then: Node, around: Around) -> Node:  # noqa: N802
        return around.breaks() if around.breaks is not None else then

    def on_Continue(self, _: ast.Continue, then: Node, around: Around) -> Node:  # noqa: N802
        return around.continues() if around.continues is not None else then

    def on_If(self, statement: ast.If, then: Node, around: Around) -> Node:  # noqa: N802
        yes = self.block(statement.body, then, around)
        no = self.block(statement.orelse, then, around)
        return self.test(statement.test, yes, no, around)

    def on_While(self, statement: ast.While, then: Node, around: Around) -> Node:  # noqa: N802
        header = self.node(Pass(loop=True), statement, [], around.throws)
        inner = replace(around, breaks=lambda: then, continues=lambda: header)
        body = self.block(statement.body, header, inner)
        header.next = [self.test(statement.test, body, self.block(statement.orelse, then, around), around)]
        return header

    def on_For(self, statement: ast.For | ast.AsyncFor, then: Node, around: Around) -> Node:  # noqa: N802
        over = self.block(statement.orelse, then, around)
        header = self.rounds(statement.target, statement.iter, statement, over, around)
        inner = replace(around, breaks=lambda: then, continues=lambda: header)
        header.next[0] = self.unpacked(statement.target, self.block(statement.body, header, inner), around)
        begin = self.node(Rounds(self.key(statement)), statement, [header], around.throws)
        return self.expression(statement.iter, begin, around)

    on_AsyncFor = on_For  # noqa: N815

    def rounds(self, target: ast.expr, over: ast.expr, tree: ast.AST, then: Node, around: Around) -> Node:
        """The place where a loop goes round; the way into its body is still to be set."""
        name = target.id if isinstance(target, ast.Name) else None
        operation = Round(self.key(tree), name, _elements(over))
        return self.node(operation, tree, [then, then], around.throws)

    def unpacked(self, target: ast.expr, then: Node, around: Around) -> Node:
        return then if isinstance(target, ast.Name) else self.targets(target, None, then, around)

    def on_With(self, statement: ast.With | ast.AsyncWith, then: Node, around: Around) -> Node:  # noqa: N802
        inner = around
        for item in statement.items:
            suppressed = _suppressed(item.context_expr)
            if suppressed is not None:
                catches = (Catch(suppressed, lambda: then),)
                inner = replace(inner, throws=Caught(catches, inner.throws))
        body = self.block(statement.body, then, inner)
        for item in reversed(statement.items):
            if item.optional_vars is not None:
                body = self.targets(item.optional_vars, None, body, around)
            body = self.node(Risk(), item.context_expr, [body], around.throws)
            body = self.expression(item.context_expr, body, around)
        return body

    on_AsyncWith = on_With  # noqa: N815

    def on_Try(self, statement: ast.Try, then: Node, around: Around) -> Node:  # noqa: N802
        last, outer = statement.finalbody, around
        after = then
        if last:
            after = self.block(last, then, around)

            def through(target: Callable[[], Node] | None) -> Callable[[], Node] | None:
                return None if target is None else Later(lambda: self.block(last, target(), around))

            def copy(targets: tuple[Node, ...]) -> Node:
                return self.block(last, self.node(Pass(), None, list(targets), around.throws), around)

            outer = Around(
                Through(copy, around.throws),
                Later(lambda: self.block(last, around.returns(), around)),
                through(around.breaks),
                through(around.continues),
            )
        catches = [
            Catch(names_in(handler.type), Later(partial(self.handler, handler, after, outer)))
            for handler in statement.handlers
        ]
        done = self.block(statement.orelse, after, outer)
        return self.block(statement.body, done, replace(outer, throws=Caught(tuple(catches), outer.throws)))

    def on_TryStar(self, statement: ast.stmt, then: Node, around: Around) -> Node:  # noqa: N802
        return self.node(Unseen("`except*` is not followed"), statement, [then], around.throws)

    def handler(self, handler: ast.ExceptHandler, then: Node, around: Around) -> Node:
        body = self.block(handler.body, then, around)
        if handler.name is not None:
            body = self.bind(handler.name, None, handler, body, around)
        names = names_in(handler.type)
        what = "an exception" if names is None else " or ".join(f"`{name}`" for name in names) or "an exception"
        return self.node(Pass(f"after {what}"), handler, [body], around.throws)

    def on_Match(self, statement: ast.Match, then: Node, around: Around) -> Node:  # noqa: N802
        nothing = then
        for case in reversed(statement.cases):
            body = self.block(case.body, then, around)
            if case.guard is not None:
                body = self.test(case.guard, body, nothing, around)
            nothing = self.node(Case(statement.subject, case.pattern), case.pattern, [body, nothing], around.throws)
        return self.expression(statement.subject, nothing, around)


def _elements(over: ast.expr) -> tuple[ast.expr | None, ...] | None:
    """What a loop goes over, where its text says it."""
    if isinstance(over, ast.Tuple | ast.List) and not any(isinstance(e, ast.Starred) for e in over.elts):
        return tuple(over.elts) if len(over.elts) <= _MOST_ROUNDS else None
    if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id == "range":
        given = [a.value if isinstance(a, ast.Constant) and isinstance(a.value, int) else None for a in over.args]
        numbers = [value for value in given if value is not None]
        if numbers and len(numbers) == len(over.args) <= 3 and (len(numbers) < 3 or numbers[2]):
            rounds = len(range(*numbers))
            return (None,) * rounds if rounds <= _MOST_ROUNDS else None
    return None


def _suppressed(manager: ast.expr) -> tuple[str, ...] | None:
    """The exceptions that a `with suppress(…)` swallows; `None` for every other one."""
    if not isinstance(manager, ast.Call) or not ast.unparse(manager.func).endswith("suppress"):
        return None
    return names_in(ast.Tuple(manager.args)) or ()
