"""A text as the page shows it: what is wrong with it and where, and what it declares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from accord.choreography.compiling import examine_contract
from accord.diagnostics import Source
from accord.diagnostics.machine_readable import to_json
from accord.diagnostics.text import render_all
from accord.diagnostics.visible import visible
from accord.language.checks.rules import patterns_of
from accord.language.tree import Action
from accord.machine.tables import Symbol
from accord.studio.graphs import graph_of, roles_of
from accord.studio.places import Places

if TYPE_CHECKING:
    from accord.diagnostics import Diagnostic
    from accord.language.tree import Document, Protocol
    from accord.limits import Limits
    from accord.machine.contract import Contract
    from accord.studio.bounds import Bounds

__all__ = ["Examined", "actions_in", "describe", "examine_text", "findings_of", "labels_in", "steps_in"]


@dataclass(frozen=True, slots=True)
class Examined:
    """A text, read as far as it can be read; the contract is there if it has no errors."""

    source: Source
    document: Document | None
    contract: Contract | None
    findings: tuple[Diagnostic, ...]


def examine_text(text: str, limits: Limits, name: str = "contract.accord") -> Examined:
    """The text, examined and compiled."""
    source = Source(text, name)
    document, contract, findings = examine_contract(source, limits)
    return Examined(source, document, contract, findings)


def findings_of(examined: Examined) -> list[dict[str, object]]:
    """Every finding with its place, and as a terminal would print it, with the caret."""
    places = Places(examined.source.text)
    found: list[dict[str, object]] = []
    for diagnostic, plain in zip(examined.findings, to_json(examined.findings), strict=True):
        assert isinstance(plain, dict)  # noqa: S101 - for the type checker
        found.append({**plain, "span": places.span(diagnostic.span), "text": render_all([diagnostic], colour=False)})
    return found


def describe(examined: Examined, bounds: Bounds, everything: bool = False) -> dict[str, object]:
    """All there is to say about a text."""
    answer: dict[str, object] = {"findings": findings_of(examined), "ok": examined.contract is not None}
    document, contract = examined.document, examined.contract
    if document is None:
        return answer | {"labels": [], "steps": [], "protocols": [], "rules": []}
    answer["labels"] = sorted(labels_in(document))
    answer["steps"] = _steps(examined, document)
    if contract is None:
        return answer | {"protocols": [], "rules": []}
    rules = contract.rules.machines
    answer["rules"] = [{"name": visible(rule.rule.name), "text": visible(rule.text)} for rule in rules]
    protocols: list[dict[str, object]] = []
    for name, machine in contract.machines.items():
        stages = contract.stages(name)
        most = None if everything else bounds.shown_states
        protocols.append(
            {"name": name, "kind": "local", "timed": stages.is_timed, "graph": graph_of(machine, [0], most)}
        )
    if not contract.machines and not document.globals:
        protocols.append({"name": None, "kind": "rules", "timed": contract.stages(None).is_timed, "graph": None})
    protocols += [roles_of(contract, protocol.name, bounds.shown_states) for protocol in document.globals]
    return answer | {"protocols": protocols, "digest": contract.digest}


def _steps(examined: Examined, document: Document) -> list[dict[str, object]]:
    """Every step of the text: its number, its word and its place. Edges of a drawing are found by their word."""
    places = Places(examined.source.text)
    told: list[dict[str, object]] = []
    for number, action in enumerate(steps_in(document)):
        line, column = examined.source.line_and_column(action.span.start)
        word = Symbol(action.direction, action.label, action.partner, action.clauses, action.gated).word
        told.append({"number": number, "word": word, "span": places.span(action.span), "line": line, "column": column})
    return told


def steps_in(document: Document) -> list[Action]:
    """The steps of all local protocols, in the order of the text."""
    return [action for declaration in document.declarations for action in actions_in(declaration.body)]


def labels_in(document: Document) -> set[str]:
    """Every label that protocols, rules and events name."""
    labels = {action.label for declaration in document.declarations for action in actions_in(declaration.body)}
    labels |= {label for rule in document.rules for label in (pattern.label for pattern in patterns_of(rule))}
    if document.events is not None:
        labels |= {line.label for line in document.events.lines if line.label is not None}
    return labels


def actions_in(protocol: Protocol) -> list[Action]:
    """The steps of a protocol, in the order of the text."""
    found: list[Action] = []
    stack = [protocol]
    while stack:
        here = stack.pop()
        if isinstance(here, Action):
            found.append(here)
        stack += reversed(here.children())
    return found
