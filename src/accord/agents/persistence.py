"""`persistent()`: fields of an agent that outlive it.

A field is read and written like any other. What is assigned to it is kept when the assignment returns. A list or a
dictionary that is changed in place is kept before the agent's next message goes out, before a message counts as
handled, and when a handler fails. A restarted agent finds its fields as they were kept last.
"""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any

import msgspec

from accord.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Persistent", "keep_fields", "persistent", "persistent_fields", "put_fields", "read_fields"]

_SAVE = "_accord_save"


class Persistent:
    """A persistent field; made by `persistent`."""

    __slots__ = ("default", "name")

    def __init__(self, default: object) -> None:
        self.default = default
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, agent: object, owner: type | None = None) -> Any:  # noqa: ANN401 - whatever the field holds
        if agent is None:
            return self
        values = vars(agent)
        if self.name not in values:
            # A value of its own: a list that one agent grows must not be the default of the next.
            values[self.name] = msgspec.json.decode(msgspec.json.encode(self.default), type=type(self.default))
        return values[self.name]

    def __set__(self, agent: object, value: object) -> None:
        values = vars(agent)
        values[self.name] = value
        save: Callable[[object], None] | None = values.get(_SAVE)
        if save is not None:
            save(agent)


def persistent(default: Any = None) -> Any:  # noqa: ANN401 - it stands where a value of the annotated type belongs
    """A field of an agent that is kept in the supervisor's store; `default` is what it holds in the beginning.

    Example:
        >>> from accord.agents import Agent, persistent
        >>> class Counter(Agent):
        ...     seen: int = persistent(0)
    """
    try:
        msgspec.json.encode(default)
    except TypeError as error:
        raise UsageError(f"what is persistent is written as JSON: {error}") from None
    return Persistent(default)


def persistent_fields(agent: type) -> dict[str, Any]:
    """The persistent fields of a class with their types, `Any` where none is annotated or it cannot be told."""
    fields = {}
    for owner in reversed(agent.__mro__):
        for name, value in vars(owner).items():
            if isinstance(value, Persistent):
                fields[name] = _annotation(owner, name)
    return fields


def _annotation(owner: type, name: str) -> Any:  # noqa: ANN401 - any annotation
    try:
        return typing.get_type_hints(owner).get(name, Any)
    except Exception:  # noqa: BLE001 - other annotations of the class may name what exists for checkers only
        return Any


def read_fields(agent: object) -> bytes:
    """What an agent's persistent fields hold, as JSON; `UsageError` if it cannot be written."""
    values = {name: getattr(agent, name) for name in persistent_fields(type(agent))}
    try:
        return msgspec.json.encode(values, order="deterministic")
    except Exception as error:  # a value may raise anything while it is written
        raise UsageError(f"a persistent field of `{type(agent).__name__}` cannot be kept: {error}") from error


def put_fields(agent: object, kept: Mapping[str, msgspec.Raw]) -> None:
    """Give an agent what was kept of its fields; `UsageError` if that is not of their types any more."""
    for name, type_ in persistent_fields(type(agent)).items():
        if name in kept:
            try:
                setattr(agent, name, msgspec.json.decode(kept[name], type=type_))
            except msgspec.ValidationError as error:
                where = f"persistent field `{name}` of `{type(agent).__name__}`"
                raise UsageError(f"{where}: what was kept is of another type: {error}") from None


def keep_fields(agent: object, save: Callable[[object], None]) -> None:
    """From now on, save whatever is assigned to a persistent field."""
    vars(agent)[_SAVE] = save
