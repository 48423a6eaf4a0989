"""Messages as Python classes: dataclasses, msgspec Structs and pydantic models, and how they become payloads and back.

A message's label is the name of its class, its payload what the class holds, as JSON values. pydantic is never
imported: a model is known by what it can do.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import TYPE_CHECKING, Any, TypeGuard

import msgspec

from accord.errors import UsageError
from accord.language.global_tree import CRASH

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Crash", "classes_in", "is_message_class", "label_of", "make_message", "payload_of", "typed_fields"]


@dataclasses.dataclass(frozen=True, slots=True)
class Crash:
    """What an agent receives in a branch `or crash R`: the role that has failed.

    Nobody sends it: the run time does when an agent has crashed.
    """

    role: str


def is_message_class(value: object) -> TypeGuard[type]:
    """Whether it is a class whose instances can be messages."""
    return isinstance(value, type) and (
        dataclasses.is_dataclass(value) or issubclass(value, msgspec.Struct) or _is_model(value)
    )


def label_of(message_class: type) -> str:
    """The label under which a protocol knows messages of a class."""
    return CRASH if message_class is Crash else message_class.__name__


def classes_in(annotation: object) -> tuple[type, ...] | None:
    """The classes of messages that an annotation names, alone or as `A | B`; `None` if it names anything else."""
    is_union = isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union
    members = typing.get_args(annotation) if is_union else (annotation,)
    return tuple(members) if all(map(is_message_class, members)) else None


def typed_fields(message_class: type, names: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The fields of a message class, as they are called in payloads, with their types.

    `names` are what annotations may refer to beside what the class's module holds. Raises `UsageError` if an annotation
    cannot be resolved.
    """
    try:
        if issubclass(message_class, msgspec.Struct):
            return _struct_fields(message_class)
        if _is_model(message_class):
            return _model_fields(message_class)
        hints = typing.get_type_hints(message_class, localns=dict(names or {}))
    except (NameError, TypeError) as error:
        raise UsageError(f"the types of the message class `{message_class.__qualname__}`: {error}") from None
    return {field.name: hints[field.name] for field in dataclasses.fields(message_class)}  # type: ignore[arg-type] # one


def payload_of(message: object) -> dict[str, Any]:
    """What a message carries, as JSON values; `UsageError` if it cannot be told."""
    kind = type(message)
    if not is_message_class(kind):
        found = f"the class `{message.__name__}`" if isinstance(message, type) else f"`{kind.__name__}`"
        raise UsageError(f"a message is an instance of a dataclass, a msgspec Struct or a pydantic model, got {found}")
    try:
        if _is_model(kind):
            payload = message.model_dump(mode="json", by_alias=True)  # type: ignore[attr-defined] # a model
        else:
            payload = msgspec.to_builtins(message, str_keys=True)
    except Exception as error:  # what a field's own type does when it is asked
        raise UsageError(f"`{kind.__name__}` cannot be written as JSON: {error}") from error
    if not isinstance(payload, dict):
        raise UsageError(f"`{kind.__name__}` is written as an array, and the fields of a record have names")
    return payload


def make_message(message_class: type, payload: Mapping[str, Any]) -> Any:  # noqa: ANN401 - an instance of that class
    """The message that carries a payload; `UsageError` if the class does not take it."""
    try:
        if _is_model(message_class):
            return message_class.model_validate(  # type: ignore[attr-defined] # a model
                dict(payload), by_alias=True, by_name=True
            )
        return msgspec.convert(dict(payload), message_class)
    except Exception as error:  # a class may refuse by any error
        raise UsageError(f"`{message_class.__name__}` does not take what has arrived: {error}") from error


def _is_model(value: type) -> Any:  # noqa: ANN401 - then it has attributes that are not known here
    return hasattr(value, "model_fields") and hasattr(value, "model_validate")


def _struct_fields(struct: type[msgspec.Struct]) -> dict[str, Any]:
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(struct)}
    config = struct.__struct_config__
    if config.tag_field is not None:
        fields[config.tag_field] = str if isinstance(config.tag, str) else int
    return fields


def _model_fields(model: Any) -> dict[str, Any]:  # noqa: ANN401 - pydantic is not imported
    fields = {}
    for name, info in model.model_fields.items():
        fields[info.serialization_alias or info.alias or name] = info.annotation
    return fields
