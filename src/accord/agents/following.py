"""One role of one protocol, ready to be followed: its machine, and what can be asked of it.

Everything here is computed from the contract alone, once for each `@follows`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from accord.agents.matching import mismatches
from accord.agents.messages import Crash, label_of
from accord.agents.survivors import going_on
from accord.choreography import compile_choreography, project
from accord.choreography.compiling import compile_contract, load_contract
from accord.diagnostics.agent_codes import UNCLEAR, UNKNOWN_PROTOCOL, UNKNOWN_ROLE
from accord.errors import UsageError
from accord.language.global_tree import CRASH, Record
from accord.machine.ahead import ahead
from accord.machine.contract import Contract, NamedProtocol
from accord.machine.tables import Plain
from accord.session.payloads import payload_checks

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from accord.agents.matching import Types
    from accord.choreography import Choreography
    from accord.machine.tables import Machine, Symbol
    from accord.session.payloads import PayloadCheck

__all__ = ["Following", "Part", "follow"]


class Part(NamedTuple):
    """A role of a protocol, as other processes know it: a contract is known by its digest."""

    contract: str
    protocol: str
    role: str


@dataclass(frozen=True, eq=False)
class Following:
    """A role that an agent plays. `own` is the role's own contract, its projection."""

    contract: Contract
    choreography: Choreography
    role: str
    own: Contract

    @property
    def protocol(self) -> str:
        """The name of the protocol."""
        return self.choreography.name

    @cached_property
    def part(self) -> Part:
        """The same for others."""
        return Part(self.contract.digest, self.protocol, self.role)

    @property
    def machine(self) -> Machine:
        """The role's own machine, in which nothing runs side by side: `par` is multiplied out."""
        return self.choreography.machines[self.role]

    @cached_property
    def types(self) -> Types:
        """The records and enums that the contract declares."""
        return {item.name: item for item in self.contract.document.types}

    @cached_property
    def sends(self) -> Mapping[str, frozenset[str]]:
        """The labels that the role sends, and to whom."""
        return _partners(self.machine, "!")

    @cached_property
    def receives(self) -> Mapping[str, frozenset[str]]:
        """The labels that the role receives, and from whom."""
        return _partners(self.machine, "?")

    @cached_property
    def opening(self) -> frozenset[tuple[str, str]]:
        """The messages with which the role can open a conversation: label and receiver."""
        return frozenset((s.label, s.partner or "") for s in self.edges(0) if s.direction == "!" and s.label != CRASH)

    @cached_property
    def crash_is_handled(self) -> bool:
        """Whether the protocol says what comes if this role crashes."""
        return any(sender == self.role and label == CRASH for sender, _, label in self.choreography.machine.messages)

    def may_stop(self, state: int) -> bool:
        """Whether the protocol may be over for the role in a state."""
        return self.choreography.stops[self.role][state] is not None

    def edges(self, state: int) -> tuple[Symbol, ...]:
        """What can happen in a state."""
        return self._edges[state]

    @cached_property
    def _edges(self) -> tuple[tuple[Symbol, ...], ...]:
        symbols, states = self.machine.symbols, range(len(self.machine.states))
        return tuple([tuple([symbols[number] for number in self.machine.offered(state)]) for state in states])

    def after(self, state: int, symbol: Symbol) -> int:
        """The state that a step leads to."""
        here = self.machine.states[state]
        assert isinstance(here, Plain)  # noqa: S101 - projections have no forks
        return next(target for number, target in here.edges if self.machine.symbols[number] == symbol)

    @cached_property
    def ahead(self) -> tuple[frozenset[Symbol], ...]:
        """For each state everything that can still happen from there."""
        return ahead(self.machine)

    def goes_on(self, state: int, crashed: frozenset[str]) -> bool:
        """Whether there is something left to do from a state on if these have crashed where it is noticed."""
        found = self._going_on.get(crashed)
        if found is None:
            found = self._going_on[crashed] = going_on(self.choreography, self.role, crashed)
        return state in found

    @cached_property
    def _going_on(self) -> dict[frozenset[str], frozenset[int]]:
        return {}

    def payload_problem(self, label: str, payload: Mapping[str, Any]) -> str | None:
        """What is wrong with what a message carries, if anything is."""
        check = self._checks.get(label)
        return None if check is None else check(payload)

    @cached_property
    def _checks(self) -> Mapping[str, PayloadCheck]:
        return payload_checks(self.contract.document)

    def unfit(self, message_class: type, names: Mapping[str, Any]) -> list[str]:
        """Why a class is not the message of its name in this protocol; empty if it is, or if any would do."""
        record = self.types.get(label_of(message_class))
        if message_class is Crash or not isinstance(record, Record):
            return []
        return mismatches(message_class, record, self.types, names)


def follow(protocol: object, role: str) -> Following:
    """The role of a protocol that is given as its text, the file that holds it, or a compiled contract.

    Raises `UsageError` if there is no such protocol or role, and `ContractError` if the contract has errors.
    """
    name = None
    if isinstance(protocol, NamedProtocol):
        contract, name = protocol
    elif isinstance(protocol, Contract):
        contract = protocol
    elif isinstance(protocol, Path):
        try:
            contract = load_contract(protocol)
        except UsageError as error:
            raise UsageError(str(error), code=UNKNOWN_PROTOCOL) from error
    elif isinstance(protocol, str):
        if protocol.endswith((".accord", ".json")):
            what = f"a `str` is the text of a contract; write `accord.load({protocol!r})` for that file"
            raise UsageError(what, code=UNKNOWN_PROTOCOL)
        if protocol.isidentifier():
            given = (
                f"a `str` is the text of a contract; for the one in a file write `accord.load(Path(…))[{protocol!r}]`"
            )
            raise UsageError(f"unknown protocol `{protocol}`: {given}", code=UNKNOWN_PROTOCOL)
        contract = compile_contract(protocol)
    else:
        kind = type(protocol).__name__
        what = f"a protocol is given as text (`str`), a file (`Path`) or a compiled contract, got `{kind}`"
        raise UsageError(what, code=UNKNOWN_PROTOCOL)
    try:
        choreography = compile_choreography(contract, name)
    except UsageError as error:
        raise UsageError(f"unknown protocol: {error}", code=UNKNOWN_PROTOCOL) from None
    try:
        choreography.role(role)
    except UsageError as error:
        raise UsageError(f"unknown role: {error}", code=UNKNOWN_ROLE) from None
    if len(choreography.openers) > 1:
        listed = " and ".join(f"`{opener}`" for opener in choreography.openers)
        first, second = choreography.openers[:2]
        raise UsageError(
            f"protocol `{choreography.name}` cannot be followed by agents: {listed} both send before they have heard "
            f"of a conversation; let `{first}` tell `{second}` first",
            code=UNCLEAR,
        )
    return Following(contract, choreography, role, project(contract, role, choreography.name))


def _partners(machine: Machine, direction: str) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for symbol in machine.symbols:
        if symbol.direction == direction and symbol.partner is not None:
            found[symbol.label] = found.get(symbol.label, frozenset()) | {symbol.partner}
    return found
