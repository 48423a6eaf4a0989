"""E030 and W015: messages go from one role to another, under names that are what they seem to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic
from accord.language.checks.deceptive_labels import deceptive
from accord.language.global_tree import Exchange, blocks_in

if TYPE_CHECKING:
    from accord.diagnostics import Source
    from accord.language.global_tree import Block, GlobalProtocol

__all__ = ["check"]


def check(protocol: GlobalProtocol, source: Source) -> list[Diagnostic]:
    """One finding for each message to oneself, one warning for each name that may deceive."""
    return _check(protocol.body, source)


def _check(block: Block, source: Source) -> list[Diagnostic]:
    findings: list[Diagnostic] = []
    for step in block:
        if isinstance(step, Exchange):
            if step.sender == step.receiver:
                message = f"`{step.sender}` sends `{step.label}` to itself"
                help_ = "a message goes from one role to another; what a role does alone is not in the protocol"
                findings.append(Diagnostic("E030", message, source, step.receiver_span, help=help_))
            findings += deceptive(step.label, "label", step.span, source)
            findings += deceptive(step.sender, "role", step.span, source)
            findings += deceptive(step.receiver, "role", step.receiver_span, source)
        for inner in blocks_in(step):
            findings += _check(inner, source)
    return findings
