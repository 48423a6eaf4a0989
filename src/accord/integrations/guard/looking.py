"""Calls as a guard looks at them: with the arguments that the tool will really get.

Those are the arguments that were given and the defaults of the function for the rest. They are a copy, so nobody can
change them once they have been judged. Where they are written down or shown to a person, they are JSON.
"""

from __future__ import annotations

from dataclasses import replace
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

from accord.errors import UsageError
from accord.integrations import batch, payloads
from accord.ledger.represent import plain_copy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from accord.integrations.batch import Claim
    from accord.integrations.exchange import ToolCall

__all__ = ["GuardedTool", "look_at"]


class GuardedTool:
    """A function with what is known of its parameters."""

    __slots__ = ("defaults", "function", "names", "takes_others")

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self.function = function
        self.names: tuple[str, ...] = ()
        self.defaults: dict[str, Any] = {}
        self.takes_others = True
        try:
            parameters = signature(function).parameters.values()
        except (TypeError, ValueError):  # a builtin that does not say; all its arguments are given by name
            return
        kinds = {parameter.kind for parameter in parameters}
        if Parameter.POSITIONAL_ONLY in kinds or Parameter.VAR_POSITIONAL in kinds:
            raise UsageError(f"the tool `{name}` has parameters that cannot be given by name")
        self.takes_others = Parameter.VAR_KEYWORD in kinds
        named = [p for p in parameters if p.kind is not Parameter.VAR_KEYWORD]
        self.names = tuple(p.name for p in named)
        self.defaults = {p.name: p.default for p in named if p.default is not Parameter.empty}

    def gather(self, given: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        """The arguments of a call in Python, by name; `TypeError` as Python itself raises it if they do not fit."""
        if not given and not self.defaults:
            return named
        if len(given) > len(self.names):
            raise TypeError(f"takes {len(self.names)} arguments but {len(given)} were given")
        by_place = dict(zip(self.names, given, strict=False))
        twice = by_place.keys() & named.keys()
        if twice:
            raise TypeError(f"got multiple values for argument '{min(twice)}'")
        return {**self.defaults, **by_place, **named}

    def why_not(self, arguments: Mapping[str, object]) -> str | None:
        """What is wrong with the arguments of a call, in words; `None` if the function can be called with them."""
        missing = [name for name in self.names if name not in arguments and name not in self.defaults]
        if missing:
            return f"the argument `{missing[0]}` is missing"
        unknown = [name for name in arguments if name not in self.names]
        if unknown and not self.takes_others:
            return f"there is no argument `{unknown[0]}`; there is {', '.join(self.names) or 'none'}"
        return None


def look_at(calls: Iterable[ToolCall], tools: Mapping[str, GuardedTool] | None, *, strict: bool) -> list[Claim]:
    """The calls, each with its arguments, or with what is wrong with it; without `tools`, any name is one.

    If `strict`, arguments are JSON; else only those of calls with an id are, because only they are compared.
    """
    functions = None if tools is None else {name: tool.function for name, tool in tools.items()}
    return [_complete(claim, tools, strict=strict) for claim in batch.look_at(calls, functions)]


def _complete(claim: Claim, tools: Mapping[str, GuardedTool] | None, *, strict: bool) -> Claim:
    if claim.fault is not None or claim.arguments is None:
        return claim
    arguments = claim.arguments
    if tools is not None:
        tool = tools[claim.call.name]
        why = tool.why_not(arguments)
        if why is not None:
            return replace(claim, fault=f"`{claim.call.name}` cannot be called like this: {why}")
        arguments = {**tool.defaults, **arguments} if tool.defaults else arguments
    if (strict or claim.call.id) and plain_copy(arguments) is None:
        why = payloads.why_not_json(arguments)
        if why is not None:
            return replace(claim, fault=f"the arguments of `{claim.call.name}` are no JSON: {why}")
    return replace(claim, arguments=arguments)
