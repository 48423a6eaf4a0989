"""Protocols between roles, records and enums as layout pieces: a line for each step, and for a record if it fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.language.global_tree import Call, Continue, Enumeration, Exchange, GlobalChoice, GlobalLoop, Record
from accord.language.labels import is_name, print_label, quote
from accord.language.layout import Break, Close, IfBroken, Open, Piece

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.language.global_tree import Block, GlobalProtocol, GlobalStep

__all__ = ["global_pieces", "print_exchange", "type_pieces"]

INDENT = 4


def print_exchange(sender: str, receiver: str, label: str) -> str:
    """An exchange as it is written in a contract."""
    return f"{sender} -> {receiver}: {print_label(label)}"


def global_pieces(protocol: GlobalProtocol, comments_before: Callable[[int], list[Piece]]) -> list[Piece]:
    """The protocol, with each comment before whatever followed it in the text."""
    return _GlobalPieces(comments_before).protocol(protocol)


def type_pieces(item: Record | Enumeration, comments_before: Callable[[int], list[Piece]]) -> list[Piece]:
    """The record or enum, on one line if it fits."""
    if isinstance(item, Record):
        kind = "record"
        parts = [(field.span.start, f"{_field(field.name)}: {field.type}") for field in item.fields]
        parts += [(item.span.end - 1, "...")] if item.is_open else []
    else:
        kind = "enum"
        starts = [span.start for span in item.member_spans] or [item.span.start] * len(item.members)
        parts = list(zip(starts, map(print_label, item.members), strict=True))
    if not parts:
        return [f"{kind} {item.name} {{", *comments_before(item.span.end), "}"]
    out: list[Piece] = [f"{kind} {item.name} {{", Open(INDENT)]
    for index, (start, text) in enumerate(parts):
        out += [*comments_before(start), Break(" "), text, *([","] if index < len(parts) - 1 else [])]
    comma: list[Piece] = [] if isinstance(item, Record) and item.is_open else [IfBroken(",")]
    return [*out, *comma, *comments_before(item.span.end), Break(" ", dedent=INDENT), "}", Close()]


def _field(name: str) -> str:
    return name if is_name(name) else quote(name)


class _GlobalPieces:
    def __init__(self, comments_before: Callable[[int], list[Piece]]) -> None:
        self.comments_before = comments_before

    def protocol(self, protocol: GlobalProtocol) -> list[Piece]:
        out: list[Piece] = [f"protocol {protocol.name} {{", Open(INDENT, broken=True)]
        if protocol.listed is not None:
            out += [Break(), f"roles {', '.join(protocol.listed)}"]
        out += self.steps(protocol.body)
        return [*out, *self.comments_before(protocol.span.end), Break(dedent=INDENT), "}", Close()]

    def steps(self, block: Block) -> list[Piece]:
        out: list[Piece] = []
        for step in block:
            out += [*self.comments_before(step.span.start), Break(), *self.step(step)]
        return out

    def block(self, block: Block, end: int) -> list[Piece]:
        out: list[Piece] = ["{", Open(INDENT, broken=True), *self.steps(block)]
        return [*out, *self.comments_before(end), Break(dedent=INDENT), "}", Close()]

    def step(self, step: GlobalStep) -> list[Piece]:
        if isinstance(step, Exchange):
            return [print_exchange(step.sender, step.receiver, step.label)]
        if isinstance(step, Continue):
            return [f"continue {step.variable}"]
        if isinstance(step, Call):
            arguments = ", ".join(f"{formal} = {actual}" for formal, actual in step.arguments)
            return [f"do {step.protocol}({arguments})"]
        if isinstance(step, GlobalLoop):
            return [f"rec {step.variable} ", *self.block(step.body, step.span.end)]
        if isinstance(step, GlobalChoice):
            ends = [span.end for span in step.branch_spans] or [0] * (len(step.branches) + 1)
            out: list[Piece] = [f"choice at {step.decider} "]
            for index, branch in enumerate(step.branches):
                out += [" or "] if index else []
                out += self.block(branch, ends[index])
            if step.crash is not None:
                out += [f" or crash {step.decider} ", *self.block(step.crash, ends[-1])]
            return out
        out = ["par "]
        ends = [span.end for span in step.part_spans] or [0] * len(step.parts)
        for index, part in enumerate(step.parts):
            out += [" and "] if index else []
            out += self.block(part, ends[index])
        return out
