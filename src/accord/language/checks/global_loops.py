"""E020, E021, E023, E025 and E026 for protocols between roles: loops lead somewhere and everything can be reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic, Note, Span, did_you_mean
from accord.language.global_tree import Call, Continue, GlobalChoice, GlobalLoop, Parallel, blocks_in

if TYPE_CHECKING:
    from accord.diagnostics import Source
    from accord.language.global_firsts import Shapes
    from accord.language.global_tree import Block, GlobalProtocol, GlobalStep

__all__ = ["check"]

# For each loop around: whether an end of a part of `par` lies between, and whether no message does.
_Scope = dict[str, tuple[bool, bool]]


def check(protocol: GlobalProtocol, source: Source, shapes: Shapes) -> list[Diagnostic]:
    """One finding for each loop, jump or block that makes no sense."""
    return _Loops(source, shapes).block(protocol.body, {}, fresh=True)


class _Loops:
    def __init__(self, source: Source, shapes: Shapes) -> None:
        self.source = source
        self.shapes = shapes

    def block(self, block: Block, scope: _Scope, *, fresh: bool) -> list[Diagnostic]:
        """Findings in a block; it is `fresh` if no message was exchanged since the loops around it began."""
        findings: list[Diagnostic] = []
        for index, step in enumerate(block):
            here = scope if fresh and index == 0 else {name: (crosses, False) for name, (crosses, _) in scope.items()}
            if isinstance(step, Continue):
                findings += self.jump(step, here)
            elif isinstance(step, GlobalLoop):
                inside = {**here, step.variable: (False, True)}
                findings += self.inner(step.body, step.span, inside)
            elif isinstance(step, Parallel):
                parted = {name: (True, still) for name, (_, still) in here.items()}
                for part, span in zip(step.parts, step.part_spans or (step.span,) * len(step.parts), strict=True):
                    findings += self.inner(part, span, parted)
            elif isinstance(step, GlobalChoice):
                for branch in blocks_in(step):  # one that does not begin with a message is told about elsewhere
                    findings += self.block(branch, here, fresh=False)
            rest = block[index + 1 :]
            if rest and not self.shapes.step_passes(step):
                findings.append(self.unreachable(step, rest))
                break
        return findings

    def inner(self, block: Block, span: Span, scope: _Scope) -> list[Diagnostic]:
        if not block:
            help_ = "say what happens there, or leave it out"
            return [Diagnostic("E020", "the block is empty", self.source, span, help=help_)]
        return self.block(block, scope, fresh=True)

    def jump(self, jump: Continue, scope: _Scope) -> list[Diagnostic]:
        if jump.variable not in scope:
            message = f"`continue {jump.variable}` leads nowhere"
            meant = did_you_mean(jump.variable, scope)
            help_ = f"did you mean `{meant}`?" if meant else f"it needs `rec {jump.variable} {{…}}` around it"
            return [Diagnostic("E021", message, self.source, jump.span, help=help_)]
        crosses, still = scope[jump.variable]
        if crosses:
            message = f"`continue {jump.variable}` jumps out of a part of `par`"
            help_ = "continue behind the `par`, when all parts are over"
            label = "the other parts would be left hanging"
            return [Diagnostic("E026", message, self.source, jump.span, label=label, help=help_)]
        if still:
            message = f"loop `{jump.variable}` turns without a message"
            help_ = "exchange at least one message before `continue`"
            return [Diagnostic("E023", message, self.source, jump.span, help=help_)]
        return []

    def unreachable(self, step: GlobalStep, rest: Block) -> Diagnostic:
        why = "no way leads past this"
        if isinstance(step, Continue):
            why = "this jumps back"
        elif isinstance(step, GlobalChoice):
            why = "every branch of this choice jumps back"
        elif isinstance(step, GlobalLoop):
            why = "no way leads out of this loop"
        elif isinstance(step, Call):
            why = f"`{step.protocol}` never ends"
        span = step.span if isinstance(step, Continue | Call) else Span(step.span.end - 1, step.span.end)
        return Diagnostic(
            "E025",
            "this can never be reached",
            self.source,
            Span(rest[0].span.start, rest[-1].span.end),
            label="never reached",
            help="remove it, or let a way lead here",
            notes=(Note(span, why),),
        )
