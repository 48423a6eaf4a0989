"""Changes of a protocol between roles at one of its messages. Each gives the new body of the protocol."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from accord.diagnostics import Span
from accord.errors import UsageError
from accord.language.global_tree import (
    Continue,
    Exchange,
    GlobalChoice,
    GlobalLoop,
    GlobalProtocol,
    Parallel,
    blocks_in,
)
from accord.language.global_tree import exchanges_in as exchanges_in_block
from accord.language.labels import is_name
from accord.studio.steps_by_form import label_typed

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.language.global_tree import Block, GlobalStep
    from accord.language.tree import Document
    from accord.studio.requests import Edit

__all__ = ["MESSAGE_CHANGES", "Spoken", "changed_body", "messages_in"]


@dataclass(frozen=True, slots=True)
class Spoken:
    """A message where it stands: in which item of the document."""

    exchange: Exchange
    item: int


def messages_in(document: Document) -> list[Spoken]:
    """Every message of every protocol between roles; its place in the list is its number."""
    return [
        Spoken(exchange, number)
        for number, item in enumerate(document.items)
        if isinstance(item, GlobalProtocol)
        for exchange in exchanges_in_block(item.body)
    ]


def _new(edit: Edit, at: int) -> Exchange:
    message = edit.message
    if message is None:
        raise UsageError("say who sends what to whom")
    label = label_typed(message.label)
    for role, part in ((message.sender, "sends"), (message.receiver, "receives")):
        if not is_name(role.strip()):
            raise UsageError(f"say which role {part} it: a letter, then letters, digits and `_`")
    if not label:
        raise UsageError("a message needs a label")
    return Exchange(message.sender.strip(), message.receiver.strip(), label, Span(at, at), Span(at, at))


def _after(block: Block, index: int, edit: Edit) -> Block:
    return (*block[: index + 1], _new(edit, block[index].span.end), *block[index + 1 :])


def _before(block: Block, index: int, edit: Edit) -> Block:
    return (*block[:index], _new(edit, block[index].span.start), *block[index:])


def _beside(block: Block, index: int, edit: Edit) -> Block:
    """A choice of its sender; what follows follows both."""
    exchange = block[index]
    assert isinstance(exchange, Exchange)  # noqa: S101 - messages are what is changed
    span = exchange.span
    end = Span(span.end, span.end)
    branches = ((exchange,), (_decided(exchange.sender, edit, span.end),))
    choice = GlobalChoice(exchange.sender, branches, None, span, span, (span, end))
    return (*block[:index], choice, *block[index + 1 :])


def _decided(decider: str, edit: Edit, at: int) -> Exchange:
    new = _new(edit, at)
    if new.sender != decider:
        raise UsageError(f"`{decider}` decides here, by the message that it sends; `{new.sender}` cannot")
    return new


def _one_more_branch(choice: GlobalChoice, index: int, edit: Edit) -> GlobalChoice:
    branches, spans = [*choice.branches], [*choice.branch_spans]
    at = spans[index].end
    branches.insert(index + 1, (_decided(choice.decider, edit, at),))
    spans.insert(index + 1, Span(at, at))
    return replace(choice, branches=tuple(branches), branch_spans=tuple(spans))


def _repeat(block: Block, index: int, edit: Edit) -> Block:
    """Any number of times, then what follows; its sender decides, so what follows must come from it too."""
    exchange = block[index]
    assert isinstance(exchange, Exchange)  # noqa: S101 - messages are what is changed
    following = block[index + 1] if index + 1 < len(block) else None
    name = edit.what.strip() or "Again"
    if not is_name(name):
        raise UsageError(f"`{name}` is no name for a loop: a letter, then letters, digits and `_`")
    spans: tuple[Span, ...]
    if isinstance(following, Exchange) and following.sender == exchange.sender:
        branches: tuple[Block, ...] = ((following,),)
        spans = (following.span,)
    elif isinstance(following, GlobalChoice) and following.decider == exchange.sender and following.crash is None:
        branches, spans = following.branches, following.branch_spans
    else:
        raise UsageError(
            f"`{exchange.sender}` must be able to say that it is over: put a message of `{exchange.sender}` behind it"
        )
    end = Span(exchange.span.end, exchange.span.end)
    again = (exchange, Continue(name, end))
    choice = GlobalChoice(
        exchange.sender, (again, *branches), None, exchange.span, exchange.span, (exchange.span, *spans)
    )
    return (*block[:index], GlobalLoop(name, (choice,), exchange.span, exchange.span), *block[index + 2 :])


def _change(block: Block, index: int, edit: Edit) -> Block:
    new = _new(edit, block[index].span.start)
    return (*block[:index], replace(new, span=block[index].span), *block[index + 1 :])


def _remove(block: Block, index: int, _: Edit) -> Block:
    return (*block[:index], *block[index + 1 :])


_IN_BLOCK: dict[str, Callable[[Block, int, Edit], Block]] = {
    "message after": _after,
    "message before": _before,
    "message beside": _beside,
    "message repeat": _repeat,
    "message change": _change,
    "message remove": _remove,
}


def _changed(block: Block, target: Exchange, edit: Edit) -> Block:
    """The block with the change made where the message stands; what is empty afterwards is gone."""
    out: list[GlobalStep] = []
    for index, step in enumerate(block):
        if step is target:
            return _IN_BLOCK[edit.change](block, index, edit)
        inside = blocks_in(step)
        if not any(exchange is target for inner in inside for exchange in exchanges_in_block(inner)):
            out.append(step)
            continue
        if isinstance(step, GlobalChoice):
            first = [at for at, branch in enumerate(step.branches) if branch and branch[0] is target]
            if first and edit.change == "message beside":
                return (*out, _one_more_branch(step, first[0], edit), *block[index + 1 :])
        return (*out, *_with_blocks(step, [_changed(inner, target, edit) for inner in inside]), *block[index + 1 :])
    return tuple(out)


def _with_blocks(step: GlobalStep, blocks: list[Block]) -> Block:
    if isinstance(step, GlobalLoop):
        return (replace(step, body=blocks[0]),) if blocks[0] else ()
    if isinstance(step, Parallel):
        kept = [(block, span) for block, span in zip(blocks, step.part_spans, strict=True) if block]
        if len(kept) > 1:
            return (replace(step, parts=tuple(b for b, _ in kept), part_spans=tuple(s for _, s in kept)),)
        return kept[0][0] if kept else ()
    assert isinstance(step, GlobalChoice)  # noqa: S101 - nothing else holds blocks
    crash = blocks.pop() if step.crash is not None else None
    if crash is not None and not crash:
        raise UsageError("without it nobody would notice the crash; take that branch out in the text")
    spans = [*step.branch_spans]
    last = [spans.pop()] if crash is not None else []
    kept = [(block, span) for block, span in zip(blocks, spans, strict=True) if block]
    if len(kept) > 1 or crash is not None:
        branches, spans = tuple(b for b, _ in kept), [s for _, s in kept]
        return (replace(step, branches=branches, crash=crash, branch_spans=(*spans, *last)),)
    return kept[0][0] if kept else ()


def changed_body(protocol: GlobalProtocol, target: Exchange, edit: Edit) -> Block:
    """The body of a protocol after a change at one of its messages."""
    body = _changed(protocol.body, target, edit)
    if not body:
        raise UsageError("it is the only message; a protocol between roles has at least one")
    return body


MESSAGE_CHANGES = frozenset(_IN_BLOCK)
"""Every change, by the name that the page asks for it by."""
