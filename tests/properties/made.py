"""What random contracts are made of: for each kind of thing a generator makes, a table of where it stands.

A table is a census and the cells that one contract adds to it. Which tables a campaign keeps follows from what its
contracts have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from accord.language.clauses import Bind, Collect, Guard, Register, Value
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
    Within,
)
from accord.language.tree import Action, Deadline, Document, Protocol
from tests.census import Cell, Census
from tests.properties.generate_data import SETS
from tests.properties.places import DOUBLED, NAMES, PLACES, TIMED, walk


@dataclass
class Table:
    """A census of contracts, and what one of them adds."""

    census: Census
    cells: Callable[[Document], Iterable[Cell]]


def tables_of(flavour: str) -> list[Table]:
    """The tables of a campaign."""
    time, slices = "time" in flavour, "slices" in flavour
    tables = [_protocols(flavour, time=time)]
    if time or slices:
        tables += [_data(flavour, _places(BESIDE_TIME, time=time)), _around(flavour, time=time, slices=slices)]
    if flavour == "data":
        tables.append(_data(flavour, _places(MESSAGE_PLACES, time=False)))
    if "data" in flavour:
        tables.append(_guards(flavour))
    if time:
        tables.append(_rules(flavour, ("within",)))
    elif "rules" in flavour:
        tables += [_rules(flavour, FORMS[:-1]), _around(flavour, time=False, slices=False)]
    if slices:
        tables.append(_slices(flavour, time=time))
    return tables


def block(rows: Iterable[str], columns: Iterable[str], why: str) -> dict[Cell, str]:
    """One reason for all cells of a block."""
    return dict.fromkeys(product(rows, columns), why)


# -- protocols ---------------------------------------------------------------------------------------------------------

DEADLINES = ("deadline on message", "deadline on choice")
LATE = ("late head", "behind deadline", TIMED)


def _protocols(flavour: str, *, time: bool) -> Table:
    names = tuple(name for name in NAMES.values() if name != "deadline") + DEADLINES * time
    never = block([n for n in names if n not in {"message", "end"}], ["branch head"], "a message tells the branch")
    never |= block(["jump"], ["protocol head", "part head"], "no loop is around it")
    return Table(Census(f"protocols, {flavour}", names, _places(PLACES, time=time), never), _constructs)


def _places(places: tuple[str, ...], *, time: bool) -> tuple[str, ...]:
    return tuple(place for place in places if time or place not in LATE)


def _constructs(document: Document) -> Iterator[Cell]:
    for declaration in document.declarations:
        yield from (_with_body(step, place) for step, place in walk(declaration.body) if place in PLACES)


def _with_body(step: Protocol, place: str) -> Cell:
    name = NAMES[type(step)]
    return (f"deadline on {NAMES[type(step.body)]}" if isinstance(step, Deadline) else name), place


# -- data --------------------------------------------------------------------------------------------------------------

CARRIED = ("guard", "read", "bind", "collect", "gate", "several clauses")
MESSAGE_PLACES = (*PLACES, DOUBLED, TIMED)
# Where data meet time and slices; how they meet what is around them is looked at without these.
BESIDE_TIME = (
    "branch head",
    "late head",
    "behind message",
    "behind deadline",
    "in a loop",
    "in parts",
    "last",
    DOUBLED,
    TIMED,
)


def _data(flavour: str, places: tuple[str, ...]) -> Table:
    def carried(document: Document) -> Iterator[Cell]:
        for declaration in document.declarations:
            for step, place in walk(declaration.body):
                if isinstance(step, Action) and place in places:
                    yield from ((what, place) for what in carried_by(step))

    return Table(Census(f"what messages carry, {flavour}", CARRIED, places), carried)


def carried_by(action: Action) -> Iterator[str]:
    """What there is to a message besides its label."""
    if action.gated:
        yield "gate"
    if len(action.clauses) > 1:
        yield "several clauses"
    for clause in action.clauses:
        match clause:
            case Bind():
                yield "bind"
            case Collect():
                yield "collect"
            case Guard(operand=Register()):
                yield "read"
            case Guard():
                yield "guard"


OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "in", "not in", "matches")
OPERANDS = ("whole", "fraction", "text", "truth", "null", "list", "empty list", "list in list", "register", "set")


def _guards(flavour: str) -> Table:
    literals = [name for name in OPERANDS if name not in {"register", "set"}]
    never = block(["in", "not in"], [n for n in literals if "list" not in n], "what something is in is a list or a set")
    never |= block(["matches"], [n for n in OPERANDS if n != "text"], "a pattern is a text")
    never |= block(["==", "!=", "<", "<=", ">", ">="], ["set"], "a set is compared with nothing")
    unordered = [n for n in literals if n not in {"whole", "fraction", "text"}]
    never |= block(["<", "<=", ">", ">="], unordered, "it would never hold: only numbers and texts have an order")
    never |= block(["in"], ["empty list"], "it would never hold")
    return Table(Census(f"guards, {flavour}", OPERATORS, OPERANDS, never), _operands)


def _operands(document: Document) -> Iterator[Cell]:
    guards = [guard for rule in document.rules for pattern in patterns_of(rule) for guard in pattern.guards]
    for declaration in document.declarations:
        steps = {id(step): step for step, _ in walk(declaration.body)}.values()
        guards += [c for step in steps if isinstance(step, Action) for c in step.clauses if isinstance(c, Guard)]
    for guard in guards:
        yield guard.operator, kind_of(guard.operand)


def kind_of(operand: Value | Register) -> str:
    """What kind of thing a field is compared with."""
    match operand:
        case Register(name):
            return "set" if name[0] in SETS else "register"
        case Value(bool()):
            return "truth"
        case Value(()):
            return "empty list"
        case Value(tuple() as several):
            return "list in list" if any(isinstance(one, tuple) for one in several) else "list"
        case Value(scalar):
            return {int: "whole", float: "fraction", str: "text", type(None): "null"}[type(scalar)]
    raise TypeError(operand)


# -- rules -------------------------------------------------------------------------------------------------------------

FORMS = ("before", "before each", "after", "after each", "after forbid", "at most", "forbid then", "within")
PATTERNS = ("bare", "sent", "received", "guarded", "of several guards", "gated", "of Unrecognized")
TRIGGERS = tuple(f"trigger {kind}" for kind in PATTERNS)
SECONDS = tuple(f"second {kind}" for kind in PATTERNS)
COMBINATIONS = ("and", "or", "all of", "any of", "some of")
CONDITIONS = (
    "message",
    "at least",
    "at most",
    "at most 0",
    "not",
    *COMBINATIONS,
    "not of several",
    "several in several",
)
CHAINS = ("at once", "later", "of three")
AROUND = ("beside a protocol", "alone", "one of several")


def form_of(rule: Rule) -> str:
    """Which of the forms a rule has."""
    match rule.body:
        case Before(each=each):
            return "before each" if each else "before"
        case After(each=each):
            return "after each" if each else "after"
        case _:
            return {AfterForbid: "after forbid", AtMost: "at most", ForbidSequence: "forbid then", Within: "within"}[
                type(rule.body)
            ]


def _rules(flavour: str, forms: tuple[str, ...]) -> Table:
    never = block(CONDITIONS, ("after forbid", "at most", "forbid then"), "it forbids messages and requires nothing")
    never |= block(CHAINS, [form for form in FORMS if form != "forbid then"], "only `forbid` is about what comes next")
    never |= block(SECONDS, ["at most"], "it is about one pattern")
    answers = ("message", "or", "any of")
    never |= block([c for c in CONDITIONS if c not in answers], ["after each"], "answers are counted: one message each")
    never |= block(["at most", "at most 0", "not", "not of several"], ["within"], "nothing settles it in time")
    here = {cell: why for cell, why in never.items() if cell[1] in forms}

    def inside(document: Document) -> Iterator[Cell]:
        for rule in document.rules:
            if (form := form_of(rule)) in forms:
                yield from ((what, form) for what in _inside(rule))

    rows = (*TRIGGERS, *SECONDS, *CONDITIONS, *CHAINS)
    return Table(Census(f"rules, {flavour}", rows, forms, here), inside)


def _around(flavour: str, *, time: bool, slices: bool) -> Table:
    rows = AROUND + ("for each key", "beside slices") * slices + ("beside deadlines",) * time
    return Table(Census(f"around rules, {flavour}", rows, FORMS if time else FORMS[:-1]), _around_rules)


def _inside(rule: Rule) -> Iterator[str]:
    """What a rule is made of."""
    trigger, *seconds = patterns_of(rule)
    yield from (f"trigger {kind}" for kind in _kinds(trigger))
    yield from (f"second {kind}" for second in seconds for kind in _kinds(second))
    match rule.body:
        case Before() | After() | Within():
            yield from _conditions(rule.body.condition)
        case ForbidSequence(patterns, adjacent):
            yield from ("at once" if next_to else "later" for next_to in adjacent)
            yield from ["of three"] * (len(patterns) > 2)


def _around_rules(document: Document) -> Iterator[Cell]:
    """What stands around each rule."""
    bodies = [declaration.body for declaration in document.declarations]
    deadlines = any(isinstance(step, Deadline) for body in bodies for step, _ in walk(body))
    for rule in document.rules:
        around = ["beside a protocol" if bodies else "alone", *["one of several"] * (len(document.rules) > 1)]
        around += ["beside deadlines"] * deadlines + ["for each key"] * (rule.each is not None)
        around += ["beside slices"] * any(item.each is not None for item in document.items if item is not rule)
        yield from ((what, form_of(rule)) for what in around)


def patterns_of(rule: Rule) -> Iterator[Pattern]:
    """The patterns of a rule, its trigger first."""
    match rule.body:
        case AtMost(pattern=pattern):
            yield pattern
        case ForbidSequence(patterns=patterns):
            yield from patterns
        case AfterForbid(trigger, forbidden):
            yield trigger
            yield forbidden
        case Before() | After() | Within():
            yield rule.body.trigger
            yield from _patterns_in(rule.body.condition)


def _patterns_in(condition: Condition) -> Iterator[Pattern]:
    match condition:
        case Happened(pattern) | Count(pattern=pattern):
            yield pattern
        case Not(inner):
            yield from _patterns_in(inner)
        case Combination(conditions=conditions):
            for one in conditions:
                yield from _patterns_in(one)


def _kinds(pattern: Pattern) -> Iterator[str]:
    yield {None: "bare", "!": "sent", "?": "received"}[pattern.direction]
    if pattern.guards:
        yield "guarded" if len(pattern.guards) == 1 else "of several guards"
    if pattern.gated:
        yield "gated"
    if pattern.label == "Unrecognized":
        yield "of Unrecognized"


def _conditions(condition: Condition) -> Iterator[str]:
    match condition:
        case Happened():
            yield "message"
        case Count(bound, number):
            yield "at most 0" if (bound, number) == ("at most", 0) else bound
        case Not(inner):
            yield "not of several" if isinstance(inner, Combination) else "not"
            yield from _conditions(inner)
        case Combination(kind, conditions):
            yield kind if kind in {"and", "or"} else f"{kind} of"
            for one in conditions:
                if isinstance(one, Combination):
                    yield "several in several"
                yield from _conditions(one)


# -- slices ------------------------------------------------------------------------------------------------------------

SLICED = ("plain protocol", "protocol with data", "with gates", "with deadlines", "with parts", *FORMS)
BESIDE = (
    "by a field",
    "by a field inside",
    "only the protocol is sliced",
    "only a rule is sliced",
    "both, alike",
    "both, unlike",
)


def _slices(flavour: str, *, time: bool) -> Table:
    rows = tuple(row for row in SLICED if time or row not in {"with deadlines", "within"})
    return Table(Census(f"slices, {flavour}", rows, BESIDE), _slice_cells)


def _slice_cells(document: Document) -> Iterator[Cell]:
    protocol = next((declaration.each for declaration in document.declarations), None)
    fields = {rule.each for rule in document.rules} - {None}
    if protocol is None:
        together = "only a rule is sliced"
    elif not fields:
        together = "only the protocol is sliced"
    else:
        together = "both, alike" if fields == {protocol} else "both, unlike"
    for declaration in document.declarations:
        for name in _traits(declaration.body):
            yield name, together
            if protocol is not None:
                yield name, "by a field" if len(protocol) == 1 else "by a field inside"
    for rule in document.rules:
        yield form_of(rule), together
        if rule.each is not None:
            yield form_of(rule), "by a field" if len(rule.each) == 1 else "by a field inside"


def _traits(body: Protocol) -> Iterator[str]:
    steps = [step for step, _ in walk(body)]
    actions = [step for step in steps if isinstance(step, Action)]
    data, gates = any(action.clauses for action in actions), any(action.gated for action in actions)
    if data:
        yield "protocol with data"
    if gates:
        yield "with gates"
    if any(isinstance(step, Deadline) for step in steps):
        yield "with deadlines"
    if any(NAMES[type(step)] == "parts" for step in steps):
        yield "with parts"
    if not data and not gates:
        yield "plain protocol"


__all__ = ["FORMS", "MESSAGE_PLACES", "Table", "block", "carried_by", "form_of", "tables_of"]
