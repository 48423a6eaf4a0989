"""Random blocks of events."""

from __future__ import annotations

from accord.language.clauses import Guard, Value
from accord.language.events import EventLine, Events, Named, Says

NAMES = ["a", "b", "c", "cafe\u0301", "caf\u00e9", "in", "where", "rule", "events", "ignore", "2 b"]
LABELS = ["A", "B", "C", "Unrecognized", "ignore", "odd one", "when", "otherwise"]
TEXTS = ["", "yes", "no", "Yes, sure", "12", "a\nb", "{}", '{"x": 1}', "\u00e9"]
PATTERNS = ["yes", "(?i)yes", r"^\d+$", r"\bsure\b", "", "^$", "x"]
VALUES = [1, 1.0, True, "yes", None, [1], "12", [], [[1], "yes"]]
OPERATORS = ["==", "!=", "<", "<=", ">", ">="]
PATHS = [("x",), ("y", "z"), ("text",), ("call", "x"), ("call_id",)]


def random_guard(rng, *, said=False):
    """A guard; of what is said there is only the text."""
    path = ("text",) if said and rng.random() < 0.8 else rng.choice(PATHS)
    if rng.random() < 0.2:
        return Guard(path, "matches", Value(rng.choice(PATTERNS)))
    if rng.random() < 0.2:
        return Guard(path, rng.choice(["in", "not in"]), Value(literal(rng.sample(VALUES, rng.choice([0, 1, 2, 2])))))
    return Guard(path, rng.choice(OPERATORS), Value(literal(rng.choice(VALUES))))


def literal(value):
    """A value as it stands in a contract."""
    return tuple(map(literal, value)) if isinstance(value, list) else value


def random_line(rng):
    label = None if rng.random() < 0.15 else rng.choice(LABELS)
    if rng.random() < 0.08:
        return EventLine(label, None)
    said = rng.random() < 0.4
    guards = tuple(random_guard(rng, said=said) for _ in range(rng.choice([0, 0, 1, 2])))
    if said:
        is_pattern = rng.random() < 0.5
        said = rng.choice(PATTERNS if is_pattern else TEXTS)
        return EventLine(label, Says(rng.choice(["user", "agent"]), said, is_pattern), guards)
    kind = rng.choice(["call", "user call", "result", "error", "event"])
    names = tuple(rng.sample([name for name in NAMES if name != "cafe\u0301"], rng.choice([1, 1, 2, 3])))
    return EventLine(label, Named(kind, names), guards)


def random_events(rng):
    lines = [random_line(rng) for _ in range(rng.randint(1, 7))]
    if rng.random() < 0.3:
        lines.insert(rng.randint(0, len(lines)), EventLine(None, None, as_named=True))
    return Events(tuple(lines))
