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
from accord.language.details import print_clause
from accord.language.durations import print_duration
from accord.language.global_tree import Record
from accord.language.labels import is_name, quote
from accord.language.printer import print_protocol
from accord.language.tree import Action, Deadline, Declaration
from accord.studio.graphs import graph_of
from accord.studio.message_edits import messages_in
from accord.studio.origins import add_origins, symbol_of
from accord.studio.places import Places
from accord.studio.sequences import roles_of
from accord.studio.trees import spots_in

if TYPE_CHECKING:
    from accord.diagnostics import Diagnostic
    from accord.language.tree import Document, Protocol
    from accord.limits import Limits
    from accord.machine.contract import Contract
    from accord.studio.bounds import Bounds
    from accord.studio.trees import Spot

__all__ = ["Examined", "actions_in", "describe", "examine_text", "findings_of", "labels_in"]


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
        return answer | {"labels": [], "steps": [], "messages": [], "protocols": [], "rules": []}
    spots = spots_in(document)
    answer["messages"] = messages = _messages(examined, document)
    answer["labels"] = sorted(labels_in(document) | {str(message["label"]) for message in messages})
    answer["steps"] = _steps(examined, spots)
    if contract is None:
        return answer | {"protocols": [], "rules": []}
    rules = contract.rules.machines
    answer["rules"] = [{"name": visible(rule.rule.name), "text": visible(rule.text)} for rule in rules]
    protocols: list[dict[str, object]] = []
    for name, machine in contract.machines.items():
        stages = contract.stages(name)
        most = None if everything else bounds.shown_states
        graph = graph_of(machine, [0], most)
        root = next(spot for spot in spots if spot.parent is None and _named(document, spot) == name)
        add_origins(graph, machine, spots, root.number, examined.source)
        protocols.append({"name": name, "kind": "local", "timed": stages.is_timed, "graph": graph})
    if not contract.machines and not document.globals:
        protocols.append({"name": None, "kind": "rules", "timed": contract.stages(None).is_timed, "graph": None})
    protocols += [roles_of(contract, protocol.name, bounds.shown_states) for protocol in document.globals]
    return answer | {"protocols": protocols, "digest": contract.digest}


def _steps(examined: Examined, spots: list[Spot]) -> list[dict[str, object]]:
    """Every step of the text: its number, its place, and all of its parts, as a form shows them."""
    places = Places(examined.source.text)
    told: list[dict[str, object]] = []
    for spot in spots:
        action = spot.node
        if not isinstance(action, Action):
            continue
        line, column = examined.source.line_and_column(action.span.start)
        branch = spot.branch
        timed = spot.timed if branch is None or branch.parent is None else branch.parent.timed
        clock = timed.node if isinstance(timed.node, Deadline) else None
        told.append(
            {
                "number": spot.number,
                "protocol": spot.item,
                "word": symbol_of(action).word,
                "sign": action.direction,
                "label": action.label,
                "partner": action.partner,
                "guards": ", ".join(map(print_clause, action.clauses)),
                "gated": action.gated,
                "within": "" if clock is None else print_duration(clock.milliseconds),
                "otherwise": "" if clock is None else print_protocol(clock.otherwise),
                "branch": branch is not None,
                "span": places.span(action.span),
                "line": line,
                "column": column,
            }
        )
    return told


def _messages(examined: Examined, document: Document) -> list[dict[str, object]]:
    """Every message between roles, likewise."""
    places = Places(examined.source.text)
    records = {item.name: item for item in document.types if isinstance(item, Record)}
    told: list[dict[str, object]] = []
    for number, spoken in enumerate(messages_in(document)):
        exchange = spoken.exchange
        record = records.get(exchange.label)
        fields = [f"{field.name if is_name(field.name) else quote(field.name)}: {field.type}" for field in record.fields] if record else []  # fmt: skip # noqa: E501
        told.append(
            {
                "number": number,
                "protocol": spoken.item,
                "sender": exchange.sender,
                "receiver": exchange.receiver,
                "label": exchange.label,
                "fields": ", ".join([*fields, *(["..."] if record is not None and record.is_open else [])]),
                "span": places.span(exchange.span),
                "line": examined.source.line_and_column(exchange.span.start)[0],
            }
        )
    return told


def _named(document: Document, spot: Spot) -> str | None:
    declaration = document.items[spot.item]
    return declaration.name if isinstance(declaration, Declaration) else None


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
