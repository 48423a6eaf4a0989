"""The `tools` block as plain JSON values and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.errors import UsageError
from accord.language.json_objects import ObjectReader, check_text
from accord.language.labels import normalise
from accord.language.tools import FAILURES, ToolLine, Tools

if TYPE_CHECKING:
    from accord.canonical import Json

__all__ = ["tools_from_json", "tools_to_json"]


def tools_to_json(tools: Tools) -> list[Json]:
    """The lines of a block; one without names is about all other tools."""
    lines: list[Json] = []
    for line in tools.lines:
        named: dict[str, Json] = {} if line.names is None else {"names": list(line.names)}
        lines.append({**named, "fails": line.fails})
    return lines


def tools_from_json(reader: ObjectReader) -> Tools:
    """The block in an object of kind `tools`."""
    return Tools(tuple([_line(item, at) for item, at in reader.many("lines")]))


def _line(value: object, at: str) -> ToolLine:
    reader = ObjectReader(value, at)
    names: list[str] = []
    for name, where in reader.many("names", optional=True):
        if not isinstance(name, str) or not name:
            raise UsageError(f"expected a name, got {name!r} - at `{where}`")
        check_text(name, where)
        names.append(normalise(name))
    fails = reader.text("fails")
    if fails not in FAILURES:
        raise UsageError(f"a failed call is `undone`, `done` or `unknown`, got {fails!r} - at `{at}.fails`")
    reader.done()
    return ToolLine(tuple(names) or None, fails)
