"""E024: the label of a message decides which branch of a choice is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic, Note
from accord.language.labels import print_word
from accord.language.tree import Action, Choice, End, first_step

if TYPE_CHECKING:
    from accord.diagnostics import Source
    from accord.language.tree import Protocol

__all__ = ["check"]


def check(body: Protocol, source: Source) -> list[Diagnostic]:
    """One finding for each branch whose first message another branch has already."""
    findings: list[Diagnostic] = []
    todo: list[Protocol] = [body]
    while todo:
        node = todo.pop()
        if isinstance(node, Choice):
            findings += _check_choice(node, source)
        todo += node.children()
    return findings


def _check_choice(choice: Choice, source: Source) -> list[Diagnostic]:
    findings: list[Diagnostic] = []
    # A step without a partner stands for any partner, so it clashes with every other of its label.
    seen: dict[tuple[str, str], dict[str | None, Action]] = {}
    end: End | None = None
    for branch in choice.branches:
        head = first_step(branch)
        if isinstance(head, End):
            if end is not None:
                findings.append(_twice("end", head, end, source))
            end = end or head
        elif isinstance(head, Action):
            partners = seen.setdefault((head.direction, head.label), {})
            rival = partners.get(head.partner) or partners.get(None)
            if rival is None and head.partner is None and partners:
                rival = next(iter(partners.values()))
            if rival is not None:
                word = print_word(head.direction, head.label, head.partner)
                findings.append(_twice(word, head, rival, source))
            else:
                partners[head.partner] = head
    return findings


def _twice(word: str, again: Action | End, first: Action | End, source: Source) -> Diagnostic:
    return Diagnostic(
        "E024",
        f"`{word}` stands twice in one choice",
        source,
        again.span,
        label="which branch is meant cannot be told",
        help="join the two branches and choose after the message they share",
        notes=(Note(first.span, "first branch with it"),),
    )
