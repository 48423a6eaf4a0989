"""`lint`: every finding in some files, from their texts alone.

It is done in two steps, because files are not read here: `read` takes the Python files and says which contracts they
name, `lint` takes those and judges. Nothing is imported and nothing is run.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accord.agents.check.contracts import InFile, Written, given_by
from accord.agents.check.declarations import agents_in
from accord.agents.check.following import Contracts
from accord.agents.check.ignoring import Ignored, apply_ignores
from accord.agents.check.judging import Judge
from accord.agents.check.modules import Value, read_module
from accord.agents.check.names import Program
from accord.agents.check.patching import patches_in
from accord.agents.check.places import diagnostic
from accord.agents.check.rules.long_protocol import long_protocols
from accord.agents.check.rules.not_analysed import not_analysed
from accord.agents.check.rules.unfollowed import unfollowed
from accord.agents.check.rules.unreadable import unreadable
from accord.agents.check.vocabulary import vocabulary
from accord.language.ignoring import without_ignored

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from accord.agents.check.contracts import Compiled
    from accord.agents.check.declarations import AgentClass
    from accord.agents.check.modules import Module
    from accord.agents.check.scripts import Script
    from accord.diagnostics import Diagnostic, Source

__all__ = ["Files", "Report", "lint", "read"]

# CPython says `SystemError` of some trees that are nested too deeply.
_NO_TREE = (SyntaxError, ValueError, RecursionError, MemoryError, SystemError)


@dataclass(frozen=True)
class Files:
    """Python files, read; `wanted` are the contract files that they name."""

    program: Program
    checked: tuple[Module, ...]
    agents: tuple[AgentClass, ...]
    wanted: tuple[InFile, ...]
    findings: tuple[Diagnostic, ...]


@dataclass(frozen=True)
class Report:
    """What was found, what was found and is ignored, and how much was looked at."""

    findings: tuple[Diagnostic, ...]
    ignored: tuple[Ignored, ...]
    agents: int


def read(sources: Iterable[Source], around: Iterable[Source] = (), folder: str = "") -> Files:
    """Read Python files. Those `around` them are not checked: they say what names mean.

    `folder` is where their names begin, if they do not say it all: imports are followed by where files lie.
    """
    findings: list[Diagnostic] = []
    checked: list[Module] = []
    others: list[Module] = []
    for source in sources:
        try:
            checked.append(read_module(source, folder))
        except _NO_TREE as error:
            findings.append(unreadable(source, error))
    for source in around:
        try:
            others.append(read_module(source, folder))
        except _NO_TREE:
            continue  # what it declares is then not known, which whoever needs it reports
    program = Program([*checked, *others])
    agents: list[AgentClass] = []
    wanted: dict[InFile, None] = {}
    for module in checked:
        try:
            mine = list(agents_in(module, program))
            wanted |= dict.fromkeys(_wanted(program, module, mine))
        except RecursionError as error:
            findings.append(unreadable(module.source, error))
        else:
            agents += mine
    return Files(program, tuple(checked), tuple(agents), tuple(wanted), tuple(findings))


def _wanted(program: Program, module: Module, agents: Iterable[AgentClass]) -> Iterable[InFile]:
    for agent in agents:
        for follows in agent.follows:
            if follows.protocol is not None:
                given = given_by(follows.protocol, follows.scope, program)
                if isinstance(given, InFile):
                    yield InFile(given.path, given.module, given.beside)
    for given in _constants(module, program):
        if isinstance(given, InFile):
            yield InFile(given.path, given.module, given.beside)


def _constants(module: Module, program: Program) -> Iterable[InFile | Written]:
    """The contracts that a file loads at its top level."""
    if "accord" not in module.source.text:
        return
    for bound in module.scope.names.values():
        if isinstance(bound, Value) and isinstance(bound.expression, ast.Call | ast.Subscript):
            given = given_by(bound.expression, bound.scope, program)
            if isinstance(given, InFile | Written):
                yield given


def lint(files: Files, contracts: Mapping[InFile, Source | str], beside: Iterable[Source] = ()) -> Report:
    """Judge files. `contracts` are the texts of those that were wanted, or why they cannot be read.

    Contracts that lie `beside` the code are looked at for protocols that nobody follows.
    """
    known = Contracts(files.program, contracts)
    declared = [known.add(source) for source in beside]
    for module in files.checked:
        for given in _constants(module, files.program):
            compiled = known.contract(given)
            if compiled is not None:
                declared.append(compiled)
    findings = list(files.findings)
    scripts = {agent.declared.node: known.scripts(agent) for agent in files.agents}
    plays = {node: frozenset((script.identity, script.role) for script in mine) for node, mine in scripts.items()}
    parents = {above.node for agent in files.agents for above in agent.above}
    for agent in files.agents:
        if not agent.follows and agent.declared.node in parents:
            continue  # what is inherited from it is looked at where it is followed
        try:
            findings += Judge(agent, scripts[agent.declared.node], files.program, plays).findings()
        except RecursionError:
            why = f"`{agent.name}` is nested too deeply"
            findings.append(diagnostic(not_analysed(why), agent.module, agent.declared.node))
    findings += _patches(files, scripts)
    followed: set[tuple[object, str]] = {script.identity for mine in scripts.values() for script in mine}
    findings += known.findings
    findings += _of_contracts(known, declared, followed)
    once = {(finding.code, finding.source.name, finding.span): finding for finding in reversed(findings)}
    findings = list(reversed(once.values()))
    order = {module.source.name: number for number, module in enumerate(files.checked)}
    left, ignored = apply_ignores(findings, files.checked)
    left.sort(key=lambda d: (order.get(d.source.name, len(order)), d.source.name, d.span.start, d.code))
    return Report(tuple(left), tuple(ignored), len(files.agents))


def _patches(files: Files, scripts: Mapping[ast.ClassDef, Sequence[Script]]) -> Iterable[Diagnostic]:
    """Where agents and their messages are changed after they were declared."""
    classes = {declared.node for agent in files.agents for declared in (agent.declared, *agent.above)}
    for agent in files.agents:
        labels = {label for script in scripts[agent.declared.node] for label, _ in script.sent | script.received}
        classes |= {declared.node for declared in vocabulary(agent, labels, files.program).values()}
    for module in files.checked:
        for tree, why in patches_in(module, files.program, classes):
            yield diagnostic(not_analysed(why), module, tree)


def _of_contracts(
    known: Contracts, declared: Iterable[Compiled], followed: set[tuple[object, str]]
) -> Iterable[Diagnostic]:
    for compiled in known.compiled.values():
        for finding in compiled.findings:
            yield known.located(compiled, finding)
    for compiled in {id(found): found for found in [*declared, *known.compiled.values()]}.values():
        # Where it is not known what some agent follows, it cannot be said that nobody follows a protocol.
        ours = [*long_protocols(compiled), *(unfollowed(compiled, followed) if not known.is_uncertain else ())]
        for finding in without_ignored(ours):
            yield known.located(compiled, finding)
