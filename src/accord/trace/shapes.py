"""What may stand where in a configuration, and what is said if something else does.

A `Shape` reads one value: it gives what it should become, or reports and gives `BAD`, so that one mistake does not hide
the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from accord.diagnostics import Diagnostic, Source, Span, did_you_mean
from accord.diagnostics.visible import clip
from accord.errors import UsageError
from accord.trace.schemas import SchemaError, compile_schema
from accord.trace.values import NotJsonError, check_json

if TYPE_CHECKING:
    from accord.trace.yaml_text import Places

__all__ = [
    "BAD",
    "Findings",
    "Path",
    "Shape",
    "boolean",
    "choice",
    "dotted",
    "each_of",
    "list_of",
    "map_of",
    "nothing_or",
    "schema",
    "table",
    "text",
    "whole",
]

Path: TypeAlias = tuple[str | int, ...]
BAD: Any = object()
_MOST_FINDINGS = 100


def dotted(path: Path) -> str:
    """A path as people write it: `contracts.tool_order.forbidden_sequences[0]`."""
    shown = ""
    for part in path:
        shown += f"[{part}]" if isinstance(part, int) else f".{part}" if shown else part
    return clip(shown, 120)


class Findings:
    """What is wrong with a configuration. Without a text, each finding shows the value itself."""

    def __init__(self, places: Places | None) -> None:
        self.places = places
        self.found: list[Diagnostic] = []

    def report(
        self, code: str, message: str, path: Path, value: object = None, help_: str = "", *, key: bool = False
    ) -> Any:  # noqa: ANN401 - BAD, so that a shape can return it
        """Something is wrong at that place, or with the key there."""
        if len(self.found) < _MOST_FINDINGS:
            if self.places is None:
                where = dotted(path) or "the configuration"
                source = Source(where if key else f"{where}: {_short(value)}", "<config>")
                span = Span(0, len(where)) if key else Span(len(where) + 2, len(source.text))
            else:
                source = self.places.source
                span = self.places.of_key(path) if key else self.places.of_value(path)
            self.found.append(Diagnostic(code, message, source, span, help=help_))
        return BAD


Shape: TypeAlias = Callable[[Findings, Any, Path], Any]


def _short(value: object) -> str:
    try:
        return clip(repr(value), 60)
    except Exception:  # noqa: BLE001 - a value may be broken
        return f"a {type(value).__name__}"


def _kind(value: object) -> str:
    names = {dict: "a mapping", list: "a list", str: "a text", bool: "a boolean", int: "a number", float: "a number"}
    return "nothing" if value is None else names.get(type(value), f"a `{type(value).__name__}`")


def wrong(findings: Findings, value: object, path: Path, expected: str, help_: str = "") -> Any:  # noqa: ANN401 - BAD
    """A value of another type than expected."""
    what = f"`{dotted(path)}`" if path else "the configuration"
    return findings.report("E062", f"{what} is {_kind(value)}; expected {expected}", path, value, help_)


def boolean(findings: Findings, value: Any, path: Path) -> Any:  # noqa: ANN401 - any value
    """`true` or `false`."""
    return value if isinstance(value, bool) else wrong(findings, value, path, "`true` or `false`")


def text(findings: Findings, value: Any, path: Path) -> Any:  # noqa: ANN401 - any value
    """A text that is not empty."""
    if isinstance(value, str) and value:
        return value
    if value == "":
        return findings.report("E062", f"`{dotted(path)}` is empty", path, value)
    help_ = "write it in quotes" if isinstance(value, bool | int | float) else ""
    return wrong(findings, value, path, "a text", help_)


def whole(least: int) -> Shape:
    """A whole number from `least` on."""

    def read(findings: Findings, value: Any, path: Path) -> Any:  # noqa: ANN401 - any value
        if type(value) is int and value >= least:
            return value
        if type(value) is int:
            return findings.report("E062", f"`{dotted(path)}` is {value}; expected at least {least}", path, value)
        return wrong(findings, value, path, "a whole number")

    return read


def choice(*names: str, older: Mapping[object, str] | None = None) -> Shape:
    """One of several words; `older` maps other spellings to them."""

    def read(findings: Findings, value: Any, path: Path) -> Any:  # noqa: ANN401 - any value
        if isinstance(value, str) and value in names:
            return value
        for spelling, meant in (older or {}).items():
            if type(spelling) is type(value) and spelling == value:
                return meant
        listed = ", ".join(f"`{name}`" for name in names)
        meant_ = did_you_mean(value, names) if isinstance(value, str) else None
        shown = f"`{clip(value, 40)}`" if isinstance(value, str) else _kind(value)
        help_ = f"did you mean `{meant_}`?" if meant_ else ""
        return findings.report("E062", f"`{dotted(path)}` is {shown}; expected one of {listed}", path, value, help_)

    return read


def nothing_or(shape: Shape) -> Shape:
    """`null`, or what the shape takes."""
    return lambda findings, value, path: None if value is None else shape(findings, value, path)


def list_of(shape: Shape, hint: str = "") -> Shape:
    """A list."""

    def read(findings: Findings, value: Any, path: Path) -> Any:  # noqa: ANN401 - any value
        if not isinstance(value, list | tuple):
            return wrong(findings, value, path, "a list", hint)
        read_ = [shape(findings, item, (*path, place)) for place, item in enumerate(value)]
        return BAD if any(item is BAD for item in read_) else read_

    return read


def map_of(shape: Shape) -> Shape:
    """A mapping whose keys are up to the user."""

    def read(findings: Findings, value: Any, path: Path) -> Any:  # noqa: ANN401 - any value
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            return wrong(findings, value, path, "a mapping")
        found = {}
        bad = False
        for key, item in value.items():
            if not isinstance(key, str) or not key:
                bad = _bad_key(findings, key, path) is BAD
                continue
            found[key] = shape(findings, item, (*path, key))
            bad = bad or found[key] is BAD
        return BAD if bad else found

    return read


def each_of(shape: Shape) -> Shape:
    """A list, or the one thing that would stand in it."""
    many = list_of(shape)
    return lambda findings, value, path: many(findings, [value] if isinstance(value, str) else value, path)


def schema(findings: Findings, value: Any, path: Path) -> Any:  # noqa: ANN401 - any value
    """A JSON Schema."""
    try:
        check_json(value)
        compile_schema(value)
    except NotJsonError as error:
        return findings.report("E066", f"the schema is no JSON: {error.why}", (*path, *error.path), value)
    except SchemaError as error:
        return findings.report("E066", f"the schema is not valid: {error}", (*path, *error.path), value)
    return value


@dataclass(frozen=True, slots=True)
class _Field:
    key: str
    name: str
    shape: Shape


def table(make: Callable[..., Any], fields: dict[str, Shape], names: dict[str, str] | None = None) -> Shape:
    """A mapping with known keys, each of which may be left out; `names` are keys that Python calls otherwise."""
    known = {key: _Field(key, (names or {}).get(key, key), shape) for key, shape in fields.items()}

    def read(findings: Findings, value: Any, path: Path) -> Any:  # noqa: ANN401 - any value
        if value is None:
            return make()
        if not isinstance(value, Mapping):
            return wrong(findings, value, path, "a mapping")
        given: dict[str, Any] = {}
        for key, item in value.items():
            if not isinstance(key, str):
                _bad_key(findings, key, path)
            elif key not in known:
                _unknown(findings, key, path, known)
            else:
                field = known[key]
                given[field.name] = field.shape(findings, item, (*path, key))
        given = {name: item for name, item in given.items() if item is not BAD}
        try:
            return make(**given)
        except UsageError as error:
            return findings.report("E062", f"`{dotted(path)}`: {error}", path, value)

    return read


def _bad_key(findings: Findings, key: object, path: Path) -> Any:  # noqa: ANN401 - BAD
    where = f" in `{dotted(path)}`" if path else ""
    message = f"the key {_short(key)}{where} is {_kind(key)} and no text" if key != "" else f"an empty key{where}"
    return findings.report("E062", message, path, key, "write it in quotes")


def _unknown(findings: Findings, key: str, path: Path, known: dict[str, _Field]) -> None:
    meant = did_you_mean(key, known)
    where = f" in `{dotted(path)}`" if path else ""
    help_ = f"did you mean `{meant}`?" if meant else f"there are {', '.join(f'`{name}`' for name in known)}"
    findings.report("E061", f"unknown key `{clip(key, 60)}`{where}", (*path, key), None, help_, key=True)
