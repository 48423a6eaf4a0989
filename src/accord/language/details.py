"""Clauses, gates, rules and lines of events as text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from accord.language.clauses import Bind, Collect, Register
from accord.language.durations import print_duration
from accord.language.events import Says
from accord.language.labels import RESERVED, is_name, normalise, print_label, print_word, quote
from accord.language.rules import After, AfterForbid, AtMost, Before, Combination, Count, Happened, Not, Within

if TYPE_CHECKING:
    from accord.language.clauses import Clause, Path, Scalar
    from accord.language.events import EventLine
    from accord.language.rules import Condition, Pattern, Rule, RuleBody
    from accord.language.tools import ToolLine
    from accord.language.tree import Action

__all__ = [
    "print_action",
    "print_clause",
    "print_condition",
    "print_details",
    "print_event_label",
    "print_event_line",
    "print_event_pieces",
    "print_pattern",
    "print_rule",
    "print_rule_body",
    "print_scalar",
    "print_slice",
    "print_tools_named",
]

# Words that mean something in a condition, so a label of that name stands in quotes there.
_CONDITION_WORDS = frozenset({"not", "all", "any", "at", "and", "or"})

# Words that mean something in a block of events or begin a declaration, likewise.
_EVENT_WORDS = frozenset({"ignore", "where", "rule", "protocol", "events"})


# Likewise in a block of tools.
_TOOL_WORDS = frozenset({"otherwise", "rule", "protocol", "events", "tools"})


def print_scalar(scalar: Scalar) -> str:
    """A literal as it is written in a contract."""
    if isinstance(scalar, str):
        return quote(scalar)
    if isinstance(scalar, tuple):
        return f"[{', '.join(map(print_scalar, scalar))}]"
    return repr(scalar) if isinstance(scalar, float) else json.dumps(scalar)


def _path(path: Path) -> str:
    return ".".join(
        segment if (is_name(segment) and normalise(segment) == segment) or segment in RESERVED else quote(segment)
        for segment in path
    )


def print_clause(clause: Clause) -> str:
    """One clause."""
    if isinstance(clause, Bind):
        return f"{_path(clause.path)} as {clause.register}"
    if isinstance(clause, Collect):
        return f"{_path(clause.path)} into {clause.register}"
    operand = clause.operand
    right = operand.name if isinstance(operand, Register) else print_scalar(operand.scalar)
    return f"{_path(clause.path)} {clause.operator} {right}"


def print_details(clauses: tuple[Clause, ...], gated: bool) -> str:
    """What stands behind a label: clauses in parentheses, and the gate."""
    inside = f"({', '.join(map(print_clause, clauses))})" if clauses else ""
    return f"{inside}{' by human' if gated else ''}"


def print_action(action: Action) -> str:
    """An action with everything that stands behind its label."""
    word = print_word(action.direction, action.label, action.partner)
    return word + print_details(action.clauses, action.gated)


def print_pattern(pattern: Pattern) -> str:
    """A message a rule looks for."""
    label = quote(pattern.label) if pattern.label in _CONDITION_WORDS else print_label(pattern.label)
    return f"{pattern.direction or ''}{label}{print_details(pattern.guards, pattern.gated)}"


def print_condition(condition: Condition, inside: str = "") -> str:
    """A condition; `inside` is the kind of the one around it, which decides about parentheses."""
    if isinstance(condition, Happened):
        return print_pattern(condition.pattern)
    if isinstance(condition, Count):
        return f"{condition.bound} {condition.number} {print_pattern(condition.pattern)}"
    if isinstance(condition, Not):
        return f"not {print_condition(condition.condition, 'not')}"
    return _combination(condition, inside)


def _combination(condition: Combination, inside: str) -> str:
    if condition.kind in {"and", "or"}:
        text = f" {condition.kind} ".join(print_condition(c, condition.kind) for c in condition.conditions)
        bare = not inside or (inside == "or" and condition.kind == "and")
        return text if bare else f"({text})"
    head = str(condition.number) if condition.kind == "some" else condition.kind
    return f"{head} of [{', '.join(map(print_condition, condition.conditions))}]"


def print_slice(each: Path) -> str:
    """What stands in front of a sliced protocol or rule."""
    return f"each {_path(each)}:"


def print_rule(rule: Rule) -> tuple[str, ...]:
    """What stands between the braces of a rule, in the pieces between which a long one is broken."""
    body = print_rule_body(rule.body)
    return body if rule.each is None else (print_slice(rule.each), *body)


def print_rule_body(body: RuleBody) -> tuple[str, ...]:
    """A rule without its slice, in the same pieces."""
    if isinstance(body, Before | After):
        form = "before" if isinstance(body, Before) else "after"
        each = " each" if body.each else ""
        return (f"{form}{each} {print_pattern(body.trigger)}", f"require {print_condition(body.condition)}")
    if isinstance(body, AfterForbid):
        return (f"after {print_pattern(body.trigger)}", f"forbid {print_pattern(body.forbidden)}")
    if isinstance(body, AtMost):
        return (f"at most {body.number} {print_pattern(body.pattern)}",)
    if isinstance(body, Within):
        head = f"within {print_duration(body.milliseconds)} after {print_pattern(body.trigger)}"
        return (head, f"require {print_condition(body.condition)}")
    pieces = [f"forbid {print_pattern(body.patterns[0])}"]
    for adjacent, pattern in zip(body.adjacent, body.patterns[1:], strict=True):
        pieces.append(f"{'then' if adjacent else '...'} {print_pattern(pattern)}")
    return tuple(pieces)


def print_tools_named(line: ToolLine) -> str:
    """What stands first in a line of tools."""
    if line.names is None:
        return "otherwise"
    names = [quote(name) if name in _TOOL_WORDS else print_label(name) for name in line.names]
    return names[0] if len(names) == 1 else f"[{', '.join(names)}]"


def _event_name(name: str) -> str:
    return quote(name) if name in _EVENT_WORDS else print_label(name)


def print_event_label(line: EventLine) -> str:
    """What stands first in a line of events."""
    if line.as_named:
        return "as named"
    return "ignore" if line.label is None else _event_name(line.label)


def print_event_pieces(line: EventLine) -> tuple[str, tuple[str, ...], str]:
    """What stands behind the label in a line of events, cut where a list of names may be broken into lines."""
    origin = line.origin
    if origin is None:
        return "otherwise", (), ""
    guards = f" where {', '.join(map(print_clause, line.guards))}" if line.guards else ""
    if isinstance(origin, Says):
        return f"when {origin.kind} says {'matches ' if origin.is_pattern else ''}{quote(origin.text)}", (), guards
    head = f"when {origin.kind}{' of' if origin.kind in {'result', 'error'} else ''}"
    names = tuple(map(_event_name, origin.names))
    return (f"{head} {names[0]}", (), guards) if len(names) == 1 else (f"{head} in [", names, f"]{guards}")


def print_event_line(line: EventLine) -> str:
    """A line of events."""
    head, names, tail = print_event_pieces(line)
    return f"{print_event_label(line)} {head}{', '.join(names)}{tail}"
