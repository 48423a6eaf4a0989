"""W087: a protocol that nobody follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic
from accord.diagnostics.agent_codes import UNFOLLOWED
from accord.language.global_tree import Call, blocks_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.agents.check.contracts import Compiled
    from accord.language.global_tree import Block

__all__ = ["unfollowed"]


def unfollowed(compiled: Compiled, followed: set[tuple[object, str]]) -> Iterator[Diagnostic]:
    """Those of a contract that no agent plays any role of, and that are not part of another."""
    document = compiled.document
    if document is None:
        return
    done = {name for protocol in document.globals for name in _done_in(protocol.body)}
    for protocol in document.globals:
        if protocol.name not in done and (id(compiled), protocol.name) not in followed:
            message = f"nobody follows protocol `{protocol.name}`"
            help_ = f'`@follows(…, as_="{protocol.roles[0]}")` on an agent, or remove it'
            yield Diagnostic(UNFOLLOWED, message, document.source, protocol.name_span, help=help_)


def _done_in(block: Block) -> Iterator[str]:
    for step in block:
        if isinstance(step, Call):
            yield step.protocol
        for inner in blocks_in(step):
            yield from _done_in(inner)
