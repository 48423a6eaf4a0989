"""E032 and E033: the first message of a branch comes from the role that decides, and tells which branch it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic, Note
from accord.language.global_printer import print_exchange
from accord.language.global_tree import CRASH, GlobalChoice, blocks_in, roles_in

if TYPE_CHECKING:
    from accord.diagnostics import Source, Span
    from accord.language.global_firsts import First, Shapes
    from accord.language.global_tree import Block, GlobalProtocol

__all__ = ["check"]


def check(protocol: GlobalProtocol, source: Source, shapes: Shapes) -> list[Diagnostic]:
    """One finding for each branch that begins as another one does, or with somebody else's message."""
    return _Deciders(source, shapes).block(protocol.body)


def _told_by(first: First) -> tuple[str, str, str]:
    """What tells a branch: its first message; a crash, whoever notices it first, because everybody is told."""
    return (first.sender, "", CRASH) if first.label == CRASH else first.message


class _Deciders:
    def __init__(self, source: Source, shapes: Shapes) -> None:
        self.source = source
        self.shapes = shapes

    def block(self, block: Block) -> list[Diagnostic]:
        findings: list[Diagnostic] = []
        for step in block:
            for inner in blocks_in(step):
                findings += self.block(inner)
            if isinstance(step, GlobalChoice):
                findings += self.choice(step)
        return findings

    def choice(self, choice: GlobalChoice) -> list[Diagnostic]:
        findings: list[Diagnostic] = []
        seen: dict[tuple[str, str, str], Span] = {}
        spans = choice.branch_spans or (choice.span,) * (len(choice.branches) + 1)
        for branch, span in zip(choice.branches, spans, strict=False):
            found = self.shapes.firsts(branch)
            if not found:
                findings.append(self.no_message(choice, branch, span))
            for first in found:
                if first.sender != choice.decider:
                    findings.append(self.not_the_decider(choice, first))
                elif _told_by(first) in seen:
                    findings.append(self.twice(first, seen[_told_by(first)]))
                else:
                    seen[_told_by(first)] = first.span
        if choice.crash is not None:
            findings += self.crash(choice, choice.crash, spans[-1], seen)
        return findings

    def crash(
        self, choice: GlobalChoice, block: Block, span: Span, seen: dict[tuple[str, str, str], Span]
    ) -> list[Diagnostic]:
        role = choice.decider
        mention = next((where for name, where in roles_in(block) if name == role), None)
        if mention is not None:
            message = f"`{role}` has crashed and takes no part here"
            help_ = "leave it out of the branch; behind the choice it may be back"
            return [Diagnostic("E033", message, self.source, mention, help=help_)]
        found = self.shapes.firsts(block)
        if len({first.sender for first in found}) != 1:
            message = f"nobody in particular notices the crash of `{role}`"
            help_ = "begin the branch with a message of the role that notices"
            return [Diagnostic("E033", message, self.source, span, help=help_)]
        crash = found[0]._replace(sender=role, receiver=found[0].sender, label=CRASH)
        return [self.twice(crash, seen[_told_by(crash)])] if _told_by(crash) in seen else []

    def no_message(self, choice: GlobalChoice, branch: Block, span: Span) -> Diagnostic:
        message = "the branch is empty" if not branch else "the branch does not begin with a message"
        help_ = f"let `{choice.decider}` say which branch it takes: `{choice.decider} -> …: …`"
        where = branch[0].span if branch else span
        return Diagnostic("E033", message, self.source, where, help=help_)

    def not_the_decider(self, choice: GlobalChoice, first: First) -> Diagnostic:
        help_ = f"begin with a message of `{choice.decider}`, or write `choice at {first.sender}`"
        return Diagnostic(
            "E033",
            f"`{choice.decider}` decides here, and `{first.sender}` sends first",
            self.source,
            first.span,
            help=help_,
            notes=(Note(choice.decider_span, "decides"),),
        )

    def twice(self, first: First, before: Span) -> Diagnostic:
        if first.label == CRASH:
            return Diagnostic(
                "E032",
                f"what follows a crash of `{first.sender}` is said twice",
                self.source,
                first.span,
                label="everybody is told of a crash, and nobody could tell which branch it is",
                help="say it once, at the outermost of these choices",
                notes=(Note(before, "also follows it"),),
            )
        return Diagnostic(
            "E032",
            f"two branches begin with `{print_exchange(*first.message)}`",
            self.source,
            first.span,
            label="nobody could tell which branch it is",
            help="put what they share in front of the choice, or give one another message",
            notes=(Note(before, "also begins here"),),
        )
