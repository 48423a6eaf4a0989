"""Mappings from YAML files, or everything that is wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accord.canonical import digest
from accord.diagnostics import Diagnostic, Source, Span
from accord.errors import ContractError, UsageError
from accord.sources.mapping import FILE, RECORD, KindOf, Mapping, mapped_reader
from accord.sources.model import KINDS
from accord.trace.shapes import BAD, Findings, Shape, choice, dotted, each_of, list_of, map_of, table, text, wrong
from accord.trace.yaml_text import LONGEST, read_yaml

if TYPE_CHECKING:
    from pathlib import Path as FilePath

    from accord.sources.reader import Reader
    from accord.trace.shapes import Path

__all__ = ["is_mapping_file", "load_mapping", "read_mapping"]

VERSION = 1
_SUFFIXES = (".yaml", ".yml")


def is_mapping_file(name: str) -> bool:
    """Whether what somebody calls a format is the file that describes one."""
    return name.endswith(_SUFFIXES)


def load_mapping(path: FilePath) -> Reader:
    """The reader that a file describes.

    Raises `UsageError` if it cannot be read and `ContractError` with everything that is wrong with it.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LONGEST * 4 + 4)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    try:
        source = Source(data.decode("utf-8-sig"), str(path))
    except UnicodeDecodeError as error:
        here = Source(data[: error.start].decode("utf-8", "replace"), str(path))
        finding = Diagnostic("E017", f"byte {error.start} is not UTF-8", here, Span(len(here.text), len(here.text)))
        raise ContractError((finding,)) from None
    # Runs that were read by another mapping of that name are other runs, so what it says is part of the name.
    return mapped_reader(read_mapping(source), f"mapping:{digest(source.text)[:16]}")


def read_mapping(source: Source) -> Mapping:
    """The mapping in a text. Raises `ContractError` with everything that is wrong with it."""
    value, places, found = read_yaml(source)
    findings = Findings(places)
    findings.found += found
    mapping = _mapping(findings, value)
    if mapping is None:
        raise ContractError(tuple(sorted(findings.found, key=lambda finding: finding.span)))
    return mapping


def _path(findings: Findings, value: Any, path: Path) -> Any:  # noqa: ANN401 - any value
    found = text(findings, value, path)
    if found is BAD:
        return BAD
    segments = tuple(found.split("."))
    if not all(segments):
        return findings.report("E062", f"`{dotted(path)}` is no path; write `field` or `object.field`", path, value)
    return segments


def _runs(findings: Findings, value: Any, path: Path) -> Any:  # noqa: ANN401 - any value
    return value if value in {FILE, RECORD} else _path(findings, value, path)


def _version(findings: Findings, value: Any, path: Path) -> Any:  # noqa: ANN401 - any value
    if type(value) is int and value == VERSION:
        return value
    return findings.report("E063", f"version {value!r:.40} is not supported", path, value, f"it is {VERSION}")


def _scalars(findings: Findings, value: Any, path: Path) -> Any:  # noqa: ANN401 - any value
    values = value if isinstance(value, list) else [value]
    if any(isinstance(item, dict | list) for item in values):
        return wrong(findings, value, path, "a value, or a list of them")
    return tuple(values)


def _where(findings: Findings, value: Any, path: Path) -> Any:  # noqa: ANN401 - any value
    found = map_of(_scalars)(findings, value, path)
    if found is BAD:
        return BAD
    pairs = [(_path(findings, name, (*path, name)), values) for name, values in found.items()]
    return BAD if any(name is BAD for name, _ in pairs) else tuple(pairs)


def _tuple(shape: Shape) -> Shape:
    def read(findings: Findings, value: Any, path: Path) -> Any:  # noqa: ANN401 - any value
        found = shape(findings, value, path)
        return BAD if found is BAD else tuple(found)

    return read


_KIND_FIELDS = table(
    dict, {"kind": choice(*KINDS), "where": _where, "name": _path, "body": _path, "id": _path, "at": _path}
)


def _kind(findings: Findings, value: Any, path: Path) -> Any:  # noqa: ANN401 - any value
    before = len(findings.found)
    given = _KIND_FIELDS(findings, value, path)
    if not isinstance(given, dict) or len(findings.found) > before:
        return BAD  # what is wrong has been told
    if "kind" not in given:
        return findings.report("E062", f"`{dotted(path)}` has no `kind`", path, value)
    if given["kind"] not in {"user", "agent"} and "name" not in given:
        return findings.report("E062", f"`{dotted(path)}` is a {given['kind']} without a `name`", path, value)
    return KindOf(**given)


def _kinds(findings: Findings, value: Any, path: Path) -> Any:  # noqa: ANN401 - any value
    found = list_of(_kind)(findings, value, path)
    if found == []:
        return findings.report("E062", "a mapping says of at least one kind of message what it is", path, value)
    return BAD if found is BAD else tuple(found)


_FIELDS = table(
    dict,
    {
        "version": _version,
        "runs": _runs,
        "messages": _path,
        "together": _path,
        "key": _tuple(each_of(_path)),
        "metadata": map_of(_path),
        "kinds": _kinds,
    },
)


def _mapping(findings: Findings, value: Any) -> Mapping | None:  # noqa: ANN401 - any value
    given = _FIELDS(findings, value, ()) if value is not None else wrong(findings, value, (), "a mapping")
    if isinstance(given, dict) and not findings.found and "kinds" not in given:
        findings.report("E062", "a mapping says in `kinds` what messages are", (), value)
    if not isinstance(given, dict) or findings.found:
        return None
    given.pop("version", None)
    return Mapping(**given)
