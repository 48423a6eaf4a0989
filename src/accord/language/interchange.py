"""Contracts as plain JSON values and back, so that other tools can build and read them.

Every node is an object whose `kind` says what it is. Places in the text and comments are left behind; everything else
comes back exactly. Reading trusts nothing: what does not fit is a `UsageError` that says where, as a path from `$`.

Version 2 added deadlines and slices, version 3 the events block and what is between roles, version 4 protocols that are
open, the tools block and `as named otherwise`. A contract is written in
the oldest version that can hold it, so that whoever reads only that one still can.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from accord.errors import UsageError
from accord.language.clauses import OPERATORS, Bind, Clause, Collect, Guard, Register, Scalar, Value
from accord.language.events import Events
from accord.language.global_tree import Enumeration, GlobalProtocol, Record
from accord.language.interchange_events import events_from_json, events_to_json
from accord.language.interchange_globals import GLOBAL_KINDS, global_from_json, global_to_json
from accord.language.interchange_tools import tools_from_json, tools_to_json
from accord.language.json_objects import DEEPEST, ObjectReader, check_text
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
from accord.language.tools import Tools
from accord.language.tree import (
    Action,
    Choice,
    Deadline,
    Declaration,
    Document,
    End,
    Interleaving,
    Item,
    Protocol,
    Recursion,
    Sequence,
    Variable,
    sequence,
)

if TYPE_CHECKING:
    from accord.canonical import Json
    from accord.language.clauses import Path
    from accord.language.rules import CombinationKind, RuleBody
    from accord.language.tree import Direction

__all__ = ["clause_from_json", "clause_to_json", "document_from_json", "document_to_json"]

FORMAT = "accord.contract"
OLDEST, TIMED, LABELLED, VERSION = 1, 2, 3, 4

_LACKING = (
    (TIMED, "neither deadlines nor slices"),
    (LABELLED, "no events, records, enums or protocols between roles"),
    (VERSION, "no tools, no `as named otherwise` and no protocols that are open"),
)
"""What a version before that one does not have."""


# -- writing -----------------------------------------------------------------------------------------------------------


def document_to_json(document: Document) -> dict[str, Json]:
    """A contract as a JSON object."""
    items: list[Json] = [_item_to_json(item) for item in document.items]
    return {"format": FORMAT, "version": _version_of(document), "items": items}


def _version_of(document: Document) -> int:
    """The oldest version that can hold a document."""
    keeps_names = document.events is not None and document.events.keeps_names
    if keeps_names or document.tools is not None or any(found.is_open for found in document.declarations):
        return VERSION
    if document.events is not None or document.globals or document.types:
        return LABELLED
    if any(isinstance(item, Declaration | Rule) and item.each is not None for item in document.items):
        return TIMED
    if any(isinstance(rule.body, Within) for rule in document.rules):
        return TIMED
    todo = [declaration.body for declaration in document.declarations]
    while todo:
        node = todo.pop()
        if isinstance(node, Deadline):
            return TIMED
        todo += node.children()
    return OLDEST


def _item_to_json(item: Item) -> Json:
    if isinstance(item, Events):
        return {"kind": "events", "lines": events_to_json(item, clause_to_json)}
    if isinstance(item, Tools):
        return {"kind": "tools", "lines": tools_to_json(item)}
    if isinstance(item, GlobalProtocol | Record | Enumeration):
        return global_to_json(item)
    is_rule = isinstance(item, Rule)
    written: dict[str, Json] = {"kind": "rule" if is_rule else "protocol", "name": item.name}
    if isinstance(item, Declaration) and item.is_open:
        written["open"] = True
    if item.each is not None:
        written["each"] = list(item.each)
    return {**written, "body": _rule_to_json(item.body) if isinstance(item, Rule) else _protocol_to_json(item.body)}


def _protocol_to_json(protocol: Protocol, depth: int = 0) -> Json:
    if depth > DEEPEST:
        raise UsageError(f"the protocol is nested deeper than {DEEPEST}, which JSON readers do not take")
    if isinstance(protocol, Action):
        return _action_to_json(protocol)
    if isinstance(protocol, End):
        return {"kind": "end"}
    if isinstance(protocol, Variable):
        return {"kind": "jump", "to": protocol.name}
    if isinstance(protocol, Recursion):
        return {"kind": "loop", "name": protocol.variable, "body": _protocol_to_json(protocol.body, depth + 1)}
    if isinstance(protocol, Deadline):
        return {
            "kind": "deadline",
            "step": _protocol_to_json(protocol.body, depth + 1),
            "milliseconds": protocol.milliseconds,
            "else": _protocol_to_json(protocol.otherwise, depth + 1),
        }
    inside: list[Json] = [_protocol_to_json(child, depth + 1) for child in protocol.children()]
    if isinstance(protocol, Sequence):
        return {"kind": "sequence", "steps": inside}
    if isinstance(protocol, Choice):
        return {"kind": "choice", "branches": inside}
    return {"kind": "interleaving", "parts": inside}


def _action_to_json(action: Action) -> dict[str, Json]:
    written: dict[str, Json] = {"kind": "send" if action.direction == "!" else "receive", "label": action.label}
    if action.partner is not None:
        written["partner"] = action.partner
    if action.clauses:
        written["clauses"] = [clause_to_json(clause) for clause in action.clauses]
    if action.gated:
        written["by"] = "human"
    return written


def _scalar_to_json(scalar: Scalar) -> Json:
    return [_scalar_to_json(item) for item in scalar] if isinstance(scalar, tuple) else scalar


def clause_to_json(clause: Clause) -> Json:
    """A clause as JSON."""
    if isinstance(clause, Bind | Collect):
        kind = "bind" if isinstance(clause, Bind) else "collect"
        return {"kind": kind, "path": list(clause.path), "register": clause.register}
    operand = clause.operand
    right: dict[str, Json] = (
        {"register": operand.name} if isinstance(operand, Register) else {"value": _scalar_to_json(operand.scalar)}
    )
    return {"kind": "guard", "path": list(clause.path), "operator": clause.operator, **right}


def _pattern_to_json(pattern: Pattern) -> dict[str, Json]:
    written: dict[str, Json] = {"label": pattern.label}
    if pattern.direction is not None:
        written["direction"] = "send" if pattern.direction == "!" else "receive"
    if pattern.guards:
        written["clauses"] = [clause_to_json(guard) for guard in pattern.guards]
    if pattern.gated:
        written["by"] = "human"
    return written


def _condition_to_json(condition: Condition) -> Json:
    if isinstance(condition, Happened):
        return {"kind": "happened", "message": _pattern_to_json(condition.pattern)}
    if isinstance(condition, Count):
        message = _pattern_to_json(condition.pattern)
        return {"kind": condition.bound, "number": condition.number, "message": message}
    if isinstance(condition, Not):
        return {"kind": "not", "condition": _condition_to_json(condition.condition)}
    written: dict[str, Json] = {"kind": condition.kind, "of": [_condition_to_json(c) for c in condition.conditions]}
    return {**written, "number": condition.number} if condition.kind == "some" else written


def _rule_to_json(body: RuleBody) -> Json:
    if isinstance(body, Before | After):
        return {
            "kind": "before" if isinstance(body, Before) else "after",
            "each": body.each,
            "trigger": _pattern_to_json(body.trigger),
            "require": _condition_to_json(body.condition),
        }
    if isinstance(body, Within):
        return {
            "kind": "within",
            "milliseconds": body.milliseconds,
            "trigger": _pattern_to_json(body.trigger),
            "require": _condition_to_json(body.condition),
        }
    if isinstance(body, AfterForbid):
        return {
            "kind": "after forbid",
            "trigger": _pattern_to_json(body.trigger),
            "forbid": _pattern_to_json(body.forbidden),
        }
    if isinstance(body, AtMost):
        return {"kind": "at most", "number": body.number, "message": _pattern_to_json(body.pattern)}
    messages: list[Json] = [_pattern_to_json(pattern) for pattern in body.patterns]
    return {"kind": "forbid sequence", "messages": messages, "adjacent": list(body.adjacent)}


# -- reading -----------------------------------------------------------------------------------------------------------


def document_from_json(value: object) -> Document:
    """A contract from the JSON object of `document_to_json`; it is not checked yet."""
    try:
        reader = ObjectReader(value, "$")
        found = (reader.text("format"), reader.number("version"))
        if found[0] != FORMAT or not OLDEST <= found[1] <= VERSION:
            wanted = f"{FORMAT} version {OLDEST} to {VERSION}"
            raise UsageError(f"expected {wanted}, found {found[0]} version {found[1]}")
        items = [_item(item, at) for item, at in reader.many("items")]
        reader.done()
    except RecursionError:
        raise UsageError(f"nested deeper than {DEEPEST} - at `$`") from None
    if any(isinstance(item, Declaration) and item.name is None for item in items) and len(items) > 1:
        raise UsageError("a protocol without a name stands alone - at `$.items`")
    document = Document(tuple(items))
    if _version_of(document) > found[1]:
        what = next(lacking for version, lacking in _LACKING if found[1] < version)
        raise UsageError(f"version {found[1]} has {what} - at `$.version`")
    return document


def _item(value: object, at: str) -> Item:
    reader = ObjectReader(value, at)
    kind = reader.text("kind")
    if kind == "events":
        events = events_from_json(reader, clause_from_json)
        reader.done()
        return events
    if kind == "tools":
        tools = tools_from_json(reader)
        reader.done()
        return tools
    if kind in GLOBAL_KINDS:
        between_roles = global_from_json(reader, kind)
        reader.done()
        return between_roles
    body, inside = reader.inside("body")
    item: Item
    if kind == "rule":
        item = Rule(reader.text("name"), _rule_from_json(body, inside), each=reader.path("each", optional=True))
    elif kind == "protocol":
        protocol = _protocol_from_json(body, inside)
        item = _declaration(reader, protocol)
    else:
        raise UsageError(
            f"expected a protocol, a rule, events, tools, a record or an enum, got {kind!r} - at `{at}.kind`"
        )
    reader.done()
    return item


def _declaration(reader: ObjectReader, body: Protocol) -> Declaration:
    is_open = "open" in reader.value and cast("bool", reader.get("open", bool, "true or false"))
    name, each = reader.name("name", optional=True), reader.path("each", optional=True)
    if is_open and name is None:
        raise UsageError(f"an open protocol has a name - at `{reader.at}.open`")
    return Declaration(name, body, each=each, is_open=is_open)


def _protocol_from_json(value: object, at: str) -> Protocol:
    reader = ObjectReader(value, at)
    kind = reader.text("kind")
    protocol: Protocol
    if kind in {"send", "receive"}:
        direction: Direction = "!" if kind == "send" else "?"
        clauses = tuple(clause_from_json(clause, where) for clause, where in reader.many("clauses", optional=True))
        partner = reader.name("partner", optional=True)
        protocol = Action(direction, reader.label(), partner, clauses=clauses, gated=reader.gated())
    elif kind == "end":
        protocol = End()
    elif kind == "jump":
        protocol = Variable(cast("str", reader.name("to")))
    elif kind == "loop":
        protocol = Recursion(cast("str", reader.name("name")), _protocol_from_json(*reader.inside("body")))
    elif kind == "sequence":
        protocol = sequence([_protocol_from_json(*step) for step in reader.many("steps")])
    elif kind == "choice":
        branches = tuple(_protocol_from_json(*branch) for branch in reader.many("branches"))
        try:
            protocol = Choice(branches)
        except UsageError as error:
            raise UsageError(f"{error} - at `{at}`") from None
    elif kind == "deadline":
        protocol = _deadline_from_json(reader)
    elif kind == "interleaving":
        protocol = Interleaving(tuple(_protocol_from_json(*part) for part in reader.many("parts", least=2)))
    else:
        raise UsageError(f"unknown kind of protocol {kind!r} - at `{at}.kind`")
    reader.done()
    return protocol


def _deadline_from_json(reader: ObjectReader) -> Deadline:
    step = _protocol_from_json(*reader.inside("step"))
    if not isinstance(step, Action | Choice):
        raise UsageError(f"a deadline is about a message or a choice - at `{reader.at}.step`")
    return Deadline(step, reader.milliseconds(), _protocol_from_json(*reader.inside("else")))


def _scalar_from_json(value: object, at: str, depth: int = 20) -> Scalar:
    if depth < 0:
        raise UsageError(f"lists are nested too deeply - at `{at}`")
    if isinstance(value, str):
        check_text(value, at)
    if isinstance(value, int) and abs(value) >= 10**400:
        raise UsageError(f"the number is too large - at `{at}`")
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float) and value - value == 0:
        return value
    if isinstance(value, list):
        return tuple(_scalar_from_json(item, f"{at}[{index}]", depth - 1) for index, item in enumerate(value))
    raise UsageError(f"expected a literal, got `{type(value).__name__}` - at `{at}`")


def clause_from_json(value: object, at: str = "$") -> Clause:
    """A clause from its JSON."""
    reader = ObjectReader(value, at)
    kind = reader.text("kind")
    path = cast("Path", reader.path("path"))
    clause: Clause
    if kind in {"bind", "collect"}:
        register = cast("str", reader.name("register"))
        clause = Bind(path, register) if kind == "bind" else Collect(path, register)
    elif kind == "guard":
        operator = reader.text("operator")
        if operator not in OPERATORS:
            raise UsageError(f"unknown operator {operator!r} - at `{at}.operator`")
        operand: Value | Register
        if "register" in reader.value:
            operand = Register(cast("str", reader.name("register")))
        elif "value" in reader.value:
            reader.read.add("value")
            operand = Value(_scalar_from_json(reader.value["value"], f"{at}.value"))
        else:
            raise UsageError(f"expected a value or a register - at `{at}`")
        if operator == "matches" and not (isinstance(operand, Value) and isinstance(operand.scalar, str)):
            raise UsageError(f"the pattern behind `matches` is a text - at `{at}.value`")
        clause = Guard(path, operator, operand)
    else:
        raise UsageError(f"unknown kind of clause {kind!r} - at `{at}.kind`")
    reader.done()
    return clause


def _pattern_from_json(value: object, at: str) -> Pattern:
    reader = ObjectReader(value, at)
    heading = reader.text("direction", optional=True)
    if heading not in {None, "send", "receive"}:
        raise UsageError(f'expected "send" or "receive", got {heading!r} - at `{at}.direction`')
    direction: Direction | None = None if heading is None else "!" if heading == "send" else "?"
    clauses = [clause_from_json(clause, where) for clause, where in reader.many("clauses", optional=True)]
    guards = tuple(clause for clause in clauses if isinstance(clause, Guard) and isinstance(clause.operand, Value))
    if len(guards) != len(clauses):
        raise UsageError(f"rules have no registers - at `{at}.clauses`")
    pattern = Pattern(reader.label(), direction, guards, reader.gated())
    reader.done()
    return pattern


def _condition_from_json(value: object, at: str) -> Condition:
    reader = ObjectReader(value, at)
    kind = reader.text("kind")
    condition: Condition
    if kind == "happened":
        condition = Happened(_pattern_from_json(*reader.inside("message")))
    elif kind in {"at least", "at most"}:
        bound = "at least" if kind == "at least" else "at most"
        condition = Count(bound, reader.number("number"), _pattern_from_json(*reader.inside("message")))  # type: ignore[arg-type] # one of the two
    elif kind == "not":
        condition = Not(_condition_from_json(*reader.inside("condition")))
    elif kind in {"and", "or", "all", "any", "some"}:
        least = 2 if kind in {"and", "or"} else 1
        conditions = tuple(_condition_from_json(*inner) for inner in reader.many("of", least=least))
        number = reader.number("number") if kind == "some" else 0
        condition = Combination(cast("CombinationKind", kind), conditions, number)
    else:
        raise UsageError(f"unknown kind of condition {kind!r} - at `{at}.kind`")
    reader.done()
    return condition


def _rule_from_json(value: object, at: str) -> RuleBody:
    reader = ObjectReader(value, at)
    kind = reader.text("kind")
    body: RuleBody
    if kind in {"before", "after"}:
        each = cast("bool", reader.get("each", bool, "true or false"))
        trigger = _pattern_from_json(*reader.inside("trigger"))
        condition = _condition_from_json(*reader.inside("require"))
        body = Before(trigger, condition, each) if kind == "before" else After(trigger, condition, each)
    elif kind == "within":
        trigger = _pattern_from_json(*reader.inside("trigger"))
        body = Within(reader.milliseconds(), trigger, _condition_from_json(*reader.inside("require")))
    elif kind == "after forbid":
        trigger = _pattern_from_json(*reader.inside("trigger"))
        body = AfterForbid(trigger, _pattern_from_json(*reader.inside("forbid")))
    elif kind == "at most":
        body = AtMost(reader.number("number"), _pattern_from_json(*reader.inside("message")))
    elif kind == "forbid sequence":
        patterns = tuple(_pattern_from_json(*message) for message in reader.many("messages", least=2))
        adjacent = tuple(link for link, _ in reader.many("adjacent"))
        if len(adjacent) != len(patterns) - 1 or not all(isinstance(link, bool) for link in adjacent):
            raise UsageError(f"expected one true or false between each two messages - at `{at}.adjacent`")
        body = ForbidSequence(patterns, cast("tuple[bool, ...]", adjacent))
    else:
        raise UsageError(f"unknown kind of rule {kind!r} - at `{at}.kind`")
    reader.done()
    return body
