"""E043, E045, E046: clauses and gates that cannot be meant, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic
from accord.language.checks.overlap import example_payload
from accord.language.clauses import Guard, Value
from accord.language.patterns import PatternError, compile_pattern
from accord.language.tree import SEND, Action

if TYPE_CHECKING:
    from accord.diagnostics import Source
    from accord.language.clauses import Clause
    from accord.language.tree import Protocol

__all__ = ["check", "check_clauses"]


def check(body: Protocol, source: Source) -> list[Diagnostic]:
    """Findings about single steps."""
    findings: list[Diagnostic] = []
    todo: list[Protocol] = [body]
    while todo:
        node = todo.pop()
        todo += node.children()
        if not isinstance(node, Action):
            continue
        findings += check_clauses(node.clauses, source)
        if node.gated and node.direction == SEND:
            findings.append(
                Diagnostic(
                    "E046",
                    "a person's step is received, not sent",
                    source,
                    node.span,
                    help=f"write `?{node.label} by human`: the agent waits for it",
                )
            )
    return findings


def check_clauses(clauses: tuple[Clause, ...], source: Source) -> list[Diagnostic]:
    """Findings about the clauses behind one label."""
    findings: list[Diagnostic] = []
    guards = [clause for clause in clauses if isinstance(clause, Guard)]
    for guard in guards:
        if guard.operator != "matches" or not isinstance(guard.operand, Value):
            continue
        try:
            compile_pattern(str(guard.operand.scalar))
        except PatternError as error:
            message = f"the pattern is not valid: {error}"
            help_ = "patterns have the syntax of RE2: no look-around and no back-references"
            findings.append(Diagnostic("E043", message, source, guard.span, help=help_))
    for guard in guards:
        wants_list = guard.operator in {"in", "not in"} and isinstance(guard.operand, Value)
        if wants_list and not isinstance(guard.operand.scalar, tuple):  # type: ignore[union-attr] # a Value
            message = f"`{guard.operator}` wants a list"
            findings.append(Diagnostic("E045", message, source, guard.span, help="write `[…]` around it"))
    if not findings and len(guards) > 0 and example_payload(guards) is None:
        span = type(guards[0].span)(guards[0].span.start, guards[-1].span.end)
        findings.append(
            Diagnostic(
                "E045",
                "no payload can satisfy these guards",
                source,
                span,
                label="never holds",
                help="a comma means *and*; put alternatives into branches of their own",
            )
        )
    return findings
