"""Everything that is to be said about one agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from accord.agents.check.escapes import effectful_methods, escapes
from accord.agents.check.fitting import misfits
from accord.agents.check.messages import read_message
from accord.agents.check.misspelling import misspelt_verbs
from accord.agents.check.missteps import Misstep
from accord.agents.check.modules import Class
from accord.agents.check.names import Outside
from accord.agents.check.places import diagnostic
from accord.agents.check.repeating import repeated_changes
from accord.agents.check.rules.misfit import class_misfit, wrongly_made
from accord.agents.check.rules.misnamed import misnamed
from accord.agents.check.rules.never_called import never_called
from accord.agents.check.rules.not_analysed import misspelt, not_analysed, uncalled, unknown_classes
from accord.agents.check.rules.starving import starving
from accord.agents.check.rules.unclear import declaration
from accord.agents.check.rules.untaken import no_handler
from accord.agents.check.studying import study
from accord.agents.check.targets import Targets
from accord.diagnostics.agent_codes import MISFIT
from accord.language.global_tree import CRASH

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from accord.agents.check.declarations import AgentClass
    from accord.agents.check.modules import Module
    from accord.agents.check.names import Program
    from accord.agents.check.scripts import Script
    from accord.agents.check.studying import Study
    from accord.diagnostics import Diagnostic

__all__ = ["RULES", "Judge", "Rule"]

Rule: TypeAlias = "Callable[[Study], Iterable[Diagnostic]]"
"""From what was found out about an agent to what is to be said about it."""


@dataclass(frozen=True)
class Judge:
    """Everything about one agent."""

    agent: AgentClass
    scripts: Sequence[Script]
    program: Program
    plays: Mapping[ast.ClassDef, frozenset[tuple[object, str]]]

    def findings(self) -> list[Diagnostic]:
        """All of it; where the agent should follow something that is not known, only what can be said then."""
        agent = self.agent
        found = [diagnostic(declaration(what, help_), module, tree) for module, tree, what, help_ in agent.complaints]
        found += [diagnostic(not_analysed(why), module, tree) for module, tree, why in agent.doubts]
        if not agent.follows:
            what = f"`{agent.name}` follows no protocol"
            misstep = declaration(what, 'write `@follows(protocol, as_="Role")` above it')
            return [*found, diagnostic(misstep, agent.module, agent.declared.node)]
        if len(self.scripts) < len(agent.follows):
            return found  # what it should follow is not known, and that was said
        targets = Targets(agent, self.program, self.plays)
        studied = study(agent, self.scripts, self.program, targets, effectful_methods(agent))
        for rule in RULES:
            found += rule(studied)
        return found


def _out_of_sight(studied: Study) -> Iterator[Diagnostic]:
    """Where the agent gets out of sight."""
    agent, walker = studied.agent, studied.walker
    for method in agent.methods.values():
        for tree, why in escapes(method, walker.effectful, agent, walker.program):
            yield diagnostic(not_analysed(why), method.module, tree)
        for tree, name, meant in misspelt_verbs(agent, method):
            yield diagnostic(misspelt(agent.name, name, meant), method.module, tree)


def _on_paths(studied: Study) -> Iterator[Diagnostic]:
    """What was met on the way through its methods."""
    for finding in studied.walker.findings.values():
        yield diagnostic(finding.misstep, finding.module, finding.tree, finding.path)


def _in_loops(studied: Study) -> Iterator[Diagnostic]:
    """Loops without a way out."""
    for trap in studied.walker.traps:
        for misstep in starving(trap, studied.scripts):
            yield diagnostic(misstep, trap.method.module, trap.tree, trap.path)


def _handlers(studied: Study) -> Iterator[Diagnostic]:
    """Messages without a handler, and handlers without a message."""
    agent = studied.agent
    # What a handler that makes no sense would take is not known, and it was said to make none.
    untaken = {} if agent.complaints else studied.untaken
    for (part, label, sender), path in untaken.items():
        misstep = no_handler(studied.scripts[part], label, sender, agent.name)
        yield diagnostic(misstep, agent.module, agent.declared.node, path)
    received = {label for script in studied.scripts for label, _ in script.received}
    for handler in agent.handlers:
        for label in handler.labels:
            if label in studied.called or (studied.walker.dropped and label in received):
                continue
            misstep = never_called(studied.scripts, label, handler.method.name)
            yield diagnostic(misstep, handler.method.module, handler.method.node)


def _messages(studied: Study) -> Iterator[Diagnostic]:
    """Message classes that are not what the contracts say, and messages that are made wrongly."""
    agent, classes = studied.agent, studied.walker.kinds.classes
    unknown: list[str] = []
    for script in studied.scripts:
        for label in sorted({label for label, _ in script.sent | script.received} - {CRASH}):
            if label in classes:
                yield from _message_class(classes[label], script, label, studied.walker.program)
            elif _is_used(label, studied):
                unknown.append(label)
    for module in dict.fromkeys(method.module for method in agent.methods.values()):
        yield from _made_in(module, studied)
    if unknown:
        yield diagnostic(unknown_classes(list(dict.fromkeys(unknown))), agent.module, agent.declared.node)


def _made_in(module: Module, studied: Study) -> Iterator[Diagnostic]:
    """Messages that a file makes wrongly, wherever they are sent."""
    program = studied.walker.program
    for script in studied.scripts:
        for label in sorted({label for label, _ in script.sent}):
            record = script.compiled.records.get(label)
            for call in module.calls.get(label, ()):
                meaning = program.resolve(call.func, module.scope)
                message = read_message(meaning, program) if isinstance(meaning, Class) else None
                if message is not None and message.label == label:
                    for tree, misstep in wrongly_made(call, message, record, script.compiled.enums):
                        yield diagnostic(misstep, module, tree)


def _is_used(label: str, studied: Study) -> bool:
    """Whether a class that is not in the files is one of the agent's messages."""
    agent = studied.agent
    handled = {name for handler in agent.handlers for name in handler.labels}
    meaning = studied.walker.program.look_up(label, agent.declared.scope)
    is_bound = isinstance(meaning, Outside) and not meaning.name.startswith("builtins.")
    return is_bound or label in studied.walker.spoken | handled


def _message_class(declared: Class, script: Script, label: str, program: Program) -> Iterator[Diagnostic]:
    """In what a class differs from its record."""
    message = read_message(declared, program)
    if message is None:
        what = f"`{label}` is no message class"
        misstep = Misstep(MISFIT, what, "make it a dataclass, a msgspec Struct or a pydantic model")
        yield diagnostic(misstep, declared.module, declared.node)
        return
    record = script.compiled.records.get(label)
    if record is None:
        return
    for misfit in misfits(message, record, script.compiled, program):
        misstep = not_analysed(misfit.message) if misfit.not_read else class_misfit(misfit)
        yield diagnostic(misstep, misfit.scope.module, misfit.node)


def _uncalled(studied: Study) -> Iterator[Diagnostic]:
    """Methods that speak, and that nothing calls."""
    agent, walker = studied.agent, studied.walker
    if walker.dropped:
        return
    quiet = {name for name in walker.effectful if name.startswith("on_")}  # handlers have findings of their own
    for name in sorted(walker.effectful - walker.reached - quiet):
        method = agent.methods[name]
        yield diagnostic(uncalled(name), method.module, method.node)


def _design(studied: Study) -> Iterator[Diagnostic]:
    """Names that mislead, and handlers that count a message twice if it comes twice."""
    agent, walker = studied.agent, studied.walker
    for misstep in misnamed(agent.name, studied.scripts):
        yield diagnostic(misstep, agent.module, agent.declared.node)
    for method, tree, misstep in repeated_changes(agent, studied.scripts, walker.program):
        yield diagnostic(misstep, method.module, tree)


RULES: tuple[Rule, ...] = (
    _out_of_sight,
    _on_paths,
    _in_loops,
    _handlers,
    _messages,
    _design,
    _uncalled,
)
"""What is asked about an agent once everything that it can come to is known."""
