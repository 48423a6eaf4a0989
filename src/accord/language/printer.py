"""A tree to its canonical text.

`print_protocol` writes one line; `print_document` writes a file, broken into lines where it must be, with its
comments. The printer uses a stack of its own, so it prints whatever the parser reads. `parse(print(t)) == t`, and
printing what was printed changes nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from accord.language.details import (
    print_action,
    print_details,
    print_event_label,
    print_event_pieces,
    print_rule,
    print_slice,
    print_tools_named,
)
from accord.language.durations import print_duration
from accord.language.events import Events
from accord.language.global_printer import global_pieces, type_pieces
from accord.language.global_tree import Enumeration, GlobalProtocol, Record
from accord.language.labels import print_label, quote
from accord.language.layout import Break, Close, IfBroken, Note, Open, Piece, arrange
from accord.language.rules import Rule
from accord.language.tools import Tools
from accord.language.tree import (
    Action,
    Choice,
    Deadline,
    Document,
    End,
    Interleaving,
    Protocol,
    Recursion,
    Sequence,
    Variable,
    first_step,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accord.language.tree import Comment

__all__ = ["print_document", "print_protocol"]

INDENT = 4
WIDTH = 88

# A label longer than this does not push all others to the right.
_WIDEST_LABEL = 24

_BLANK_LINE = re.compile(r"[ \t\r]*\n[ \t\r]*\n")


def print_protocol(protocol: Protocol) -> str:
    """The protocol on one line.

    Example:
        >>> from accord.language import parse
        >>> print_protocol(parse("!Ask . ?{ Yes.end, No, }. end").declarations[0].body)
        '!Ask.?{Yes.end, No}.end'
    """
    return arrange(_Pieces((), "").of(protocol), float("inf"))


def print_document(document: Document, *, width: int = WIDTH) -> str:
    """The whole text in canonical form, comments included, ending in a newline."""
    pieces = _Pieces(document.comments, document.source.text)
    out: list[Piece] = []
    for index, item in enumerate(document.items):
        if index:
            # Rules stand together, so do records and enums, protocols apart.
            before = document.items[index - 1]
            together = isinstance(item, Rule) and isinstance(before, Rule)
            together |= isinstance(item, Record | Enumeration) and isinstance(before, Record | Enumeration)
            out += [*pieces.trailing(item.span.start), Break(), *([] if together else [Break()])]
        out += pieces.comments_before(item.span.start)
        if isinstance(item, Rule):
            out += pieces.rule(item)
        elif isinstance(item, Events):
            out += pieces.events(item)
        elif isinstance(item, Tools):
            out += pieces.tools(item)
        elif isinstance(item, GlobalProtocol):
            out += global_pieces(item, pieces.comments_before)
        elif isinstance(item, Record | Enumeration):
            out += type_pieces(item, pieces.comments_before)
        else:
            opened = " open" if item.is_open else ""
            heading = [f"protocol {item.name}{opened} ="] if item.name is not None else []
            heading += [print_slice(item.each)] if item.each is not None else []
            out += [" ".join(heading), Open(INDENT), Break(" ")] if heading else [Open()]
            out += [*pieces.of(item.body), Close()]
    out += pieces.comments_before(len(document.source.text) + 1)
    return arrange(out, width) + "\n"


class _Pieces:
    """Turns trees into layout pieces and weaves in each comment before whatever followed it in the text."""

    def __init__(self, comments: Iterable[Comment], text: str) -> None:
        self.comments = list(comments)[::-1]
        self.text = text

    def comments_before(self, offset: int) -> list[Piece]:
        notes: list[Piece] = []
        while self.comments and self.comments[-1].span.start < offset:
            comment = self.comments.pop()
            blank = comment.own_line and _BLANK_LINE.match(self.text, comment.span.end) is not None
            notes.append(Note(comment.text, comment.own_line, blank))
        return notes

    def trailing(self, offset: int) -> list[Piece]:
        """The comment behind the declaration just written, on its line, before what stands at the offset."""
        if not self.comments or self.comments[-1].own_line or self.comments[-1].span.start >= offset:
            return []
        return self.comments_before(self.comments[-1].span.start + 1)

    def rule(self, rule: Rule) -> list[Piece]:
        out: list[Piece] = [f"rule {quote(rule.name)} {{", Open(INDENT)]
        out += self.comments_before(rule.body_start)
        for text in print_rule(rule):
            out += [Break(" "), text]
        return [*out, *self.comments_before(rule.span.end), Break(" ", dedent=INDENT), "}", Close()]

    def events(self, events: Events) -> list[Piece]:
        """A line for each line, with what stands behind the labels in one column."""
        widest = min(max(len(print_event_label(line)) for line in events.lines), _WIDEST_LABEL)
        out: list[Piece] = ["events {"]
        for line in events.lines:
            out += [*self.trailing(line.span.start), Break(dedent=-INDENT), Open(INDENT)]
            out += self.comments_before(line.span.start)
            label = print_event_label(line)
            head, names, tail = print_event_pieces(line)
            out += [f"{label.ljust(widest)} {head}", Open(INDENT)]
            for index, name in enumerate(names):
                out += ["," if index else "", Break(" " if index else ""), name]
            if names:
                out += [IfBroken(","), Break(dedent=INDENT)]
            out += [tail, Close(), Close()]
        out += [*self.trailing(events.span.end), Open(INDENT), *self.comments_before(events.span.end)]
        return [*out, Close(), Break(), "}"]

    def tools(self, tools: Tools) -> list[Piece]:
        """A line for each line, with what a failure means in one column."""
        widest = min(max(len(print_tools_named(line)) for line in tools.lines), _WIDEST_LABEL)
        out: list[Piece] = ["tools {"]
        for line in tools.lines:
            out += [*self.trailing(line.span.start), Break(dedent=-INDENT), Open(INDENT)]
            out += self.comments_before(line.span.start)
            out += [f"{print_tools_named(line).ljust(widest)} fails {line.fails}", Close()]
        out += [*self.trailing(tools.span.end), Open(INDENT), *self.comments_before(tools.span.end)]
        return [*out, Close(), Break(), "}"]

    def of(self, protocol: Protocol) -> list[Piece]:
        out: list[Piece] = []
        # What is still to be written, last first: finished pieces, protocols, or offsets before which comments go.
        todo: list[Piece | Protocol | int] = [protocol]
        while todo:
            item = todo.pop()
            if isinstance(item, int):
                out += self.comments_before(item)
            elif isinstance(item, Action):
                out += self.comments_before(item.span.start)
                out.append(print_action(item))
            elif isinstance(item, Variable):
                out += self.comments_before(item.span.start)
                out.append(item.name)
            elif isinstance(item, End):
                out += self.comments_before(item.span.start)
                out.append("end")
            elif isinstance(item, Choice):
                todo += reversed(self.choice(item))
            elif isinstance(item, Deadline):
                todo += reversed(self.deadline(item))
            elif isinstance(item, Interleaving):
                todo += reversed(self.interleaving(item))
            elif isinstance(item, Sequence | Recursion):
                todo += reversed(self.steps(item))
            else:
                out.append(item)
        return out

    def steps(self, protocol: Protocol, first: str | None = None) -> list[Piece | Protocol | int]:
        """A sequence; loops at its end are written at the same level, because a loop reaches to the end anyway.

        `first` replaces the text of the first step: a branch of `!{…}` is written without its direction.
        """
        out: list[Piece | Protocol | int] = [Open()]
        rest: Protocol | None = protocol
        dot = False
        while rest is not None:
            steps = rest.steps if isinstance(rest, Sequence) else (rest,)
            rest = None
            for index, step in enumerate(steps):
                last = index == len(steps) - 1
                out.append(step.span.start)
                if dot:
                    out += [Break(), "."]
                dot = True
                if first is not None:
                    out.append(first)
                    first = None
                elif isinstance(step, Recursion) and last:
                    out.append(f"rec {step.variable}")
                    rest = step.body
                elif isinstance(step, Recursion):
                    out += [
                        "(",
                        Open(INDENT),
                        Break(),
                        Open(),
                        f"rec {step.variable}",
                        step.body.span.start,
                    ]
                    out += [Break(), ".", step.body, Close(), Break(dedent=INDENT), Close(), ")"]
                else:
                    out.append(step)
        out.append(Close())
        return out

    def choice(self, choice: Choice) -> list[Piece | Protocol | int]:
        shared = _shared_prefix(choice)
        out: list[Piece | Protocol | int] = [choice.span.start, Open(INDENT), f"{shared or ''}{{"]
        for index, branch in enumerate(choice.branches):
            out += [branch.span.start, Break(" " if index else "")]
            head = first_step(branch)
            if shared is not None and isinstance(head, Action):
                out += self.steps(branch, print_label(head.label) + print_details(head.clauses, head.gated))
            else:
                out.append(branch)
            if index < len(choice.branches) - 1:
                out.append(",")
        return [*out, IfBroken(","), choice.span.end - 1, Break(dedent=INDENT), "}", Close()]

    def deadline(self, deadline: Deadline) -> list[Piece | Protocol | int]:
        """A timed step, and those behind its `else` at the same level.

        Behind `else` stands one step, so whatever is more than one stands in parentheses there.
        """
        out: list[Piece | Protocol | int] = [Open()]
        late: Protocol = deadline
        while isinstance(late, Deadline):
            timed, late = late, late.otherwise
            out += [timed.body, f" within {print_duration(timed.milliseconds)}"]
            # Next to a bracket, which is broken into lines itself, `else` stays where it is.
            plain = isinstance(timed.body, Action) and isinstance(late, Action | Deadline | Variable | End)
            out += [Break(" ", dedent=-INDENT) if plain else " ", "else ", late.span.start]
        if isinstance(late, Sequence | Recursion):
            out += ["(", Open(INDENT), Break(), late, Break(dedent=INDENT), Close(), ")"]
        else:
            out.append(late)
        return [*out, Close()]

    def interleaving(self, interleaving: Interleaving) -> list[Piece | Protocol | int]:
        out: list[Piece | Protocol | int] = [interleaving.span.start, Open(INDENT), "("]
        for index, part in enumerate(interleaving.parts):
            out += [part.span.start, Break(" " if index else ""), "| " if index else ""]
            out.append(part)
        return [*out, interleaving.span.end - 1, Break(dedent=INDENT), ")", Close()]


def _shared_prefix(choice: Choice) -> str | None:
    """`!` or `Role?` where all branches agree on it, so that it is written once, in front of the brace."""
    prefixes = set()
    for branch in choice.branches:
        head = first_step(branch)
        if isinstance(head, Action):
            prefixes.add(f"{head.partner or ''}{head.direction}")
    return prefixes.pop() if len(prefixes) == 1 else None
