"""E024, E042: which branch of a choice is taken must be told by its label, or by guards that exclude each other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic, Note
from accord.diagnostics.visible import clip
from accord.language.checks.overlap import NOT_DECIDED, example_payload
from accord.language.clauses import Guard, Register
from accord.language.labels import print_word
from accord.language.tree import Action, Choice, End, first_step

if TYPE_CHECKING:
    from accord.diagnostics import Source
    from accord.language.tree import Protocol

__all__ = ["check"]

# Branches of one label are compared each with each; this many are more than anybody writes.
_MOST_ALIKE = 200


def check(body: Protocol, source: Source) -> list[Diagnostic]:
    """One finding for each branch that another branch could be taken for."""
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
    seen: dict[tuple[str, str], list[Action]] = {}
    end: End | None = None
    for branch in choice.branches:
        head = first_step(branch)
        if isinstance(head, End):
            if end is not None:
                findings.append(_twice("end", head, end, source))
            end = end or head
        elif isinstance(head, Action):
            alike = seen.setdefault((head.direction, head.label), [])
            for rival in alike[:_MOST_ALIKE]:
                finding = _confusable(head, rival, source)
                if finding is not None:
                    findings.append(finding)
                    break
            alike.append(head)
    return findings


def _confusable(head: Action, rival: Action, source: Source) -> Diagnostic | None:
    # A step without a partner stands for any partner, so it clashes with every other of its label.
    if head.partner != rival.partner and head.partner is not None and rival.partner is not None:
        return None
    word = print_word(head.direction, head.label, head.partner)
    guarded = [any(isinstance(c, Guard) for c in action.clauses) for action in (head, rival)]
    if not any(guarded):
        return _twice(word, head, rival, source)
    example = example_payload([*rival.clauses, *head.clauses])
    if example is None:
        return None
    if example != NOT_DECIDED:
        shown = clip(json.dumps(example, ensure_ascii=False), 200)
        how = f"both take the payload {shown}"
    elif _implies(head, rival) or _implies(rival, head):
        how = "one of them takes whatever the other takes"
    else:
        return None
    return Diagnostic(
        "E042",
        f"the guards of two branches `{word}` can hold together",
        source,
        head.span,
        label="which branch is meant cannot be told",
        help=f"{how}; make the guards exclude each other",
        notes=(Note(rival.span, "the other branch"),),
    )


def _implies(narrow: Action, wide: Action) -> bool:
    """Whether what fits the one fits the other, because it asks for the same and more."""
    if narrow.clauses == wide.clauses:
        return True
    clauses = (*narrow.clauses, *wide.clauses)
    written = {clause.register for clause in clauses if not isinstance(clause, Guard)}
    guards = [clause for clause in wide.clauses if isinstance(clause, Guard)]
    # A register that one of the branches writes is not the same to both.
    unlike = any(isinstance(g.operand, Register) and g.operand.name in written for g in guards)
    return not unlike and set(guards) <= set(narrow.clauses)


def _twice(word: str, again: Action | End, first: Action | End, source: Source) -> Diagnostic:
    return Diagnostic(
        "E024",
        f"`{word}` stands twice in one choice",
        source,
        again.span,
        label="which branch is meant cannot be told",
        help="join the two branches and choose after the message they share, or tell them apart by guards",
        notes=(Note(first.span, "first branch with it"),),
    )
