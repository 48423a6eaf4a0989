"""Which protocol and which role each `@follows` means, or what is wrong with it."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from accord.agents.check.contracts import (
    InFile,
    Mistaken,
    Named,
    NotRead,
    Undefined,
    Written,
    compile_text,
    contracts_around,
    given_by,
)
from accord.agents.check.places import diagnostic
from accord.agents.check.rules.not_analysed import not_analysed
from accord.agents.check.rules.unclear import declaration, several_openers
from accord.agents.check.rules.unknown_protocol import (
    missing_protocol,
    mistaken_protocol,
    no_such_protocol,
    not_one_protocol,
    undefined_protocol,
    unreadable_contract,
)
from accord.agents.check.rules.unknown_role import no_role, no_such_role, no_text, undefined_role
from accord.agents.check.scripts import Script
from accord.diagnostics import Diagnostic, Note, Source, Span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.agents.check.contracts import Compiled, Given
    from accord.agents.check.declarations import AgentClass, Follows
    from accord.agents.check.missteps import Misstep
    from accord.agents.check.names import Program

__all__ = ["Contracts"]


@dataclass
class Contracts:
    """The contracts that the code names, compiled once each. `texts` are the files, or why they cannot be read."""

    program: Program
    texts: Mapping[InFile, Source | str]
    findings: list[Diagnostic] = field(default_factory=list)
    compiled: dict[str, Compiled] = field(default_factory=dict)
    places: dict[int, tuple[Source, int]] = field(default_factory=dict)
    """For a contract in the code, the file it stands in and where its text begins; by the identity of the contract."""
    is_uncertain: bool = False
    """Whether some agent follows what could not be seen."""

    def scripts(self, agent: AgentClass) -> list[Script]:
        """The roles of an agent; what is wrong with them is among the findings."""
        found: list[Script] = []
        for follows in agent.follows:
            script = self._script(follows)
            if script is None:
                self.is_uncertain = True
                continue
            if any((known.identity, known.role) == (script.identity, script.role) for known in found):
                what = f"`{agent.name}` follows `{script.protocol}` as `{script.role}` twice"
                self._report(declaration(what, "once is enough"), follows, follows.call)
                continue
            found.append(script)
        return found

    def _report(self, misstep: Misstep, follows: Follows, tree: ast.AST) -> None:
        made = diagnostic(misstep, follows.module, tree)
        if made not in self.findings:
            self.findings.append(made)

    def _script(self, follows: Follows) -> Script | None:
        if follows.protocol is None:
            self._report(missing_protocol(), follows, follows.call)
            return None
        given = given_by(follows.protocol, follows.scope, self.program)
        if not isinstance(given, Written | InFile):
            self._report(self._not_given(given, follows), follows, follows.protocol)
            return None
        compiled = self.contract(given, follows)
        protocol = self._protocol(given, compiled, follows) if compiled is not None else None
        role = self._role(follows) if protocol is not None else None
        if compiled is None or protocol is None or role is None:
            return None
        roles = compiled.choreographies[protocol].roles
        if role not in roles:
            self._report(no_such_role(role, protocol, roles), follows, follows.role or follows.call)
            return None
        openers = compiled.choreographies[protocol].openers
        if len(openers) > 1:
            self._report(several_openers(protocol, openers), follows, follows.protocol)
            return None
        return Script(compiled, protocol, role)

    def _not_given(self, given: Named | Mistaken | NotRead | Undefined, follows: Follows) -> Misstep:
        """Why an expression stands for no contract."""
        if isinstance(given, Mistaken):
            return mistaken_protocol(given.what, given.help)
        if isinstance(given, NotRead):
            return not_analysed(f"which protocol is followed: {given.why}")
        known = [name for compiled in self.compiled.values() for name in compiled.choreographies]
        if isinstance(given, Undefined):
            return undefined_protocol(given.name, list(contracts_around(follows.scope, self.program)), known)
        return no_such_protocol(given.name, known, by_name=True)

    def _protocol(self, given: Given, compiled: Compiled, follows: Follows) -> str | None:
        names = list(compiled.choreographies)
        wanted = given.protocol if isinstance(given, Written | InFile) else None
        if wanted is None and len(names) == 1:
            return names[0]
        if wanted in names:
            return wanted
        if wanted is None:
            self._report(not_one_protocol(names), follows, follows.protocol or follows.call)
        else:
            self._report(no_such_protocol(wanted, names, by_name=False), follows, follows.protocol or follows.call)
        return None

    def _role(self, follows: Follows) -> str | None:
        if follows.role is None:
            self._report(no_role(), follows, follows.call)
            return None
        if isinstance(follows.role, ast.Constant) and isinstance(follows.role.value, str):
            return follows.role.value
        if isinstance(follows.role, ast.Constant):
            self._report(no_text(repr(follows.role.value)), follows, follows.role)
            return None
        given = given_by(follows.role, follows.scope, self.program)
        if isinstance(given, Named):
            return given.name
        if isinstance(given, Undefined):
            self._report(undefined_role(given.name), follows, follows.role)
            return None
        self._report(not_analysed("which role is played is known only while the program runs"), follows, follows.role)
        return None

    def contract(self, given: Written | InFile, follows: Follows | None = None) -> Compiled | None:
        """The contract that is meant; `None` if it cannot be read or has errors, which are then among the findings."""
        if isinstance(given, InFile):
            text = self.texts.get(InFile(given.path, given.module, given.beside), "it was not read")
            if isinstance(text, str):
                if follows is not None:
                    self._report(unreadable_contract(given.path, text), follows, follows.protocol or follows.call)
                return None
            compiled = self.add(text)
        else:
            line = given.module.source.line_and_column(self._beginning(given))[0]
            compiled = self.add(Source(given.text, given.module.source.name), line)
        if isinstance(given, Written) and id(compiled) not in self.places:
            self._place(given, compiled)
        return None if not compiled.choreographies and compiled.findings else compiled

    def add(self, source: Source, line: int = 1) -> Compiled:
        """A contract text, compiled once."""
        if source.text not in self.compiled:
            self.compiled[source.text] = compile_text(source, line)
        return self.compiled[source.text]

    def _beginning(self, given: Written) -> int:
        """Where the text of a contract begins in its file; in front of the quotes if it has escapes in it."""
        span = given.module.span(given.node)
        at = given.module.source.text.find(given.text, span.start, span.end)
        return at if at >= 0 else span.start

    def _place(self, given: Written, compiled: Compiled) -> None:
        at = self._beginning(given)
        is_exact = given.module.source.text.startswith(given.text, at)
        self.places[id(compiled)] = (given.module.source, at if is_exact else -at - 1)

    def located(self, compiled: Compiled, finding: Diagnostic) -> Diagnostic:
        """A finding in a contract; where the contract stands in code, at its place there."""
        if id(compiled) not in self.places:
            return finding
        source, at = self.places[id(compiled)]

        def moved(span: Span) -> Span:
            return Span(span.start + at, span.end + at) if at >= 0 else Span(-at - 1, -at)

        notes = tuple(Note(moved(note.span), note.message) for note in finding.notes)
        return Diagnostic(
            finding.code, finding.message, source, moved(finding.span), finding.label, finding.help, notes
        )
