"""The tree of a `tools` block: what it means if a call of a tool fails.

It stands in the contract because whoever judges a run afterwards has to know it as well as who lets it happen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from accord.diagnostics import Span

__all__ = ["FAILURES", "Failure", "ToolLine", "Tools"]

NOWHERE = Span(0, 0)

Failure: TypeAlias = Literal["undone", "done", "unknown"]
"""`undone`: the call counts as not made; `done`: as made; `unknown`: it may be either."""
FAILURES: tuple[Failure, ...] = get_args(Failure)


@dataclass(frozen=True, slots=True)
class ToolLine:
    """`search fails undone`, `[pay, refund] fails unknown`; without names `otherwise fails …`."""

    names: tuple[str, ...] | None
    fails: Failure
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    name_spans: tuple[Span, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Tools:
    """`tools { … }`."""

    lines: tuple[ToolLine, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def named(self) -> dict[str, Failure]:
        """What is said of tools by their names."""
        return {name: line.fails for line in self.lines for name in line.names or ()}

    @property
    def otherwise(self) -> Failure | None:
        """What is said of all other tools."""
        return next((line.fails for line in self.lines if line.names is None), None)
