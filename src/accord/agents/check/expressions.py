"""What an expression does, in the order in which Python does it."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from accord.agents.check.escapes import escapes
from accord.agents.check.graph import Help, Receive, Risk, Round, Rounds, Send, Test
from accord.agents.check.known_calls import is_builtin, only_tells, waited_for
from accord.agents.check.methods import VERBS, Method
from accord.agents.check.own_calls import is_super, own_call
from accord.agents.check.placing import Placing

if TYPE_CHECKING:
    from accord.agents.check.declarations import AgentClass
    from accord.agents.check.graph import Node
    from accord.agents.check.names import Program
    from accord.agents.check.placing import Around

__all__ = ["Expressions"]

_QUIET = (ast.Constant, ast.Name, ast.Lambda)
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp
_MOST_ROUNDS = 32


class Expressions(Placing):
    """Makes nodes of expressions, and of what binds names."""

    def __init__(self, method: Method, effectful: frozenset[str], agent: AgentClass, program: Program) -> None:
        super().__init__(method, effectful, agent, program)
        self.hidden = {id(tree): why for tree, why in escapes(method, effectful, agent, program)}
        """Where the agent gets out of sight, and why."""
        self.followed: set[int] = set()
        """The calls that speak and have become nodes, by identity."""
        self._speaking: dict[int, bool] = {}

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
            return self.out_of_sight(self.hidden[id(expression)], expression, then, around)
        make = getattr(self, f"in_{type(expression).__name__}", None)
        if make is not None:
            made: Node = make(expression, then, around)
            return made
        return self.children(expression, self.risk(expression, then, around), around)

    def risk(self, expression: ast.expr, then: Node, around: Around) -> Node:
        """What an expression may raise."""
        is_own = isinstance(expression, ast.Attribute) and isinstance(expression.value, ast.Name)
        if isinstance(expression, _QUIET) or only_tells(expression, self.method.scope, self.program):
            return then
        if is_own and expression.value.id == self.me and expression.attr not in self.agent.methods:  # type: ignore[attr-defined] # it is one
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
        call, timed = waited_for(expression.value, self.method.scope, self.program)
        if isinstance(call, ast.IfExp) and call is expression.value:
            yes, no = (self.in_Await(ast.copy_location(ast.Await(side), side), then, around) for side in _sides(call))
            return self.test(call.test, yes, no, around)
        if self.is_effectful(call) and isinstance(call, ast.Call):
            return self.happening(call, then, replace(around, is_timed=around.is_timed or timed))
        return self.expression(expression.value, self.node(Risk(), expression, [then], around.throws), around)

    def in_Call(self, call: ast.Call, then: Node, around: Around) -> Node:  # noqa: N802
        """A call that is not awaited."""
        if not self.is_effectful(call):
            return self.children(call, self.node(Risk(), call, [then], around.throws), around)
        name = own_call(call, self.me) or ""
        helper = self.agent.methods.get(name)
        if name in VERBS or helper is None or isinstance(helper.node, ast.AsyncFunctionDef):
            why = f"`{name}` is not awaited where it is called: whether and when it happens cannot be seen"
            return self.out_of_sight(why, call, then, around)
        return self.happening(call, then, around)

    def out_of_sight(self, why: str, tree: ast.AST, then: Node, around: Around) -> Node:
        """Something that is not analysed, with all that is inside."""
        self.followed.update(map(id, ast.walk(tree)))
        return self.unseen(why, tree, then, around)

    def missed(self, *trees: ast.AST | None) -> ast.AST | None:
        """A call that speaks and has become no node: a way of writing that nobody has thought of."""
        todo = [tree for tree in trees if tree is not None]
        while todo:
            tree = todo.pop()
            if id(tree) in self.followed and not self.is_effectful(tree):
                continue  # it is out of sight, and was said to be
            if self.is_effectful(tree) and id(tree) not in self.followed:
                return tree
            todo.extend(ast.iter_child_nodes(tree))
        return None

    def happening(self, call: ast.Call, then: Node, around: Around) -> Node:
        """A message that is sent or received, or a method that does it."""
        self.followed.add(id(call))
        name = own_call(call, self.me) or ""
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        args = list(call.args)
        if any(isinstance(arg, ast.Starred) for arg in args) or None in given:
            why = f"the arguments of `{name}` are unpacked while the program runs"
            return self.out_of_sight(why, call, then, around)
        if name == "send":
            target, message = [*args, None, None][:2]
            target, message = target or given.get("to"), message or given.get("message")
            if target is None or message is None:
                why = "`send` takes a role and a message"
                return self.out_of_sight(why, call, then, around)
            return self.sending(call, target, message, given.get("protocol"), then, around)
        if name == "reply":
            message = [*args, None][0] or given.get("message")
            return self.sending(call, None, message, given.get("protocol"), then, around)
        if name == "receive":
            types = [*args, None][0] or given.get("message_class")
            then = self.node(Receive(call, types, given.get("protocol")), call, [then], around.throws)
            return self.children(call, then, around) if any(map(self.is_speaking, call.args)) else then
        method = self.agent.methods.get(name)
        if isinstance(call.func, ast.Attribute) and is_super(call.func.value):
            method = self.inherited(name)
        if method is None:
            return self.out_of_sight(f"`{name}` is not in the files", call, then, around)
        helping = self.node(Help(call, method, around.is_timed), call, [then], around.throws)
        return self.children(call, helping, around)

    def inherited(self, name: str) -> Method | None:
        """The method that `super()` means, above the class that this one stands in."""
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
        then = self.node(Send(call, target, message, protocol, around.is_timed), call, [then], around.throws)
        for argument in (message, target):
            if argument is not None:
                then = self.expression(argument, then, around)
        return then

    def in_NamedExpr(self, expression: ast.NamedExpr, then: Node, around: Around) -> Node:  # noqa: N802
        """`name := value`."""
        then = self.bind(expression.target.id, expression.value, expression, then, around)
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

    def in_Compare(self, expression: ast.Compare, then: Node, around: Around) -> Node:  # noqa: N802
        """`a < b < c`: what stands third may not happen."""
        if any(map(self.is_speaking, expression.comparators[1:])):
            return self.out_of_sight("a chain of comparisons is not followed", expression, then, around)
        return self.children(expression, self.risk(expression, then, around), around)

    def in_GeneratorExp(self, expression: ast.GeneratorExp, then: Node, around: Around) -> Node:  # noqa: N802
        """What a generator does, it does when somebody asks."""
        return self.out_of_sight("what a generator does is not followed", expression, then, around)

    def in_ListComp(self, expression: _Comprehension, then: Node, around: Around) -> Node:  # noqa: N802
        """A loop, whose names are its own."""
        for generator in expression.generators:
            for name in ast.walk(generator.target):
                if isinstance(name, ast.Name):
                    then = self.bind(name.id, None, name, then, around)
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

    def targets(self, target: ast.expr, value: ast.expr | None, then: Node, around: Around) -> Node:
        """What is bound by an assignment, and what else stands in its target."""
        if isinstance(target, ast.Name):
            return self.bind(target.id, value, target, then, around)
        for inner in ast.walk(target):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                then = self.bind(inner.id, None, inner, then, around)
        if id(target) in self.hidden:
            return self.out_of_sight(self.hidden[id(target)], target, then, around)
        is_own = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)
        if not is_own or target.attr in self.agent.methods:  # type: ignore[attr-defined] # it is an attribute
            then = self.node(Risk(), target, [then], around.throws)
        return self.children(target, then, around) if self.is_speaking(target) else then

    def rounds(self, target: ast.expr, over: ast.expr, tree: ast.AST, then: Node, around: Around) -> Node:
        """The place where a loop goes round; the way into its body is still to be set."""
        name = target.id if isinstance(target, ast.Name) else None
        return self.node(Round(self.key(tree), name, self.elements(over)), tree, [then, then], around.throws)

    def unpacked(self, target: ast.expr, then: Node, around: Around) -> Node:
        """The names that a round binds, if they are several."""
        return then if isinstance(target, ast.Name) else self.targets(target, None, then, around)

    def elements(self, over: ast.expr) -> tuple[ast.expr | None, ...] | None:
        """What a loop goes over, where its text says it."""
        if isinstance(over, ast.Tuple | ast.List) and not any(isinstance(e, ast.Starred) for e in over.elts):
            return tuple(over.elts) if len(over.elts) <= _MOST_ROUNDS else None
        if not isinstance(over, ast.Call) or not is_builtin(over.func, "range", self.method.scope, self.program):
            return None
        given = [a.value if isinstance(a, ast.Constant) and isinstance(a.value, int) else None for a in over.args]
        numbers = [value for value in given if value is not None]
        if not numbers or len(numbers) != len(over.args) or len(numbers) > 3 or numbers[2:] == [0]:
            return None
        rounds = len(range(*numbers))
        return (None,) * rounds if rounds <= _MOST_ROUNDS else None


def _sides(expression: ast.IfExp) -> tuple[ast.expr, ast.expr]:
    return expression.body, expression.orelse
