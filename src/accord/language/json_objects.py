"""One object of a contract in JSON, read field by field.

Nothing is trusted: what is missing, of the wrong kind or left over is a `UsageError` that says where, as a path from
`$`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from accord.errors import UsageError
from accord.language.durations import LONGEST
from accord.language.labels import is_name, normalise

if TYPE_CHECKING:
    from accord.language.clauses import Path

__all__ = ["DEEPEST", "ObjectReader", "check_text"]

DEEPEST = 200
"""How deep a contract in JSON is nested at the most."""


def check_text(text: str | None, at: str) -> None:
    """Raise `UsageError` for a text that no file could hold."""
    if text is not None and any("\ud800" <= c <= "\udfff" for c in text):
        raise UsageError(f"half of a surrogate pair is no character - at `{at}`")


class ObjectReader:
    """One object of the JSON, read field by field; what is left over at the end is an error."""

    def __init__(self, value: object, at: str) -> None:
        if not isinstance(value, dict):
            raise UsageError(f"expected an object, got `{type(value).__name__}` - at `{at}`")
        if at.count(".") > 2 * DEEPEST:
            raise UsageError(f"nested deeper than {DEEPEST} - at `$`")
        self.value = value
        self.at = at
        self.read: set[str] = set()

    def get(self, name: str, kind: type | tuple[type, ...], what: str, *, optional: bool = False) -> object:
        """A field of one kind."""
        self.read.add(name)
        value = self.value.get(name)
        if value is None and optional:
            return None
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
            raise UsageError(f"expected {what}, got `{type(value).__name__}` - at `{self.at}.{name}`")
        return value

    def text(self, name: str, *, optional: bool = False) -> str:
        """A field that is a text."""
        text = cast("str", self.get(name, str, "a text", optional=optional))
        check_text(text, f"{self.at}.{name}")
        return text

    def label(self) -> str:
        """The field `label`."""
        label = self.text("label")
        if not label:
            raise UsageError(f"expected a label, got {label!r} - at `{self.at}.label`")
        return normalise(label)

    def name(self, field: str, *, optional: bool = False) -> str | None:
        """A field that is a name."""
        name = self.text(field, optional=optional)
        if name is None:
            return None
        if not is_name(normalise(name)) or (field == "register" and name in {"true", "false", "null"}):
            raise UsageError(f"expected a name, got {name!r} - at `{self.at}.{field}`")
        return normalise(name)

    def number(self, name: str, least: int = 0, most: int = 1_000_000) -> int:
        """A field that is a whole number within bounds."""
        number = cast("int", self.get(name, int, "a number"))
        if not least <= number <= most:
            lower = f"from {least} " if least else ""
            raise UsageError(f"expected a number {lower}up to {most}, got {number} - at `{self.at}.{name}`")
        return number

    def milliseconds(self) -> int:
        """The field `milliseconds`."""
        return self.number("milliseconds", 1, LONGEST)

    def path(self, name: str, *, optional: bool = False) -> Path | None:
        """A field that is a path: a list of texts."""
        segments = self.many(name, optional=optional)
        for segment, _ in segments:
            if not isinstance(segment, str):
                raise UsageError(f"a path is a list of texts - at `{self.at}.{name}`")
            check_text(segment, f"{self.at}.{name}")
        return cast("Path", tuple(segment for segment, _ in segments)) or None

    def many(self, name: str, *, optional: bool = False, least: int = 1) -> list[tuple[object, str]]:
        """A field that is a list: each element with where it stands."""
        values = self.get(name, list, "a list", optional=optional)
        if values is None:
            return []
        items = cast("list[object]", values)
        if len(items) < least:
            raise UsageError(f"expected at least {least}, got {len(items)} - at `{self.at}.{name}`")
        return [(item, f"{self.at}.{name}[{index}]") for index, item in enumerate(items)]

    def inside(self, name: str) -> tuple[object, str]:
        """A field that is an object, with where it stands."""
        return self.get(name, dict, "an object"), f"{self.at}.{name}"

    def gated(self) -> bool:
        """Whether the field `by` asks for a person."""
        by = self.text("by", optional=True)
        if by not in {None, "human"}:
            raise UsageError(f'expected "human", got {by!r} - at `{self.at}.by`')
        return by is not None

    def done(self) -> None:
        """Raise `UsageError` if a field was not read."""
        unknown = set(self.value) - self.read
        if unknown:
            raise UsageError(f"unknown field {min(map(str, unknown))!r} - at `{self.at}`")
