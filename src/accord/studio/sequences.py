"""Protocols between roles as the page draws them: each role's own machine, and the rows of a sequence diagram."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.choreography import compile_choreography
from accord.diagnostics.visible import visible
from accord.language.global_firsts import Shapes
from accord.language.global_tree import CRASH, Call, Continue, Exchange, GlobalChoice, GlobalLoop
from accord.studio.graphs import graph_of
from accord.studio.message_edits import messages_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from accord.language.global_tree import Block, GlobalStep
    from accord.machine.contract import Contract

__all__ = ["roles_of"]

_MOST_ROWS = 2_000


def roles_of(contract: Contract, name: str, most: int) -> dict[str, object]:
    """A protocol between roles: each role's own machine, and the rows of a sequence diagram."""
    choreography = compile_choreography(contract, name)
    tree = next(protocol for protocol in contract.document.globals if protocol.name == name)
    rows: list[dict[str, object]] = []
    numbers = {id(spoken.exchange): number for number, spoken in enumerate(messages_in(contract.document))}
    for row in _rows(tree.body, {role: role for role in tree.roles}, Shapes(contract.document.globals), 0):
        if "exchange" in row:
            row["exchange"] = numbers[id(row["exchange"])]
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
        message = {"row": "message", "depth": depth, "from": sender, "to": receiver, "text": visible(step.label)}
        yield {**message, "exchange": step}
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
