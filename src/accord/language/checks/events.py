"""E043, E045, E057, E058, W059: events that cannot be meant, and labels that no event or no clause knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic, Note, did_you_mean
from accord.language.checks.deceptive_labels import deceptive
from accord.language.checks.payloads import check_clauses
from accord.language.checks.rules import patterns_of
from accord.language.clauses import Guard, Value
from accord.language.details import print_event_line
from accord.language.events import NAMED_KINDS, Events, Named, Says
from accord.language.global_tree import exchanges_in
from accord.language.labels import print_label, print_word
from accord.language.tree import Action

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.diagnostics import Span
    from accord.language.events import EventLine
    from accord.language.tree import Direction, Document, Protocol

__all__ = ["check"]

UNRECOGNIZED = "Unrecognized"


def check(document: Document) -> list[Diagnostic]:
    """All findings about the events of a contract."""
    events = document.events
    if events is None:
        return []
    findings = _twice(document, events)
    for line in events.lines:
        findings += check_clauses(line.guards, document.source)
        if isinstance(line.origin, Says) and line.origin.is_pattern:
            pattern = Guard(("text",), "matches", Value(line.origin.text), line.span)
            findings += check_clauses((pattern,), document.source)
        findings += deceptive(line.label or "", "label", line.label_span, document.source)
    return [*findings, *_shadowed(document, events), *_unused(document, events), *_never_produced(document, events)]


def _twice(document: Document, events: Events) -> list[Diagnostic]:
    return [
        Diagnostic(
            "E057",
            "a contract has one events block",
            document.source,
            item.span._replace(end=item.span.start + len("events")),
            label="a second one",
            help="put all lines into one: the first that fits a message decides",
            notes=(Note(events.span._replace(end=events.span.start + len("events")), "the first one"),),
        )
        for item in document.items
        if isinstance(item, Events) and item is not events
    ]


def _shadowed(document: Document, events: Events) -> list[Diagnostic]:
    """Lines that never decide, because an earlier one takes everything that they could take."""
    findings: list[Diagnostic] = []
    for index, line in enumerate(events.lines):
        before = next((other for other in events.lines[:index] if _covers(other, line)), None)
        if before is not None:
            findings.append(
                Diagnostic(
                    "E058",
                    "this line never decides",
                    document.source,
                    line.span,
                    label="never reached",
                    help="the first line that fits a message decides: move this one up, or remove it",
                    notes=(Note(before.span, "takes all its messages"),),
                )
            )
    return findings


def _covers(wide: EventLine, narrow: EventLine) -> bool:
    if wide.as_named:
        return narrow.as_named or (narrow.origin is not None and narrow.origin.kind in NAMED_KINDS)
    if wide.origin is None:
        return True
    if wide.guards and set(wide.guards) - set(narrow.guards):
        return False
    if narrow.origin is None or narrow.origin.kind != wide.origin.kind:
        return False
    if isinstance(wide.origin, Named) and isinstance(narrow.origin, Named):
        return set(narrow.origin.names) <= set(wide.origin.names)
    return wide.origin in {narrow.origin, Says(wide.origin.kind, "")}  # type: ignore[arg-type] # a speaker


def _uses(document: Document) -> Iterator[tuple[Direction | None, str, Span, bool]]:
    """Each label that a protocol or a rule names: its direction (a rule may leave it open), where, whether gated."""
    todo: list[Protocol] = [declaration.body for declaration in document.declarations]
    while todo:
        node = todo.pop()
        if isinstance(node, Action):
            yield node.direction, node.label, node.span, node.gated
        todo += node.children()
    for protocol in document.globals:
        for exchange in exchanges_in(protocol.body):
            yield None, exchange.label, exchange.span, False
    for rule in document.rules:
        for pattern in patterns_of(rule):
            yield pattern.direction, pattern.label, pattern.span, pattern.gated


def _unused(document: Document, events: Events) -> list[Diagnostic]:
    used = {label for _, label, _, _ in _uses(document)}
    findings: list[Diagnostic] = []
    for line in events.lines:
        if line.label is None or line.label in used or line.label == UNRECOGNIZED or line.origin is None:
            continue
        meant = did_you_mean(line.label, used)
        help_ = "name it in a protocol or a rule, or write `ignore`"
        findings.append(
            Diagnostic(
                "W059",
                f"no protocol and no rule names `{print_label(line.label)}`",
                document.source,
                line.label_span,
                label="nothing looks at these messages",
                help=f"did you mean `{meant}`?" if meant else help_,
            )
        )
    return findings


def _never_produced(document: Document, events: Events) -> list[Diagnostic]:
    produced: dict[str, set[Direction | None]] = {}
    for line in events.lines:
        if line.label is not None:
            produced.setdefault(line.label, set()).add(line.direction)
    findings: list[Diagnostic] = []
    told: set[tuple[Direction | None, str]] = set()
    for direction, label, span, gated in sorted(_uses(document), key=lambda use: use[2]):
        ways = produced.get(label, set())
        known = bool(ways) if direction is None else bool(ways & {direction, None})
        known |= events.keeps_names and not (
            direction == "!" and any(_takes_calls(line, label) for line in events.lines)
        )
        # A person's step is told by whoever knows the person; messages need not.
        if known or gated or label == UNRECOGNIZED or (direction, label) in told:
            continue
        told.add((direction, label))
        findings.append(_unknown(direction, label, span, document, events, produced))
    return findings


def _takes_calls(line: EventLine, name: str) -> bool:
    """Whether it takes all calls of a tool, so that none keeps its name."""
    return (
        not line.guards and isinstance(line.origin, Named) and line.origin.kind == "call" and name in line.origin.names
    )


def _unknown(
    direction: Direction | None,
    label: str,
    span: Span,
    document: Document,
    events: Events,
    produced: dict[str, set[Direction | None]],
) -> Diagnostic:
    meant = did_you_mean(label, set(produced) - {label})
    help_ = f"did you mean `{meant}`?" if meant else "add a line for it to the events"
    if label in produced:
        line = next(line for line in events.lines if line.label == label)
        other = "what reaches the agent, `?`" if direction == "!" else "what the agent does, `!`"
        help_ = f"`{print_event_line(line)}` is {other}"
    word = print_label(label) if direction is None else print_word(direction, label)
    message = f"no line of the events gives `{word}`"
    return Diagnostic("W059", message, document.source, span, label="this can never happen", help=help_)
