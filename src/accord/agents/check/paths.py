"""What a walk leaves behind: paths, ways out of methods, findings, and loops without a way out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import ast

    from accord.agents.check.exceptions import Raised
    from accord.agents.check.graph import Node
    from accord.agents.check.methods import Method
    from accord.agents.check.missteps import Misstep
    from accord.agents.check.modules import Module
    from accord.agents.check.worlds import World

__all__ = ["Exit", "Finding", "Place", "Step", "Summary", "Trap"]


class Step(NamedTuple):
    """One step of a path, as it is shown."""

    module: Module
    tree: ast.AST
    text: str


class Place(NamedTuple):
    """A node in a world."""

    node: Node
    world: World


class Exit(NamedTuple):
    """A way out of a method: how, in which world, and where."""

    kind: str
    raised: Raised | None
    world: World
    tree: ast.AST | None


@dataclass(frozen=True)
class Finding:
    """Something wrong at a place in the code, and the path that leads there."""

    misstep: Misstep
    module: Module
    tree: ast.AST
    path: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Trap:
    """Places from which no way leads out: a loop, the worlds it is in, and whom it speaks to."""

    method: Method
    tree: ast.AST
    worlds: frozenset[World]
    partners: frozenset[tuple[int, str]]
    path: tuple[Step, ...]


@dataclass
class Summary:
    """What a call of a method in a world can come to."""

    exits: dict[Exit, tuple[Step, ...]] = field(default_factory=dict)
    in_progress: bool = False
    done: bool = False
