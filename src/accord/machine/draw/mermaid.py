"""A machine as a Mermaid state diagram, which many Markdown pages show in place.

Where a session may end an edge leads to `[*]`; where it may pause that edge says so. A fork is Mermaid's bar with an
edge to the first state of each part and one to the state in which the session goes on. A deadline is an edge that says
after which time. What the protocol is sliced by stands in the title. Rules are boxes that no edge leads to: of several
notes on a state Mermaid keeps the last only.

Mermaid reads labels with a grammar of its own, in which quotes, colons, semicolons, `#` and `<` all mean something. So
every character beyond letters, digits and a few harmless signs is written as an entity code, `#NN;`.
"""

from __future__ import annotations

import json
import re
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

__all__ = ["draw_mermaid", "draw_rules_mermaid", "entities"]

_UNSAFE = re.compile(r"[^\w !?.-]")


def draw_mermaid(machine: Machine, current: Collection[int] = (), rules: Sequence[RuleMachine] = ()) -> str:
    """A `stateDiagram-v2`, with the protocol's name as its title; states in `current` stand out."""
    title = _title(machine)
    # It is YAML, in which every JSON string is a string.
    lines = ["---", f"title: {json.dumps(title, ensure_ascii=False)}", "---"] if title else []
    lines += ["stateDiagram-v2", "    direction LR"]
    for number, state in enumerate(machine.states):
        declared = f"s{number} <<fork>>" if isinstance(state, Fork) else f'"{number}" as s{number}'
        lines.append(f"    state {declared}")
    lines.append("    [*] --> s0")
    for number, state in enumerate(machine.states):
        lines += [f"    s{number} --> {target}" for target in _edges(machine, state)]
    lines += _legend(rules)
    if current:
        lines.append("    classDef current fill:#fd6,stroke:#333")
        lines.append(f"    class {','.join(f's{number}' for number in sorted(current))} current")
    return "\n".join(lines)


def _title(machine: Machine) -> str:
    about = ["open"] if machine.is_open else []
    about += [] if machine.each is None else [print_slice(machine.each).removesuffix(":")]
    return visible(": ".join([*([machine.name] if machine.name else []), *([", ".join(about)] if about else [])]))


def draw_rules_mermaid(rules: Sequence[RuleMachine]) -> str:
    """A `stateDiagram-v2` of the rules alone."""
    return "\n".join(["stateDiagram-v2", "    direction LR", *_legend(rules)])


def _legend(rules: Sequence[RuleMachine]) -> list[str]:
    texts = [entities(f"{quote(rule.rule.name)}: {rule.text}") for rule in rules]
    lines = [f'    state "{text}" as rule{number}' for number, text in enumerate(texts)]
    if lines:
        lines.append("    classDef rule fill:#ffe,stroke:#aa8")
        lines.append(f"    class {','.join(f'rule{number}' for number in range(len(rules)))} rule")
    return lines


def _edges(machine: Machine, state: State) -> Iterator[str]:
    if isinstance(state, Fork):
        for part, times in Counter(state.parts).items():
            yield f"s{part} : part" if times == 1 else f"s{part} : {times} parts"
        yield f"s{state.join} : join"
    else:
        for symbol, target in state.edges:
            yield f"s{target} : {entities(machine.symbols[symbol].word)}"
        if state.late is not None:
            yield f"s{state.late.target} : after {print_duration(state.late.milliseconds)}"
    if state.stop is not None:
        yield "[*]" if state.stop == "end" else "[*] : pause"


def entities(text: str) -> str:
    """Text that Mermaid shows and does not read."""
    named = {'"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;"}
    return _UNSAFE.sub(lambda m: named.get(m[0]) or f"#{ord(m[0])};", visible(text))
