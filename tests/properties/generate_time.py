"""Random deadlines and slices, and events with times and keys, small enough that they meet often.

Times are multiples of a quarter of a second, which floats hold exactly, so that events come exactly when something is
due as often as just before and after.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from accord.diagnostics import Source
from accord.language.checks import check_document
from accord.language.rules import After, Combination, Condition, Count, Happened, Pattern, Rule, Within
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
    Variable,
    sequence,
)
from accord.limits import DEFAULT_LIMITS
from tests.properties.generate import LABELS, LOOPS, random_action, random_protocol
from tests.properties.generate_data import decorated, is_open, random_pattern, random_payload, random_rule

DURATIONS = (500, 1_000, 1_000, 2_000, 3_000, 5_000)
NAN = float("nan")
KEYS = (1, 1, 1, 1, 1.0, 2, 2, 2, "1", True, None, [1], [1.0], {"n": 1}, {"n": [1]}, {"n": [], "m": {"l": [True]}})
NO_KEYS = (NAN, [1, NAN], {"n": NAN}, {"n": [NAN]})
FIELDS = (("k",), ("k",), ("o", "k"))


def timed(rng: Random, node: Protocol, scope: tuple[str, ...] = ()) -> Protocol:
    """The protocol with deadlines strewn over it."""
    if isinstance(node, Sequence):
        return sequence([timed(rng, step, scope) for step in node.steps])
    if isinstance(node, Interleaving):
        return Interleaving(tuple(timed(rng, part) for part in node.parts))
    if isinstance(node, Recursion):
        return Recursion(node.variable, timed(rng, node.body, (*scope, node.variable)))
    if isinstance(node, Choice):
        node = Choice(tuple(_timed_branch(rng, branch, scope) for branch in node.branches))
    if isinstance(node, Action | Choice) and rng.random() < (0.5 if isinstance(node, Choice) else 0.3):
        return Deadline(node, rng.choice(DURATIONS), _late(rng, scope, 2))
    return node


def _timed_branch(rng: Random, branch: Protocol, scope: tuple[str, ...]) -> Protocol:
    """A branch whose first message has no deadline of its own."""
    if not isinstance(branch, Sequence):
        return branch
    return sequence([branch.steps[0], *(timed(rng, step, scope) for step in branch.steps[1:])])


def _late(rng: Random, scope: tuple[str, ...], depth: int) -> Protocol:
    kind = rng.random()
    if kind < 0.15:
        return End()
    if kind < 0.3 and scope:
        return Variable(rng.choice(scope))
    if kind < 0.5 or depth == 0:
        return random_action(rng)
    if kind < 0.75:
        body = Choice((random_action(rng), End())) if rng.random() < 0.35 else random_action(rng)
        return Deadline(body, rng.choice(DURATIONS), _late(rng, scope, depth - 1))
    if kind < 0.85:
        return sequence([random_action(rng), _late(rng, scope, depth - 1)])
    if kind < 0.9:
        return Interleaving((random_action(rng), _late(rng, (), depth - 1)))
    if kind < 0.95:
        loop = rng.choice(LOOPS)
        return Recursion(loop, sequence([random_action(rng), _late(rng, (*scope, loop), depth - 1)]))
    return Choice((random_action(rng), End()))


def random_deadline_rule(rng: Random, name: str) -> Rule:
    return Rule(name, Within(rng.choice(DURATIONS), random_pattern(rng), _positive(rng, 2)))


def random_answer(rng: Random) -> After:
    """The form whose instances come and go, of messages that are easily met."""
    question, answer = (Pattern(label) for label in rng.sample(LABELS[:3], 2))
    return After(question, Happened(answer), each=True)


def _positive(rng: Random, depth: int) -> Condition:
    kind = rng.random()
    if depth == 0 or kind < 0.6:
        return Happened(random_pattern(rng))
    if kind < 0.75:
        return Count("at least", rng.randint(1, 2), random_pattern(rng))
    parts = tuple(_positive(rng, depth - 1) for _ in range(2))
    combination = rng.choice(("and", "or", "all", "any", "some"))
    return Combination(combination, parts, rng.randint(1, 2) if combination == "some" else 0)


def random_contract_over_time(rng: Random, flavour: str) -> tuple[Document, int]:
    """A well-formed contract with the things a flavour names, and how many attempts were thrown away to get it."""
    time, slices = "time" in flavour, "slices" in flavour
    thrown_away = 0
    while True:
        items: list[Declaration | Rule] = []
        if rng.random() < 0.85:
            body, _ = random_protocol(rng)
            body = timed(rng, body) if time else body
            body = decorated(rng, body) if rng.random() < 0.7 else body
            each = rng.choice(FIELDS) if slices and rng.random() < 0.7 else None
            items.append(Declaration("P", body, each=each, is_open=is_open(body, 0.5 if each else 0.3)))
        for index in range(rng.choice((0, 1, 1, 2, 3) if items else (1, 2, 3))):
            make = random_deadline_rule if time and rng.random() < 0.5 else random_rule
            rule = make(rng, f"rule {index}")
            if slices and rng.random() < 0.5:
                rule = replace(rule, each=rng.choice(FIELDS))
                if not time and rng.random() < 0.6:
                    rule = replace(rule, body=random_answer(rng))
            items.append(rule)
        document = Document(tuple(items), Source(""))
        fits = (not time or is_timed(document)) and (not slices or is_sliced(document))
        if fits and not any(d.severity == "error" for d in check_document(document, DEFAULT_LIMITS)):
            return document, thrown_away
        thrown_away += 1


def has_deadline(body: Protocol) -> bool:
    todo = [body]
    while todo:
        node = todo.pop()
        if isinstance(node, Deadline):
            return True
        todo += node.children()
    return False


def is_timed(document: Document) -> bool:
    return any(isinstance(rule.body, Within) for rule in document.rules) or any(
        has_deadline(declaration.body) for declaration in document.declarations
    )


def is_sliced(document: Document) -> bool:
    return any(item.each is not None for item in document.items)


def random_keyed_payload(rng: Random, direction: str, key: object) -> dict:
    """A payload that has the key under every field a contract may be sliced by; sometimes it has none."""
    payload = random_payload(rng)
    place = rng.random()
    if place < 0.05:
        return payload
    if rng.random() < 0.03:
        key = rng.choice(NO_KEYS)
    if place < (0.2 if direction == "?" else 0.09):  # what is sent has no call, so there it is no key
        payload.pop("o", None)
        return {**payload, "call": {"k": key, "o": {"k": key}}}
    if direction == "?" and place > 0.9:  # the call goes before what a result says of itself
        own = rng.choice(KEYS)
        return {**payload, "k": own, "o": {"k": own}, "call": {"k": key, "o": {"k": key}}}
    inside = payload.get("o")
    return {**payload, "k": key, "o": {**(inside if isinstance(inside, dict) else {}), "k": key}}


def random_time(rng: Random, now: float, due: float | None) -> float:
    """A time not before now: often the same, often around when something is due."""
    kind = rng.random()
    if due is not None and kind < 0.35:
        return max(now, due + rng.choice((-0.25, 0, 0, 0.25)))
    if kind < 0.6:
        return now
    if kind < 0.95:
        return now + rng.choice((0.25, 0.5, 1, 1, 2))
    return now + 60
