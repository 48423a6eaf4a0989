"""What one role sees of a protocol: everything else erased, then made deterministic by subsets.

A *view* is a table of subsets. A subset holds every state the whole protocol can be in as far as the role can tell.
This is projection: the subsets are the states of the role's own machine, and what is wrong with a protocol shows in
them (see `implementability`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from accord.machine.minimise import minimise
from accord.machine.tables import Machine, Plain, Symbol

if TYPE_CHECKING:
    from accord.choreography.tables import GlobalMachine, Message

__all__ = ["View", "machine_of", "parts_of", "view_of"]


@dataclass(frozen=True, slots=True)
class View:
    """The subsets that a role can be in; 0 is the first. Edges go by the numbers of messages."""

    role: str
    own: frozenset[int]
    """The messages that the role sends or receives."""
    subsets: tuple[frozenset[int], ...]
    edges: tuple[dict[int, int], ...]


def view_of(machine: GlobalMachine, role: str, most: int) -> View | None:
    """The role's view; `None` if its subsets have more than `most` members together."""
    moves = machine.moves
    own = frozenset([number for number, (s, r, _) in enumerate(machine.messages) if role in (s, r)])
    number_of: dict[frozenset[int], int] = {}
    subsets: list[frozenset[int]] = []
    edges: list[dict[int, int]] = []
    by_kernel: dict[frozenset[int], int] = {}
    members = 0

    def close(kernel: frozenset[int]) -> int:
        """The number of the subset of these states and all that can follow unseen."""
        nonlocal members
        known = by_kernel.get(kernel)
        if known is not None:
            return known
        seen = set(kernel)
        stack = list(kernel)
        while stack:
            for move in moves[stack.pop()]:
                if move[0] not in own and move[1] not in seen:
                    seen.add(move[1])
                    stack.append(move[1])
        subset = frozenset(seen)
        number = number_of.get(subset)
        if number is None:
            number = number_of[subset] = len(subsets)
            subsets.append(subset)
            members += len(subset)
        by_kernel[kernel] = number
        return number

    close(frozenset((0,)))
    for subset in subsets:  # it grows while it is walked
        if members > most:
            return None
        targets: dict[int, set[int]] = {}
        for state in subset:
            for move in moves[state]:
                if move[0] in own:
                    targets.setdefault(move[0], set()).add(move[1])
        edges.append({message: close(frozenset(after)) for message, after in targets.items()})
    return View(role, own, tuple(subsets), tuple(edges))


def machine_of(view: View, machine: GlobalMachine) -> Machine:
    """The role's machine, minimal: `Partner!label` where it sends, `Partner?label` where it receives.

    It may stop where the whole protocol may be over, and where nothing more can come.
    """
    symbols = {number: _symbol(machine.messages[number], view.role) for number in sorted(view.own)}
    position = {number: at for at, number in enumerate(symbols)}
    states = []
    for subset, edges in zip(view.subsets, view.edges, strict=True):
        over = not edges or any(machine.stops[state] == "end" for state in subset)
        states.append(Plain(tuple([(position[m], t) for m, t in edges.items()]), "end" if over else None))
    return minimise(Machine(tuple(symbols.values()), tuple(states), machine.name))


def _symbol(message: Message, role: str) -> Symbol:
    sender, receiver, label = message
    return Symbol("!", label, receiver) if sender == role else Symbol("?", label, sender)


def parts_of(machine: GlobalMachine, role: str) -> dict[Symbol, frozenset[tuple[int, int]]]:
    """For each symbol of a role, in which parts of which `par` it stands."""
    found: dict[Symbol, frozenset[tuple[int, int]]] = {}
    for node in machine.nodes:
        message = machine.messages[node.message]
        if role in message[:2]:
            symbol = _symbol(message, role)
            found[symbol] = found.get(symbol, frozenset()) | frozenset(node.thread)
    return found
