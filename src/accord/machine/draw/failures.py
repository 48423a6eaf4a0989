"""What it means if calls fail, as a table for people at a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics.visible import display_width, visible
from accord.language.events import Named
from accord.language.labels import print_label

if TYPE_CHECKING:
    from accord.machine.contract import Contract

__all__ = ["calls_of", "draw_failures"]


def draw_failures(contract: Contract) -> str:
    """A line for each call that the contract names: what its failure means, and why if the contract does not say it."""
    rows: list[tuple[str, str]] = []
    for tool, label in calls_of(contract):
        fails, default = contract.failure_meaning(tool, label)
        because = "" if not default else f": {default}"
        rows.append((visible(print_label(tool)), fails if default is None else f"{fails} (by default{because})"))
    tools = contract.document.tools
    if tools is not None and tools.otherwise is not None:
        rows.append(("any other", tools.otherwise))
    if not rows:
        return ""
    column = max(display_width(name) for name, _ in rows)
    lines = [f"   {name}{' ' * (column - display_width(name) + 2)}{meaning}" for name, meaning in rows]
    return "\n".join(["if a call fails", *lines])


def calls_of(contract: Contract) -> list[tuple[str, str | None]]:
    """The tools that the contract names, sorted, each with the label of its calls, or with each if it has several."""
    document = contract.document
    named = [] if document.tools is None else list(document.tools.named)
    if document.events is not None:
        lines = [line for line in document.events.lines if isinstance(line.origin, Named)]
        found = {
            (name, line.label)
            for line in lines
            if line.origin is not None and line.origin.kind == "call"
            for name in line.origin.names
        }
    else:
        symbols = [symbol for machine in contract.machines.values() for symbol in machine.symbols]
        sent = {symbol.label for symbol in symbols if symbol.direction == "!"}
        received = {symbol.label for symbol in symbols if symbol.direction == "?"} - sent
        patterns = [pattern for rule in contract.rules.machines for pattern in rule.patterns]
        sent |= {pattern.label for pattern in patterns if pattern.direction == "!"}
        sent |= {p.label for p in patterns if p.direction is None and not p.gated and p.label not in received}
        found = {(label, label) for label in sent}
    known = {name for name, _ in found}
    return sorted(found | {(name, None) for name in named if name not in known}, key=str)
