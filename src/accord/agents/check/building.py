"""Makes the graph of a method, from its last statement to its first: what comes next is always made already."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from accord.agents.check.exceptions import Catch, Caught, Later, Outwards, Raised, Through, caught_by, raised_by
from accord.agents.check.expressions import Expressions
from accord.agents.check.graph import Case, Except, Leave, Pass, Risk, Rounds
from accord.agents.check.managers import is_deadline, swallowed_by
from accord.agents.check.placing import Around

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.agents.check.declarations import AgentClass
    from accord.agents.check.graph import Node
    from accord.agents.check.methods import Method
    from accord.agents.check.names import Program

__all__ = ["Graph", "build"]


@dataclass(frozen=True)
class Graph:
    """A method's graph."""

    method: Method
    start: Node


def build(method: Method, effectful: frozenset[str], agent: AgentClass, program: Program) -> Graph:
    """The graph of a method; calls of the methods named `effectful` are followed."""
    builder = _Builder(method, effectful, agent, program)
    outwards = Outwards(builder.leave)
    returned = builder.node(Leave("return"), method.node, [], outwards)
    around = Around(outwards, lambda: returned)
    return Graph(method, builder.block(method.node.body, returned, around))


class _Builder(Expressions):
    """Makes nodes of statements."""

    def block(self, statements: list[ast.stmt], then: Node, around: Around) -> Node:
        for statement in reversed(statements):
            then = self.statement(statement, then, around)
        return then

    def statement(self, statement: ast.stmt, then: Node, around: Around) -> Node:
        made = self.made(statement, then, around)
        missed = self.missed(*_own_parts(statement))
        return (
            made if missed is None else self.out_of_sight("this is not followed where it stands", missed, made, around)
        )

    def made(self, statement: ast.stmt, then: Node, around: Around) -> Node:
        make: Callable[[ast.stmt, Node, Around], Node] | None = getattr(self, f"on_{type(statement).__name__}", None)
        if make is not None:
            return make(statement, then, around)
        if isinstance(statement, ast.Pass | ast.Global | ast.Nonlocal):
            return then
        if id(statement) in self.hidden:
            return self.out_of_sight(self.hidden[id(statement)], statement, then, around)
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return self.bind(statement.name, None, statement, then, around)
        then = self.node(Risk(), statement, [then], around.throws)  # import, del
        return self.children(statement, then, around) if self.is_speaking(statement) else then

    def on_Expr(self, statement: ast.Expr, then: Node, around: Around) -> Node:  # noqa: N802 - by the name of the node
        return self.expression(statement.value, then, around)

    def on_Assign(self, statement: ast.Assign, then: Node, around: Around) -> Node:  # noqa: N802
        return self.assign(statement.targets, statement.value, then, around)

    def assign(self, targets: list[ast.expr], value: ast.expr, then: Node, around: Around) -> Node:
        """What is bound to one of two things is followed both ways."""
        if isinstance(value, ast.IfExp):
            yes = self.assign(targets, value.body, then, around)
            no = self.assign(targets, value.orelse, then, around)
            return self.test(value.test, yes, no, around)
        for target in reversed(targets):
            then = self.targets(target, value, then, around)
        return self.expression(value, then, around)

    def on_AnnAssign(self, statement: ast.AnnAssign, then: Node, around: Around) -> Node:  # noqa: N802
        if statement.value is None:
            return then
        return self.assign([statement.target], statement.value, then, around)

    def on_AugAssign(self, statement: ast.AugAssign, then: Node, around: Around) -> Node:  # noqa: N802
        then = self.targets(statement.target, None, then, around)
        then = self.node(Risk(), statement, [then], around.throws)
        return self.expression(statement.value, then, around)

    def on_Assert(self, statement: ast.Assert, then: Node, around: Around) -> Node:  # noqa: N802
        failed = self.node(Pass(), statement, list(around.throws.targets(None)), around.throws)
        if statement.msg is not None:
            failed = self.expression(statement.msg, failed, around)
        return self.test(statement.test, then, failed, around)

    def on_Return(self, statement: ast.Return, then: Node, around: Around) -> Node:  # noqa: N802
        del then
        leaving = self.node(Pass("returns here"), statement, [around.returns()], around.throws)
        bound = self.bind("return", statement.value, statement, leaving, around)
        return bound if statement.value is None else self.expression(statement.value, bound, around)

    def on_Raise(self, statement: ast.Raise, then: Node, around: Around) -> Node:  # noqa: N802
        del then
        raised: Raised | None = None
        if statement.exc is not None:
            raised = raised_by(statement.exc, self.method.scope, self.program)
        leaving = self.node(Pass("raises"), statement, list(around.throws.targets(raised)), around.throws)
        for part in (statement.cause, statement.exc):
            if part is not None:
                leaving = self.expression(part, leaving, around)
        return leaving

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

    def on_With(self, statement: ast.With | ast.AsyncWith, then: Node, around: Around) -> Node:  # noqa: N802
        inner = around
        for item in statement.items:
            swallowed = swallowed_by(item.context_expr, self.method, self.agent, self.program)
            if swallowed is not None:
                inner = replace(inner, throws=Caught((Catch(swallowed.names, lambda: then),), inner.throws))
            if is_deadline(item.context_expr, self.method.scope, self.program):
                inner = replace(inner, is_timed=True)
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
            Catch(self.caught(handler), Later(partial(self.handler, handler, after, outer)))
            for handler in statement.handlers
        ]
        done = self.block(statement.orelse, after, outer)
        return self.block(statement.body, done, replace(outer, throws=Caught(tuple(catches), outer.throws)))

    def on_TryStar(self, statement: ast.stmt, then: Node, around: Around) -> Node:  # noqa: N802
        return self.out_of_sight("`except*` is not followed", statement, then, around)

    def handler(self, handler: ast.ExceptHandler, then: Node, around: Around) -> Node:
        body = self.block(handler.body, then, around)
        if handler.name is not None:
            body = self.bind(handler.name, None, handler, body, around)
        what = "an exception" if handler.type is None else f"`{ast.unparse(handler.type)[:60]}`"
        return self.node(Except(self.caught(handler), f"after {what}"), handler, [body], around.throws)

    def caught(self, handler: ast.ExceptHandler) -> tuple[str, ...] | None:
        return caught_by(handler.type, self.method.scope, self.program)

    def on_Match(self, statement: ast.Match, then: Node, around: Around) -> Node:  # noqa: N802
        nothing = then
        subject = ast.Name(self.key(statement.subject))  # what was asked stays the same, whatever is bound on the way
        for case in reversed(statement.cases):
            body = self.block(case.body, then, around)
            if case.guard is not None:
                body = self.test(case.guard, body, nothing, around)
            nothing = self.node(Case(subject, case.pattern), case.pattern, [body, nothing], around.throws)
        nothing = self.bind(subject.id, statement.subject, statement.subject, nothing, around)
        return self.expression(statement.subject, nothing, around)


def _own_parts(statement: ast.stmt) -> list[ast.AST | None]:
    """What stands in a statement itself, without the statements inside it."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return []  # what it does when it is called, and what it sends then, is an escape
    parts: list[ast.AST | None] = []
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.expr | ast.keyword | ast.withitem):
            parts.append(child)
        elif isinstance(child, ast.match_case):
            parts.append(child.guard)
    return parts
