"""How a class says what it is: `@follows` names its roles, methods `on_…` and `@on` take its messages.

What can be wrong with a declaration is found while the class is made, everything at once: a protocol or a role that is
not there, a message class that is not the record of its name. What only all roles together can tell, such as a handler
for a message of none of them, is found when the class is given to a supervisor.
"""

from __future__ import annotations

import inspect
import sys
import typing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from accord.agents.following import follow
from accord.agents.messages import classes_in, is_message_class, label_of
from accord.diagnostics import did_you_mean
from accord.diagnostics.agent_codes import MISFIT, NEVER_CALLED, UNCLEAR, UNKNOWN_ROLE
from accord.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from accord.agents.following import Following

__all__ = ["Declaration", "Handler", "declaration_of", "follows", "on"]

_ROLES = "__accord_roles__"
_TYPES = "__accord_types__"
_SCOPE = "__accord_scope__"
_START = "on_start"

C = TypeVar("C", bound=type)
F = TypeVar("F", bound="Callable[..., Any]")


@dataclass(frozen=True, slots=True)
class Handler:
    """A method that takes messages of a class."""

    method: str
    message_class: type


class _Problem(NamedTuple):
    """Something that is wrong with a declaration, and the code of it."""

    code: str
    what: str


@dataclass(frozen=True, slots=True)
class Declaration:
    """What an agent class declares: its roles, and a handler for each label it takes by itself."""

    name: str
    roles: tuple[Following, ...]
    handlers: Mapping[str, Handler]


def follows(protocol: object, *, as_: str) -> Callable[[C], C]:
    """Declare that an agent plays a role of a protocol; several on one class are independent of each other.

    `protocol` is a contract's text, the `Path` of its file, or a contract that `accord.load` or `accord.compile` made.
    Where that declares several protocols, `contract["Name"]` is one of them.

    Example:
        >>> from dataclasses import dataclass
        >>> from accord.agents import Agent, follows
        >>> @dataclass
        ... class Ping:
        ...     number: int
        >>> @follows("record Ping { number: Int } protocol P { A -> B: Ping }", as_="B")
        ... class Listener(Agent):
        ...     async def on_ping(self, ping: Ping) -> None:
        ...         print(ping.number)
    """
    if not isinstance(as_, str):
        raise UsageError(f"a role is named by a `str`, got `{type(as_).__name__}`", code=UNKNOWN_ROLE)
    following = follow(protocol, as_)

    def declare(agent: C) -> C:
        if not isinstance(agent, type):
            raise UsageError(f"`@follows` stands on a class, got `{type(agent).__name__}`")
        roles: tuple[Following, ...] = getattr(agent, _ROLES, ())
        for other in roles:
            if other.part == following.part:
                what = f"`{agent.__name__}` follows `{other.protocol}` as `{other.role}` twice"
                raise UsageError(what, code=UNCLEAR)
        scope = _scope_of(agent, sys._getframe(1).f_locals)  # noqa: SLF001 - where the class is being defined
        problems = list(_unfit(agent, following, scope))
        if problems:
            raise _refused(agent, problems)
        setattr(agent, _ROLES, (following, *roles))
        setattr(agent, _SCOPE, scope)
        return agent

    return declare


def on(message_class: Any) -> Callable[[F], F]:  # noqa: ANN401 - `A` or `A | B`
    """Declare that a method takes messages of a class, whatever its name and its annotations."""
    classes = classes_in(message_class)
    if classes is None:
        raise UsageError(f"`@on` names the class of a message, got {message_class!r}", code=UNCLEAR)

    def declare(method: F) -> F:
        setattr(method, _TYPES, classes)
        return method

    return declare


def declaration_of(agent: type) -> Declaration:
    """What a class declares; `UsageError` with everything that is wrong with it."""
    roles: tuple[Following, ...] = getattr(agent, _ROLES, ())
    if not roles:
        what = f"`{agent.__name__}` follows no protocol; write `@follows(protocol, as_=…)` above it"
        raise UsageError(what, code=UNCLEAR)
    handlers: dict[str, Handler] = {}
    problems: list[_Problem] = []
    taken = {label for role in roles for label in role.receives}
    for handler in _handlers(agent, getattr(agent, _SCOPE), problems):
        label = label_of(handler.message_class)
        if label in handlers:
            problems.append(_Problem(UNCLEAR, f"`{handlers[label].method}` and `{handler.method}` both take `{label}`"))
        elif label not in taken:
            meant = did_you_mean(label, taken)
            hint = f"; did you mean `{meant}`?" if meant else ""
            what = f"`{handler.method}` takes `{label}`, which no role of it ever receives{hint}"
            problems.append(_Problem(NEVER_CALLED, what))
        handlers.setdefault(label, handler)
    if problems:
        raise _refused(agent, problems)
    return Declaration(agent.__name__, roles, handlers)


def _unfit(agent: type, following: Following, scope: Mapping[str, Any]) -> Iterator[_Problem]:
    """What is wrong with the message classes that can be known by now."""
    problems: list[_Problem] = []
    handled = {label_of(h.message_class): h.message_class for h in _handlers(agent, scope, problems)}
    yield from problems
    for label in sorted({*following.sends, *following.receives}):
        message_class = handled.get(label, scope.get(label))
        if is_message_class(message_class) and label_of(message_class) == label:
            yield from (_Problem(MISFIT, what) for what in following.unfit(message_class, scope))


def _handlers(agent: type, scope: Mapping[str, Any], problems: list[_Problem]) -> Iterator[Handler]:
    for name, method in inspect.getmembers(agent, inspect.isfunction):
        explicit = getattr(method, _TYPES, None)
        if explicit is None and (name == _START or not name.startswith("on_")):
            continue
        if not inspect.iscoroutinefunction(method):
            problems.append(_Problem(UNCLEAR, f"`{name}` is no `async def`"))
            continue
        parameters = list(inspect.signature(method).parameters.values())[1:]
        if len(parameters) != 1:
            what = f"`{name}` takes {len(parameters)} arguments beside `self`: a handler takes the message"
            problems.append(_Problem(UNCLEAR, what))
            continue
        annotation = _annotated(method, parameters[0].name, scope)
        classes = explicit or classes_in(annotation)
        if classes is None:
            what = (
                f"`{parameters[0].name}` of `{name}` is not annotated with the class of a message (a dataclass, "
                "a msgspec Struct or a pydantic model)"
            )
            is_class = isinstance(annotation, type) and annotation.__module__ != "builtins"
            problems.append(_Problem(MISFIT if is_class else UNCLEAR, what))
            continue
        for message_class in classes:
            yield Handler(name, message_class)


def _annotated(method: Callable[..., Any], parameter: str, scope: Mapping[str, Any]) -> object:
    annotation = method.__annotations__.get(parameter)
    if isinstance(annotation, str):
        try:
            hints = typing.get_type_hints(_Only({parameter: annotation}), method.__globals__, dict(scope))
        except Exception:  # noqa: BLE001 - whatever the text does when it is looked at, it names no class
            return None
        annotation = hints[parameter]
    return annotation


class _Only:
    """One annotation alone: the others of a method need not be resolved."""

    def __init__(self, annotations: dict[str, str]) -> None:
        self.__annotations__ = annotations


def _scope_of(agent: type, around: Mapping[str, Any]) -> dict[str, Any]:
    """The names that the class's own text can use."""
    module = sys.modules.get(agent.__module__)
    return {**(vars(module) if module is not None else {}), **around}


def _refused(agent: type, problems: list[_Problem]) -> UsageError:
    """Everything in one error. Where that is several things each line has its code, and the error that of the first."""
    first = problems[0]
    if len(problems) == 1:
        return UsageError(f"agent `{agent.__name__}`: {first.what}", code=first.code)
    error = UsageError(f"agent `{agent.__name__}`:" + "".join(f"\n  - {code}: {what}" for code, what in problems))
    error.code = first.code
    return error
