"""Agent classes as they stand in the code: whom they follow, which methods take which messages, whom they know.

A class is an agent if it says `@follows` or inherits from `Agent`. What it inherits from classes in the files counts as
its own; what it inherits from elsewhere cannot be seen, and is said to be so.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from accord.agents.check.bodies import hidden_in
from accord.agents.check.descent import descends_from_agent, descent_of, dotted_name, follows_call, is_agent
from accord.agents.check.messages import annotation_of, labels_in
from accord.agents.check.methods import VERBS, Method
from accord.agents.check.modules import Class, Function, Scope
from accord.agents.check.names import Outside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accord.agents.check.modules import Module
    from accord.agents.check.names import Program

__all__ = ["AgentClass", "Follows", "Handler", "agents_in", "class_named"]

_ON = frozenset({"accord.agents.on", "accord.agents.declaring.on"})
_QUIET_DECORATORS = frozenset(
    {
        "abc.abstractmethod",
        "builtins.property",
        "builtins.staticmethod",
        "builtins.classmethod",
        "dataclasses.dataclass",
        "functools.cached_property",
        "typing.final",
        "typing.override",
        "typing_extensions.override",
    }
)


@dataclass(frozen=True)
class Follows:
    """`@follows(protocol, as_="Role")`, as it is written."""

    module: Module
    scope: Scope
    call: ast.Call
    protocol: ast.expr | None
    role: ast.expr | None


@dataclass(frozen=True)
class Handler:
    """A method and the labels of the messages it takes."""

    method: Method
    labels: tuple[str, ...]
    parameter: str


@dataclass(frozen=True, eq=False)
class AgentClass:
    """An agent class, read."""

    declared: Class
    follows: tuple[Follows, ...]
    methods: dict[str, Method]
    handlers: tuple[Handler, ...]
    complaints: tuple[tuple[Module, ast.AST, str, str], ...]
    """What makes no sense: where, what, how to mend it."""
    doubts: tuple[tuple[Module, ast.AST, str], ...]
    """What could not be seen."""
    above: tuple[Class, ...] = ()
    attributes: dict[str, tuple[ast.expr, Scope]] = field(default_factory=dict)
    """What its attributes are annotated with or made from."""

    @property
    def name(self) -> str:
        """The name of the class."""
        return self.declared.name

    @property
    def module(self) -> Module:
        """The file it stands in."""
        return self.declared.module


def agents_in(module: Module, program: Program) -> Iterator[AgentClass]:
    """Every agent class of a file, wherever it stands."""
    todo: list[Scope] = [module.scope]
    while todo:
        scope = todo.pop()
        for statement in _all_statements(scope.body):
            if isinstance(statement, ast.ClassDef):
                declared = Class(module, scope, statement)
                bound = scope.names.get(statement.name)
                if isinstance(bound, Class) and bound.node is statement:
                    declared = bound
                if is_agent(declared, program):
                    yield _read(declared, program)
                todo.append(Scope(module, statement.body, scope))
            elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                todo.append(Scope(module, statement.body, scope, statement.args))


def _all_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    todo = list(reversed(body))
    while todo:
        statement = todo.pop()
        yield statement
        if not isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            inner = [node for node in ast.iter_child_nodes(statement) if isinstance(node, ast.stmt | ast.ExceptHandler)]
            for node in reversed(inner):
                todo += reversed(node.body) if isinstance(node, ast.ExceptHandler) else [node]
            for case in getattr(statement, "cases", ()):
                todo += reversed(case.body)


def _read(declared: Class, program: Program) -> AgentClass:
    line, doubts = descent_of(declared, program)
    are_all_seen = not doubts
    methods: dict[str, Method] = {}
    follows: list[Follows] = []
    attributes: dict[str, tuple[ast.expr, Scope]] = {}
    for current in line:
        own: dict[str, Method] = {}
        for statement in current.node.body:
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                own[statement.name] = Method(statement.name, statement, current)  # of two the second counts
            elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                attributes.setdefault(statement.target.id, (statement.annotation, current.inside))
        methods = {**own, **methods}
        for decorator in current.node.decorator_list:
            call = follows_call(decorator, current, program)
            if call is not None:
                follows.append(_read_follows(call, current))
            elif dotted_name(decorator, current.scope, program) not in _QUIET_DECORATORS:
                what = f"what `@{ast.unparse(decorator)[:40]}` makes of the class cannot be seen"
                doubts.append((current.module, decorator, what))
    for current in line:
        doubts += [(current.module, tree, why) for tree, why in hidden_in(current, methods, program)]
    attributes = {**_assigned(methods.values()), **attributes}
    for method in methods.values():
        if method.name in VERBS:
            doubts.append((method.module, method.node, f"`{declared.name}` has a `{method.name}` of its own"))
    complaints: list[tuple[Module, ast.AST, str, str]] = []
    if follows and are_all_seen and not descends_from_agent(line, program):
        what = f"`{declared.name}` follows a protocol and is not derived from `Agent`"
        complaints.append((declared.module, declared.node, what, f"write `class {declared.name}(Agent):`"))
    handlers = _read_handlers(methods, program, complaints, doubts)
    return AgentClass(
        declared, tuple(follows), methods, handlers, tuple(complaints), tuple(doubts), tuple(line[1:]), attributes
    )


def _read_follows(call: ast.Call, current: Class) -> Follows:
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    protocol = call.args[0] if call.args else given.get("protocol")
    return Follows(current.module, current.scope, call, protocol, given.get("as_"))


def _assigned(methods: Iterable[Method]) -> dict[str, tuple[ast.expr, Scope]]:
    """What `self.name = …` says about attributes: of an annotated argument, or of an object that is made there.

    An attribute that is given different things, or in a way that does not show which, is not known.
    """
    found: dict[str, list[tuple[ast.expr, Scope] | None]] = {}
    for method in methods:
        arguments = [*method.parameters, *method.node.args.kwonlyargs]
        annotations = {argument.arg: argument.annotation for argument in arguments}
        for node, parent in method.nodes:
            is_own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
            if not is_own or node.value.id != method.self_name or isinstance(node.ctx, ast.Load):  # type: ignore[attr-defined] # it is one
                continue
            known: tuple[ast.expr, Scope] | None = None
            if isinstance(parent, ast.AnnAssign):
                known = (parent.annotation, method.owner.scope)
            elif isinstance(parent, ast.Assign) and node in parent.targets:
                value = parent.value
                if isinstance(value, ast.Name):
                    value = annotations.get(value.id) or value
                known = (value, method.owner.scope)
            if known is None or not (isinstance(known[0], ast.Constant) and known[0].value is None):
                found.setdefault(node.attr, []).append(known)  # type: ignore[attr-defined]
    return {
        name: given[0]
        for name, given in found.items()
        if given[0] is not None and len({ast.unparse(one[0]) if one is not None else "" for one in given}) == 1
    }


def _read_handlers(
    methods: dict[str, Method],
    program: Program,
    complaints: list[tuple[Module, ast.AST, str, str]],
    doubts: list[tuple[Module, ast.AST, str]],
) -> tuple[Handler, ...]:
    handlers: list[Handler] = []
    taken: dict[str, str] = {}
    for method in methods.values():
        explicit: ast.expr | None = None
        for decorator in method.node.decorator_list:
            dotted = dotted_name(decorator, method.owner.scope, program)
            if dotted in _ON and isinstance(decorator, ast.Call) and decorator.args:
                explicit = decorator.args[0]
            elif dotted not in _QUIET_DECORATORS and not ast.unparse(decorator).endswith((".setter", ".deleter")):
                what = f"what `@{ast.unparse(decorator)[:40]}` makes of `{method.name}` cannot be seen"
                doubts.append((method.module, decorator, what))
        if explicit is None and (method.name == "on_start" or not method.name.startswith("on_")):
            continue
        handler = _read_handler(method, explicit, program, complaints)
        if handler is None:
            continue
        for label in handler.labels:
            if label in taken:
                what = f"`{taken[label]}` and `{method.name}` both take `{label}`"
                complaints.append((method.module, method.node, what, "one handler takes a message; let it decide"))
            taken.setdefault(label, method.name)
        handlers.append(handler)
    return tuple(handlers)


def _read_handler(
    method: Method,
    explicit: ast.expr | None,
    program: Program,
    complaints: list[tuple[Module, ast.AST, str, str]],
) -> Handler | None:
    def complain(what: str, help_: str) -> None:
        complaints.append((method.module, method.node, what, help_))

    if not isinstance(method.node, ast.AsyncFunctionDef):
        complain(f"handler `{method.name}` is no `async def`", "write `async def`: it waits while it sends")
        return None
    parameters = method.parameters[1:]
    if len(parameters) != 1 or method.node.args.kwonlyargs:
        complain(
            f"handler `{method.name}` takes {len(parameters)} arguments beside `self`", "it takes the message alone"
        )
        return None
    annotation = explicit if explicit is not None else annotation_of(parameters[0].annotation)
    labels = labels_in(annotation, method.owner.scope, program)
    if labels is None:
        if annotation is None:
            what, help_ = "is not said", f"annotate `{parameters[0].arg}` with the class of the message"
        else:
            what = f"is no class of messages that is known here: `{ast.unparse(annotation)[:60]}`"
            help_ = "import it or define it: a dataclass, a msgspec Struct or a pydantic model"
        complain(f"what handler `{method.name}` takes {what}", help_)
        return None
    return Handler(method, labels, parameters[0].arg)


def class_named(expression: ast.expr, scope: Scope, program: Program) -> Class | Function | Outside | None:
    """The class that an annotation or a call names."""
    read = annotation_of(expression.func if isinstance(expression, ast.Call) else expression)
    if isinstance(read, ast.BinOp) and isinstance(read.op, ast.BitOr):  # Server | None
        sides = [side for side in (read.left, read.right) if not isinstance(side, ast.Constant)]
        read = sides[0] if len(sides) == 1 else read
    if not isinstance(read, ast.Name | ast.Attribute):
        return None
    meaning = program.resolve(read, scope)
    return meaning if isinstance(meaning, Class | Function | Outside) else None
