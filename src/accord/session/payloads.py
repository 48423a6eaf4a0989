"""What messages carry, checked against the records and enums of a contract, field by field.

A message whose label names a record carries that record; one that names an enum carries `{"value": …}`, a member of
it; any other carries what it likes. A check is made once for each type and answers with the first thing that is wrong,
or with nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from accord.diagnostics import did_you_mean
from accord.diagnostics.visible import clip
from accord.language.global_tree import Enumeration, Record

if TYPE_CHECKING:
    from accord.language.global_tree import FieldType
    from accord.language.tree import Document

__all__ = ["PayloadCheck", "payload_checks"]

PayloadCheck: TypeAlias = Callable[[object], "str | None"]
_Check: TypeAlias = Callable[[object, str], "str | None"]

_NOBODY = object()
_PLAIN: dict[str, tuple[type, ...]] = {"String": (str,), "Int": (int,), "Float": (int, float), "Bool": (bool,)}


def payload_checks(document: Document) -> dict[str, PayloadCheck]:
    """For each label that names a type, the check of its payload."""
    types = {item.name: item for item in document.types}
    known: dict[str, _Check] = {}
    return {name: _of_message(_declared(name, types, known), item) for name, item in types.items()}


def _of_message(check: _Check, item: Record | Enumeration) -> PayloadCheck:
    def judge(payload: object) -> str | None:
        given: object = {} if payload is None else payload
        try:
            if isinstance(item, Enumeration):
                if not isinstance(given, Mapping) or set(given) != {"value"}:
                    return 'expected {"value": …}, a member of the enum'
                return check(given["value"], "value")
            return check(given, "")
        except RecursionError:
            return "the payload is nested too deeply"
        except Exception as error:  # noqa: BLE001 - a payload that breaks when it is read is refused
            return f"the payload cannot be read: {clip(repr(error), 80)}"

    return judge


def _declared(name: str, types: Mapping[str, Record | Enumeration], known: dict[str, _Check]) -> _Check:
    """The check of a declared type; records may hold themselves in options and lists."""
    if name in known:
        return known[name]
    item = types[name]
    if isinstance(item, Enumeration):
        known[name] = _member(item)
        return known[name]
    fields: dict[str, tuple[_Check, bool]] = {}

    def check(value: object, at: str) -> str | None:
        if type(value) is not dict and not isinstance(value, Mapping):  # the first is quick, the second is right
            return _wrong(at, value, name)
        for field, (judge, optional) in fields.items():
            where = f"{at}.{field}" if at else field
            if field in value:
                reason = judge(value[field], where)
            else:
                reason = None if optional else f"field {_quoted(where)} is missing"
            if reason is not None:
                return reason
        stranger = None if item.is_open else next((given for given in value if given not in fields), _NOBODY)
        return None if stranger is _NOBODY or item.is_open else _unknown(stranger, at, name, fields)

    known[name] = check
    for field in item.fields:
        fields[field.name] = (_check_of(field.type, types, known), field.type.name == "Option")
    return check


def _check_of(type_: FieldType, types: Mapping[str, Record | Enumeration], known: dict[str, _Check]) -> _Check:
    if type_.name == "Any":
        return lambda _value, _at: None
    if type_.name in _PLAIN:
        return _plain(type_.name)
    if type_.name == "Option":
        inner = _check_of(type_.arguments[0], types, known)
        return lambda value, at: None if value is None else inner(value, at)
    if type_.name == "List":
        return _list(_check_of(type_.arguments[0], types, known), str(type_))
    if type_.name == "Map":
        keys, values = (_check_of(argument, types, known) for argument in type_.arguments)
        return _map(keys, values, str(type_))
    return _declared(type_.name, types, known)


def _plain(name: str) -> _Check:
    kinds = _PLAIN[name]
    booleans = name == "Bool"
    exact = kinds[-1]  # what nearly all values are

    def check(value: object, at: str) -> str | None:
        if type(value) is exact or (isinstance(value, kinds) and (booleans or not isinstance(value, bool))):
            return None
        return _wrong(at, value, name)

    return check


def _list(inner: _Check, name: str) -> _Check:
    def check(value: object, at: str) -> str | None:
        if not isinstance(value, list | tuple):
            return _wrong(at, value, name)
        for index, element in enumerate(value):
            reason = inner(element, f"{at}[{index}]")
            if reason is not None:
                return reason
        return None

    return check


def _map(keys: _Check, values: _Check, name: str) -> _Check:
    def check(value: object, at: str) -> str | None:
        if not isinstance(value, Mapping):
            return _wrong(at, value, name)
        for key, element in value.items():
            reason = keys(key, f"a key of {at}") or values(element, f"{at}[{clip(repr(key), 40)}]")
            if reason is not None:
                return reason
        return None

    return check


def _member(item: Enumeration) -> _Check:
    members = frozenset(item.members)

    def check(value: object, at: str) -> str | None:
        if isinstance(value, str) and value in members:
            return None
        meant = did_you_mean(value, item.members) if isinstance(value, str) else None
        hint = f"; did you mean {_quoted(meant)}?" if meant else ""
        return f"{_quoted(at)} is no {_quoted(item.name)}: {_quoted(clip(repr(value), 40))}{hint}"

    return check


def _unknown(given: object, at: str, record: str, fields: Mapping[str, object]) -> str:
    meant = did_you_mean(given, fields) if isinstance(given, str) else None
    hint = f"; did you mean {_quoted(meant)}?" if meant else ""
    where = f" in {_quoted(at)}" if at else ""
    return f"{_quoted(record)} has no field {_quoted(str(given))}{where}{hint}"


def _wrong(at: str, value: object, wanted: str) -> str:
    where = _quoted(at) if at else "the payload"
    return f"{where} is of type {_quoted(type(value).__name__)}, expected {_quoted(wanted)}"


def _quoted(text: str) -> str:
    return f"`{clip(text.replace('`', chr(39)), 60)}`"
