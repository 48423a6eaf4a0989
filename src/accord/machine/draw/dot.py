"""A machine for Graphviz.

States are circles, doubled where the session may end and dashed where it may pause. A fork is a diamond with a dashed
edge to the first state of each part and a bold one to the state in which the session goes on. Parts are not drawn as
clusters: the machine is minimal, so parts share states with each other and with what comes after, and a node of
Graphviz lies in one cluster only. A deadline is a dotted edge. What the protocol is sliced by stands above the picture,
rules in a note beside the states.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from accord.diagnostics.visible import visible
from accord.language.details import print_slice
from accord.language.durations import print_duration
from accord.language.labels import quote
from accord.machine.tables import Fork

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from accord.machine.rules import RuleMachine
    from accord.machine.tables import Machine, State

__all__ = ["draw_dot", "draw_rules_dot"]


def draw_dot(machine: Machine, current: Collection[int] = (), rules: Sequence[RuleMachine] = ()) -> str:
    """A `digraph`; states in `current` are filled."""
    lines = [
        f"digraph {_quoted(machine.name or 'protocol')} {{",
        "    rankdir=LR;",
        '    node [shape=circle, fontname="Helvetica"];',
        '    edge [fontname="Helvetica"];',
        *_heading(machine),
        *_legend(rules),
        "    start [shape=point];",
        "    start -> s0;",
    ]
    for number, state in enumerate(machine.states):
        lines.append(f"    s{number} [{_look(number, state, marked=number in current)}];")
        lines += [f"    s{number} -> s{target} [{look}];" for target, look in _edges(machine, state)]
    return "\n".join([*lines, "}"])


def draw_rules_dot(rules: Sequence[RuleMachine]) -> str:
    """A `digraph` of the note alone."""
    return "\n".join(['digraph "rules" {', '    node [fontname="Helvetica"];', *_legend(rules), "}"])


def _heading(machine: Machine) -> list[str]:
    about = ["open"] if machine.is_open else []
    about += [] if machine.each is None else [print_slice(machine.each).removesuffix(":")]
    if not about:
        return []
    title = f"{machine.name or 'protocol'}: {', '.join(about)}"
    return ['    graph [labelloc=t, fontname="Helvetica"];', f"    label={_quoted(title)};"]


def _legend(rules: Sequence[RuleMachine]) -> list[str]:
    if not rules:
        return []
    # The escape `\l` ends a line and sets it flush left.
    lines = [_escaped(f"{quote(rule.rule.name)}: {rule.text}") + "\\l" for rule in rules]
    return [f'    rules [shape=note, label="{"".join(lines)}"];']


def _look(number: int, state: State, *, marked: bool) -> str:
    look = [f'label="{number}"', f"shape={'diamond' if isinstance(state, Fork) else 'circle'}"]
    if state.stop == "end":
        look.append("peripheries=2")
    styles = [style for style, wanted in (("dashed", state.stop == "pause"), ("filled", marked)) if wanted]
    if styles:
        look.append(f'style="{",".join(styles)}"')
    return ", ".join(look)


def _edges(machine: Machine, state: State) -> Iterator[tuple[int, str]]:
    if isinstance(state, Fork):
        for part, times in Counter(state.parts).items():
            label = "part" if times == 1 else f"{times} parts"
            yield part, f'label="{label}", style=dashed'
        yield state.join, 'label="join", style=bold'
    else:
        for symbol, target in state.edges:
            yield target, f"label={_quoted(machine.symbols[symbol].word)}"
        if state.late is not None:
            yield state.late.target, f'label="after {print_duration(state.late.milliseconds)}", style=dotted'


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    """What stands in quotes: there Graphviz reads backslashes as escapes and `&…;` as entities."""
    return visible(text).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
