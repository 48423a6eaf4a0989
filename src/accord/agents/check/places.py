"""Findings as diagnostics: where in the file, and the path as notes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic, Note, Span

if TYPE_CHECKING:
    from accord.agents.check.missteps import Misstep
    from accord.agents.check.modules import Module
    from accord.agents.check.paths import Step

__all__ = ["diagnostic", "place_of"]

_LONGEST_PATH = 8


def place_of(module: Module, tree: ast.AST) -> Span:
    """What to point at: of a class or a function its name, of a loop its first word, of everything else all of it."""
    if isinstance(tree, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return module.name_span(tree)
    span = module.span(tree)
    if isinstance(tree, ast.While | ast.For | ast.AsyncFor | ast.ExceptHandler):
        word = module.source.text[span.start : span.end].split(None, 1)[0].rstrip(":")
        return Span(span.start, span.start + len(word))
    return span


def diagnostic(misstep: Misstep, module: Module, tree: ast.AST, path: tuple[Step, ...] = ()) -> Diagnostic:
    """A finding with the path that leads there; of a long path its end, and only what is in the same file."""
    here = place_of(module, tree)
    notes: list[Note] = []
    for step in path:
        if step.module is module:
            span = place_of(module, step.tree)
            if span != here or isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef):
                notes.append(Note(span, step.text))
    shown = tuple(dict.fromkeys(notes))[-_LONGEST_PATH:]
    return Diagnostic(misstep.code, misstep.message, module.source, here, misstep.label, misstep.help, shown)
