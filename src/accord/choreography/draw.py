"""Drawings of protocols between roles: the whole, then each role's own machine.

In Mermaid the whole is a sequence diagram made from the tree, with `do` written out; in all other forms it is the
machine of exchanges. The roles' machines are drawn as those of local protocols.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from accord.choreography.choreography import compile_choreography
from accord.diagnostics.visible import visible
from accord.errors import UsageError
from accord.language.global_firsts import Shapes
from accord.language.global_printer import print_exchange
from accord.language.global_tree import CRASH, Call, Continue, Exchange, GlobalChoice, GlobalLoop
from accord.machine.draw import draw
from accord.machine.draw import draw_contract as draw_local
from accord.machine.draw.mermaid import entities

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.choreography.choreography import Choreography
    from accord.language.global_tree import Block, GlobalProtocol, GlobalStep
    from accord.machine.contract import Contract
    from accord.machine.draw import Format

__all__ = ["draw_contract"]

_MOST_LINES = 10_000


def draw_contract(contract: Contract, format: Format = "text", protocol: str | None = None) -> str:  # noqa: A002
    """Everything a contract declares, or one protocol of it, without a final newline."""
    between = [p for p in contract.document.globals if protocol in (None, p.name)]
    if not between:
        return draw_local(contract, format, protocol)
    drawings: list[str] = []
    if protocol is None and (contract.machines or contract.rules.machines):
        drawings.append(draw_local(contract, format))
    for found in between:
        choreography = compile_choreography(contract, found.name)
        drawings.append(_whole(choreography, found, contract, format))
        drawings += [_own(choreography, role, format) for role in choreography.roles]
    if format == "json":
        read = [json.loads(drawing) for drawing in drawings]
        flat = [item for drawing in read for item in (drawing if isinstance(drawing, list) else [drawing])]
        return json.dumps(flat, indent=2)
    return "\n\n".join(drawings)


def _own(choreography: Choreography, role: str, format_: Format) -> str:
    return draw(replace(choreography.machines[role], name=f"{choreography.name}, {role}"), format_)


def _whole(choreography: Choreography, protocol: GlobalProtocol, contract: Contract, format_: Format) -> str:
    machine = choreography.machine
    if format_ == "mermaid":
        return _Sequence(Shapes(contract.document.globals)).draw(protocol)
    rows = [
        [(print_exchange(*machine.messages[move.message]), move.target) for move in moves] for moves in machine.moves
    ]
    if format_ == "json":
        states = [{"moves": row, "stop": stop} for row, stop in zip(rows, machine.stops, strict=True)]
        whole = {"format": "accord.choreography", "name": machine.name, "roles": machine.roles, "states": states}
        return json.dumps(whole, ensure_ascii=True)
    if format_ == "dot":
        return _dot(machine.name, rows, machine.stops)
    count = len(rows)
    lines = [f"protocol {machine.name} between {', '.join(machine.roles)}, {count} state{'' if count == 1 else 's'}"]
    width = len(str(count - 1))
    for number, (row, stop) in enumerate(zip(rows, machine.stops, strict=True)):
        parts = [visible(f"{text} → {target}") for text, target in row] + ([stop] if stop else [])
        lines.append(f" {'→' if number == 0 else ' '} {number:>{width}}  {', '.join(parts)}")
    return "\n".join(lines)


def _dot(name: str, rows: list[list[tuple[str, int]]], stops: tuple[str | None, ...]) -> str:
    lines = [f"digraph {json.dumps(visible(name))} {{", "    rankdir=LR;"]
    for number, stop in enumerate(stops):
        lines.append(f'    s{number} [label="{number}", shape={"doublecircle" if stop else "circle"}];')
    for number, row in enumerate(rows):
        for text, target in row:
            lines.append(f"    s{number} -> s{target} [label={json.dumps(visible(text), ensure_ascii=False)}];")
    return "\n".join([*lines, "}"])


class _Sequence:
    """A Mermaid sequence diagram. Participants have numbers, so that no role's name means anything to Mermaid."""

    def __init__(self, shapes: Shapes) -> None:
        self.shapes = shapes
        self.lines: list[str] = []
        self.number: dict[str, str] = {}

    def draw(self, protocol: GlobalProtocol) -> str:
        # It is YAML, in which every JSON string is a string.
        title = ["---", f"title: {json.dumps(visible(protocol.name), ensure_ascii=False)}", "---"]
        self.lines = [*title, "sequenceDiagram"]
        for index, role in enumerate(protocol.roles):
            self.number[role] = f"p{index}"
            self.lines.append(f"    participant p{index} as {_text(role)}")
        self.block(protocol.body, {role: role for role in protocol.roles}, 1)
        return "\n".join(self.lines)

    def line(self, depth: int, text: str) -> None:
        if len(self.lines) > _MOST_LINES:
            raise UsageError(f"the diagram has more than {_MOST_LINES} lines; draw a part of it with --protocol")
        self.lines.append("    " * depth + text)

    def block(self, block: Block, roles: Mapping[str, str], depth: int) -> None:
        for step in block:
            self.step(step, roles, depth)

    def over(self, roles: Mapping[str, str]) -> str:
        numbers = sorted({int(self.number[role][1:]) for role in roles.values()})
        return f"p{numbers[0]}" if len(numbers) == 1 else f"p{numbers[0]},p{numbers[-1]}"

    def step(self, step: GlobalStep, roles: Mapping[str, str], depth: int) -> None:
        if isinstance(step, Exchange):
            ends = self.number[roles[step.sender]], self.number[roles[step.receiver]]
            self.line(depth, f"{ends[0]}->>{ends[1]}: {_text(step.label)}")
        elif isinstance(step, Continue):
            self.line(depth, f"Note over {self.over(roles)}: continue {_text(step.variable)}")
        elif isinstance(step, GlobalLoop):
            self.line(depth, f"loop {_text(step.variable)}")
            self.block(step.body, roles, depth + 1)
            self.line(depth, "end")
        elif isinstance(step, Call):
            self.line(depth, f"Note over {self.over(roles)}: do {_text(step.protocol)}")
            inside = {formal: roles[actual] for formal, actual in step.arguments}
            self.block(self.shapes.protocols[step.protocol].body, inside, depth)
        elif isinstance(step, GlobalChoice):
            self.choice(step, roles, depth)
        else:
            for index, part in enumerate(step.parts):
                self.line(depth, "and" if index else "par")
                self.block(part, roles, depth + 1)
            self.line(depth, "end")

    def choice(self, choice: GlobalChoice, roles: Mapping[str, str], depth: int) -> None:
        decider = roles[choice.decider]
        for index, branch in enumerate(choice.branches):
            self.line(depth, "else" if index else f"alt {_text(decider)} decides")
            self.block(branch, roles, depth + 1)
        if choice.crash is not None:
            notices = roles[self.shapes.firsts(choice.crash)[0].sender]
            self.line(depth, f"else {_text(decider)} crashes")
            self.line(depth + 1, f"{self.number[decider]}--x{self.number[notices]}: {CRASH}")
            self.block(choice.crash, roles, depth + 1)
        self.line(depth, "end")


def _text(text: str) -> str:
    """Text that Mermaid shows; the word `end` would close something."""
    return f"#{ord(text[0])};{text[1:]}" if text.casefold() == "end" else entities(text)
