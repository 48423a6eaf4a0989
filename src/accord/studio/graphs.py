"""Machines as graphs: nodes and edges with their words, and nothing about how they look.

Of a large machine only the states around where the session is are told; `hidden` says how many are not.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from accord.choreography import compile_choreography
from accord.diagnostics.visible import clip, visible
from accord.language.details import print_slice
from accord.language.durations import print_duration
from accord.language.global_firsts import Shapes
from accord.language.global_tree import CRASH, Call, Continue, Exchange, GlobalChoice, GlobalLoop
from accord.machine.draw.text import neighbourhood
from accord.machine.tables import Fork

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from accord.language.global_tree import Block, GlobalStep
    from accord.machine.contract import Contract
    from accord.machine.tables import Machine

__all__ = ["graph_of", "roles_of"]

_WIDEST = 60
_MOST_ROWS = 2_000


def graph_of(machine: Machine, around: Iterable[int], most: int | None) -> dict[str, object]:
    """The states of a machine and what leads from one to the other; `most` of them, the nearest to `around`."""
    count = len(machine.states)
    shown = frozenset(range(count)) if most is None or count <= most else neighbourhood(machine, [*around, 0], most)
    nodes: list[dict[str, object]] = []
    edges: list[dict[str, object]] = []
    for number in sorted(shown):
        state = machine.states[number]
        kind = "fork" if isinstance(state, Fork) else "state"
        cut = sum(target not in shown for target in state.targets)
        nodes.append({"id": number, "kind": kind, "stop": state.stop, "first": number == 0, "cut": cut})
        edges += [{"from": number, **edge} for edge in _edges(machine, number) if edge["to"] in shown]
    title = visible(machine.name) if machine.name else "protocol"
    return {
        "title": title,
        "each": None if machine.each is None else visible(print_slice(machine.each).removesuffix(":")),
        "states": count,
        "hidden": count - len(shown),
        "nodes": nodes,
        "edges": edges,
        "registers": list(machine.registers),
    }


def _edges(machine: Machine, number: int) -> Iterator[dict[str, object]]:
    state = machine.states[number]
    if isinstance(state, Fork):
        for part, times in Counter(state.parts).items():
            yield {"to": part, "kind": "part", "text": "part" if times == 1 else f"{times} parts"}
        yield {"to": state.join, "kind": "join", "text": "then"}
        return
    for index, target in state.edges:
        symbol = machine.symbols[index]
        kind = "send" if symbol.direction == "!" else "gate" if symbol.gated else "receive"
        yield {"to": target, "kind": kind, "text": clip(symbol.word, _WIDEST), "word": symbol.word}
    if state.late is not None:
        yield {"to": state.late.target, "kind": "late", "text": f"after {print_duration(state.late.milliseconds)}"}


def roles_of(contract: Contract, name: str, most: int) -> dict[str, object]:
    """A protocol between roles: each role's own machine, and the rows of a sequence diagram."""
    choreography = compile_choreography(contract, name)
    tree = next(protocol for protocol in contract.document.globals if protocol.name == name)
    rows: list[dict[str, object]] = []
    for row in _rows(tree.body, {role: role for role in tree.roles}, Shapes(contract.document.globals), 0):
        if len(rows) == _MOST_ROWS:
            rows.append({"row": "more", "depth": 0})
            break
        rows.append(row)
    return {
        "name": name,
        "kind": "roles",
        "timed": False,
        "roles": list(choreography.roles),
        "graphs": {role: graph_of(machine, [0], most) for role, machine in choreography.machines.items()},
        "sequence": rows,
    }


def _rows(block: Block, roles: Mapping[str, str], shapes: Shapes, depth: int) -> Iterator[dict[str, object]]:
    for step in block:
        yield from _step(step, roles, shapes, depth)


def _step(step: GlobalStep, roles: Mapping[str, str], shapes: Shapes, depth: int) -> Iterator[dict[str, object]]:
    """The rows of one step; a frame is opened, divided and closed by rows of its own."""
    if isinstance(step, Exchange):
        sender, receiver = roles[step.sender], roles[step.receiver]
        yield {"row": "message", "depth": depth, "from": sender, "to": receiver, "text": visible(step.label)}
    elif isinstance(step, Continue):
        yield {"row": "note", "depth": depth, "text": f"continue {visible(step.variable)}"}
    elif isinstance(step, GlobalLoop):
        yield {"row": "open", "depth": depth, "text": f"loop {visible(step.variable)}"}
        yield from _rows(step.body, roles, shapes, depth + 1)
        yield {"row": "close", "depth": depth}
    elif isinstance(step, Call):
        yield {"row": "note", "depth": depth, "text": f"do {visible(step.protocol)}"}
        inside = {formal: roles[actual] for formal, actual in step.arguments}
        yield from _rows(shapes.protocols[step.protocol].body, inside, shapes, depth)
    elif isinstance(step, GlobalChoice):
        decider = visible(roles[step.decider])
        for index, branch in enumerate(step.branches):
            opened = f"{decider} decides"
            yield {"row": "divide" if index else "open", "depth": depth, "text": "or" if index else opened}
            yield from _rows(branch, roles, shapes, depth + 1)
        if step.crash is not None:
            notices = roles[shapes.firsts(step.crash)[0].sender]
            yield {"row": "divide", "depth": depth, "text": f"{decider} crashes"}
            yield {"row": "message", "depth": depth + 1, "from": roles[step.decider], "to": notices, "text": CRASH}
            yield from _rows(step.crash, roles, shapes, depth + 1)
        yield {"row": "close", "depth": depth}
    else:
        for index, part in enumerate(step.parts):
            yield {"row": "divide" if index else "open", "depth": depth, "text": "and" if index else "side by side"}
            yield from _rows(part, roles, shapes, depth + 1)
        yield {"row": "close", "depth": depth}
