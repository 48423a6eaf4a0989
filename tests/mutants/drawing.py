"""Which mistakes are planted: the same ones for the same seed and source, spread evenly over parts and operators.

Every part and operator has its mistakes in an order that the seed makes, and they are taken in turn. So a larger count
draws the same mistakes and some more.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from tests.mutants.operators import OPERATORS, mutants_of
from tests.mutants.parts import PARTS, SOURCE
from tests.mutants.text import Module, Mutant


def modules_of(names: Sequence[str], source: Path = SOURCE) -> dict[str, list[Module]]:
    """The modules of each part."""
    return {
        name: [Module(path.relative_to(source).as_posix(), path.read_bytes()) for path in PARTS[name].modules(source)]
        for name in names
    }


def drawn(modules: dict[str, list[Module]], seed: int, count: int) -> list[tuple[str, Module, Mutant]]:
    """So many mistakes, each with its part and module."""
    takers = [_taken(name, modules[name], seed) for name in modules]
    found: list[tuple[str, Module, Mutant]] = []
    while takers and len(found) < count:
        for taker in list(takers):
            one = list(islice(taker, 1))
            if not one:
                takers.remove(taker)
            found += one
    return found[:count]


def named(modules: dict[str, list[Module]], names: Sequence[str]) -> list[tuple[str, Module, Mutant]]:
    """The mistakes of these names; `SystemExit` if one of them is none."""
    found = [
        (part, module, mutant)
        for part, held in modules.items()
        for module in held
        for mutant in mutants_of(module)
        if mutant.id in names
    ]
    if missing := set(names) - {mutant.id for _, _, mutant in found}:
        raise SystemExit(f"there is no mistake {', '.join(sorted(missing))} in {', '.join(modules)}")
    return found


def _taken(part: str, modules: list[Module], seed: int) -> Iterator[tuple[str, Module, Mutant]]:
    """The mistakes of a part, one of each operator in turn; those that do not compile are passed over."""
    queues: dict[str, list[tuple[Module, Mutant]]] = {name: [] for name in OPERATORS}
    for module in modules:
        for mutant in mutants_of(module):
            queues[mutant.operator].append((module, mutant))
    for name, queue in queues.items():
        random.Random(f"{seed} {part} {name}").shuffle(queue)
    turns = [name for name in OPERATORS if queues[name]]
    random.Random(f"{seed} {part}").shuffle(turns)
    while turns:
        for name in list(turns):
            while queues[name]:
                module, mutant = queues[name].pop()
                if module.is_mistake(mutant.edits):
                    yield part, module, mutant
                    break
            else:
                turns.remove(name)
