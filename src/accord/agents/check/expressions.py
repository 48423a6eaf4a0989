"""What an expression does, in the order in which Python does it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from accord.agents.check.declarations import VERBS
from accord.agents.check.escapes import escapes
from accord.agents.check.graph import Bind, Help, Receive, Risk, Rounds, Send, Test, Unseen
from accord.agents.check.own_calls import own_call

if TYPE_CHECKING:
    from accord.agents.check.building import Around
    from accord.agents.check.declarations import AgentClass, Method
    from accord.agents.check.graph import Node, Operation, Throws

__all__ = ["Expressions"]

_TRANSPARENT = frozenset({"wait_for", "shield"})
_TELLING = frozenset({"print", "log", "logger", "logging"})
_QUIET = (ast.Constant, ast.Name, ast.Lambda)
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp


class Expressions:
    """Makes nodes of expressions; statements are made by the builder that is derived from it."""

    def __init__(self, method: Method, effectful: frozenset[str], agent: AgentClass) -> None:
        self.method = method
        self.me = method.self_name
        self.effectful = effectful
        self.agent = agent
        self.hidden = {id(tree): why for tree, why in escapes(method, effectful)}
        """Where the agent gets out of sight, and why."""
        self._speaking: dict[int, bool] = {}

    def node(self, operation: Operation, tree: ast.AST | None, next_: list[Node], throws: Throws) -> Node:
        """A node of the graph."""
        raise NotImplementedError

    def rounds(self, target: ast.expr, over: ast.expr, tree: ast.AST, then: Node, around: Around) -> Node:
        """The place where a loop goes round."""
        raise NotImplementedError

    def unpacked(self, target: ast.expr, then: Node, around: Around) -> Node:
        """The names that a round binds, if they are several."""
        raise NotImplementedError

    def key(self, tree: ast.AST) -> str:
        """What a loop's count is remembered under; no name of Python's looks like it."""
        return f"{self.method.name}:{tree.lineno}:{tree.col_offset}"  # type: ignore[attr-defined] # loops have places

    def is_effectful(self, expression: ast.AST) -> bool:
        """Whether it is a call that speaks to others."""
        name = own_call(expression, self.me)
        return name is not None and (name in VERBS or name in self.effectful)

    def is_speaking(self, expression: ast.AST) -> bool:
        """Whether something inside speaks to others, or binds a name."""
        known = self._speaking.get(id(expression))
        if known is None:
            known = isinstance(expression, ast.NamedExpr) or self.is_effectful(expression)
            known = known or id(expression) in self.hidden
            if not known and not isinstance(expression, ast.Lambda):
                known = any(self.is_speaking(inner) for inner in ast.iter_child_nodes(expression))
            self._speaking[id(expression)] = known
        return known

    def expression(self, expression: ast.expr, then: Node, around: Around) -> Node:
        """The nodes of an expression, in front of `then`."""
        if not self.is_speaking(expression):
            return self.risk(expression, then, around)
        if id(expression) in self.hidden:
            return self.node(Unseen(self.hidden[id(expression)]), expression, [then], around.throws)
        make = getattr(self, f"in_{type(expression).__name__}", None)
        if make is not None:
            made: Node = make(expression, then, around)
            return made
        return self.children(expression, self.risk(expression, then, around), around)

    def risk(self, expression: ast.expr, then: Node, around: Around) -> Node:
        """What an expression may raise."""
        is_own = isinstance(expression, ast.Attribute) and isinstance(expression.value, ast.Name)
        if _only_tells(expression):
            return then
        if isinstance(expression, _QUIET) or (is_own and expression.value.id == self.me):  # type: ignore[attr-defined]
            return then
        return self.node(Risk(), expression, [then], around.throws)

    def children(self, tree: ast.AST, then: Node, around: Around) -> Node:
        """What stands inside, in order."""
        for inner in reversed(list(ast.iter_child_nodes(tree))):
            if isinstance(inner, ast.expr):
                then = self.expression(inner, then, around)
            elif isinstance(inner, ast.keyword):
                then = self.expression(inner.value, then, around)
        return then

    def in_Await(self, expression: ast.Await, then: Node, around: Around) -> Node:  # noqa: N802 - the node's name
        """Only what is awaited happens."""
        call = expression.value
        while isinstance(call, ast.Call) and call.args and _called(call) in _TRANSPARENT:
            call = call.args[0]
        if self.is_effectful(call) and isinstance(call, ast.Call):
            return self.happening(call, then, around)
        return self.expression(expression.value, self.node(Risk(), expression, [then], around.throws), around)

    def in_Call(self, call: ast.Call, then: Node, around: Around) -> Node:  # noqa: N802
        """A call that is not awaited."""
        if not self.is_effectful(call):
            return self.children(call, self.node(Risk(), call, [then], around.throws), around)
        name = own_call(call, self.me) or ""
        helper = self.agent.methods.get(name)
        if name in VERBS or helper is None or isinstance(helper.node, ast.AsyncFunctionDef):
            why = f"`{name}` is not awaited where it is called: whether and when it happens cannot be seen"
            return self.node(Unseen(why), call, [then], around.throws)
        return self.happening(call, then, around)

    def happening(self, call: ast.Call, then: Node, around: Around) -> Node:
        """A message that is sent or received, or a method that does it."""
        name = own_call(call, self.me) or ""
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        args = list(call.args)
        if any(isinstance(arg, ast.Starred) for arg in args) or None in given:
            why = f"the arguments of `{name}` are unpacked while the program runs"
            return self.node(Unseen(why), call, [then], around.throws)
        if name == "send":
            target, message = [*args, None, None][:2]
            target, message = target or given.get("to"), message or given.get("message")
            if target is None or message is None:
                why = "`send` takes a role and a message"
                return self.node(Unseen(why), call, [then], around.throws)
            return self.sending(call, target, message, given.get("protocol"), then, around)
        if name == "reply":
            message = [*args, None][0] or given.get("message")
            return self.sending(call, None, message, given.get("protocol"), then, around)
        if name == "receive":
            types = [*args, None][0] or given.get("message_class")
            then = self.node(Receive(call, types, given.get("protocol")), call, [then], around.throws)
            return self.children(call, then, around) if any(map(self.is_speaking, call.args)) else then
        base = call.func.value if isinstance(call.func, ast.Attribute) else None
        method = self.agent.methods.get(name)
        if isinstance(base, ast.Call):  # super()
            method = self.inherited(name)
        if method is None:
            return self.node(Unseen(f"`{name}` is not in the files"), call, [then], around.throws)
        return self.children(call, self.node(Help(call, method), call, [then], around.throws), around)

    def inherited(self, name: str) -> Method | None:
        """The method that `super()` means, above the class that this one stands in."""
        from accord.agents.check.declarations import Method  # noqa: PLC0415 - for its constructor alone

        line = [self.agent.declared, *self.agent.above]
        nodes = [declared.node for declared in line]
        at = nodes.index(self.method.owner.node) if self.method.owner.node in nodes else 0
        for declared in line[at + 1 :]:
            for statement in declared.node.body:
                if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and statement.name == name:
                    return Method(name, statement, declared)
        return None

    def sending(
        self,
        call: ast.Call,
        target: ast.expr | None,
        message: ast.expr | None,
        protocol: ast.expr | None,
        then: Node,
        around: Around,
    ) -> Node:
        """A message that is sent; where it is one of two, both are followed."""
        if isinstance(message, ast.IfExp):
            yes = self.sending(call, target, message.body, protocol, then, around)
            no = self.sending(call, target, message.orelse, protocol, then, around)
            return self.test(message.test, yes, no, around)
        then = self.node(Send(call, target, message, protocol), call, [then], around.throws)
        for argument in (message, target):
            if argument is not None:
                then = self.expression(argument, then, around)
        return then

    def in_NamedExpr(self, expression: ast.NamedExpr, then: Node, around: Around) -> Node:  # noqa: N802
        """`name := value`."""
        then = self.node(Bind(expression.target.id, expression.value), expression, [then], around.throws)
        return self.expression(expression.value, then, around)

    def in_BoolOp(self, expression: ast.BoolOp, then: Node, around: Around) -> Node:  # noqa: N802
        """What stands on the right may not happen."""
        entry = self.expression(expression.values[-1], then, around)
        for value in reversed(expression.values[:-1]):
            yes, no = (entry, then) if isinstance(expression.op, ast.And) else (then, entry)
            entry = self.test(value, yes, no, around)
        return entry

    def in_IfExp(self, expression: ast.IfExp, then: Node, around: Around) -> Node:  # noqa: N802
        """One of two."""
        yes = self.expression(expression.body, then, around)
        no = self.expression(expression.orelse, then, around)
        return self.test(expression.test, yes, no, around)

    def in_GeneratorExp(self, expression: ast.GeneratorExp, then: Node, around: Around) -> Node:  # noqa: N802
        """What a generator does, it does when somebody asks."""
        return self.node(Unseen("what a generator does is not followed"), expression, [then], around.throws)

    def in_ListComp(self, expression: _Comprehension, then: Node, around: Around) -> Node:  # noqa: N802
        """A loop."""
        return self.comprehension(expression, list(expression.generators), then, around)

    in_SetComp = in_ListComp  # noqa: N815
    in_DictComp = in_ListComp  # noqa: N815

    def comprehension(
        self, whole: _Comprehension, generators: list[ast.comprehension], then: Node, around: Around
    ) -> Node:
        """The loops of a comprehension, the first outermost."""
        generator = generators[0]
        header = self.rounds(generator.target, generator.iter, generator.target, then, around)
        if len(generators) > 1:
            body = self.comprehension(whole, generators[1:], header, around)
        else:
            made = [whole.key, whole.value] if isinstance(whole, ast.DictComp) else [whole.elt]
            body = header
            for expression in reversed(made):
                body = self.expression(expression, body, around)
        for condition in reversed(generator.ifs):
            body = self.test(condition, body, header, around)
        header.next[0] = self.unpacked(generator.target, body, around)
        begin = self.node(Rounds(self.key(generator.target)), generator.target, [header], around.throws)
        return self.expression(generator.iter, begin, around)

    def test(self, condition: ast.expr, yes: Node, no: Node, around: Around) -> Node:
        """A condition, and what comes if it is true and if it is not."""
        if isinstance(condition, ast.UnaryOp) and isinstance(condition.op, ast.Not):
            return self.test(condition.operand, no, yes, around)
        if isinstance(condition, ast.BoolOp):
            entry = self.test(condition.values[-1], yes, no, around)
            for value in reversed(condition.values[:-1]):
                both = (entry, no) if isinstance(condition.op, ast.And) else (yes, entry)
                entry = self.test(value, *both, around)
            return entry
        node = self.node(Test(condition), condition, [yes, no], around.throws)
        return self.expression(condition, node, around)


def _only_tells(expression: ast.expr) -> bool:
    """Whether it is `print(…)` or a call of a logger: those do not fail, and stand everywhere."""
    if not isinstance(expression, ast.Call):
        return False
    base = expression.func.value if isinstance(expression.func, ast.Attribute) else expression.func
    is_quiet = isinstance(base, ast.Name) and base.id.strip("_").lower() in _TELLING
    return is_quiet and not any(isinstance(inner, ast.Call | ast.Subscript) for inner in _inside(expression))


def _inside(call: ast.Call) -> list[ast.AST]:
    return [node for argument in [*call.args, *call.keywords] for node in ast.walk(argument)]


def _called(call: ast.Call) -> str:
    return (
        call.func.attr
        if isinstance(call.func, ast.Attribute)
        else call.func.id
        if isinstance(call.func, ast.Name)
        else ""
    )
