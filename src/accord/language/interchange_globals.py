"""Protocols between roles, records and enums as plain JSON values and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from accord.errors import UsageError
from accord.language.global_tree import (
    DEEPEST,
    Call,
    Continue,
    Enumeration,
    Exchange,
    Field,
    FieldType,
    GlobalChoice,
    GlobalLoop,
    GlobalProtocol,
    Parallel,
    Record,
)
from accord.language.json_objects import ObjectReader
from accord.language.labels import normalise

if TYPE_CHECKING:
    from accord.canonical import Json
    from accord.language.global_tree import Block, GlobalStep

__all__ = ["GLOBAL_KINDS", "global_from_json", "global_to_json"]

GLOBAL_KINDS = ("global protocol", "record", "enum")
"""What `global_from_json` reads."""


def global_to_json(item: GlobalProtocol | Record | Enumeration) -> dict[str, Json]:
    """The item as a JSON object."""
    if isinstance(item, GlobalProtocol):
        written: dict[str, Json] = {"kind": "global protocol", "name": item.name}
        if item.listed is not None:
            written["roles"] = list(item.listed)
        return {**written, "steps": _block(item.body)}
    if isinstance(item, Enumeration):
        return {"kind": "enum", "name": item.name, "members": list(item.members)}
    fields: list[Json] = [{"name": field.name, "type": _type(field.type)} for field in item.fields]
    return {"kind": "record", "name": item.name, "fields": fields, "open": item.is_open}


def _block(block: Block) -> list[Json]:
    return [_step(step) for step in block]


def _step(step: GlobalStep) -> Json:
    if isinstance(step, Exchange):
        return {"kind": "exchange", "from": step.sender, "to": step.receiver, "label": step.label}
    if isinstance(step, GlobalChoice):
        branches: list[Json] = [_block(branch) for branch in step.branches]
        written: dict[str, Json] = {"kind": "choice", "at": step.decider, "branches": branches}
        return written if step.crash is None else {**written, "crash": _block(step.crash)}
    if isinstance(step, GlobalLoop):
        return {"kind": "loop", "name": step.variable, "steps": _block(step.body)}
    if isinstance(step, Continue):
        return {"kind": "continue", "to": step.variable}
    if isinstance(step, Parallel):
        return {"kind": "par", "parts": [_block(part) for part in step.parts]}
    roles: list[Json] = [[formal, actual] for formal, actual in step.arguments]
    return {"kind": "do", "protocol": step.protocol, "roles": roles}


def _type(type_: FieldType) -> Json:
    return {"name": type_.name, "of": [_type(inner) for inner in type_.arguments]} if type_.arguments else type_.name


def global_from_json(reader: ObjectReader, kind: str) -> GlobalProtocol | Record | Enumeration:
    """The item that an object of one of the `GLOBAL_KINDS` holds."""
    name = cast("str", reader.name("name"))
    if kind == "global protocol":
        roles = None
        if "roles" in reader.value:
            roles = tuple(_name(role, at) for role, at in reader.many("roles"))
        return GlobalProtocol(name, _read_block(reader.many("steps"), 0), roles)
    if kind == "enum":
        return Enumeration(name, tuple(_text(member, at) for member, at in reader.many("members")))
    fields = []
    for value, at in reader.many("fields", least=0):
        field = ObjectReader(value, at)
        label = _text(field.text("name"), f"{at}.name")
        field.read.add("type")
        fields.append(Field(label, _read_type(field.value.get("type"), f"{at}.type", 0)))
        field.done()
    return Record(name, tuple(fields), cast("bool", reader.get("open", bool, "true or false")))


def _text(value: object, at: str) -> str:
    if not isinstance(value, str) or not value or any("\ud800" <= c <= "\udfff" for c in value):
        raise UsageError(f"expected a text, got {value!r} - at `{at}`")
    return normalise(value)


def _name(value: object, at: str) -> str:
    return cast("str", ObjectReader({"name": value}, at).name("name"))


def _read_type(value: object, at: str, depth: int) -> FieldType:
    if depth > DEEPEST:
        raise UsageError(f"types are nested deeper than {DEEPEST} - at `{at}`")
    if isinstance(value, str):
        return FieldType(_name(value, at))
    reader = ObjectReader(value, at)
    inside = tuple(_read_type(inner, where, depth + 1) for inner, where in reader.many("of"))
    type_ = FieldType(cast("str", reader.name("name")), inside)
    reader.done()
    return type_


def _read_block(steps: list[tuple[object, str]], depth: int) -> Block:
    if depth > DEEPEST:
        raise UsageError(f"blocks are nested deeper than {DEEPEST} - at `$`")
    return tuple(_read_step(step, at, depth) for step, at in steps)


def _blocks(reader: ObjectReader, name: str, least: int, depth: int) -> tuple[Block, ...]:
    blocks = []
    for block, at in reader.many(name, least=least):
        if not isinstance(block, list):
            raise UsageError(f"expected a list, got `{type(block).__name__}` - at `{at}`")
        blocks.append(_read_block([(step, f"{at}[{index}]") for index, step in enumerate(block)], depth + 1))
    return tuple(blocks)


def _read_step(value: object, at: str, depth: int) -> GlobalStep:
    reader = ObjectReader(value, at)
    kind = reader.text("kind")
    step: GlobalStep
    if kind == "exchange":
        step = Exchange(cast("str", reader.name("from")), cast("str", reader.name("to")), reader.label())
    elif kind == "choice":
        crash = _read_block(reader.many("crash", least=0), depth + 1) if "crash" in reader.value else None
        step = GlobalChoice(cast("str", reader.name("at")), _blocks(reader, "branches", 1, depth), crash)
    elif kind == "loop":
        step = GlobalLoop(cast("str", reader.name("name")), _read_block(reader.many("steps"), depth + 1))
    elif kind == "continue":
        step = Continue(cast("str", reader.name("to")))
    elif kind == "par":
        step = Parallel(_blocks(reader, "parts", 2, depth))
    elif kind == "do":
        arguments = []
        for pair, where in reader.many("roles", least=0):
            if not isinstance(pair, list) or len(pair) != 2:
                raise UsageError(f"expected the role there and the role here - at `{where}`")
            arguments.append((_name(pair[0], where), _name(pair[1], where)))
        step = Call(cast("str", reader.name("protocol")), tuple(arguments))
    else:
        raise UsageError(f"unknown kind of step {kind!r} - at `{at}.kind`")
    reader.done()
    return step
