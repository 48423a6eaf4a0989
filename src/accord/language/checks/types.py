"""E039: records and enums are declared once, of types that are there, and can be filled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic, Note, did_you_mean
from accord.language.checks.deceptive_labels import deceptive
from accord.language.global_tree import BASIC_TYPES, Enumeration, Record

if TYPE_CHECKING:
    from accord.diagnostics import Source, Span
    from accord.language.global_tree import FieldType
    from accord.language.tree import Document

__all__ = ["check"]


def check(document: Document) -> list[Diagnostic]:
    """One finding for each declaration, field or member that makes no sense."""
    findings: list[Diagnostic] = []
    source = document.source
    declared: dict[str, Record | Enumeration] = {}
    for item in document.types:
        if item.name in BASIC_TYPES:
            message = f"`{item.name}` is a type already"
            findings.append(Diagnostic("E039", message, source, item.name_span, help="take another name"))
        elif item.name in declared:
            notes = (Note(declared[item.name].name_span, "first declared here"),)
            message, help_ = f"`{item.name}` is declared twice", "give one of them another name"
            findings.append(Diagnostic("E039", message, source, item.name_span, help=help_, notes=notes))
        else:
            declared[item.name] = item
    for item in document.types:
        findings += deceptive(item.name, "name", item.name_span, source)
        if isinstance(item, Enumeration):
            spans = item.member_spans or (item.span,) * len(item.members)
            findings += _twice("member", list(zip(item.members, spans, strict=True)), source)
            continue
        findings += _twice("field", [(field.name, field.span) for field in item.fields], source)
        for field in item.fields:
            findings += _type(field.type, declared, source)
    return findings + _endless(declared, source)


def _twice(what: str, names: list[tuple[str, Span]], source: Source) -> list[Diagnostic]:
    seen: set[str] = set()
    findings = []
    for name, span in names:
        if name in seen:
            message = f"{what} `{name}` stands twice"
            findings.append(Diagnostic("E039", message, source, span, help="leave one of them out"))
        seen.add(name)
    return findings


def _type(type_: FieldType, declared: dict[str, Record | Enumeration], source: Source) -> list[Diagnostic]:
    wanted = BASIC_TYPES.get(type_.name, 0)
    message = help_ = ""
    if type_.name not in BASIC_TYPES and type_.name not in declared:
        meant = did_you_mean(type_.name, [*BASIC_TYPES, *declared])
        message = f"there is no type `{type_.name}`"
        help_ = f"did you mean `{meant}`?" if meant else f"declare it: `record {type_.name} {{…}}`"
    elif len(type_.arguments) != wanted:
        takes = {0: "takes no types", 1: "takes one type in `<…>`", 2: "takes two types in `<…>`"}[wanted]
        message, help_ = (
            f"`{type_.name}` {takes}, found {len(type_.arguments)}",
            "such as `List<Int>`, `Map<String, Int>`",
        )
    elif type_.name == "Map" and not _is_text(type_.arguments[0], declared):
        message, help_ = "the keys of a map are texts", "write `Map<String, …>`, or an enum for the keys"
    if message:
        return [Diagnostic("E039", message, source, type_.span, help=help_)]
    return [finding for argument in type_.arguments for finding in _type(argument, declared, source)]


def _is_text(type_: FieldType, declared: dict[str, Record | Enumeration]) -> bool:
    return type_.name == "String" or isinstance(declared.get(type_.name), Enumeration)


def _endless(declared: dict[str, Record | Enumeration], source: Source) -> list[Diagnostic]:
    """Records that hold themselves, so that no value would ever be finished."""
    findings: list[Diagnostic] = []
    done: set[str] = set()
    for root, item in declared.items():
        path: dict[str, list[FieldType]] = {} if root in done else {root: _held(item)}
        while path:
            name = next(reversed(path))
            if not path[name]:
                done.add(name)
                del path[name]
                continue
            type_ = path[name].pop()
            if type_.name in path:
                message, help_ = f"`{type_.name}` holds itself without end", f"write `Option<{type_.name}>` or a list"
                findings.append(Diagnostic("E039", message, source, type_.span, help=help_))
            elif type_.name in declared and type_.name not in done:
                path[type_.name] = _held(declared[type_.name])
    return findings


def _held(item: Record | Enumeration) -> list[FieldType]:
    return [field.type for field in reversed(item.fields)] if isinstance(item, Record) else []
