"""A protocol drawn with the traffic on its edges, as SVG.

States stand in columns by how many steps they are from the first one. Edges lead to the right in a curve, back in a bow
underneath, and are as thick as what went along them; what nothing went along is dashed. Everything in the drawing that
comes from a contract is escaped.
"""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from accord.diagnostics.visible import clip
from accord.machine.tables import Fork, Plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.machine.tables import Machine

__all__ = ["draw_machine"]

_MOST_STATES = 60
_MOST_WORDS = 5
_ACROSS, _DOWN, _RADIUS, _MARGIN, _ABOVE = 210, 120, 20, 60, 110


class _Edge(NamedTuple):
    words: tuple[str, ...]
    traffic: int
    kind: str


def draw_machine(machine: Machine, traffic: Mapping[str, int], violating: Mapping[str, int]) -> str:
    """The drawing; a sentence if there are too many states to see anything.

    `traffic` says how often each edge was taken (`state/symbol`), `violating` how many runs violated in each state.
    Runs that violated where parts ran side by side stood in no one state of the drawing; they are told underneath it.
    """
    if len(machine.states) > _MOST_STATES:
        return f"<p>The protocol has {len(machine.states):,} states, too many for a drawing.</p>"
    edges = _edges(machine, traffic)
    places = _places(machine, edges)
    width = max(x for x, _ in places.values()) + 2 * _MARGIN + _RADIUS
    height = max(y for _, y in places.values()) + _MARGIN + _RADIUS + 60
    most = max([1, *(edge.traffic for edge in edges.values())])
    curves = {pair: _curve(places[pair[0]], places[pair[1]], len(edge.words)) for pair, edge in sorted(edges.items())}
    # Words come last, so that no line runs through them.
    drawn = [_line(edges[pair], curve, most) for pair, curve in curves.items()]
    drawn += [_state(machine, number, places[number], violating.get(str(number), 0)) for number in sorted(places)]
    drawn += [_words(edges[pair], curve) for pair, curve in curves.items()]
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="the protocol with the traffic on its edges">'
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" markerHeight="9" '
        'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L10 5L0 10z"/></marker></defs>'
        f"{''.join(drawn)}</svg>{_elsewhere(violating, places)}"
    )


def _elsewhere(violating: Mapping[str, int], places: Mapping[int, tuple[int, int]]) -> str:
    drawn = {str(number) for number in places}
    left = {state: runs for state, runs in violating.items() if state not in drawn}
    if not left:
        return ""
    told = [f"{runs:,} in {clip(state, 60) or 'other states'}" for state, runs in list(left.items())[:_MOST_WORDS]]
    rest = list(left.values())[_MOST_WORDS:]
    if rest:
        told.append(f"{sum(rest):,} in {len(rest):,} more")
    return f'<p class="elsewhere">Violating in no one state of the drawing: {escape(", ".join(told))}.</p>'


def _edges(machine: Machine, traffic: Mapping[str, int]) -> dict[tuple[int, int], _Edge]:
    """All edges between two states as one."""
    found: dict[tuple[int, int], list[tuple[int, str]]] = {}
    quiet: dict[tuple[int, int], str] = {}
    for number, state in enumerate(machine.states):
        if isinstance(state, Plain):
            for symbol, target in state.edges:
                times = traffic.get(f"{number}/{symbol}", 0)
                found.setdefault((number, target), []).append((times, machine.symbols[symbol].word))
            if state.late is not None:
                quiet[number, state.late.target] = "time is over"
        else:
            quiet |= {(number, part): "part" for part in state.parts}
            quiet[number, state.join] = "then"
    edges = {}
    for pair, words in found.items():
        ordered = sorted(words, key=lambda one: (-one[0], one[1]))
        told = [f"{clip(word, 28)}  {times:,}" for times, word in ordered[:_MOST_WORDS]]
        if len(ordered) > _MOST_WORDS:
            told.append(f"{len(ordered) - _MOST_WORDS} more")
        total = sum(times for times, _ in words)
        edges[pair] = _Edge(tuple(told), total, "edge" if total else "edge untaken")
    for pair, word in quiet.items():
        edges.setdefault(pair, _Edge((word,), 0, "edge quiet"))
    return edges


def _places(machine: Machine, edges: Mapping[tuple[int, int], _Edge]) -> dict[int, tuple[int, int]]:
    """Where each state stands: in columns by its distance, in each column near to those it is reached from."""
    column = {0: 0}
    waiting = [0]
    for state in waiting:
        for a, b in sorted(edges):
            if a == state and b not in column:
                column[b] = column[a] + 1
                waiting.append(b)
    rows: dict[int, float] = {}
    places = {}
    for depth in range(max(column.values()) + 1):
        here = [state for state in waiting if column[state] == depth]
        wish = {}
        for state in here:
            above = [rows[a] for a, b in edges if b == state and column.get(a, depth) < depth]
            wish[state] = sum(above) / len(above) if above else 0.0
        taken = -math.inf
        for state in sorted(here, key=lambda state: (wish[state], state)):
            taken = rows[state] = max(wish[state], taken + 1)
            places[state] = (_MARGIN + depth * _ACROSS, round(_ABOVE + taken * _DOWN))
    del machine
    return places


def _state(machine: Machine, number: int, place: tuple[int, int], violating: int) -> str:
    x, y = place
    state = machine.states[number]
    kind = "state fork" if isinstance(state, Fork) else "state end" if state.stop else "state"
    ring = f'<circle class="ring" cx="{x}" cy="{y}" r="{_RADIUS - 4}"/>' if state.stop else ""
    badge = ""
    if violating:
        told = f"{violating:,} violating"
        badge = f'<text class="badge" x="{x + _RADIUS - 2}" y="{y + _RADIUS + 10}">{escape(told)}</text>'
    start = f'<path class="edge" d="M{x - _RADIUS - 26} {y}L{x - _RADIUS - 2} {y}" marker-end="url(#tip)"/>'
    return (
        f'<g class="{kind}">{start if number == 0 else ""}<circle cx="{x}" cy="{y}" r="{_RADIUS}"/>{ring}'
        f'<text x="{x}" y="{y + 5}" text-anchor="middle">{number}</text>{badge}</g>'
    )


class _Curve(NamedTuple):
    """The path of an edge, and where its words stand."""

    path: str
    x: int
    y: int


def _curve(a: tuple[int, int], b: tuple[int, int], words: int) -> _Curve:
    (x1, y1), (x2, y2) = a, b
    if a == b:
        up = y1 - _RADIUS - 44
        path = f"M{x1 - 9} {y1 - _RADIUS + 2}C{x1 - 38} {up} {x1 + 38} {up} {x1 + 9} {y1 - _RADIUS + 1}"
        return _Curve(path, x1, up + 4 - 14 * (words - 1))
    if x2 > x1:
        middle = (x1 + x2) // 2
        path = f"M{x1 + _RADIUS} {y1}C{middle} {y1} {middle} {y2} {x2 - _RADIUS - 2} {y2}"
        return _Curve(path, middle, (y1 + y2) // 2 - 6 - 14 * (words - 1))
    deep = max(y1, y2) + 60 + min(140, (x1 - x2) // 4)
    path = f"M{x1} {y1 + _RADIUS}C{x1} {deep} {x2} {deep} {x2} {y2 + _RADIUS + 2}"
    return _Curve(path, (x1 + x2) // 2, (deep * 6 + y1 + y2) // 8 + 14)


def _line(edge: _Edge, curve: _Curve, most: int) -> str:
    thick = 1.2 + 6 * math.sqrt(edge.traffic / most)
    return f'<path class="{edge.kind}" d="{curve.path}" stroke-width="{thick:.1f}" marker-end="url(#tip)"/>'


def _words(edge: _Edge, curve: _Curve) -> str:
    lines = "".join(
        f'<tspan x="{curve.x}" dy="{14 if number else 0}">{escape(word)}</tspan>'
        for number, word in enumerate(edge.words)
    )
    return f'<text class="words" x="{curve.x}" y="{curve.y}" text-anchor="middle">{lines}</text>'
