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
from accord.agents.check.escapes import effectful_methods, escapes
from accord.agents.check.fitting import misfits
from accord.agents.check.following import Contracts
from accord.agents.check.ignoring import Ignored, apply_ignores
from accord.agents.check.messages import read_message
from accord.agents.check.missteps import Misstep
from accord.agents.check.modules import Class, Value, read_module
from accord.agents.check.names import Outside, Program
from accord.agents.check.patching import patches_in
from accord.agents.check.places import diagnostic
from accord.agents.check.rules.misfit import class_misfit, wrongly_made
from accord.agents.check.rules.never_called import never_called
from accord.agents.check.rules.not_analysed import not_analysed, uncalled, unknown_classes
from accord.agents.check.rules.starving import starving
from accord.agents.check.rules.unclear import declaration
from accord.agents.check.rules.unfollowed import unfollowed
from accord.agents.check.rules.unreadable import unreadable
from accord.agents.check.rules.untaken import no_handler
from accord.agents.check.studying import study
from accord.agents.check.targets import Targets
from accord.language.global_tree import CRASH

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from accord.agents.check.contracts import Compiled, Script
    from accord.agents.check.declarations import AgentClass
    from accord.agents.check.modules import Module
    from accord.agents.check.studying import Study
    from accord.diagnostics import Diagnostic, Source

__all__ = ["Files", "Report", "lint", "read"]


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


def read(sources: Iterable[Source], around: Iterable[Source] = ()) -> Files:
    """Read Python files. Those `around` them are not checked: they say what names mean."""
    findings: list[Diagnostic] = []
    checked: list[Module] = []
    others: list[Module] = []
    for source in sources:
        try:
            checked.append(read_module(source))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            findings.append(unreadable(source, error))
    for source in around:
        try:
            others.append(read_module(source))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
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
            findings += _Judge(agent, scripts[agent.declared.node], files.program, plays).findings()
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
        meanings = [files.program.look_up(label, agent.declared.scope) for label in labels]
        classes |= {meaning.node for meaning in meanings if isinstance(meaning, Class)}
    for module in files.checked:
        for tree, why in patches_in(module, files.program, classes):
            yield diagnostic(not_analysed(why), module, tree)


def _of_contracts(
    known: Contracts, declared: Iterable[Compiled], followed: set[tuple[object, str]]
) -> Iterable[Diagnostic]:
    for compiled in known.compiled.values():
        for finding in compiled.findings:
            yield known.located(compiled, finding)
    if known.is_uncertain:
        return  # then it cannot be said that nobody follows a protocol
    for compiled in {id(found): found for found in [*declared, *known.compiled.values()]}.values():
        for finding in unfollowed(compiled, followed):
            yield known.located(compiled, finding)


@dataclass(frozen=True)
class _Judge:
    """Everything about one agent."""

    agent: AgentClass
    scripts: Sequence[Script]
    program: Program
    plays: Mapping[ast.ClassDef, frozenset[tuple[object, str]]]

    def findings(self) -> list[Diagnostic]:
        agent = self.agent
        found = [diagnostic(declaration(what, help_), module, tree) for module, tree, what, help_ in agent.complaints]
        found += [diagnostic(not_analysed(why), module, tree) for module, tree, why in agent.doubts]
        if not agent.follows:
            what = f"`{agent.name}` follows no protocol"
            misstep = declaration(what, 'write `@follows(protocol, as_="Role")` above it')
            return [*found, diagnostic(misstep, agent.module, agent.declared.node)]
        if len(self.scripts) < len(agent.follows):
            return found  # what it should follow is not known, and that was said
        effectful = effectful_methods(agent)
        for method in agent.methods.values():
            found += [
                diagnostic(not_analysed(why), method.module, tree)
                for tree, why in escapes(method, effectful, self.program)
            ]
        targets = Targets(agent, self.program, self.plays)
        studied = study(agent, self.scripts, self.program, targets, effectful)
        found += [
            diagnostic(finding.misstep, finding.module, finding.tree, finding.path)
            for finding in studied.walker.findings.values()
        ]
        found += self.handlers(studied)
        for trap in studied.walker.traps:
            found += [
                diagnostic(misstep, trap.method.module, trap.tree, trap.path)
                for misstep in starving(trap, self.scripts)
            ]
        found += self.messages(studied)
        if not studied.walker.dropped:
            quiet = {name for name in effectful if name.startswith("on_")}  # handlers have findings of their own
            for name in sorted(effectful - studied.walker.reached - quiet):
                method = agent.methods[name]
                found.append(diagnostic(uncalled(name), method.module, method.node))
        return found

    def handlers(self, studied: Study) -> list[Diagnostic]:
        """Messages without a handler, and handlers without a message."""
        agent = self.agent
        found = []
        # What a handler that makes no sense would take is not known, and it was said to make none.
        untaken = {} if agent.complaints else studied.untaken
        for (part, label, sender), path in untaken.items():
            misstep = no_handler(self.scripts[part], label, sender, agent.name)
            found.append(diagnostic(misstep, agent.module, agent.declared.node, path))
        received = {label for script in self.scripts for label, _ in script.received}
        for handler in agent.handlers:
            for label in handler.labels:
                if label in studied.called or (studied.walker.dropped and label in received):
                    continue
                misstep = never_called(self.scripts, label, handler.method.name)
                found.append(diagnostic(misstep, handler.method.module, handler.method.node))
        return found

    def messages(self, studied: Study) -> list[Diagnostic]:
        """Message classes that are not what the contracts say, and messages that are made wrongly."""
        found: list[Diagnostic] = []
        unknown: list[str] = []
        for script in self.scripts:
            for label in sorted({label for label, _ in script.sent | script.received} - {CRASH}):
                meaning = self.program.look_up(label, self.agent.declared.scope)
                if isinstance(meaning, Class):
                    found += self.message_class(meaning, script, label)
                elif self.is_used(label, studied, meaning):
                    unknown.append(label)
        for module in dict.fromkeys(method.module for method in self.agent.methods.values()):
            found += self.made_in(module)
        if unknown:
            misstep = unknown_classes(list(dict.fromkeys(unknown)))
            found.append(diagnostic(misstep, self.agent.module, self.agent.declared.node))
        return found

    def made_in(self, module: Module) -> list[Diagnostic]:
        """Messages that a file makes wrongly, wherever they are sent."""
        found: list[Diagnostic] = []
        for call in module.calls:
            meaning = self.program.resolve(call.func, module.scope)
            message = read_message(meaning, self.program) if isinstance(meaning, Class) else None
            for script in self.scripts:
                if message is not None and message.label in {word for word, _ in script.sent}:
                    record = script.compiled.records.get(message.label)
                    wrong = wrongly_made(call, message, record, script.compiled.enums)
                    found += [diagnostic(misstep, module, tree) for tree, misstep in wrong]
        return found

    def is_used(self, label: str, studied: Study, meaning: object) -> bool:
        """Whether a class that is not in the files is one of the agent's messages."""
        handled = {name for handler in self.agent.handlers for name in handler.labels}
        is_bound = isinstance(meaning, Outside) and not meaning.name.startswith("builtins.")
        return is_bound or label in studied.walker.spoken | handled

    def message_class(self, declared: Class, script: Script, label: str) -> list[Diagnostic]:
        """In what a class differs from its record."""
        message = read_message(declared, self.program)
        if message is None:
            what = f"`{label}` is no message class"
            misstep = Misstep("E084", what, "make it a dataclass, a msgspec Struct or a pydantic model")
            return [diagnostic(misstep, declared.module, declared.node)]
        record = script.compiled.records.get(label)
        if record is None:
            return []
        return [
            diagnostic(
                not_analysed(misfit.message) if misfit.not_read else class_misfit(misfit),
                misfit.scope.module,
                misfit.node,
            )
            for misfit in misfits(message, record, script.compiled, self.program)
        ]
