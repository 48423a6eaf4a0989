"""Agent classes as they stand in the code: whom they follow, which methods take which messages, whom they know.

A class is an agent if it says `@follows` or inherits from `Agent`. What it inherits from classes in the files counts as
its own; what it inherits from elsewhere cannot be seen, and is said to be so.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from accord.agents.check.messages import annotation_of, label_of, labels_in
from accord.agents.check.modules import Class, Function, Scope
from accord.agents.check.names import Outside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.agents.check.modules import Module
    from accord.agents.check.names import Program

__all__ = ["VERBS", "AgentClass", "Follows", "Handler", "Method", "agents_in", "is_agent"]

VERBS = frozenset({"send", "reply", "receive"})

_AGENT = frozenset({"accord.agents.Agent", "accord.agents.agent.Agent"})
_FOLLOWS = frozenset({"accord.agents.follows", "accord.agents.declaring.follows"})
_ON = frozenset({"accord.agents.on", "accord.agents.declaring.on"})
_QUIET_BASES = frozenset({"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol"})
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


@dataclass(frozen=True, eq=False)
class Method:
    """A method, with the scope its names are read in."""

    name: str
    node: ast.FunctionDef | ast.AsyncFunctionDef
    owner: Class

    @property
    def module(self) -> Module:
        """The file it stands in."""
        return self.owner.module

    @cached_property
    def nodes(self) -> list[tuple[ast.AST, ast.AST | None]]:
        """Everything in it, each with what it stands in; it is looked at more than once."""
        found: list[tuple[ast.AST, ast.AST | None]] = [(self.node, None)]
        for node, _ in found:  # it grows while it is walked
            found.extend([(child, node) for child in ast.iter_child_nodes(node)])
        return found

    @cached_property
    def shared(self) -> frozenset[str]:
        """Names that nested functions, or others, bind as well."""
        return frozenset(n for node, _ in self.nodes if isinstance(node, ast.Nonlocal | ast.Global) for n in node.names)

    @cached_property
    def steady(self) -> frozenset[str]:
        """Names whose truth stays as it is until they are bound again: they are only asked and shown.

        What is called, subscripted, passed on or given another name may be changed there, as a list is by `pop`.
        """
        asked = (ast.If, ast.While, ast.IfExp, ast.BoolOp, ast.UnaryOp, ast.FormattedValue, ast.Assert)
        names: set[str] = set()
        changing: set[str] = set()
        for node, parent in self.nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                (names if isinstance(parent, asked) else changing).add(node.id)
        return frozenset(names - changing - self.shared)

    @cached_property
    def scope(self) -> Scope:
        """The names it binds itself, and those around its class."""
        return Scope(self.module, self.node.body, self.owner.scope)

    @cached_property
    def parameters(self) -> list[ast.arg]:
        """Its arguments that can be given by position."""
        return [*self.node.args.posonlyargs, *self.node.args.args]

    @cached_property
    def self_name(self) -> str | None:
        """What it calls its agent; `None` if it is static or of the class."""
        quiet = {ast.unparse(decorator) for decorator in self.node.decorator_list}
        if quiet & {"staticmethod", "classmethod"} or not self.parameters:
            return None
        return self.parameters[0].arg


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


def is_agent(declared: Class, program: Program, depth: int = 0) -> bool:
    """Whether a class is an agent."""
    if any(_follows_call(decorator, declared, program) for decorator in declared.node.decorator_list):
        return True
    for base in declared.node.bases:
        meaning = program.resolve(base.value if isinstance(base, ast.Subscript) else base, declared.scope)
        if isinstance(meaning, Outside) and meaning.name in _AGENT:
            return True
        if isinstance(meaning, Class) and depth < 32 and is_agent(meaning, program, depth + 1):
            return True
    return False


def agents_in(module: Module, program: Program) -> Iterator[AgentClass]:
    """Every agent class of a file, wherever it stands."""
    if "accord" not in module.source.text and "Agent" not in module.source.text:
        return  # nothing here can name what makes a class an agent
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
                todo.append(Scope(module, statement.body, scope))


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


def _follows_call(decorator: ast.expr, declared: Class, program: Program) -> ast.Call | None:
    if not isinstance(decorator, ast.Call) or not isinstance(decorator.func, ast.Name | ast.Attribute):
        return None
    called = program.resolve(decorator.func, declared.scope)
    return decorator if isinstance(called, Outside) and called.name in _FOLLOWS else None


def _dotted(expression: ast.expr, scope: Scope, program: Program) -> str:
    called = expression.func if isinstance(expression, ast.Call) else expression
    meaning = program.resolve(called, scope) if isinstance(called, ast.Name | ast.Attribute) else None
    return meaning.name if isinstance(meaning, Outside) else ""


def _line_of_descent(declared: Class, program: Program) -> tuple[list[Class], list[tuple[Module, ast.AST, str]]]:
    """The class and those in the files it inherits from, nearest first, and what cannot be seen of the others."""
    line = [declared]
    doubts: list[tuple[Module, ast.AST, str]] = []
    for current in line:  # it grows while it is walked
        for base in current.node.bases:
            meaning = program.resolve(base.value if isinstance(base, ast.Subscript) else base, current.scope)
            if isinstance(meaning, Class):
                if all(meaning.node is not known.node for known in line) and len(line) < 64:
                    line.append(meaning)
            elif not isinstance(meaning, Outside) or meaning.name not in _AGENT | _QUIET_BASES:
                what = f"`{declared.name}` inherits from `{ast.unparse(base)}`, which is not in the files"
                doubts.append((current.module, base, what))
        if any(keyword.arg == "metaclass" for keyword in current.node.keywords):
            doubts.append((current.module, current.node, f"`{current.name}` has a metaclass"))
    return line, doubts


def _read(declared: Class, program: Program) -> AgentClass:
    line, doubts = _line_of_descent(declared, program)
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
            doubts += [(current.module, statement, why) for why in _hidden_in_body(statement)]
        methods = {**own, **methods}
        for decorator in current.node.decorator_list:
            call = _follows_call(decorator, current, program)
            if call is not None:
                follows.append(_read_follows(call, current))
            elif _dotted(decorator, current.scope, program) not in _QUIET_DECORATORS:
                what = f"what `@{ast.unparse(decorator)[:40]}` makes of the class cannot be seen"
                doubts.append((current.module, decorator, what))
    for method in methods.values():
        _assigned(method, attributes)
        if method.name in VERBS:
            doubts.append((method.module, method.node, f"`{declared.name}` has a `{method.name}` of its own"))
    complaints: list[tuple[Module, ast.AST, str, str]] = []
    handlers = _read_handlers(methods, program, complaints, doubts)
    return AgentClass(
        declared, tuple(follows), methods, handlers, tuple(complaints), tuple(doubts), tuple(line[1:]), attributes
    )


def _hidden_in_body(statement: ast.stmt) -> Iterator[str]:
    """What a class body does that could make a handler nobody sees."""
    if isinstance(statement, ast.If | ast.For | ast.While | ast.Try | ast.With | ast.Match):
        yield "what a class body does under conditions is not followed"
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    for name in names:
        if name in VERBS or name.startswith("on_"):
            yield f"`{name}` is made while the class is"


def _read_follows(call: ast.Call, current: Class) -> Follows:
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    protocol = call.args[0] if call.args else given.get("protocol")
    return Follows(current.module, current.scope, call, protocol, given.get("as_"))


def _assigned(method: Method, attributes: dict[str, tuple[ast.expr, Scope]]) -> None:
    """What `self.name = …` says about attributes: of an annotated argument, or of an object that is made there."""
    annotations = {argument.arg: argument.annotation for argument in method.parameters + method.node.args.kwonlyargs}
    for node, _ in method.nodes:
        target: ast.expr
        value: ast.expr
        if isinstance(node, ast.AnnAssign):
            target, value = node.target, node.annotation
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            if isinstance(value, ast.Name):
                value = annotations.get(value.id) or value
        else:
            continue
        is_attribute = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)
        if is_attribute and target.value.id == method.self_name:  # type: ignore[attr-defined] # it is one
            attributes.setdefault(target.attr, (value, method.owner.scope))  # type: ignore[attr-defined]


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
            dotted = _dotted(decorator, method.owner.scope, program)
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
        what = f"what handler `{method.name}` takes is not said"
        complain(what, f"annotate `{parameters[0].arg}` with the class of the message")
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


def returned_label(function: Function | Method, program: Program, depth: int = 0) -> str | None:
    """The label of what a function returns: that of its annotation, if all it returns is seen to be so."""
    around = function.scope if isinstance(function, Function) else function.owner.scope
    scope = Scope(function.module, function.node.body, around)
    read = annotation_of(function.node.returns)
    if not isinstance(read, ast.Name | ast.Attribute) or depth > 8:
        return None
    label = label_of(program.resolve(read, around))
    returned = [node.value for node in _own_nodes(function.node) if isinstance(node, ast.Return)]
    if label is None or not returned:
        return None
    for value in returned:
        called = value.value if isinstance(value, ast.Await) else value
        meaning = program.resolve(called.func, scope) if isinstance(called, ast.Call) else None
        if isinstance(meaning, Function):
            found = returned_label(meaning, program, depth + 1)
        else:
            found = label_of(meaning) if isinstance(meaning, Class | Outside) else None
        if found != label:
            return None
    return label


def _own_nodes(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    """What stands in a function, and not in those nested in it."""
    todo: list[ast.AST] = list(function.body)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            todo.extend(ast.iter_child_nodes(node))
