"""The compiled contract: what one text declares, ready to run.

Compile once, share everywhere: a contract is immutable to its users and safe between threads and sessions.
"""

from __future__ import annotations

from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from accord.canonical import digest
from accord.diagnostics import Diagnostic, Source, Span, did_you_mean
from accord.errors import ContractError, UsageError
from accord.language import examine
from accord.language.details import print_event_line
from accord.language.interchange import document_to_json
from accord.language.labels import normalise
from accord.limits import DEFAULT_LIMITS, Limits
from accord.machine import clocks
from accord.machine.compiler import compile_declaration
from accord.machine.configurations import TooManyConfigurationsError
from accord.machine.failures import FailureMeaning, meaning_of, unknown_labels
from accord.machine.identity import machine_digest
from accord.machine.rulebook import RuleBook
from accord.machine.slices import SlicedProtocol
from accord.machine.stages import Stages
from accord.machine.standing import Standings
from accord.machine.tables import END_STATE, Machine

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from accord.canonical import Json
    from accord.language.tools import Failure
    from accord.language.tree import Declaration, Document

__all__ = [
    "Contract",
    "NamedProtocol",
    "compile_document",
    "compile_source",
    "decode_source",
    "read_source",
]


class NamedProtocol(NamedTuple):
    """One protocol of a contract: `contract["Name"]`."""

    contract: Contract
    name: str


class Contract:
    """Compiled protocols by name; a bare protocol has the name `None`."""

    document: Document
    machines: Mapping[str | None, Machine]
    rules: RuleBook
    limits: Limits

    def __init__(
        self, document: Document, machines: dict[str | None, Machine], rules: RuleBook, limits: Limits
    ) -> None:
        self.document = document
        self.machines = MappingProxyType(machines)
        self.rules = rules
        self.limits = limits
        self.kept: dict[tuple[str, str], object] = {}
        """What higher layers made of this contract, kept so that they make it once."""
        self._failures: dict[tuple[str, str | None], FailureMeaning] = {}
        self._each = {d.name: d.each for d in document.declarations if d.each is not None}
        self._stages = {name: self._stages_of(name, machine) for name, machine in machines.items()}
        if not machines and not document.globals:  # rules alone: everything may happen that they do not forbid
            self._stages[None] = Stages(_anything(None, limits), rules, events=document.events)
        self._only = next(iter(self._stages.values())) if len(self._stages) == 1 else None

    def _stages_of(self, name: str | None, machine: Machine) -> Stages:
        standings, events = Standings(machine, self.limits), self.document.events
        if name not in self._each:
            return Stages(standings, self.rules, events=events)
        sliced = SlicedProtocol(standings, self._each[name])
        return Stages(_anything(name, self.limits), self.rules, sliced, events=events)

    @cached_property
    def digest(self) -> str:
        """The identity of what was compiled: texts that mean the same have the same digest."""
        protocols: list[Json] = []
        for name, machine in sorted(self.machines.items(), key=str):
            sliced: list[Json] = [list(self._each[name])] if name in self._each else []
            protocols.append([name, machine_digest(machine), *sliced])
        rules: list[Json] = [[rule.rule.name, rule.text] for rule in self.rules.machines]
        if self.document.globals or self.document.types:
            return digest([protocols, rules, document_to_json(self.document)])
        lines = None if self.document.events is None else self.document.events.lines
        events: list[Json] | None = None if lines is None else [print_event_line(line) for line in lines]
        tools = self.document.tools
        if tools is not None:
            said: dict[str, Json] = dict(tools.named)
            return digest([protocols, rules, events, [said, tools.otherwise]])
        if events is not None:
            return digest([protocols, rules, events])
        return digest([protocols, rules] if rules else protocols)

    def failure_of(self, tool: str, label: str | None) -> Failure:
        """What it means if a call of that tool fails, whose event has that label: as the contract says, or by default.

        By default a call is `unknown` that a limit counts or that needs an approval, and any other is `undone`.
        """
        return self.failure_meaning(tool, label).fails

    def failure_meaning(self, tool: str, label: str | None) -> FailureMeaning:
        """As `failure_of`, with the reason where the contract does not say it."""
        key = (tool, label)
        known = self._failures.get(key)
        if known is None:
            known = meaning_of(self.document.tools, self._unknown, normalise(tool), label)
            if len(self._failures) < self.limits.remembered_standings:  # tools can be called anything
                self._failures[key] = known
        return known

    @cached_property
    def _unknown(self) -> dict[str, str]:
        return unknown_labels(self.machines.values(), self.document.rules)

    @cached_property
    def needs_more_than_labels(self) -> str:
        """What the labels of a trace do not tell: time, slices, data or gates. Empty if they tell everything."""
        symbols = [symbol for machine in self.machines.values() for symbol in machine.symbols]
        patterns = [pattern for rule in self.rules.machines for pattern in rule.patterns]
        if any(stages.is_timed for stages in self._stages.values()):
            return "time"
        if self._each or self.rules.sliced:
            return "slices"
        if any(symbol.clauses for symbol in symbols) or any(pattern.guards for pattern in patterns):
            return "data"
        if any(symbol.gated for symbol in symbols) or any(pattern.gated for pattern in patterns):
            return "gates"
        return ""

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, Contract) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def __reduce__(self) -> tuple[object, ...]:
        return _recompile, (self.document, self.limits)

    def __repr__(self) -> str:
        declared = [*self.machines, *(protocol.name for protocol in self.document.globals)]
        names = ", ".join(name or "(bare)" for name in declared) or f"of {len(self.rules.machines)} rules"
        return f"<Contract {names} from {self.document.source.name}>"

    def __getitem__(self, name: str) -> NamedProtocol:
        """One of its protocols, for whoever takes one; `KeyError` if it declares none of that name."""
        names = [*self.machines, *(protocol.name for protocol in self.document.globals)]
        if name not in names:
            listed = ", ".join(str(known) for known in names)
            raise KeyError(f"the contract declares no protocol {name!r}; it declares {listed}")
        return NamedProtocol(self, name)

    def to_json(self) -> dict[str, Json]:
        """The contract as JSON values, without loss except for places and comments."""
        return document_to_json(self.document)

    def protocol_name(self, name: str | None = None) -> str | None:
        """The name of the protocol meant by `name`; it may be left out where there is only one."""
        if name is not None and type(name) is not str:
            raise UsageError(f"the name of a protocol is a `str`, got `{type(name).__name__}`")
        name = None if name is None else normalise(name)
        if name is None and len(self._stages) == 1:
            return next(iter(self._stages))
        if name is not None and name in self.machines:
            return name
        between = [protocol.name for protocol in self.document.globals]
        if name in between or (name is None and not self._stages):
            which = name or between[0]
            watch = (
                f"`Session(contract, protocol={which!r})` watches all of them, `project` gives each its own contract"
            )
            raise UsageError(f"protocol `{which}` is between roles, and nobody's alone: {watch}")
        names = [known for known in self.machines if known is not None]
        listed = ", ".join(f"`{known}`" for known in names)
        if name is None:
            raise UsageError(f"the contract has several protocols; say which: one of {listed}")
        meant = did_you_mean(name, names)
        hint = f"; did you mean `{meant}`?" if meant else f"; it declares {listed}" if names else ""
        raise UsageError(f"the contract declares no protocol `{name}`{hint}")

    def machine(self, name: str | None = None) -> Machine:
        """The compiled protocol of that name."""
        if not self.machines and not self.document.globals:
            raise UsageError("the contract has rules and no protocol")
        return self.machines[self.protocol_name(name)]

    def stages(self, name: str | None = None) -> Stages:
        """Where sessions of that protocol can be."""
        if name is None and self._only is not None:
            return self._only
        return self._stages[self.protocol_name(name)]

    def standings(self, name: str | None = None) -> Standings:
        """Where sessions of that protocol can stand, rules set aside."""
        return self.stages(name).standings


def _anything(name: str | None, limits: Limits) -> Standings:
    """For where no protocol says what can happen, or only instances of one do."""
    return Standings(Machine((), (END_STATE,), name, is_open=True), limits)


def _recompile(document: Document, limits: Limits) -> Contract:
    return compile_document(document, limits)


def compile_document(document: Document, limits: Limits = DEFAULT_LIMITS) -> Contract:
    """A checked tree, compiled."""
    machines = {
        declaration.name: compile_declaration(declaration, document.source, limits)
        for declaration in document.declarations
    }
    for declaration in document.declarations:
        _check_beginning(declaration, machines[declaration.name], document.source, limits)
    return Contract(document, machines, RuleBook(document.rules, limits), limits)


def _check_beginning(declaration: Declaration, machine: Machine, source: Source, limits: Limits) -> None:
    """Raise `ContractError` (E028) if a session could not even begin within the limits.

    Only deadlines can do that: with them, that an interleaving is over and that it is not are two possibilities.
    """
    try:
        count = len(set(clocks.enter(machine, 0, 0))) if machine.is_timed else 1
    except TooManyConfigurationsError as error:
        message = str(error)
    else:
        if count <= limits.configurations:
            return
        message = f"more than {limits.configurations} possibilities would have to be followed"
    help_ = "fewer parts that may be over at once, or `Limits(configurations=…)`, allow a session to begin"
    span = declaration.name_span if declaration.name else Span(0, min(1, len(source.text)))
    raise ContractError((Diagnostic("E028", f"{message} from the beginning", source, span, help=help_),))


def compile_source(source: Source, limits: Limits = DEFAULT_LIMITS) -> Contract:
    """A text of local protocols and rules, checked and compiled; what is between roles is not looked into.

    For whoever writes such a text itself, as projections do: contracts of users go through `accord.compile`.
    """
    document, findings = examine(source, limits)
    if any(finding.severity == "error" for finding in findings):
        raise ContractError(findings)
    return compile_document(document, limits)


def read_source(path: Path, limits: Limits = DEFAULT_LIMITS) -> Source:
    """The text of a contract file.

    Raises `UsageError` if it cannot be read and `ContractError` (E017) if it is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            # Four bytes a character are enough to see that the limit on characters is passed.
            return decode_source(file.read(limits.source_characters * 4 + 4), str(path), limits)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:  # a path with a NUL in it
        raise UsageError(f"cannot read {str(path)!r}: {error}") from None


def decode_source(data: bytes, name: str, limits: Limits = DEFAULT_LIMITS) -> Source:
    """The text in `data`, which may be cut off behind the limit on characters.

    Raises `ContractError` (E017) if it is not UTF-8.
    """
    try:
        return Source(data.decode("utf-8"), name)
    except UnicodeDecodeError as error:
        source = Source(data[: error.start].decode("utf-8"), name)
        if len(source.text) > limits.source_characters:
            return source  # too long in any case, which the lexer reports
        here = Span(len(source.text), len(source.text))
        finding = Diagnostic("E017", f"byte {error.start} is not UTF-8", source, here, help="save the file as UTF-8")
        raise ContractError((finding,)) from None
