"""E043, E045, E050, W051, E052, E055, E056: rules that cannot be meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic, Note, did_you_mean
from accord.language.checks.deceptive_labels import deceptive
from accord.language.checks.payloads import check_clauses
from accord.language.details import print_pattern
from accord.language.global_tree import CRASH, exchanges_in
from accord.language.rules import After, AfterForbid, AtMost, Before, Combination, Count, Happened, Not, Within
from accord.language.tree import Action

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.diagnostics import Span
    from accord.language.rules import Condition, Pattern, Rule
    from accord.language.tree import Document, Protocol

__all__ = ["check", "patterns_of"]

_HEARD = frozenset({"user", "agent", "result", "error"})


def check(document: Document) -> list[Diagnostic]:
    """All findings about the rules of a contract."""
    findings: list[Diagnostic] = []
    seen: dict[str, Span] = {}
    labels = _labels(document) | _heard(document)
    passes = any(declaration.is_open for declaration in document.declarations)
    for rule in document.rules:
        findings += _name(rule, seen, document)
        for pattern in patterns_of(rule):
            findings += check_clauses(pattern.guards, document.source)
            findings += deceptive(pattern.label, "label", pattern.span, document.source)
            if (document.declarations or document.globals) and pattern.label not in labels:
                findings += _unknown_label(pattern, labels, document, passes=passes)
        findings += _counts(rule, document)
        if isinstance(rule.body, After) and rule.body.each and not _is_one_message(rule.body.condition):
            message = "`after each … require` counts messages, so it requires one message or any of several"
            findings.append(Diagnostic("E055", message, document.source, rule.name_span, help="use several rules"))
        findings += _negations(rule, document)
    return findings


def patterns_of(rule: Rule) -> Iterator[Pattern]:
    """Every pattern of a rule."""
    body = rule.body
    if isinstance(body, Before | After | Within):
        yield body.trigger
        yield from _patterns_in(body.condition)
    elif isinstance(body, AfterForbid):
        yield body.trigger
        yield body.forbidden
    elif isinstance(body, AtMost):
        yield body.pattern
    else:
        yield from body.patterns


def _conditions_in(condition: Condition) -> Iterator[Condition]:
    yield condition
    if isinstance(condition, Not):
        yield from _conditions_in(condition.condition)
    elif isinstance(condition, Combination):
        for inner in condition.conditions:
            yield from _conditions_in(inner)


def _patterns_in(condition: Condition) -> Iterator[Pattern]:
    for inner in _conditions_in(condition):
        if isinstance(inner, Happened | Count):
            yield inner.pattern


def _labels(document: Document) -> set[str]:
    found: set[str] = {"Unrecognized"}
    todo: list[Protocol] = [declaration.body for declaration in document.declarations]
    while todo:
        node = todo.pop()
        if isinstance(node, Action):
            found.add(node.label)
        todo += node.children()
    for protocol in document.globals:
        found.update(exchange.label for exchange in exchanges_in(protocol.body))
        found.add(CRASH)
    return found


def _heard(document: Document) -> set[str]:
    """The labels of what is said and of what comes back: rules see them also where no protocol names them."""
    lines = () if document.events is None else document.events.lines
    return {
        line.label for line in lines if line.label is not None and (line.origin is None or line.origin.kind in _HEARD)
    }


def _name(rule: Rule, seen: dict[str, Span], document: Document) -> list[Diagnostic]:
    if rule.name not in seen:
        seen[rule.name] = rule.name_span
        return []
    return [
        Diagnostic(
            "E050",
            f'rule "{rule.name}" is declared twice',
            document.source,
            rule.name_span,
            label="declared again",
            help="verdicts name the rule that refused; give this one another name",
            notes=(Note(seen[rule.name], "first declared here"),),
        )
    ]


def _unknown_label(pattern: Pattern, labels: set[str], document: Document, *, passes: bool) -> list[Diagnostic]:
    """An open protocol lets other messages pass, so there only what is nearly one of its own is told about."""
    meant = did_you_mean(pattern.label, labels)
    if passes and meant is None:
        return []
    return [
        Diagnostic(
            "W051",
            f"no protocol of this contract has a message `{pattern.label}`",
            document.source,
            pattern.span,
            label="not one of its messages" if passes else "this can never happen",
            help=f"did you mean `{meant}`?" if meant else "add it to the protocol, or remove it from the rule",
        )
    ]


def _counts(rule: Rule, document: Document) -> list[Diagnostic]:
    """Numbers that make a condition always or never true."""
    if not isinstance(rule.body, Before | After | Within):
        return []
    findings: list[Diagnostic] = []
    for condition in _conditions_in(rule.body.condition):
        if isinstance(condition, Combination) and condition.kind == "some":
            most = len(condition.conditions)
            if not 1 <= condition.number <= most:
                message = (
                    f"{condition.number} of {most} conditions is {'always' if condition.number < 1 else 'never'} true"
                )
                help_ = f"write a number from 1 to {most}"
                findings.append(Diagnostic("E052", message, document.source, condition.span, help=help_))
        if isinstance(condition, Count) and condition.bound == "at least" and condition.number == 0:
            message = "`at least 0` is always true"
            findings.append(Diagnostic("E052", message, document.source, condition.pattern.span))
    return findings


def _negations(rule: Rule, document: Document) -> list[Diagnostic]:
    """What has to come in time is something that happens; that something does not happen is never settled."""
    findings: list[Diagnostic] = []
    if not isinstance(rule.body, Within):
        return findings
    for condition in _conditions_in(rule.body.condition):
        negative = isinstance(condition, Not) or (isinstance(condition, Count) and condition.bound == "at most")
        if negative:
            word = "not" if isinstance(condition, Not) else "at most"
            first = next(_patterns_in(condition))
            message = f"`within … require` waits for something to happen, so `{word}` has no place in it"
            help_ = f"say that apart, for example `after {print_pattern(rule.body.trigger)} forbid …`"
            findings.append(Diagnostic("E056", message, document.source, first.span, help=help_))
    return findings


def _is_one_message(condition: Condition) -> bool:
    if isinstance(condition, Combination) and condition.kind in {"or", "any"}:
        return all(isinstance(inner, Happened) for inner in condition.conditions)
    return isinstance(condition, Happened)
