"""Calls as a guard looks at them: with the arguments that the tool will really get.

Those are the arguments that were given and the defaults of the function for the rest. They are a copy, so nobody can
change them once they have been judged. Where they are written down or shown to a person, they are JSON.
"""

from __future__ import annotations

from dataclasses import replace
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_VARARGS, CO_VARKEYWORDS, Parameter, signature
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from accord.calling import kind_of
from accord.errors import UsageError
from accord.integrations import batch
from accord.integrations.exchange import ToolCall
from accord.ledger.represent import own_copy, plain_copy
from accord.monitor.wording import MOST_LISTED, quote_text
from accord.projection.plain import NotPlainError, is_text, plain_text, plainly

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from accord.calls.nodes import Kind
    from accord.integrations.batch import Claim
    from accord.integrations.guard.handles import Handle

__all__ = ["LONGEST_NAME", "GuardedTool", "as_calls", "look_at"]

LONGEST_NAME = 500
_MOST_SIMPLE = 16
_LONGEST_SIMPLE = 2_000
_MOST_FITTING = 64
_ASYNCHRONOUS = CO_COROUTINE | CO_ASYNC_GENERATOR
_VALUES = frozenset({type(None), bool, int, float, str, bytes})


class GuardedTool:
    """A function with what is known of its parameters."""

    __slots__ = (
        "_are_values",
        "_by_place",
        "_fitting",
        "calls",
        "defaults",
        "function",
        "is_asynchronous",
        "name",
        "names",
        "takes_others",
    )

    def __init__(self, function: Callable[..., Any], name: str, calls: Kind | None) -> None:
        self.function = function
        self.name = name
        self.calls = calls
        self._fitting: set[tuple[object, ...]] = set()
        known = _from_code(function) if type(function) is FunctionType and not function.__dict__ else _asked(function)
        if known is None:
            raise UsageError(f"the tool {quote_text(name)} has parameters that cannot be given by name")
        self.names, self._by_place, self.defaults, self.takes_others, self.is_asynchronous = known
        self._are_values = not self.defaults or all(type(default) in _VALUES for default in self.defaults.values())

    def own_defaults(self) -> dict[str, Any]:
        """The defaults; containers among them are copies, because a function may change its own."""
        return self.defaults if self._are_values else own_copy(self.defaults)  # type: ignore[return-value] # a dictionary stays one

    def gather(self, given: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        """The arguments of a call in Python, by name; `TypeError` as Python itself raises it if they do not fit."""
        if not given:
            return {**self.own_defaults(), **named} if self.defaults else named
        if len(given) > self._by_place:
            raise TypeError(f"takes {self._by_place} positional arguments but {len(given)} were given")
        by_place = dict(zip(self.names, given, strict=False))
        twice = by_place.keys() & named.keys()
        if twice:
            raise TypeError(f"got multiple values for argument '{min(twice)}'")
        return {**self.own_defaults(), **by_place, **named}

    def fits(self, given: tuple[Any, ...], named: dict[str, Any]) -> bool:
        """Whether a call in Python fits the function, told by how many arguments have no name, and the names."""
        shape = (len(given), *named)
        if shape not in self._fitting:
            try:
                wrong = self.why_not(self.gather(given, named))
            except TypeError:
                return False
            if wrong is not None:
                return False
            if len(self._fitting) < _MOST_FITTING:
                self._fitting.add(shape)
        return True

    def take_simply(self, given: object, call: Handle) -> bool:
        """Give a call these arguments and the defaults for the rest, if it is plain to see that they are in order."""
        if type(given) is not dict or len(given) > _MOST_SIMPLE or self.calls is None:
            return False
        if not self.defaults or (len(given) == len(self.names) and not self.takes_others):  # or it does not fit
            own: dict[str, Any] = given.copy()
        else:
            own = {**self.own_defaults(), **given}
        for key, item in own.items():
            kind = type(item)
            if type(key) is str and (
                (kind is str and len(item) <= _LONGEST_SIMPLE and item.isascii())
                or kind is int
                or kind is bool
                or item is None
            ):
                continue
            plain = plain_copy(own)
            if plain is None:
                return False
            own, call.is_nested = plain, True
            break
        names = tuple(own)
        if names not in self._fitting:
            if self.why_not(own) is not None:
                return False
            if len(self._fitting) < _MOST_FITTING:
                self._fitting.add(names)
        call.name, call.function, call.kind, call.arguments = self.name, self.function, self.calls, own
        return True

    def why_not_exactly(self, arguments: Mapping[str, object]) -> str | None:
        """As `why_not`, where no default may be added any more."""
        left_out = [name for name in self.defaults if name not in arguments]
        return f"the argument {quote_text(left_out[0])} is missing" if left_out else self.why_not(arguments)

    def why_not(self, arguments: Mapping[str, object]) -> str | None:
        """What is wrong with the arguments of a call, in words; `None` if the function can be called with them."""
        missing = [name for name in self.names if name not in arguments and name not in self.defaults]
        if missing:
            return f"the argument {quote_text(missing[0])} is missing"
        unknown = [name for name in arguments if name not in self.names]
        if unknown and not self.takes_others:
            known = ", ".join(quote_text(name) for name in self.names[:MOST_LISTED])
            return f"there is no argument {quote_text(unknown[0])}; there is {known or 'none'}"
        return None


class _Known(NamedTuple):
    """The names of a function's parameters, those that can be given by place first; `others` if it takes any name."""

    names: tuple[str, ...]
    by_place: int
    defaults: dict[str, Any]
    others: bool
    is_asynchronous: bool


def _from_code(function: FunctionType) -> _Known | None:
    """What a function is that nothing is wrapped around and nobody has marked; `None` if it needs more than names."""
    code, given, by_name = function.__code__, function.__defaults__, function.__kwdefaults__
    flags, by_place = code.co_flags, code.co_argcount
    if code.co_posonlyargcount or flags & CO_VARARGS:
        return None
    names = code.co_varnames[: by_place + code.co_kwonlyargcount]
    defaults = dict(zip(names[by_place - len(given) : by_place], given, strict=True)) if given else {}
    if by_name:
        defaults.update({name: by_name[name] for name in names[by_place:] if name in by_name})
    return _Known(names, by_place, defaults, bool(flags & CO_VARKEYWORDS), bool(flags & _ASYNCHRONOUS))


def _asked(function: Callable[..., Any]) -> _Known | None:
    """The same of anything that can be called."""
    is_asynchronous = kind_of(function) in {"coroutine", "async generator"}
    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError):  # a builtin that does not say; all its arguments are given by name
        return _Known((), 0, {}, others=True, is_asynchronous=is_asynchronous)
    kinds = {parameter.kind for parameter in parameters}
    if Parameter.POSITIONAL_ONLY in kinds or Parameter.VAR_POSITIONAL in kinds:
        return None
    named = [p for p in parameters if p.kind is not Parameter.VAR_KEYWORD]
    return _Known(
        tuple(p.name for p in named),
        sum(p.kind is Parameter.POSITIONAL_OR_KEYWORD for p in named),
        {p.name: p.default for p in named if p.default is not Parameter.empty},
        Parameter.VAR_KEYWORD in kinds,
        is_asynchronous,
    )


def as_calls(calls: Iterable[ToolCall]) -> list[ToolCall]:
    """The calls of a batch as they are now: each thing about them is read once, and texts are plain ones.

    What a class does in their place when it is asked again, or compared, decides nothing.
    """
    if type(calls) is list:
        for call in calls:
            if type(call) is not ToolCall or type(call.name) is not str or type(call.id) is not str:
                break
        else:
            return calls.copy()
    batch = list(calls) if not isinstance(calls, ToolCall) else []
    if not all(isinstance(call, ToolCall) for call in batch) or isinstance(calls, ToolCall):
        raise UsageError("a guard is given a list of `ToolCall`s")
    return [_as_call(call) for call in batch]


def _as_call(call: ToolCall) -> ToolCall:
    name, identity = call.name, call.id
    if type(call) is ToolCall and type(name) is str and type(identity) is str:
        return call
    identity = "" if identity is None else identity
    return ToolCall(
        plain_text(name) if isinstance(name, str) else name,
        call.arguments,
        plain_text(identity) if isinstance(identity, str) else identity,
        cut_off=getattr(call, "cut_off", False) is True,
    )


def look_at(
    calls: Iterable[ToolCall], tools: Mapping[str, GuardedTool] | None, *, strict: bool, by_program: bool = False
) -> list[Claim]:
    """The calls, each with its arguments, or with what is wrong with it; without `tools`, any name is one.

    If `strict`, arguments must be JSON; else only those of calls with an id must, because only they are compared. The
    arguments of a call that a program makes, and not a model, stay what they are where they need not be JSON.
    """
    functions = None if tools is None else {name: tool.function for name, tool in tools.items()}
    return [
        _complete(_usable(claim), tools, strict=strict or bool(claim.call.id), by_program=by_program)
        for claim in batch.look_at(calls, functions)
    ]


def _usable(claim: Claim) -> Claim:
    """The claim, with a fault if its name or its id is no text that can be kept."""
    for what, text in (("name", claim.call.name), ("id", claim.call.id)):
        if isinstance(text, str) and not (len(text) <= LONGEST_NAME and is_text(text)):
            return replace(claim, fault=f"the {what} of a call is a text of {LONGEST_NAME} characters at the most")
    return claim


def _complete(claim: Claim, tools: Mapping[str, GuardedTool] | None, *, strict: bool, by_program: bool) -> Claim:
    if claim.fault is not None or claim.arguments is None:
        return claim
    arguments = claim.arguments
    if tools is not None:
        tool = tools[claim.call.name]
        why = tool.why_not(arguments)
        if why is not None:
            return replace(claim, fault=f"{quote_text(claim.call.name)} cannot be called like this: {why}")
        arguments = {**tool.own_defaults(), **arguments} if tool.defaults else arguments
    if (strict or not by_program) and plain_copy(arguments) is None:
        try:
            arguments = plainly(arguments)
        except NotPlainError as error:
            if strict:
                return replace(claim, fault=f"the arguments of {quote_text(claim.call.name)} are no JSON: {error}")
    return claim if arguments is claim.arguments else replace(claim, arguments=arguments)
