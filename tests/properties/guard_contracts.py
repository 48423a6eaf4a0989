"""Random contracts for guards: more calls than other contracts have, more steps of people, and loops to live in.

What a contract says about a call is told by `constructs`, so that a table can say which kinds of calls were looked at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from random import Random

from accord import ContractError, Limits, compile
from accord.diagnostics import Source
from accord.language.checks import check_document
from accord.language.rules import Rule, Within
from accord.language.tools import FAILURES, ToolLine, Tools
from accord.language.tree import (
    Action,
    Choice,
    Deadline,
    Document,
    Interleaving,
    Protocol,
    Recursion,
    Sequence,
    sequence,
)
from accord.machine.contract import Contract, compile_document
from tests.properties.differential import random_contract
from tests.properties.generate_time import random_contract_over_time

LIMITS = Limits(search=100)  # how a refusal is explained is of no interest here, and takes long
LABELS = ("a", "b", "c")
STRANGER = "z"
"""A tool that no contract knows."""

GATES = ("no gate", "one gate", "two gates", "three gates")
AROUND = frozenset({"in a loop", "in parts"})
MEANINGS = tuple([f"fails {meaning}" for meaning in FAILURES])
CONSTRUCTS = (
    "plain call", "with data", *GATES[1:], "in a slice", "under a rule", "timed", "in a loop", "in parts", "unknown",
    *MEANINGS,
)  # fmt: skip


def contract_for_tools(rng: Random, flavour: str) -> Contract:
    """A contract with the things that a flavour names; `life` is one in which a session can go on for ever."""
    if flavour == "people":
        return contract_of_people(rng)
    if flavour == "life":
        return contract_of_a_life(rng)
    while True:
        over_time = "time" in flavour or "slices" in flavour
        document, _ = (random_contract_over_time if over_time else random_contract)(rng, flavour)
        items = [
            replace(declared, body=toolish(rng, declared.body), is_open=declared.each is not None)
            for declared in document.declarations
        ]
        inclined = Document((*items, *document.rules, *random_tools(rng)), Source(""))
        if not any(d.severity == "error" for d in check_document(inclined, LIMITS)):
            return compile_document(inclined, LIMITS)


def random_tools(rng: Random) -> tuple[Tools, ...]:
    """What it means if a call fails: nothing is said of it, or of all tools, or of one and of the others."""
    kind = rng.random()
    if kind < 0.4:
        return ()
    lines = [ToolLine(None, rng.choice(FAILURES))]
    if kind < 0.7:
        lines.insert(0, ToolLine((rng.choice(LABELS),), rng.choice(FAILURES)))
    return (Tools(tuple(lines if rng.random() < 0.9 else lines[:1])),)


def said_of_tools(rng: Random) -> str:
    """The same as text."""
    lines = [line for tools in random_tools(rng) for line in tools.lines]
    return "tools { " + " ".join(f"{(line.names or ('otherwise',))[0]} fails {line.fails}" for line in lines) + " }"


def toolish(rng: Random, node: Protocol) -> Protocol:
    """The protocol with more calls in it, more steps of people, and nobody to talk to."""
    if isinstance(node, Action):
        kind = rng.random()
        direction = "!" if kind < 0.3 else node.direction
        gated = direction == "?" and (node.gated or kind > 0.7)
        return Action(direction, node.label, None, clauses=node.clauses, gated=gated)
    if isinstance(node, Sequence):
        return sequence([toolish(rng, step) for step in node.steps])
    if isinstance(node, Interleaving):
        return Interleaving(tuple(toolish(rng, part) for part in node.parts))
    if isinstance(node, Recursion):
        return Recursion(node.variable, toolish(rng, node.body))
    if isinstance(node, Deadline):
        return Deadline(toolish(rng, node.body), node.milliseconds, toolish(rng, node.otherwise))
    if isinstance(node, Choice):
        return Choice(tuple(toolish(rng, branch) for branch in node.branches))
    return node


def contract_of_people(rng: Random) -> Contract:
    """A loop of calls that need people, each in its own way."""
    while True:
        branches = []
        for label in rng.sample(LABELS, rng.randint(1, 3)):
            gates = [f"?{rng.choice('pq')} by human" for _ in range(rng.choice((0, 1, 2, 3, 3)))]
            result = rng.choice((None, f"?{label}", f"?{label}(x == 0)", f"?{label}(x == 0)"))
            branches.append(".".join([*gates, f"!{label}", *([result] if result else []), "L"]))
        with suppress(ContractError):
            text = "protocol P = rec L.{" + ", ".join(branches) + "}"
            return compile(f"{text}\n{said_of_tools(rng)}", limits=LIMITS)


def contract_of_a_life(rng: Random) -> Contract:
    """A loop in which everything is met again and again: gates, data, results, parts, deadlines, slices, rules."""
    while True:
        branches = [_branch(rng, label) for label in rng.sample(LABELS, rng.randint(2, 3))]
        each = "each k: " if rng.random() < 0.35 else ""
        is_open = rng.random() < 0.3
        branches += [f"?{STRANGER}.L"] if is_open else []  # a call that passes, with an end that does not
        rules = [rule for rule, often in LASTING_RULES.items() if rng.random() < often]
        with suppress(ContractError):
            rules.append(said_of_tools(rng))
            return compile(
                "\n".join([f"protocol P{' open' * is_open} = {each}rec L.{{{', '.join(branches)}}}", *rules]),
                limits=LIMITS,
            )


LASTING_RULES = {
    'rule "one" { before each a(x > 1) require p by human }': 0.2,
    'rule "two" { each k: before each b require a }': 0.1,
    'rule "three" { within 3s after a require b }': 0.15,
    'rule "four" { forbid a then a then a }': 0.1,
    'rule "five" { each k: before each c(x > 0) require q by human }': 0.2,
}
"""Each with how often a contract has it; under none of them a session has to end."""


def _branch(rng: Random, label: str) -> str:
    steps = [f"?{rng.choice('pq')} by human" for _ in range(rng.choice((0, 0, 0, 1, 1, 2, 2, 3, 3, 3)))]
    call = f"!{label}" + rng.choice(("", "", "", "(x <= 2)", "(x as r)", "(x as s).?m(x == s)"))
    call += rng.choice(("", "", "", f".?{label}", f".?{label}(x <= 1)"))
    if rng.random() < 0.3:
        steps += [] if steps else ["?m"]
        call = f"!{label} within {rng.randint(1, 5)}s else (!m.L)"
    if rng.random() < 0.35:
        steps += [] if steps else ["?m"]
        beside = ("!m", "?q by human.!m", "?q by human.?q by human.!m", f"!m.!{label}")
        call = f"(!{label}{rng.choice(('', f'.?{label}'))} | {rng.choice(beside)})"
    return ".".join([*steps, call, "L"])


# -- what a contract says about its calls ------------------------------------------------------------------------------


def constructs(document: Document) -> dict[str, frozenset[str]]:
    """For each call of a contract what it is; what is not named there is unknown."""
    found: dict[str, set[str]] = defaultdict(set)
    for declaration in document.declarations:
        for label, what in _calls(declaration.body, frozenset(), 0):
            found[label] |= {*what, *({"in a slice"} if declaration.each is not None else ())}
        if declaration.is_open:  # a call passes it also where only its result is named
            for label in _received(declaration.body) - set(found):
                found[label] = {"plain call"}
    for rule in document.rules:
        for label in _watched(rule):
            slices = {"in a slice"} if rule.each is not None else set()
            found[label] |= {"under a rule", *slices, *({"timed"} if isinstance(rule.body, Within) else ())}
    return {label: frozenset(what if what - AROUND else what | {"plain call"}) for label, what in found.items()}


def _received(body: Protocol) -> set[str]:
    found, todo = set(), [body]
    while todo:
        node = todo.pop()
        if isinstance(node, Action) and node.direction == "?" and not node.gated:
            found.add(node.label)
        todo += node.children()
    return found


def _calls(body: Protocol, inside: frozenset[str], gates: int) -> Iterator[tuple[str, set[str]]]:
    """Each call, with what is around it; `gates` is how many steps of people stand right before."""
    match body:
        case Action("!"):
            yield (
                body.label,
                {*inside, *(["with data"] if body.clauses else []), *GATES[min(gates, 3) :][:1]} - {GATES[0]},
            )
        case Sequence(steps):
            for step in steps:
                yield from _calls(step, inside, gates)
                gates = gates + 1 if isinstance(step, Action) and step.gated else 0
        case Choice(branches):
            for branch in branches:
                yield from _calls(branch, inside, gates)
        case Recursion():
            yield from _calls(body.body, inside | {"in a loop"}, gates)
        case Interleaving(parts):
            for part in parts:
                yield from _calls(part, inside | {"in parts"}, 0)
        case Deadline():
            yield from _calls(body.body, inside | {"timed"}, gates)
            yield from _calls(body.otherwise, inside | {"timed"}, 0)


def _watched(rule: Rule) -> set[str]:
    """The labels that a rule speaks of."""
    todo, labels = [rule.body], set()
    while todo:
        node = todo.pop()
        if hasattr(node, "label"):
            labels.add(node.label)
        elif isinstance(node, tuple):
            todo += node
        elif hasattr(node, "__dataclass_fields__"):
            todo += [getattr(node, name) for name in node.__dataclass_fields__]
    return labels
