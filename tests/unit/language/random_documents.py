"""Random clauses, conditions, rules and documents, the same for the same seed.

They are made as trees and never go through the parser, so that printer and parser are tested against each other.
"""

from __future__ import annotations

from accord.language.clauses import OPERATORS, Bind, Collect, Guard, Register, Value
from accord.language.labels import normalise
from accord.language.rules import (
    After,
    AfterForbid,
    AtMost,
    Before,
    Combination,
    Count,
    ForbidSequence,
    Happened,
    Not,
    Pattern,
    Rule,
    Within,
)
from accord.language.tools import FAILURES, ToolLine, Tools
from accord.language.tree import (
    Action,
    Choice,
    Deadline,
    Declaration,
    Document,
    End,
    Interleaving,
    Recursion,
    Variable,
    sequence,
)

# `and` and `or` have a test of their own.
LABELS = (
    *("Pay", "book-flight", "Tool:use", "é", "2nd try", "not", "all", "any", "at", "of", "by", "human", "then", "each"),
    *(
        "end",
        "rec",
        "require",
        "forbid",
        "before",
        "after",
        "within",
        "else",
        "most",
        "rule",
        "protocol",
        'say "x"',
        "a\u202eb",
        "\\",
        "true",
    ),
)
SEGMENTS = (
    "x",
    "amount",
    "unit price",
    "",
    "0",
    "a.b",
    "as",
    "into",
    "not",
    "in",
    "matches",
    "end",
    "true",
    "é",
    "\u200b",
)
REGISTERS = ("r", "s", "t", "as", "into", "human", "é", "_1")
TEXTS = (
    "",
    "a",
    'say "x"',
    "\\",
    "\u0000",
    "\u202e",
    "é",
    "e\u0301",
    "\U0001f600",
    "a" * 50,
    ")",
    "// no comment",
    "{[(",
)


class Random:
    """What a seeded generator of random numbers makes of the language."""

    def __init__(self, random_):
        self.random = random_

    def scalar(self, depth=0):
        kind = self.random.randrange(8 if depth < 3 else 7)
        if kind == 7:
            return tuple(self.scalar(depth + 1) for _ in range(self.random.randrange(4)))
        if kind == 6:
            return self.random.choice((1, -1)) * self.random.random() * 10 ** self.random.randrange(-8, 9)
        return (
            self.random.choice(TEXTS),
            self.random.randrange(-5, 6),
            self.random.choice((1, -1)) * self.random.randrange(10**30),
            self.random.choice((True, False)),
            None,
            self.random.choice((0.0, 1.0, -2.5, 1e-7)),
        )[kind]

    def path(self):
        return tuple(self.random.choice(SEGMENTS) for _ in range(self.random.randrange(1, 4)))

    def guard(self, registers=True):
        operator = self.random.choice(OPERATORS)
        if operator == "matches":
            return Guard(self.path(), operator, Value(self.random.choice(("", "a+", r"\d", "^x$", 'a"b'))))
        if registers and self.random.random() < 0.4:
            return Guard(self.path(), operator, Register(self.random.choice(REGISTERS)))
        return Guard(self.path(), operator, Value(self.scalar()))

    def clause(self):
        kind = self.random.randrange(4)
        if kind < 2:
            return self.guard()
        return (Bind, Collect)[kind - 2](self.path(), self.random.choice(REGISTERS))

    def clauses(self):
        return tuple(self.clause() for _ in range(self.random.choice((0, 0, 1, 1, 2, 4))))

    def action(self):
        direction = self.random.choice("!?")
        partner = self.random.choice((None, None, "Bank"))
        gated = self.random.random() < 0.2
        return Action(direction, self.random.choice(LABELS), partner, clauses=self.clauses(), gated=gated)

    def pattern(self):
        guards = tuple(self.guard(registers=False) for _ in range(self.random.choice((0, 0, 1, 2))))
        direction = self.random.choice((None, None, "!", "?"))
        return Pattern(self.random.choice(LABELS), direction, guards, self.random.random() < 0.2)

    def condition(self, depth=0):
        kind = self.random.randrange(8 if depth < 5 else 2)
        if kind == 0:
            return Happened(self.pattern())
        if kind == 1:
            return Count(self.random.choice(("at least", "at most")), self.random.randrange(5), self.pattern())
        if kind == 2:
            return Not(self.condition(depth + 1))
        combination = ("and", "or", "all", "any", "some")[kind - 3]
        least = 2 if combination in {"and", "or"} else 1
        conditions = tuple(self.condition(depth + 1) for _ in range(self.random.randrange(least, 4)))
        return Combination(combination, conditions, self.random.randrange(4) if combination == "some" else 0)

    def rule_body(self):
        kind = self.random.randrange(6)
        if kind == 5:
            return Within(self.duration(), self.pattern(), self.condition())
        if kind < 2:
            form = (Before, After)[kind]
            return form(self.pattern(), self.condition(), self.random.random() < 0.5)
        if kind == 2:
            return AfterForbid(self.pattern(), self.pattern())
        if kind == 3:
            return AtMost(self.random.randrange(1_000_001), self.pattern())
        patterns = tuple(self.pattern() for _ in range(self.random.randrange(2, 5)))
        return ForbidSequence(patterns, tuple(self.random.random() < 0.5 for _ in patterns[1:]))

    def duration(self):
        unit = self.random.choice((1, 1_000, 60_000, 3_600_000, 86_400_000))
        return unit * self.random.choice((1, 2, 3, 4, 24, 60, 90, 1_000, self.random.randrange(1, 100_001)))

    def each(self):
        return self.path() if self.random.random() < 0.3 else None

    def protocol(self, depth=0, loops=()):
        steps = [self.step(depth, loops) for _ in range(self.random.randrange(1, 4))]
        last = self.random.random()
        if last < 0.3:
            steps.append(End())
        elif last < 0.6 and loops:
            steps.append(Variable(self.random.choice(loops)))
        return sequence(steps)

    def step(self, depth, loops):
        kind = self.random.randrange(8 if depth < 3 else 4)
        if kind == 0:
            timed = self.action() if self.random.random() < 0.7 else self.choice(depth + 1, loops)
            return Deadline(timed, self.duration(), self.late(depth + 1, loops))
        if kind < 4:
            return self.action()
        if kind < 6:
            return self.choice(depth, loops)
        if kind == 6:
            return Interleaving(tuple(self.protocol(depth + 1, loops) for _ in range(self.random.randrange(2, 4))))
        name = f"L{self.random.randrange(3)}"
        return Recursion(name, self.protocol(depth + 1, (*loops, name)))

    def choice(self, depth, loops):
        branches = [
            sequence([self.action(), self.protocol(depth + 1, loops)]) if self.random.random() < 0.5 else self.action()
            for _ in range(self.random.randrange(1, 4))
        ]
        return Choice((*branches, End()) if self.random.random() < 0.2 else tuple(branches))

    def late(self, depth, loops):
        """What follows a deadline: one step of any kind, or several."""
        kind = self.random.randrange(5)
        if kind == 0:
            return Variable(self.random.choice(loops)) if loops else End()
        if kind == 1:
            return End()
        return self.action() if depth > 5 else self.step(depth, loops) if kind < 4 else self.protocol(depth, loops)

    def document(self):
        items = [
            Rule(f"{self.random.choice(TEXTS)}{i}", self.rule_body(), each=self.each())
            for i in range(self.random.randrange(4))
        ]
        items += [
            Declaration(f"P{i}", self.protocol(), each=self.each(), is_open=self.random.random() < 0.3)
            for i in range(self.random.randrange(0 if items else 1, 3))
        ]
        items += [self.tools()] if self.random.random() < 0.2 else []
        self.random.shuffle(items)
        return Document(tuple(items))

    def tools(self):
        names = self.random.sample((*TEXTS, "otherwise", "tools", "fails", "search"), self.random.randrange(1, 5))
        names = list(dict.fromkeys(map(normalise, filter(None, names)))) or ["t"]
        cut = self.random.randrange(len(names) + 1)
        groups = [names[:cut], *([name] for name in names[cut:])]
        lines = [ToolLine(tuple(group), self.random.choice(FAILURES)) for group in groups if group]
        lines += [ToolLine(None, self.random.choice(FAILURES))] if self.random.random() < 0.5 else []
        return Tools(tuple(lines))
