"""One change of a text, made in the picture or by form.

A change is made in the tree of one declaration, and that declaration is printed anew, with its comments; everything
around it stays as it is, byte for byte. What the language cannot say is refused, and so is a change after which the
contract would have errors that it did not have before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from accord.diagnostics import Source
from accord.errors import ContractError, UsageError
from accord.language.formatting import formatted
from accord.language.global_tree import GlobalProtocol, Record
from accord.language.labels import is_name, print_label, quote
from accord.language.lexer import tokenise
from accord.language.parser import parse_document
from accord.language.printer import print_document
from accord.language.tree import Declaration, Document
from accord.studio.contracts import examine_text, labels_in
from accord.studio.edited_places import Place
from accord.studio.message_edits import MESSAGE_CHANGES, changed_body, messages_in
from accord.studio.renaming import renamed
from accord.studio.requests import RefusedError
from accord.studio.step_edits import STEP_CHANGES
from accord.studio.steps_by_form import label_typed, put_text
from accord.studio.trees import spots_in

if TYPE_CHECKING:
    from accord.language.tree import Item
    from accord.limits import Limits
    from accord.studio.contracts import Examined
    from accord.studio.requests import Edit, Message, RuleForm

__all__ = ["edit"]

_LONGEST = 2_000


def edit(examined: Examined, request: Edit, limits: Limits) -> dict[str, object]:
    """The text after a change. Raises `ContractError` with what would be wrong with it."""
    for typed in _typed(request):
        if len(typed) > _LONGEST:
            raise RefusedError(f"what is put in has {_LONGEST} characters at the most")
    text = _changed(examined, request, limits)
    after = examine_text(text, limits, "contract.accord, changed")
    if after.contract is None and (examined.contract is not None or not examined.source.text.strip()):
        raise ContractError(after.findings)
    return {"text": text}


def _typed(request: Edit) -> list[str]:
    forms = [form for form in (request.put, request.message, request.rule) if form is not None]
    fields = [getattr(form, name) for form in forms for name in form.__struct_fields__]
    return [request.what, *(field for field in fields if isinstance(field, str))]


def _changed(examined: Examined, request: Edit, limits: Limits) -> str:
    if request.change == "rule":
        return _paragraphs(_declared(examined), _rule_text(examined, request.rule))
    if request.change in {"begin", "begin roles"}:
        return _begun(examined, request)
    document = examined.document
    if document is None:
        raise UsageError("the text cannot be read; mend it first")
    if request.change == "rename everywhere":
        return _renamed(document, request)
    if request.change in MESSAGE_CHANGES:
        return _message(document, request, limits)
    spots = spots_in(document)
    if not spots and request.put is not None:
        made = _paragraphs(_declared(examined), f"protocol Main = {put_text(request.put)}.end")
        return _canonical(made, limits)
    if not 0 <= request.at < len(spots):
        raise UsageError(f"there is no node {request.at}; the text has {len(spots)}")
    place = Place(document, spots, request, limits)
    declaration = document.items[place.spot.item]
    assert isinstance(declaration, Declaration)  # noqa: S101 - nothing else has nodes
    return _exchanged(document, declaration, replace(declaration, body=STEP_CHANGES[request.change](place)), limits)


def _canonical(text: str, limits: Limits) -> str:
    try:
        return formatted(Source(text), limits)
    except ContractError:
        return text


def _exchanged(document: Document, old: Item, new: Item, limits: Limits) -> str:
    """The text with one declaration printed anew; the others keep every byte."""
    source = document.source
    start, end = old.span
    for token in tokenise(source, limits)[0]:
        if token.start >= end:
            if token.value != ")" or token.kind != "sign":  # a tree does not know where a group ends
                break
            end = token.end
    inside = tuple(comment for comment in document.comments if start <= comment.span.start < end)
    printed = print_document(Document((new,), source, inside)).rstrip("\n")
    return f"{source.text[:start]}{printed}{source.text[end:]}"


# -- declarations ------------------------------------------------------------------------------------------------------


def _paragraphs(*parts: str) -> str:
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def _declared(examined: Examined) -> str:
    """The text as declarations: a bare protocol beside others needs a name."""
    document = examined.document
    if document is not None and any(declaration.name is None for declaration in document.declarations):
        bare = document.declarations[0].span.start
        text = examined.source.text
        return f"{text[:bare]}protocol Main = {text[bare:]}"
    return examined.source.text


def _begun(examined: Examined, request: Edit) -> str:
    name = request.what.strip() or "Main"
    if not is_name(name):
        raise UsageError(f"`{name}` is no name for a protocol: a letter, then letters, digits and `_`")
    if request.change == "begin":
        return _paragraphs(_declared(examined), f"protocol {name} =\n    end")
    message = request.message
    if message is None:
        raise UsageError("say who sends what to whom first")
    first = f"{message.sender.strip()} -> {message.receiver.strip()}: {print_label(label_typed(message.label))}"
    return _paragraphs(_declared(examined), _record_text(message), f"protocol {name} {{\n    {first}\n}}")


def _renamed(document: Document, request: Edit) -> str:
    if request.put is None:
        raise UsageError("say which label")
    new = label_typed(request.what.lstrip("!?"))
    if not new:
        raise UsageError("say what it is to be called")
    labels = labels_in(document) | {message.exchange.label for message in messages_in(document)}
    return renamed(document, request.put.label, new, labels)


# -- between roles -----------------------------------------------------------------------------------------------------


def _message(document: Document, request: Edit, limits: Limits) -> str:
    messages = messages_in(document)
    if not 0 <= request.at < len(messages):
        raise UsageError(f"there is no message {request.at}; the text has {len(messages)}")
    spoken = messages[request.at]
    protocol = document.items[spoken.item]
    assert isinstance(protocol, GlobalProtocol)  # noqa: S101 - nothing else has messages
    new = replace(protocol, body=changed_body(protocol, spoken.exchange, request))
    text = _exchanged(document, protocol, new, limits)
    return text if request.message is None else _with_record(text, request.message, limits)


def _record_text(message: Message) -> str:
    fields = message.fields.strip().removeprefix("{").removesuffix("}").strip()
    return f"record {label_typed(message.label)} {{ {fields} }}" if fields else ""


def _with_record(text: str, message: Message, limits: Limits) -> str:
    """With the record that says what a message carries, in front of the first protocol that may use it."""
    written = _record_text(message)
    if not written:
        return text
    read, problems = parse_document(Source(written, "the record"), limits)
    if problems:
        raise ContractError(tuple(problems))
    document, _ = parse_document(Source(text), limits)
    label = label_typed(message.label)
    for item in document.types:
        if item.name == label:
            if item == read.items[0]:
                return text
            if not isinstance(item, Record):
                raise UsageError(f"`{label}` is an enum; change it in the text")
            return f"{text[: item.span.start]}{print_document(read).strip()}{text[item.span.end :]}"
    start = min(item.span.start for item in document.globals)
    return f"{text[:start]}{print_document(read).strip()}\n\n{text[start:]}"


# -- rules -------------------------------------------------------------------------------------------------------------

_RULES = {
    "before": "before {first} require {second}",
    "before each": "before each {first} require {second}",
    "after": "after {first} require {second}",
    "after each": "after each {first} require {second}",
    "after forbid": "after {first} forbid {second}",
    "then": "forbid {first} then {second}",
    "later": "forbid {first} ... {second}",
    "at most": "at most {number} {first}",
    "within": "within {number} after {first} require {second}",
}
"""Every kind of rule that a form makes, as it is written."""


def _rule_text(examined: Examined, form: RuleForm | None) -> str:
    if form is None:
        raise UsageError("say which rule")
    document = examined.document
    labels = set() if document is None else labels_in(document) | {m.exchange.label for m in messages_in(document)}
    first, second = (_pattern(text, labels) for text in (form.first, form.second))
    if not first or ("{second}" in _RULES[form.kind] and not second):
        raise UsageError("say which labels the rule is about")
    number = form.number.strip() or ("1" if form.kind == "at most" else "24h")
    body = _RULES[form.kind].format(first=first, second=second, number=number)
    return f"rule {quote(form.name.strip() or body)} {{ {body} }}"


def _pattern(text: str, labels: set[str]) -> str:
    """What somebody typed: a label, whatever it is made of, or a pattern as a contract writes it."""
    plain = text.strip()
    return print_label(plain) if plain in labels else plain
