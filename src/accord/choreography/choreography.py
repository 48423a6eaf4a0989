"""A protocol between roles, compiled: its machine, and for each role its own.

`Choreography` is made once for a protocol that its roles can follow, and is immutable. Whoever has one has the proof
that the projections, run by themselves with channels between them, do what the protocol says and nothing else.
"""

from __future__ import annotations

from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from accord.choreography.compiler import compile_global
from accord.choreography.implementability import doubts_of, shared_channel
from accord.choreography.refusals import not_decided, refused, stuck
from accord.choreography.running import find_stuck
from accord.choreography.views import machine_of, parts_of, view_of
from accord.choreography.witnesses import witness_of
from accord.choreography.writing import local_protocol, stops_of
from accord.diagnostics import Source, did_you_mean
from accord.errors import ContractError, UsageError
from accord.language import print_document
from accord.language.global_firsts import Shapes
from accord.language.global_tree import CRASH
from accord.language.tree import Declaration, Document
from accord.machine.contract import Contract, compile_source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.choreography.tables import GlobalMachine
    from accord.diagnostics import Diagnostic
    from accord.language.global_tree import GlobalProtocol
    from accord.language.tree import Protocol
    from accord.limits import Limits
    from accord.machine.tables import Machine, Stop

__all__ = ["Choreography", "compile_choreography", "findings_in", "project"]


# Where to get stuck is shown for protocols that are refused anyway; nobody wants to wait for it.
_MOST_CONFIGURATIONS = 2_000


class Choreography:
    """A compiled protocol between roles. Made by `compile_choreography`."""

    machine: GlobalMachine
    machines: Mapping[str, Machine]

    def __init__(self, machine: GlobalMachine, machines: dict[str, Machine]) -> None:
        self.machine = machine
        self.machines = MappingProxyType(machines)

    @property
    def name(self) -> str:
        """The name of the protocol."""
        return self.machine.name

    @property
    def roles(self) -> tuple[str, ...]:
        """Its roles, in the order of the text."""
        return self.machine.roles

    def role(self, name: str) -> str:
        """The role of that name; `UsageError` if there is none."""
        if isinstance(name, str) and name in self.machines:
            return name
        listed = ", ".join(f"`{role}`" for role in self.roles)
        meant = did_you_mean(name, self.roles) if isinstance(name, str) else None
        hint = f"; did you mean `{meant}`?" if meant else f"; its roles are {listed}"
        raise UsageError(f"protocol `{self.name}` has no role {name!r}{hint}")

    def project(self, role: str) -> Protocol:
        """The role's own protocol, as a tree that prints and compiles."""
        machine = self.machines[self.role(role)]
        return local_protocol(machine, parts_of(self.machine, role) if self.machine.has_parts else None)

    @cached_property
    def stops(self) -> Mapping[str, tuple[Stop, ...]]:
        """For each role and each state of its machine, whether it may stop there.

        Where a role's protocol has no end that it can reach, it may pause where its loop begins again: in every state
        that is met again on the way from it.
        """
        return {role: stops_of(machine) for role, machine in self.machines.items()}

    @cached_property
    def openers(self) -> tuple[str, ...]:
        """The roles that can send before they have received anything, in the order of the text."""
        return tuple([role for role in self.roles if self._opens(self.machines[role])])

    @staticmethod
    def _opens(machine: Machine) -> bool:
        first = [machine.symbols[number] for number in machine.offered(0)]
        return any(symbol.direction == "!" and symbol.label != CRASH for symbol in first)

    def __repr__(self) -> str:
        return f"<Choreography {self.name} of {', '.join(self.roles)}>"


def compile_choreography(contract: Contract, protocol: str | None = None) -> Choreography:
    """The choreography of a contract's protocol between roles; its name may be left out where there is only one.

    Raises `ContractError` if its roles could not follow it.
    """
    found = _find(contract.document, protocol)
    known = contract.kept.get(("choreography", found.name))
    if isinstance(known, Choreography):
        return known
    choreography, findings = _compile(found, contract.document, Shapes(contract.document.globals), contract.limits)
    if choreography is None:
        raise ContractError(findings)
    contract.kept["choreography", found.name] = choreography
    return choreography


def findings_in(document: Document, limits: Limits) -> tuple[Diagnostic, ...]:
    """Why the protocols between roles of a checked text cannot be followed, if any cannot."""
    shapes = Shapes(document.globals)
    findings: list[Diagnostic] = []
    for protocol in document.globals:
        try:
            findings += _compile(protocol, document, shapes, limits)[1]
        except ContractError as error:
            findings += error.diagnostics
    return tuple(findings)


def _find(document: Document, name: str | None) -> GlobalProtocol:
    names = [protocol.name for protocol in document.globals]
    listed = ", ".join(f"`{known}`" for known in names)
    if not names:
        raise UsageError("the contract has no protocol between roles: `protocol Name { A -> B: Message … }`")
    if name is None and len(names) > 1:
        raise UsageError(f"the contract has several protocols between roles; say which: one of {listed}")
    if name is not None and name not in names:
        meant = did_you_mean(name, names) if isinstance(name, str) else None
        hint = f"; did you mean `{meant}`?" if meant else f"; it declares {listed}"
        raise UsageError(f"the contract declares no protocol between roles {name!r}{hint}")
    return next(protocol for protocol in document.globals if name in (None, protocol.name))


def _compile(
    protocol: GlobalProtocol, document: Document, shapes: Shapes, limits: Limits
) -> tuple[Choreography | None, tuple[Diagnostic, ...]]:
    machine = compile_global(protocol, document, shapes, limits)
    views = {role: view_of(machine, role, limits.states) for role in machine.roles}
    findings: list[Diagnostic] = []
    for role, view in views.items():
        if view is None:
            return None, (not_decided(protocol, document.source, f"the view of `{role}` is too large"),)
    machines = {role: machine_of(view, machine) for role, view in views.items() if view is not None}
    channel = shared_channel(machine) if machine.has_parts else None
    for view in views.values():
        if view is None or channel is not None:
            continue
        doubts = doubts_of(view, machine, limits.states)
        if doubts is None:
            reason = f"what can reach `{view.role}` takes too long to find out"
            findings.append(not_decided(protocol, document.source, reason))
        elif doubts:
            shown = witness_of(doubts, view, machine, limits.states)
            doubt, witness = shown or (doubts[0], None)
            findings.append(refused(doubt, witness, machine, protocol, document.source))
    if channel is None and not findings:
        return Choreography(machine, machines), ()
    ending = find_stuck(machines, min(limits.search, _MOST_CONFIGURATIONS))
    if ending is not None:
        findings.append(stuck(ending, protocol, document.source))
    elif channel is not None:
        nodes = [machine.nodes[number] for number in channel]
        findings.append(not_decided(protocol, document.source, "", machine.messages[nodes[1].message], nodes))
    return None, tuple(findings)


def project(contract: Contract, role: str, protocol: str | None = None) -> Contract:
    """One role's own contract: its projection, and those rules of the whole that are about nothing but its messages.

    A rule that names a message the role never sees is for whoever watches all roles: the role could not keep it.
    """
    choreography = compile_choreography(contract, protocol)
    body = choreography.project(role)
    labels = choreography.machines[role].labels
    book = contract.rules.machines
    rules = [machine.rule for machine in book if {label for _, label in machine.watched} <= labels]
    text = print_document(Document((Declaration(role, body), *rules)))
    return compile_source(Source(text, "<built>"), contract.limits)
