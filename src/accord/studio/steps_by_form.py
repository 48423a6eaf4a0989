"""A step as a form gives it, in parts, and as a contract writes it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from accord.diagnostics import Source
from accord.errors import ContractError, UsageError
from accord.language.labels import print_label
from accord.language.parser import parse_document
from accord.language.tree import Action, Deadline
from accord.studio.trees import moved_to

if TYPE_CHECKING:
    from accord.limits import Limits
    from accord.studio.requests import Put

__all__ = ["label_typed", "put_text", "step_read"]

_DEEPEST = 40


def label_typed(text: str) -> str:
    """A label as somebody types it into a form: quotes around it are theirs."""
    plain = text.strip()
    return plain[1:-1] if len(plain) > 2 and plain[0] == plain[-1] == '"' else plain


def put_text(put: Put) -> str:
    """A step of a form as it is written in a contract."""
    sign, label = put.sign, label_typed(put.label)
    if label[:1] in {"!", "?"}:
        sign, label = label[:1], label_typed(label[1:])  # type: ignore[assignment] # one of the two
    if not label:
        raise UsageError("a step needs a label, such as the name of a tool")
    guards = put.guards.strip()
    if guards.startswith("(") and guards.endswith(")"):
        guards = guards[1:-1]
    text = f"{put.partner.strip()}{sign}{print_label(label)}"
    text += f"({guards})" if guards else ""
    text += " by human" if put.gated else ""
    if put.within.strip():
        late = put.otherwise.strip() or "end"
        text += f" within {put.within.strip()} else {late if late.startswith('(') else f'({late})'}"
    return text


def step_read(text: str, limits: Limits, at: int) -> Action | Deadline:
    """One step, standing at a place of another text. Raises `ContractError` if it cannot be read."""
    document, problems = parse_document(Source(text, "the step"), replace(limits, nesting=_DEEPEST))
    if problems:
        raise ContractError(tuple(problems))
    body = document.declarations[0].body if document.declarations else None
    if not isinstance(body, Action | Deadline):
        raise UsageError(f"`{text}` is not one step; put them in one after the other")
    moved = moved_to(body, at)
    assert isinstance(moved, Action | Deadline)  # noqa: S101 - as it was
    return moved
