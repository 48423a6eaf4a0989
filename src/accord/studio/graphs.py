"""Machines as graphs: nodes and edges with their words, and nothing about how they look.

Of a large machine only the states around where the session is are told; `hidden` says how many are not.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from accord.diagnostics.visible import clip, visible
from accord.language.details import print_slice
from accord.language.durations import print_duration
from accord.machine.draw.text import neighbourhood
from accord.machine.tables import Fork

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accord.machine.tables import Machine

__all__ = ["graph_of"]

_WIDEST = 60


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
        "open": machine.is_open,
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
