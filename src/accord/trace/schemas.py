"""JSON Schema 2020-12, complete, compiled once and asked a million times.

A schema is taken as it stands, wherever it came from: nothing it refers to is fetched, from the network or from a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from accord.diagnostics.visible import clip
from accord.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.canonical import Json

__all__ = ["Complaint", "Schema", "SchemaError", "compile_schema"]

_MOST_COMPLAINTS = 20
_LONGEST = 300
_OF_OBJECTS = frozenset(
    [
        "additionalProperties",
        "dependentRequired",
        "dependentSchemas",
        "maxProperties",
        "minProperties",
        "patternProperties",
        "properties",
        "propertyNames",
        "required",
        "unevaluatedProperties",
    ]
)


class SchemaError(UsageError):
    """A schema is not valid; `path` leads to what is wrong in it."""

    def __init__(self, message: str, path: tuple[str | int, ...] = ()) -> None:
        super().__init__(message)
        self.path = path


class Complaint(NamedTuple):
    """What a schema has against a value: which keyword, where, in words, and what the keyword was about."""

    keyword: str
    path: tuple[str | int, ...]
    message: str
    about: Any
    value: Any


class Schema:
    """A compiled schema."""

    __slots__ = ("_is_valid", "_validator", "wants_object")

    def __init__(self, schema: Json) -> None:
        library = _library()
        try:
            self._validator = library.Draft202012Validator(schema, retriever=_fetch_nothing)
        except library.ValidationError as error:
            raise SchemaError(clip(str(error.message), _LONGEST), tuple(error.instance_path)) from None
        except (ValueError, TypeError, OverflowError, RecursionError, library.ReferencingError) as error:
            raise SchemaError(clip(str(error), _LONGEST)) from None
        self._is_valid = self._validator.is_valid
        self.wants_object = isinstance(schema, dict) and "type" not in schema and not _OF_OBJECTS.isdisjoint(schema)
        """Whether it speaks of properties and not of types: it would let everything pass that is no object."""

    def accepts(self, value: object) -> bool:
        """Whether there is nothing wrong with a value. One that the library cannot read is no good value."""
        try:
            return bool(self._is_valid(value))
        except Exception:  # noqa: BLE001 - the library says of no value what it raises
            return False

    def complaints(self, value: object) -> Iterator[Complaint]:
        """What is wrong with a value, the first few things."""
        for count, error in enumerate(self._validator.iter_errors(value)):
            if count >= _MOST_COMPLAINTS:
                return
            kind = error.kind
            name = kind.name
            about = kind.property if name == "required" else kind.types if name == "type" else None
            yield Complaint(name, tuple(error.instance_path), clip(str(error.message), _LONGEST), about, error.instance)


def compile_schema(schema: Json) -> Schema:
    """A schema, ready to be asked; `SchemaError` if it is none."""
    if not isinstance(schema, dict | bool):
        raise SchemaError(f"a schema is an object or a boolean, got a `{type(schema).__name__}`")
    return Schema(schema)


def _library() -> Any:  # noqa: ANN401 - a module of an optional package
    try:
        import jsonschema_rs  # noqa: PLC0415 - an optional package
    except ImportError:
        raise UsageError("JSON Schema needs jsonschema-rs; install `accord-contracts[trace]`") from None
    return jsonschema_rs


def _fetch_nothing(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is not fetched: a schema holds all it refers to")
