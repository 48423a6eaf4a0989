"""Protocols between roles, records and enums in Python code; `accord.build` offers these functions too.

Example:
    >>> from accord import build as b
    >>> print(b.contract(
    ...     b.record("Pay", amount="Int"),
    ...     b.between(
    ...         "Buying",
    ...         b.exchange("Buyer", "Seller", "Offer"),
    ...         b.choice_at("Seller", [b.exchange("Seller", "Buyer", "Yes")], [b.exchange("Seller", "Buyer", "No")]),
    ...     ),
    ... ), end="")
    record Pay { amount: Int }
    <BLANKLINE>
    protocol Buying {
        Buyer -> Seller: Offer
        choice at Seller {
            Seller -> Buyer: Yes
        } or {
            Seller -> Buyer: No
        }
    }
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Source
from accord.errors import ContractError, UsageError
from accord.language.global_tree import (
    DEEPEST,
    Call,
    Continue,
    Enumeration,
    Exchange,
    GlobalChoice,
    GlobalLoop,
    GlobalProtocol,
    GlobalStep,
    Parallel,
    Record,
    blocks_in,
)
from accord.language.labels import is_name, normalise, print_label
from accord.language.parser import parse_document
from accord.limits import DEFAULT_LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accord.language.global_tree import Block

__all__ = ["again", "all_at_once", "between", "choice_at", "do", "enum", "exchange", "record", "repeat"]


def between(name: str, *steps: GlobalStep, roles: Iterable[str] | None = None) -> GlobalProtocol:
    """`protocol Name { … }`, with a `roles` line if they are given."""
    body = _block(steps)
    _check_depth(body)
    return GlobalProtocol(_name(name), body, None if roles is None else tuple(map(_name, roles)))


def exchange(sender: str, receiver: str, label: str) -> Exchange:
    """`A -> B: label`."""
    if not isinstance(label, str) or not label:
        raise UsageError(f"expected a label, got {label!r}")
    return Exchange(_name(sender), _name(receiver), normalise(label))


def choice_at(decider: str, *branches: Iterable[GlobalStep], crash: Iterable[GlobalStep] | None = None) -> GlobalChoice:
    """`choice at A {…} or {…}`, with `or crash A {…}` if that is given; a branch is a list of steps."""
    if not branches:
        raise UsageError("a choice needs at least one branch")
    return GlobalChoice(_name(decider), tuple(map(_block, branches)), None if crash is None else _block(crash))


def repeat(name: str, *steps: GlobalStep) -> GlobalLoop:
    """`rec Name {…}`."""
    return GlobalLoop(_name(name), _block(steps))


def again(name: str) -> Continue:
    """`continue Name`."""
    return Continue(_name(name))


def all_at_once(*parts: Iterable[GlobalStep]) -> Parallel:
    """`par {…} and {…}`; a part is a list of steps."""
    if len(parts) < 2:
        raise UsageError("`par` needs at least two parts")
    return Parallel(tuple(map(_block, parts)))


def do(protocol: str, **roles: str) -> Call:
    """`do Protocol(Role = Role, …)`: who plays each role of another protocol."""
    return Call(_name(protocol), tuple((_name(formal), _name(actual)) for formal, actual in roles.items()))


def record(name: str, *, is_open: bool = False, **fields: str) -> Record:
    """`record Name { field: Type, … }`; types are written as in a contract: `"List<Int>"`."""
    written = ", ".join(f"{print_label(field)}: {type_}" for field, type_ in fields.items())
    document, problems = parse_document(Source(f"record {_name(name)} {{ {written} }}", "<built>"), DEFAULT_LIMITS)
    if problems:
        raise ContractError(tuple(problems))
    item = document.items[0]
    if len(document.items) != 1 or not isinstance(item, Record) or len(item.fields) != len(fields):
        raise UsageError(f"a field has a type such as `List<Int>`, got {fields!r}")
    return Record(item.name, item.fields, is_open)


def enum(name: str, *members: str) -> Enumeration:
    """`enum Name { a, b }`."""
    if not members or any(not isinstance(member, str) or not member for member in members):
        raise UsageError(f"an enum has members, which are texts, got {members!r}")
    return Enumeration(_name(name), tuple(map(normalise, members)))


def _block(steps: Iterable[GlobalStep]) -> Block:
    block = tuple(steps)
    for step in block:
        if not isinstance(step, GlobalStep):
            raise UsageError(f"expected a step between roles, got {step!r}")
    return block


def _check_depth(block: Block) -> None:
    todo = [(block, 0)]
    while todo:
        here, depth = todo.pop()
        if depth > DEEPEST:
            raise UsageError(f"blocks are nested deeper than {DEEPEST}")
        todo += [(inner, depth + 1) for step in here for inner in blocks_in(step)]


def _name(name: str) -> str:
    if not isinstance(name, str) or not is_name(name):
        raise UsageError(f"expected a name, got {name!r}")
    return normalise(name)
