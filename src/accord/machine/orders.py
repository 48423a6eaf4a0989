"""W054: results in an order in which they can never come, because a call that may be taken back holds up the next.

A guard lets a call happen only if it is legal whatever becomes of the calls that are out. Where the next call is legal
only after this one, and this one may turn out not to have been made, it waits for the result; and if the protocol wants
the result after the next call, both wait for ever. Labels alone tell that, so data is left aside; parts of an
interleaving are looked at each by itself, and what follows them is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic
from accord.language.labels import print_label
from accord.language.tree import Action
from accord.machine.tables import Plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.diagnostics import Span
    from accord.language.tree import Declaration, Protocol
    from accord.machine.contract import Contract
    from accord.machine.tables import Machine

__all__ = ["impossible_orders"]


def impossible_orders(contract: Contract) -> tuple[Diagnostic, ...]:
    """A finding for each call that would have to be made before the result of another can come."""
    if contract.document.events is not None:
        return ()  # a result need not have the label of its call there
    findings: list[Diagnostic] = []
    for declaration in contract.document.declarations:
        machine = contract.machines[declaration.name]
        called = [symbol.label for symbol in machine.symbols if symbol.direction == "!"]
        for label in dict.fromkeys(called):
            if ("?", label) in machine.by_event and contract.failure_of(label, label) != "done":
                findings += [
                    _finding(contract, declaration, label, after) for after in dict.fromkeys(_forced(machine, label))
                ]
    return tuple(sorted(findings, key=lambda finding: finding.span))


def _forced(machine: Machine, label: str) -> Iterator[str]:
    """The calls that come next after a call, where its result can come only behind them."""
    todo = [target for state in machine.states for sign, target in _edges(machine, state) if sign == ("!", label)]
    seen = set(todo)
    while todo:
        edges = list(_edges(machine, machine.states[todo.pop()]))
        if any(sign == ("?", label) for sign, _ in edges):
            continue  # the result can come at once
        for (direction, other), target in edges:
            if direction == "?" and target not in seen:
                seen.add(target)
                todo.append(target)
            elif direction == "!" and (other == label or _comes(machine, target, label)):
                yield other


def _comes(machine: Machine, start: int, label: str) -> bool:
    """Whether the result can come from there on, before the call is made again."""
    todo, seen = [start], {start}
    while todo:
        for sign, target in _edges(machine, machine.states[todo.pop()]):
            if sign == ("?", label):
                return True
            if sign != ("!", label) and target not in seen:
                seen.add(target)
                todo.append(target)
    return False


def _edges(machine: Machine, state: object) -> Iterator[tuple[tuple[str, str], int]]:
    for index, target in state.edges if isinstance(state, Plain) else ():
        symbol = machine.symbols[index]
        if not symbol.gated:
            yield (symbol.direction, symbol.label), target
        else:
            yield ("?", ""), target  # a person's step, and never a result


def _finding(contract: Contract, declaration: Declaration, label: str, after: str) -> Diagnostic:
    call, following = print_label(label), print_label(after)
    fails = contract.failure_of(label, label)
    taken_back = "is taken back if it fails" if fails == "undone" else "may not have been made if it fails"
    side_by_side = f"(!{call}.?{call} | !{following}.?{following})"
    return Diagnostic(
        "W054",
        f"`!{following}` waits for the result of `!{call}`, which comes only behind it",
        contract.document.source,
        _place(declaration.body, label, after),
        label=f"`!{call}` {taken_back}, so a guard holds this call until its result is there",
        help=f"let them run side by side, `{side_by_side}`, or say `tools {{ {call} fails done }}`",
    )


def _place(body: Protocol, label: str, after: str) -> Span:
    """Where the second call stands, behind the first one if it does anywhere."""
    actions: list[Action] = []
    todo: list[Protocol] = [body]
    while todo:
        node = todo.pop()
        if isinstance(node, Action) and node.direction == "!":
            actions.append(node)
        todo += reversed(node.children())
    first = next(index for index, action in enumerate(actions) if action.label == label)
    behind = [action for action in actions[first + 1 :] if action.label == after]
    return next(iter(behind or [action for action in actions if action.label == after])).span
