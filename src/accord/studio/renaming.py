"""Another name for a label, wherever the contract says it: steps, messages, rules, events, and records of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Span
from accord.errors import UsageError
from accord.language.checks.rules import patterns_of
from accord.language.global_tree import Enumeration, Record, exchanges_in
from accord.language.labels import is_name, print_label, quote
from accord.language.tree import Action
from accord.studio.trees import spots_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.language.global_tree import FieldType
    from accord.language.tree import Document

__all__ = ["renamed"]


def renamed(document: Document, old: str, new: str, labels: set[str]) -> str:
    """The text with the label renamed, and nothing else changed."""
    if old not in labels:
        raise UsageError(f"`{old}` is no label of the contract")
    if new in labels and new != old:
        raise UsageError(f"`{new}` is a label of the contract already; two labels would become one")
    is_type = any(isinstance(item, Record | Enumeration) and item.name == old for item in document.items)
    if is_type and not is_name(new):
        raise UsageError(
            f"`{old}` has a record, and `{new}` is no name for one: a letter, then letters, digits and `_`"
        )
    text = document.source.text
    for span in sorted(set(_mentions(document, old)), reverse=True):
        start, end = _written(text, span, old)
        text = f"{text[:start]}{print_label(new)}{text[end:]}"
    return text


def _mentions(document: Document, label: str) -> Iterator[Span]:
    """Where the label is said: stretches of text that begin with it, but for a partner and a sign."""
    for spot in spots_in(document):
        if isinstance(spot.node, Action) and spot.node.label == label:
            yield _behind_sign(document.source.text, spot.node)
    for rule in document.rules:
        for pattern in patterns_of(rule):
            if pattern.label == label:
                yield pattern.span
    for line in document.events.lines if document.events is not None else ():
        if line.label == label:
            yield line.label_span
    if document.events is None and document.tools is not None:  # else tools and labels have names of their own
        for tools in document.tools.lines:
            yield from (span for name, span in zip(tools.names or (), tools.name_spans, strict=False) if name == label)
    yield from _between_roles(document, label)


def _between_roles(document: Document, label: str) -> Iterator[Span]:
    for protocol in document.globals:
        for exchange in exchanges_in(protocol.body):
            if exchange.label == label:
                yield Span(exchange.receiver_span.end, exchange.span.end)
    for item in document.types:
        if item.name == label:
            yield item.name_span
        for field in item.fields if isinstance(item, Record) else ():
            yield from _types(field.type, label)


def _types(used: FieldType, name: str) -> Iterator[Span]:
    if used.name == name:
        yield used.span
    for argument in used.arguments:
        yield from _types(argument, name)


def _behind_sign(text: str, action: Action) -> Span:
    start, end = action.span
    if action.partner is not None and text.startswith(action.partner, start):
        start = text.find(action.direction, start + len(action.partner), end)
    return Span(max(start, action.span.start), end)


def _written(text: str, span: Span, label: str) -> tuple[int, int]:
    found = [(text.find(spelling, *span), spelling) for spelling in (print_label(label), quote(label))]
    at, spelling = min(((at, spelling) for at, spelling in found if at >= 0), default=(-1, ""))
    if at < 0:
        raise UsageError(f"`{label}` is written in an unusual way somewhere; format the contract first")
    return at, at + len(spelling)
