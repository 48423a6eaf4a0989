"""Random clauses, gates, rules and payloads, small enough that they meet often."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as Several
from random import Random

from accord.diagnostics import Source
from accord.language.checks import check_document
from accord.language.clauses import Bind, Clause, Collect, Guard, Register, Value
from accord.language.printer import print_protocol
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
LISTS = ((0, 1), ("a", True, None), (), ((0, 1), ("a",)))
SCALARS = (0, 1, 1.0, 2, -1, 0.5, "a", "b", "1", "", True, False, None, *LISTS)
UNHEARD_OF = ({"z": 1}, {}, [{"z": 1}], [[0, 1]], 2**53 + 1, float(2**53))
NO_JSON = (float("nan"), float("nan"), [float("nan")], float("inf"), 10**400)  # or not all of JSON has it
FAVOURITES = (1, "a")
ORDERED = tuple(value for value in SCALARS if type(value) in {int, float, str})
REGISTERS = ("r", "s")
SETS = ("k",)
PATTERNS = ("a", "^b", "[0-9]", "^$")
OPERATORS = ("==", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "matches")


def random_guard(rng: Random, registers: Several[str] = (), sets: Several[str] = ()) -> Guard:
    """A guard that holds for something; it reads a register or a set, if there are any, about half of the time."""
    path = rng.choice(PATHS)
    if sets and rng.random() < 0.25:
        return Guard(path, rng.choice(("in", "in", "not in")), Register(rng.choice(sets)))
    operator = rng.choice(OPERATORS)
    if operator == "matches":
        return Guard(path, operator, Value(rng.choice(PATTERNS)))
    if registers and rng.random() < 0.5:
        return Guard(path, operator, Register(rng.choice(registers)))
    if operator in {"in", "not in"}:
        return Guard(path, operator, Value(rng.choice([one for one in LISTS if one or operator == "not in"])))
    return Guard(path, operator, Value(rng.choice(SCALARS if operator in {"==", "!="} else ORDERED)))


class Decorator:
    """Clauses and gates strewn over a protocol, and branches doubled that guards may tell apart.

    It goes through the text in its order and knows which registers may be bound where it is; mostly it reads those, so
    that a large protocol is as likely to be well-formed as a small one. Parts write registers of their own.
    """

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.bound: frozenset[str] = frozenset()
        self.own = ""  # what the names of the registers of this part end with
        self.others: tuple[str, ...] = ()  # and those of the parts beside it

    def decorate(self, node: Protocol) -> Protocol:
        """The protocol with data."""
        match node:
            case Action():
                return self._action(node)
            case Sequence():
                return sequence([self.decorate(step) for step in node.steps])
            case Recursion():
                return Recursion(node.variable, self.decorate(node.body))
            case Interleaving():
                return self._parts(node)
            case Deadline():
                body, otherwise = self._either((node.body, node.otherwise))
                return Deadline(body, node.milliseconds, otherwise)
            case Choice():
                return Choice(tuple(self._either(node.branches, double=self.rng.random() < 0.4)))
            case _:
                return node

    def _action(self, node: Action) -> Action:
        gated = node.direction == "?" and self.rng.random() < 0.2
        clauses = [self._clause() for _ in range(self.rng.choice((0, 0, 1, 1, 1, 2)))]
        return Action(node.direction, node.label, node.partner, clauses=tuple(clauses), gated=gated)

    def _clause(self) -> Clause:
        kind = self.rng.random()
        if kind >= 0.5:
            return self._guard()
        if kind < 0.3:
            clause: Clause = Bind(self.rng.choice(PATHS), self.rng.choice(REGISTERS) + self.own)
        else:
            clause = Collect(self.rng.choice(PATHS), self.rng.choice(SETS) + self.own)
        self.bound |= {clause.register}
        return clause

    def _guard(self) -> Guard:
        known = self.bound
        early = self.rng.random()  # what is bound or collected only later, as loops and sets allow, or never
        if early < 0.2:
            known |= {name + self.own for name in (SETS if early < 0.12 else REGISTERS)}
        known = sorted(name for name in known if not name[1:].startswith(self.others))
        registers = [name for name in known if name[0] in REGISTERS]
        return random_guard(self.rng, registers, [name for name in known if name[0] in SETS])

    def _parts(self, node: Interleaving) -> Interleaving:
        outer, before, parts = (self.own, self.others), self.bound, []
        after = before
        ends = [f"{self.own}{number}" for number in range(1, len(node.parts) + 1)]
        for end, part in zip(ends, node.parts, strict=True):
            self.bound, self.own = before, end
            self.others = (*outer[1], *(other for other in ends if other != end))
            parts.append(self.decorate(part))
            after |= self.bound
        (self.own, self.others), self.bound = outer, after
        return Interleaving(tuple(parts))

    def _either(self, ways: Iterable[Protocol], *, double: bool = False) -> list[Protocol]:
        """One of several; behind them, whatever was bound on one of the ways may be bound."""
        before, after, made = self.bound, self.bound, []
        for way in ways:
            self.bound = before
            made.append(self.decorate(way))
            after |= self.bound
        if double and isinstance(head := first_step(made[0]), Action):
            self.bound = before
            rest = made[0].steps[1:] if isinstance(made[0], Sequence) else ()
            first = Action(
                head.direction, head.label, head.partner, clauses=(*head.clauses, self._guard()), gated=head.gated
            )
            gated = head.direction == "?" and self.rng.random() < 0.2
            second = Action(head.direction, head.label, head.partner, clauses=(self._guard(),), gated=gated)
            made[0] = sequence([first, *rest])
            made.append(sequence([second, End()]) if self.rng.random() < 0.5 else second)
        self.bound = after
        return made


def decorated(rng: Random, node: Protocol) -> Protocol:
    """The protocol with clauses and gates strewn over it."""
    return Decorator(rng).decorate(node)


def random_pattern(rng: Random) -> Pattern:
    guards = tuple(random_guard(rng) for _ in range(rng.choices((0, 1, 2), (70, 22, 8))[0]))
    direction = rng.choice((None, None, None, "!", "?"))
    label = rng.choices(LABELS, (30, 30, 30, 6))[0]
    return Pattern(label, direction, guards, gated=rng.random() < 0.15)


def random_condition(rng: Random, depth: int = 2) -> Condition:
    kind = rng.random()
    if depth == 0 or kind < 0.45:
        return Happened(random_pattern(rng))
    if kind < 0.6:
        bound = rng.choice(("at least", "at most"))
        return Count(bound, rng.randint(1 if bound == "at least" else 0, 2), random_pattern(rng))
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
        requirement = answers[0] if len(answers) == 1 else Combination(rng.choice(("any", "or")), answers)
        return Rule(name, After(trigger, requirement, each=True))
    if kind < 0.7:
        return Rule(name, AfterForbid(trigger, random_pattern(rng)))
    if kind < 0.82:
        return Rule(name, AtMost(rng.randint(0, 3), trigger))
    patterns = (trigger, *(random_pattern(rng) for _ in range(rng.randint(1, 2))))
    return Rule(name, ForbidSequence(patterns, tuple(rng.random() < 0.6 for _ in patterns[1:])))


def is_open(body: Protocol, share: float = 0.3) -> bool:
    """Whether a protocol is open: drawn by itself, so that whoever wants it closed meets the same contracts else."""
    return Random(print_protocol(body)).random() < share


def random_document(rng: Random, *, data: bool, rules: bool) -> tuple[Document, int]:
    """A well-formed contract and how many attempts were thrown away to get it."""
    thrown_away = 0
    while True:
        items: list[Declaration | Rule] = []
        if not (rules and rng.random() < 0.15):
            body, _ = random_protocol(rng)
            items.append(Declaration("P", decorated(rng, body) if data else body, is_open=is_open(body)))
        if rules:
            items += [random_rule(rng, f"rule {index}") for index in range(rng.randint(1, 3))]
        document = Document(tuple(items), Source(""))
        if not any(d.severity == "error" for d in check_document(document, DEFAULT_LIMITS)):
            return document, thrown_away
        thrown_away += 1


def random_value(rng: Random):
    """Mostly something that guards name, often the same, as registers want it; sometimes what no literal can be."""
    kind = rng.random()
    if kind < 0.06:
        return rng.choice(UNHEARD_OF)
    return as_json(rng.choice(SCALARS if kind < 0.7 else FAVOURITES))


def as_json(value):
    return [as_json(one) for one in value] if isinstance(value, tuple) else value


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
