"""E034: `do` names a protocol between roles and gives each of its roles to one role of this protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic, did_you_mean
from accord.language.global_firsts import calls_in

if TYPE_CHECKING:
    from accord.diagnostics import Span
    from accord.language.global_firsts import Shapes
    from accord.language.global_tree import Call, GlobalProtocol
    from accord.language.tree import Document

__all__ = ["check"]


def check(protocol: GlobalProtocol, document: Document, shapes: Shapes) -> list[Diagnostic]:
    """At most one finding for each `do`."""
    findings: list[Diagnostic] = []
    for call in calls_in(protocol.body):
        called = shapes.protocols.get(call.protocol)
        told: tuple[str, str, Span] | None
        if called is None:
            told = _unknown(call, document, shapes)
        elif shapes.circles.get(protocol.name) == call and protocol is shapes.protocols[protocol.name]:
            told = (f"`{call.protocol}` would be done inside itself", "write a loop: `rec X {… continue X}`", call.span)
        else:
            told = _arguments(call, called)
        if told is not None:
            findings.append(Diagnostic("E034", told[0], document.source, told[2], help=told[1]))
    return findings


def _unknown(call: Call, document: Document, shapes: Shapes) -> tuple[str, str, Span]:
    if any(declaration.name == call.protocol for declaration in document.declarations):
        message = f"`{call.protocol}` is the protocol of one party"
        return message, "`do` takes a protocol between roles: `protocol Name {…}`", call.protocol_span
    meant = did_you_mean(call.protocol, shapes.protocols)
    help_ = f"did you mean `{meant}`?" if meant else f"declare it: `protocol {call.protocol} {{…}}`"
    return f"there is no protocol `{call.protocol}`", help_, call.protocol_span


def _arguments(call: Call, called: GlobalProtocol) -> tuple[str, str, Span] | None:
    roles = called.roles
    given: dict[str, str] = {}
    spans = call.argument_spans or (call.span,) * len(call.arguments)
    for (formal, actual), span in zip(call.arguments, spans, strict=True):
        if formal not in roles:
            meant = did_you_mean(formal, roles)
            help_ = f"did you mean `{meant}`?" if meant else f"its roles are {', '.join(f'`{r}`' for r in roles)}"
            return f"`{called.name}` has no role `{formal}`", help_, span
        if formal in given:
            return f"role `{formal}` is given twice", "give each role once", span
        if actual in given.values():
            return f"`{actual}` would play two roles of `{called.name}`", "each is played by a role of its own", span
        given[formal] = actual
    missing = [role for role in roles if role not in given]
    if missing:
        listed = ", ".join(f"`{role}`" for role in missing)
        return f"nobody plays {listed} of `{called.name}`", f"add `{missing[0]} = …`", call.span
    return None
