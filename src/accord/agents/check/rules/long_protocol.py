"""W090: a protocol that is too long to be kept in mind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic
from accord.diagnostics.agent_codes import LONG_PROTOCOL
from accord.language.global_tree import Call, Exchange, GlobalChoice, blocks_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.agents.check.contracts import Compiled
    from accord.language.global_tree import Block

__all__ = ["long_protocols"]

_MOST = 10
"""So many messages, one after the other, are read as one thing; the longest of our templates have eight."""


def long_protocols(compiled: Compiled) -> Iterator[Diagnostic]:
    """Those of a contract in which more messages follow each other than that."""
    document = compiled.document
    for protocol in document.globals if document is not None else ():
        length = _length(protocol.body)
        if length > _MOST:
            message = f"protocol `{protocol.name}` is long: on one way through it {length} steps follow each other"
            help_ = (
                f"let parts of it be protocols of their own, done by `do Name(…)` or followed side by side; "
                f"up to {_MOST} steps are easy to follow"
            )
            yield Diagnostic(LONG_PROTOCOL, message, document.source, protocol.name_span, help=help_)  # type: ignore[union-attr] # it has protocols


def _length(block: Block) -> int:
    """The steps on the longest way through, a loop gone through once; another protocol that is done is one step."""
    steps = 0
    for step in block:
        if isinstance(step, Exchange | Call):
            steps += 1
        elif isinstance(step, GlobalChoice):
            steps += max(map(_length, blocks_in(step)), default=0)
        else:
            steps += sum(map(_length, blocks_in(step)))
    return steps
