"""Everything that is to be said about one agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    from collections.abc import Mapping, Sequence

    from accord.agents.check.declarations import AgentClass
    from accord.agents.check.modules import Module
    from accord.agents.check.names import Program
    from accord.agents.check.scripts import Script
    from accord.agents.check.studying import Study
    from accord.diagnostics import Diagnostic

__all__ = ["Judge"]


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
        effectful = effectful_methods(agent)
        for method in agent.methods.values():
            found += [
                diagnostic(not_analysed(why), method.module, tree)
                for tree, why in escapes(method, effectful, agent, self.program)
            ]
            found += [
                diagnostic(misspelt(agent.name, name, meant), method.module, tree)
                for tree, name, meant in misspelt_verbs(agent, method)
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
        found += [
            diagnostic(misstep, agent.module, agent.declared.node) for misstep in misnamed(agent.name, self.scripts)
        ]
        found += [
            diagnostic(misstep, method.module, tree)
            for method, tree, misstep in repeated_changes(agent, self.scripts, self.program)
        ]
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
                if label in studied.walker.kinds.classes:
                    found += self.message_class(studied.walker.kinds.classes[label], script, label)
                elif self.is_used(label, studied):
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
        for script in self.scripts:
            for label in sorted({label for label, _ in script.sent}):
                record = script.compiled.records.get(label)
                for call in module.calls.get(label, ()):
                    meaning = self.program.resolve(call.func, module.scope)
                    message = read_message(meaning, self.program) if isinstance(meaning, Class) else None
                    if message is not None and message.label == label:
                        wrong = wrongly_made(call, message, record, script.compiled.enums)
                        found += [diagnostic(misstep, module, tree) for tree, misstep in wrong]
        return found

    def is_used(self, label: str, studied: Study) -> bool:
        """Whether a class that is not in the files is one of the agent's messages."""
        handled = {name for handler in self.agent.handlers for name in handler.labels}
        meaning = self.program.look_up(label, self.agent.declared.scope)
        is_bound = isinstance(meaning, Outside) and not meaning.name.startswith("builtins.")
        return is_bound or label in studied.walker.spoken | handled

    def message_class(self, declared: Class, script: Script, label: str) -> list[Diagnostic]:
        """In what a class differs from its record."""
        message = read_message(declared, self.program)
        if message is None:
            what = f"`{label}` is no message class"
            misstep = Misstep(MISFIT, what, "make it a dataclass, a msgspec Struct or a pydantic model")
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
