"""Random clauses, gates, rules and payloads, small enough that they meet often."""

from __future__ import annotations

from random import Random

from accord.diagnostics import Source
from accord.language.checks import check_document
from accord.language.clauses import Bind, Clause, Collect, Guard, Register, Value
from accord.language.rules import (
    After,
    AfterForbid,
    AtMost,
    Before,
    Combination,
    Condition,
    Count,
    ForbidSequence,
    Happened,
    Not,
    Pattern,
    Rule,
)
from accord.language.tree import (
    Action,
    Choice,
    Deadline,
    Declaration,
    Document,
    End,
    Interleaving,
    Protocol,
    Recursion,
    Sequence,
    first_step,
    sequence,
)
from accord.limits import DEFAULT_LIMITS
from tests.properties.generate import LABELS, random_action, random_protocol

PATHS = (("x",), ("x",), ("y",), ("o", "z"))
SCALARS = (0, 1, 1.0, 2, -1, "a", "b", "1", "", True, False, None, (0, 1), ("a", True, None), ())
REGISTERS = ("r", "s")
SETS = ("k",)
PATTERNS = ("a", "^b", "[0-9]", "^$")


def random_guard(rng: Random, *, registers: bool) -> Guard:
    path = rng.choice(PATHS)
    if registers and rng.random() < 0.2:
        return Guard(path, rng.choice(("in", "in", "not in")), Register(rng.choice(SETS)))
    operator = rng.choice(("==", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "matches"))
    if operator == "matches":
        return Guard(path, operator, Value(rng.choice(PATTERNS)))
    if registers and rng.random() < 0.5:
        return Guard(path, operator, Register(rng.choice(REGISTERS)))
    if operator in {"in", "not in"}:
        return Guard(path, operator, Value(rng.choice([s for s in SCALARS if isinstance(s, tuple)])))
    return Guard(path, operator, Value(rng.choice(SCALARS)))


def random_clauses(rng: Random) -> tuple[Clause, ...]:
    clauses: list[Clause] = []
    for _ in range(rng.choice((0, 0, 1, 1, 1, 2))):
        kind = rng.random()
        if kind < 0.3:
            clauses.append(Bind(rng.choice(PATHS), rng.choice(REGISTERS)))
        elif kind < 0.5:
            clauses.append(Collect(rng.choice(PATHS), rng.choice(SETS)))
        else:
            clauses.append(random_guard(rng, registers=True))
    return tuple(clauses)


def decorated(rng: Random, node: Protocol) -> Protocol:
    """The protocol with clauses and gates strewn over it, and branches doubled that guards may tell apart."""
    if isinstance(node, Action):
        gated = node.direction == "?" and rng.random() < 0.15
        return Action(node.direction, node.label, node.partner, clauses=random_clauses(rng), gated=gated)
    if isinstance(node, Sequence):
        return sequence([decorated(rng, step) for step in node.steps])
    if isinstance(node, Interleaving):
        return Interleaving(tuple(decorated(rng, part) for part in node.parts))
    if isinstance(node, Recursion):
        return Recursion(node.variable, decorated(rng, node.body))
    if isinstance(node, Deadline):
        return Deadline(decorated(rng, node.body), node.milliseconds, decorated(rng, node.otherwise))
    if not isinstance(node, Choice):
        return node
    branches = [decorated(rng, branch) for branch in node.branches]
    head = first_step(branches[0])
    if isinstance(head, Action) and rng.random() < 0.4:
        guard = random_guard(rng, registers=True)
        rival = random_guard(rng, registers=True)
        rest = branches[0].steps[1:] if isinstance(branches[0], Sequence) else ()
        first = Action(head.direction, head.label, head.partner, clauses=(*head.clauses, guard), gated=head.gated)
        second = Action(head.direction, head.label, head.partner, clauses=(rival,))
        branches[0] = sequence([first, *rest])
        branches.append(sequence([second, End()]) if rng.random() < 0.5 else second)
    return Choice(tuple(branches))


def random_pattern(rng: Random) -> Pattern:
    guards = (random_guard(rng, registers=False),) if rng.random() < 0.3 else ()
    direction = rng.choice((None, None, None, "!", "?"))
    return Pattern(rng.choice(LABELS[:3]), direction, guards, gated=rng.random() < 0.12)


def random_condition(rng: Random, depth: int = 2) -> Condition:
    kind = rng.random()
    if depth == 0 or kind < 0.45:
        return Happened(random_pattern(rng))
    if kind < 0.6:
        return Count(rng.choice(("at least", "at most")), rng.randint(1, 2), random_pattern(rng))
    if kind < 0.72:
        return Not(random_condition(rng, depth - 1))
    parts = tuple(random_condition(rng, depth - 1) for _ in range(rng.randint(2, 3)))
    combination = rng.choice(("and", "or", "all", "any", "some"))
    return Combination(combination, parts, rng.randint(1, len(parts)) if combination == "some" else 0)


def random_rule(rng: Random, name: str) -> Rule:
    kind = rng.random()
    trigger = random_pattern(rng)
    if kind < 0.35:
        return Rule(name, Before(trigger, random_condition(rng), each=rng.random() < 0.5))
    if kind < 0.5:
        return Rule(name, After(trigger, random_condition(rng)))
    if kind < 0.6:
        answers = tuple(Happened(random_pattern(rng)) for _ in range(rng.randint(1, 2)))
        requirement = answers[0] if len(answers) == 1 else Combination("any", answers)
        return Rule(name, After(trigger, requirement, each=True))
    if kind < 0.7:
        return Rule(name, AfterForbid(trigger, random_pattern(rng)))
    if kind < 0.82:
        return Rule(name, AtMost(rng.randint(0, 3), trigger))
    patterns = (trigger, *(random_pattern(rng) for _ in range(rng.randint(1, 2))))
    return Rule(name, ForbidSequence(patterns, tuple(rng.random() < 0.6 for _ in patterns[1:])))


def random_document(rng: Random, *, data: bool, rules: bool) -> tuple[Document, int]:
    """A well-formed contract and how many attempts were thrown away to get it."""
    thrown_away = 0
    while True:
        items: list[Declaration | Rule] = []
        if not (rules and rng.random() < 0.15):
            body, _ = random_protocol(rng)
            items.append(Declaration("P", decorated(rng, body) if data else body))
        if rules:
            items += [random_rule(rng, f"rule {index}") for index in range(rng.randint(1, 3))]
        document = Document(tuple(items), Source(""))
        if not any(d.severity == "error" for d in check_document(document, DEFAULT_LIMITS)):
            return document, thrown_away
        thrown_away += 1


def random_value(rng: Random):
    value = rng.choice(SCALARS)
    return list(value) if isinstance(value, tuple) else value


def random_payload(rng: Random) -> dict:
    payload = {}
    if rng.random() < 0.9:
        payload["x"] = random_value(rng)
    if rng.random() < 0.8:
        payload["y"] = random_value(rng)
    if rng.random() < 0.8:
        payload["o"] = {"z": random_value(rng)} if rng.random() < 0.8 else random_value(rng)
    return payload


__all__ = ["random_action", "random_document", "random_payload"]
