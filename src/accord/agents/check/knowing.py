"""What is known of an expression in a world: which message it is, whether it is true, which text."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accord.agents.check.descent import dotted_name
from accord.agents.check.known_calls import is_builtin, waited_for
from accord.agents.check.messages import label_of
from accord.agents.check.methods import VERBS, Method
from accord.agents.check.modules import Class, Function, Value
from accord.agents.check.names import Outside
from accord.agents.check.own_calls import own_call
from accord.agents.check.returning import returned
from accord.agents.check.worlds import RESULT, Known, fact

if TYPE_CHECKING:
    from accord.agents.check.declarations import AgentClass
    from accord.agents.check.kinds import MessageKinds
    from accord.agents.check.names import Program
    from accord.agents.check.worlds import World

__all__ = ["Knowledge"]

_MODEL_MAKERS = frozenset({"model_validate", "model_validate_json"})
_COPYING = frozenset({"copy.copy", "copy.deepcopy", "dataclasses.replace", "msgspec.structs.replace"})


@dataclass(frozen=True)
class Knowledge:
    """Looks at expressions of one method."""

    method: Method
    agent: AgentClass
    program: Program
    kinds: MessageKinds
    """The messages of the agent's protocols, and how their classes are related."""
    effectful: frozenset[str]
    """The methods that are followed, so that what they return is known."""

    def value(self, expression: ast.expr | None, world: World) -> Known | None:
        """What is known of an expression."""
        if isinstance(expression, ast.Constant):
            return fact(expression.value)
        if isinstance(expression, ast.Name):
            return self.name(expression, world)
        if isinstance(expression, ast.NamedExpr):
            return world.knows(expression.target.id)  # it is bound by now
        if isinstance(expression, ast.Await):
            return self.awaited(expression.value, world)
        if isinstance(expression, ast.Call):
            return self.called(expression, world)
        if isinstance(expression, ast.UnaryOp) and isinstance(expression.op, ast.Not):
            truth = self.truth(expression.operand, world)
            return None if truth is None else Known("truth", not truth)
        return None

    def name(self, expression: ast.Name, world: World) -> Known | None:
        """What is known of a name: in this world, or because it is a constant of the file, written in capitals.

        Only texts are: whether `DEBUG` holds may be decided by whoever imports the file.
        """
        known = world.knows(expression.id)
        if known is not None or expression.id in self.method.scope.names or self.is_parameter(expression.id):
            return known
        meaning = self.program.look_up(expression.id, self.method.owner.scope)
        if expression.id.isupper() and isinstance(meaning, Value) and isinstance(meaning.expression, ast.Constant):
            known = fact(meaning.expression.value)
            return known if known is not None and known.kind == "text" else None
        return None

    def is_parameter(self, name: str) -> bool:
        """Whether a name is an argument of the method."""
        return any(argument.arg == name for argument in [*self.method.parameters, *self.method.node.args.kwonlyargs])

    def values(self, expression: ast.expr | None, world: World) -> list[Known | None]:
        """Everything that an expression can be, each time with what is known of it then."""
        if isinstance(expression, ast.IfExp):
            return [*self.values(expression.body, world), *self.values(expression.orelse, world)]
        if isinstance(expression, ast.BoolOp) and isinstance(expression.op, ast.Or):
            first = [known for known in self.values(expression.values[0], world) if known is None or known.value]
            rest = expression.values[1:]
            others = ast.BoolOp(ast.Or(), rest) if len(rest) > 1 else rest[0]
            return list(dict.fromkeys([*first, *self.values(others, world)]))
        awaited = isinstance(expression, ast.Await)
        call = expression.value if isinstance(expression, ast.Await) else expression
        if isinstance(call, ast.Call):
            made = self.returned(call, world, awaited=awaited)
            if made is not None:
                return [*sorted(made)]
        return [self.value(expression, world)]

    def returned(self, call: ast.Call, world: World, *, awaited: bool) -> set[Known] | None:
        """What a function of the files gives, if all of that is seen."""
        name = own_call(call, self.method.self_name)
        if name in VERBS or (name in self.effectful and world.knows(RESULT) is not None):
            return None
        owner: Class | None = None
        function: object = self.agent.methods.get(name) if name is not None else None
        if name is None:
            function = self.program.resolve(call.func, self.method.scope)
            if isinstance(call.func, ast.Attribute):
                base = self.program.resolve(call.func.value, self.method.scope)
                owner = base if isinstance(base, Class) else None
        if not isinstance(function, Function | Method):
            return None
        made = returned(function, self.program, awaited=awaited, owner=owner)
        if made is None or not all(one.label is None or self.kinds.is_the_one(one.label, one.meaning) for one in made):
            return None
        return {Known("nothing", value=False) if one.label is None else Known("message", one.label) for one in made}

    def awaited(self, expression: ast.expr, world: World) -> Known | None:
        """What comes of waiting: the message that was received, or what a method has returned."""
        expression, _ = waited_for(expression, self.method.scope, self.program)
        if own_call(expression, self.method.self_name) == "receive":
            return world.knows(RESULT)
        return self.called(expression, world, awaited=True) if isinstance(expression, ast.Call) else None

    def called(self, call: ast.Call, world: World, *, awaited: bool = False) -> Known | None:
        """What a call gives, as far as classes and returns say."""
        name = own_call(call, self.method.self_name)
        if name in self.effectful and world.knows(RESULT) is not None:
            return world.knows(RESULT)
        made = self.returned(call, world, awaited=awaited)
        if made is not None:
            return made.pop() if len(made) == 1 else None
        if name is not None or awaited:
            return None
        return self.copied(call, world) or self.made(call)

    def made(self, call: ast.Call) -> Known | None:
        """The message that a class makes: by being called, or in a way that all models have."""
        meaning = self.program.resolve(call.func, self.method.scope)
        if isinstance(call.func, ast.Attribute) and call.func.attr in _MODEL_MAKERS:
            base = self.program.resolve(call.func.value, self.method.scope)
            meaning = base if isinstance(base, Class) and call.func.attr not in base.inside.names else meaning
        if isinstance(meaning, Outside) and not meaning.name.rsplit(".", 1)[-1][:1].isupper():
            return None
        label = label_of(meaning) if isinstance(meaning, Class | Outside) else None
        if label is None or not self.kinds.is_the_one(label, meaning):
            return None
        return Known("message", label)

    def copied(self, call: ast.Call, world: World) -> Known | None:
        """A message that is made of another one, by `replace` and the like."""
        if isinstance(call.func, ast.Attribute) and call.func.attr == "model_copy":
            known = self.value(call.func.value, world)
        elif call.args and dotted_name(call, self.method.scope, self.program) in _COPYING:
            known = self.value(call.args[0], world)
        else:
            return None
        return known if known is not None and known.kind == "message" else None

    def truth(self, condition: ast.expr, world: World) -> bool | None:
        """Whether a condition holds; `None` if it is not known."""
        if isinstance(condition, ast.Compare) and len(condition.ops) == 1:
            return self.compared(condition, world)
        if isinstance(condition, ast.Call) and len(condition.args) == 2 and self.is_builtin(condition, "isinstance"):
            return self.is_instance(self.value(condition.args[0], world), condition.args[1])
        known = self.value(condition, world)
        if known is None:
            return None
        if known.kind == "message":
            return None if self.kinds.has_truth_of_its_own(str(known.value)) else True
        return bool(known.value)

    def is_builtin(self, call: ast.Call, name: str) -> bool:
        """Whether a call is one of Python's own functions."""
        return is_builtin(call.func, name, self.method.scope, self.program)

    def compared(self, condition: ast.Compare, world: World) -> bool | None:
        """`x is None`, `type(x) is T`, `x == "text"`."""
        left, right, operator = condition.left, condition.comparators[0], condition.ops[0]
        is_negative = isinstance(operator, ast.IsNot | ast.NotEq)
        if not isinstance(operator, ast.Is | ast.IsNot | ast.Eq | ast.NotEq):
            return None
        answer = None
        if isinstance(left, ast.Call) and len(left.args) == 1 and self.is_builtin(left, "type"):
            answer = self.is_instance(self.value(left.args[0], world), right)
        elif isinstance(right, ast.Constant) and right.value is None:
            known = self.value(left, world)
            kind = known.kind if known is not None else ""
            answer = True if kind == "nothing" else False if kind in {"message", "text"} else None
        elif isinstance(operator, ast.Eq | ast.NotEq):
            one, other = self.value(left, world), self.value(right, world)
            both_texts = one is not None and other is not None and one.kind == other.kind == "text"
            answer = one == other if both_texts else None
        return None if answer is None else answer != is_negative

    def is_instance(self, known: Known | None, classes: ast.expr) -> bool | None:
        """Whether a message is of one of these classes."""
        if known is None or known.kind != "message":
            return None
        return self.kinds.is_one_of(str(known.value), classes, self.method.scope)

    def fits(self, pattern: ast.pattern, known: Known | None, world: World) -> tuple[list[World], list[World]]:
        """The worlds in which a pattern fits a value, and those in which it does not."""
        if isinstance(pattern, ast.MatchAs):
            if pattern.pattern is None:
                return [self.captured(pattern.name, known, world)], []
            yes, no = self.fits(pattern.pattern, known, world)
            return [self.captured(pattern.name, known, inner) for inner in yes], no
        if isinstance(pattern, ast.MatchOr):
            found: list[World] = []
            rest = [world]
            for inner in pattern.patterns:
                if rest:
                    yes, rest = self.fits(inner, known, rest[0])
                    found += yes
            return found[:1], rest
        after = world
        for node in ast.walk(pattern):
            for attribute in ("name", "rest"):
                name = getattr(node, attribute, None)
                if isinstance(name, str):
                    after = after.bind(name, None)
        if isinstance(pattern, ast.MatchClass):
            answer = self.is_instance(known, pattern.cls)
            is_simple = all(_takes_all(inner) for inner in [*pattern.patterns, *pattern.kwd_patterns])
            return ([] if answer is False else [after]), ([] if answer and is_simple else [world])
        return [after], [world]

    def captured(self, name: str | None, known: Known | None, world: World) -> World:
        """The world in which a pattern has bound its name."""
        return world if name is None else world.bind(name, known)


def _takes_all(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs) and (pattern.pattern is None or _takes_all(pattern.pattern))
