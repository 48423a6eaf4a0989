"""How a guard decides: the contract, and what its owner has chosen."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from accord.integrations.guard.visible import may_be_called
from accord.language.labels import normalise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accord.integrations.guard.tool_events import PlainTools, ToolEvents
    from accord.machine.clocks import Time
    from accord.machine.contract import Contract
    from accord.monitor.step import Situation

__all__ = ["Escalation", "Policy", "WhenOver", "gates_of"]

Escalation = Literal["stop", "review"]
WhenOver = Literal["refuse", "restart"]


class Policy(NamedTuple):
    """What does not change while a guard lives.

    `tools` says what calls and their ends are to the contract, `gates` are the labels of steps that people make.
    `aliases` are the
    tools that were given labels of their own, by these. With `raises` nothing of a batch runs if anything of it
    is refused. `people` are the labels of all steps that people make, also by saying something, and `reports` those of
    what the program reports.
    """

    contract: Contract
    protocol: str | None
    tools: ToolEvents | PlainTools
    gates: tuple[str, ...]
    patience: int
    escalate: Escalation
    review_lasts: Time | None
    observes: bool
    is_timed: bool
    when_over: WhenOver = "refuse"
    aliases: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    raises: bool = False
    people: frozenset[str] = frozenset()
    reports: frozenset[str] = frozenset()

    def may_be_visible(self, here: Sequence[Situation], name: str) -> bool:
        """Whether a tool may be legal to call in one of these worlds, with some arguments."""
        labels = self.tools.labels_of(name)
        legal = any(may_be_called(world, label, self.gates) for label in labels for world in here)
        return legal or self.tools.may_pass(name)

    def may_report(self, label: str, by: str | None) -> bool:
        """Whether a program may report an event with this label, in the name of somebody.

        A step that a person makes is made by answering a question, which shows what is decided. INVARIANT: a program
        makes such a step itself only if its owner has named the label among `events`.
        """
        return by is None or normalise(label) not in self.people or normalise(label) in self.reports

    @property
    def asks_people(self) -> bool:
        """Whether people answer questions in this session."""
        return bool(self.gates) or self.escalate == "review"

    def label(self, name: str) -> str:
        """What a tool is known by, whatever it is called with."""
        return self.tools.label(name)


def gates_of(contract: Contract, protocol: str | None) -> tuple[str, ...]:
    """The labels of all steps that a person makes, sorted."""
    stages = contract.stages(protocol)
    found = {symbol.label for symbol in stages.machine.symbols if symbol.gated}
    found.update(pattern.label for rule in stages.book.machines for pattern in rule.patterns if pattern.gated)
    return tuple(sorted(found))
