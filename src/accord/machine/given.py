"""A contract of tables that were made elsewhere, such as a state machine put together in Python.

It is checked as far as tables can be wrong, and runs like any other; only its text is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Source
from accord.errors import UsageError
from accord.language.tree import Document
from accord.limits import DEFAULT_LIMITS
from accord.machine.contract import Contract
from accord.machine.rulebook import RuleBook
from accord.machine.tables import Fork

if TYPE_CHECKING:
    from accord.canonical import Json
    from accord.limits import Limits
    from accord.machine.tables import Machine

__all__ = ["GivenContract", "contract_of"]


class GivenContract(Contract):
    """A contract without a text."""

    def to_json(self) -> dict[str, Json]:
        """There is nothing to write: the tables were not made from a text."""
        raise UsageError("this contract was made of tables and has no text")

    def __reduce__(self) -> tuple[object, ...]:
        return contract_of, (self.machine(), self.document.source.name, self.limits)


def contract_of(machine: Machine, name: str, limits: Limits = DEFAULT_LIMITS) -> Contract:
    """The contract whose only protocol is that machine; `UsageError` if its tables are none.

    Example:
        >>> from accord.machine.tables import END_STATE, Machine, Plain, Symbol
        >>> contract_of(Machine((Symbol("!", "go"),), (Plain(((0, 1),)), END_STATE)), "going").machine().labels
        frozenset({'go'})
    """
    for state in machine.states:
        edges = () if isinstance(state, Fork) else state.edges
        if any(not 0 <= symbol < len(machine.symbols) for symbol, _ in edges):
            raise UsageError("an edge has a symbol that the machine does not have")
        if any(not 0 <= target < len(machine.states) for target in state.targets):
            raise UsageError("an edge leads to a state that the machine does not have")
        if len({symbol for symbol, _ in edges}) != len(edges):
            raise UsageError("a state has two edges for one symbol")
    if not machine.states:
        raise UsageError("a machine has a state at least")
    document = Document((), Source("", name))
    return GivenContract(document, {machine.name: machine}, RuleBook((), limits), limits)
