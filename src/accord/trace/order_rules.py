"""Order rules of a trace configuration, compiled to a contract of accord's own language.

Each line of the configuration is a rule; an allow-list is a protocol in which every listed tool may be called at any
time. A call of `pay` is `!pay`, a result of it that was ok is `?pay`. The contract is an ordinary one: what a trace is
held to can be shown, replayed, and put before a live agent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from accord.choreography.compiling import compile_contract
from accord.errors import UsageError
from accord.language import print_document
from accord.language.labels import normalise
from accord.language.rules import After, AtMost, Before, ForbidSequence, Happened, Pattern, Rule
from accord.language.tree import Action, Choice, Declaration, Document, End, Recursion, Variable, sequence
from accord.trace.violations import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accord.language.rules import RuleBody
    from accord.language.tree import Direction, Protocol
    from accord.machine.contract import Contract
    from accord.trace.config import ToolOrderConfig, TraceContractsConfig

__all__ = ["OrderPlan", "OrderRule", "order_plan", "order_rules", "rules_in"]

_MOST = 1_000_000


@dataclass(frozen=True, slots=True)
class OrderRule:
    """A rule of the configuration: what it is called, what it means, and what a violation of it tells."""

    name: str
    kind: str
    body: RuleBody
    facts: dict[str, Any]
    text: str
    length: int = 0
    """For calls at once after each other: how many."""


@dataclass(frozen=True, slots=True)
class OrderPlan:
    """All order rules, compiled."""

    contract: Contract | None
    rules: tuple[OrderRule, ...]
    results: frozenset[str]
    """The tools of which results matter."""
    tools: frozenset[str] | None
    """The tools that there may be; `None` if any."""
    listed: bool
    """Whether they stand in a list of their own."""
    longest: int
    """How many of the last calls have to be known."""


def rules_in(order: ToolOrderConfig) -> Iterator[OrderRule]:
    """The rules, in the order of the configuration; `UsageError` for one that makes no sense."""
    for first, then in _pairs(order.must_precede):
        yield _before("must_precede", then, first)
    for then, first in _pairs(order.must_follow):
        yield _before("must_follow", then, first)
    for then, first in _pairs(order.only_after_success):
        yield _after_success(then, first)
    for first, then in _pairs(order.eventually):
        yield _eventually(first, then)
    for tools in order.forbidden_sequences:
        yield _forbidden("forbidden_sequences", list(tools), adjacent=True)
    for tools in order.forbidden_subsequences:
        yield _forbidden("forbidden_subsequences", list(tools), adjacent=False)
    for tool, number in order.at_most.items():
        yield _at_most(tool, number)


def _pairs(rules: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    return ((tool, other) for tool, others in rules.items() for other in others)


def _before(kind: str, then: str, first: str) -> OrderRule:
    if then == first:
        raise UsageError(f"`{kind}`: {shown(then)} cannot come before itself")
    body = Before(_pattern(then), Happened(_pattern(first)))
    text = f"{shown(then)} needs an earlier {shown(first)}"
    return OrderRule(f"{kind}: {first} before {then}", kind, body, {"tool": then, "required": first}, text)


def _after_success(then: str, first: str) -> OrderRule:
    body = Before(_pattern(then), Happened(_pattern(first, "?")))
    text = f"{shown(then)} needs an earlier {shown(first)} that went well"
    facts = {"tool": then, "required": first}
    return OrderRule(f"only_after_success: {then} after {first}", "only_after_success", body, facts, text)


def _eventually(first: str, then: str) -> OrderRule:
    if first == then:
        raise UsageError(f"`eventually`: {shown(first)} cannot be waited for after itself")
    body = After(_pattern(first), Happened(_pattern(then)))
    text = f"after {shown(first)}, {shown(then)} must be called before the run ends"
    return OrderRule(f"eventually: {then} after {first}", "eventually", body, {"tool": first, "required": then}, text)


def _at_most(tool: str, number: int) -> OrderRule:
    if type(number) is not int or not 0 <= number <= _MOST:
        raise UsageError(f"`at_most` says how often {shown(tool)} may be called, got {number!r}")
    times = "once" if number == 1 else f"{number} times"
    text = f"{shown(tool)} may be called at most {times}" if number else f"{shown(tool)} may not be called"
    facts: dict[str, Any] = {"tool": tool, "limit": number}
    return OrderRule(f"at_most: {number} {tool}", "at_most", AtMost(number, _pattern(tool)), facts, text)


def _forbidden(kind: str, tools: list[str], *, adjacent: bool) -> OrderRule:
    if not tools:
        raise UsageError(f"`{kind}`: a sequence names at least one tool")
    patterns = tuple(map(_pattern, tools))
    joined = (" then " if adjacent else " ... ").join(tools)
    words = (" at once after " if adjacent else " after ").join(map(shown, reversed(tools)))
    facts = {"tool": tools[-1], "sequence": tools}
    if len(tools) == 1:
        return OrderRule(f"{kind}: {joined}", kind, AtMost(0, patterns[0]), facts, f"{words} may not be called")
    body = ForbidSequence(patterns, (adjacent,) * (len(tools) - 1))
    length = len(tools) if adjacent else 0
    return OrderRule(f"{kind}: {joined}", kind, body, facts, f"{words} is forbidden", length)


def order_plan(contracts: TraceContractsConfig, also: Iterable[str] = ()) -> OrderPlan:
    """Everything about the order of tools; `also` are tools that other contracts name."""
    order = contracts.tool_order
    rules = tuple({rule.name: rule for rule in rules_in(order)}.values())
    named = {normalise(tool) for tool in (*contracts.tool_payloads.tools, *_named(order))}
    tools: set[str] | None = None
    if order.allowed_tools is not None:
        tools = {normalise(_checked(tool)) for tool in order.allowed_tools}
    elif not order.allow_unknown_tools and named:
        tools = named | {normalise(tool) for tool in also}
    results = {normalise(tool) for others in order.only_after_success.values() for tool in others}
    document = Document(
        (*((_allowing(tools, results),) if tools else ()), *(Rule(rule.name, rule.body) for rule in rules))
    )
    contract = compile_contract(document) if tools or rules else None
    return OrderPlan(
        contract,
        rules,
        frozenset(results),
        None if tools is None else frozenset(tools),
        order.allowed_tools is not None,
        max((rule.length for rule in rules), default=0),
    )


def order_rules(contracts: TraceContractsConfig) -> dict[str, Any]:
    """The rules as they were written, and the text of the contract that they compile to."""
    order = contracts.tool_order
    plan = order_plan(contracts)
    return {
        "allow_unknown_tools": order.allow_unknown_tools,
        "must_precede": {tool: list(others) for tool, others in order.must_precede.items()},
        "must_follow": {tool: list(others) for tool, others in order.must_follow.items()},
        "only_after_success": {tool: list(others) for tool, others in order.only_after_success.items()},
        "eventually": {tool: list(others) for tool, others in order.eventually.items()},
        "forbidden_sequences": [list(tools) for tools in order.forbidden_sequences],
        "forbidden_subsequences": [list(tools) for tools in order.forbidden_subsequences],
        "at_most": dict(order.at_most),
        "allowed_tools": None if order.allowed_tools is None else list(order.allowed_tools),
        "contract": None if plan.contract is None else print_document(plan.contract.document),
    }


def _allowing(tools: set[str], results: set[str]) -> Declaration:
    """`rec Next.{!a.Next, …, end}`: every tool at any time."""
    steps: list[tuple[Direction, str]] = [("!", tool) for tool in sorted(tools)]
    steps += [("?", tool) for tool in sorted(results)]
    branches: list[Protocol] = [sequence([Action(way, tool), Variable("Next")]) for way, tool in steps]
    return Declaration("Tools", Recursion("Next", Choice((*branches, End()))))


def _named(order: ToolOrderConfig) -> Iterator[str]:
    for rules in (order.must_precede, order.must_follow, order.only_after_success, order.eventually):
        for tool, others in rules.items():
            yield tool
            yield from others
    for sequences in (order.forbidden_sequences, order.forbidden_subsequences):
        for tools in sequences:
            yield from tools
    yield from order.at_most


def _pattern(tool: str, direction: Direction = "!") -> Pattern:
    return Pattern(normalise(_checked(tool)), direction)


def _checked(tool: object) -> str:
    if not isinstance(tool, str) or not tool:
        raise UsageError(f"the name of a tool is a text, got {tool!r}")
    return tool
