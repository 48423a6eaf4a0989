"""Random well-formed protocols and traces, from a seed, fast enough for millions.

Protocols are built from the inside of the grammar, so that most of them are well-formed, and then pass the product's
own checks; those that do not are thrown away and counted.
"""

from __future__ import annotations

from random import Random

from accord.diagnostics import Source
from accord.language.checks import check_document, ways
from accord.language.tree import (
    Action,
    Choice,
    Declaration,
    Document,
    End,
    Interleaving,
    Protocol,
    Recursion,
    Variable,
    sequence,
)
from accord.limits import DEFAULT_LIMITS

LABELS = ("a", "b", "c", "Unrecognized")
LABEL_WEIGHTS = (10, 8, 6, 1)
PARTNERS = (None, None, None, None, None, None, "B", "C")
LOOPS = ("X", "Y", "Z")


def random_action(rng: Random) -> Action:
    return Action(
        "!" if rng.random() < 0.5 else "?",
        rng.choices(LABELS, LABEL_WEIGHTS)[0],
        rng.choice(PARTNERS),
    )


def _random_choice(rng: Random, depth: int, scope: tuple[str, ...]) -> Choice:
    branches: list[Protocol] = []
    heads: set[tuple[str, str]] = set()
    for _ in range(rng.randint(1, 3)):
        head = random_action(rng)
        if (head.direction, head.label) in heads:
            continue
        heads.add((head.direction, head.label))
        twins = [head]
        if rng.random() < 0.08:  # two branches of one label, told apart by the partner
            twins = [Action(head.direction, head.label, partner) for partner in ("B", "C")]
        for twin in twins:
            rest = [_random_steps(rng, depth - 1, scope)] if rng.random() < 0.6 else []
            branches.append(sequence([twin, *rest]))
    if rng.random() < 0.2:
        branches.append(End())
    return Choice(tuple(branches))


def _random_loop(rng: Random, depth: int, scope: tuple[str, ...]) -> Recursion:
    loop = rng.choice(LOOPS)
    outer = [name for name in scope if name != loop]
    if rng.random() < 0.15:  # a loop that never turns
        return Recursion(loop, Variable(rng.choice(outer)) if outer and rng.random() < 0.8 else End())
    if rng.random() < 0.25:  # a loop that is left, so that something can stand behind it
        again, leave = random_action(rng), random_action(rng)
        if (again.direction, again.label) != (leave.direction, leave.label):
            return Recursion(loop, Choice((sequence([again, Variable(loop)]), leave)))
    return Recursion(loop, _random_steps(rng, depth - 1, (*scope, loop)))


def _random_steps(rng: Random, depth: int, scope: tuple[str, ...]) -> Protocol:
    steps: list[Protocol] = []
    if depth <= 0:
        tail = rng.random()
        if scope and tail < 0.35:
            return sequence([random_action(rng), Variable(rng.choice(scope))])
        if tail > 0.94:
            return End()
        return sequence([random_action(rng), End()]) if tail < 0.5 else random_action(rng)
    for _ in range(rng.randint(1, 4)):
        kind = rng.random()
        if kind < 0.4:
            steps.append(random_action(rng))
        elif kind < 0.66:
            steps.append(_random_choice(rng, depth, scope))
        elif kind < 0.87:
            steps.append(_random_loop(rng, depth, scope))
        else:
            parts = tuple(_random_steps(rng, depth - 2, ()) for _ in range(rng.randint(2, 3)))
            steps.append(Interleaving(parts))
        if not ways.of(steps[-1], ways.ways_through(steps[-1])).passes:
            return sequence(steps)  # what came after could never be reached
    tail = rng.random()
    if scope and tail < 0.55:
        steps.append(Variable(rng.choice(scope)))
    elif tail < 0.65:
        steps.append(End())
    return sequence(steps)


def random_protocol(rng: Random) -> tuple[Protocol, int]:
    """A well-formed protocol and how many attempts were thrown away to get it."""
    thrown_away = 0
    while True:
        body = End() if rng.random() < 0.02 else _random_steps(rng, rng.choice((1, 2, 2, 3, 3, 4)), ())
        document = Document((Declaration(None, body),), Source(""))
        if not any(d.severity == "error" for d in check_document(document, DEFAULT_LIMITS)):
            return body, thrown_away
        thrown_away += 1


def random_event(rng: Random, legal: list[Action]) -> Action:
    """Mostly something legal, sometimes anything."""
    if legal and rng.random() < 0.92:
        return rng.choice(legal)
    return random_action(rng)


def size(protocol: Protocol) -> int:
    todo, count = [protocol], 0
    while todo:
        node = todo.pop()
        count += 1
        todo += node.children()
    return count


def kinds(protocol: Protocol) -> set[type]:
    todo, found = [protocol], set()
    while todo:
        node = todo.pop()
        found.add(type(node))
        todo += node.children()
    return found
