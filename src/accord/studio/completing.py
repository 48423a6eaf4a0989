"""What could be typed at a place in a text: labels that are known, and words that mean something there."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from accord.language.labels import is_word_character, print_label
from accord.language.lexer import tokenise
from accord.limits import DEFAULT_LIMITS
from accord.studio.contracts import labels_in
from accord.studio.places import Places

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accord.studio.contracts import Examined

__all__ = ["complete"]

_MOST = 50
_AT_START = ("protocol", "rule", "events", "tools", "record", "enum")
_IN_PROTOCOL = ("rec", "end", "each")
_IN_TOOLS = ("fails undone", "fails done", "fails unknown", "otherwise fails")
_BEHIND_LABEL = ("by human", "within")
_IN_RULE = (
    "before", "before each", "after", "after each", "at most", "forbid", "within", "each", "require", "require all of",
    "require any of", "and", "or", "not", "by human", "then",
)  # fmt: skip
_IN_EVENTS = (
    "when call",
    "when result of",
    "when error of",
    "when user says",
    "when agent says",
    "otherwise",
    "ignore",
)


def complete(examined: Examined, at: int, palette: Iterable[str]) -> dict[str, object]:
    """What may stand where the caret is, and how much of it is typed already; places as a browser counts them."""
    text = examined.source.text
    places = Places(text)
    end = min(max(places.offset(at), 0), len(text))
    start = end
    while start and (is_word_character(text[start - 1]) or text[start - 1] in "-:"):
        start -= 1
    typed = text[start:end].casefold()
    labels = set(palette) | _labels(examined)
    sign = text[:start].rstrip()[-1:]
    words: list[tuple[str, str]] = []
    if sign in {"!", "?"} and start and text[start - 1] == sign:
        words = [(print_label(label), "label") for label in sorted(labels)]
    else:
        keywords = _keywords(text, start, sign)
        words = [(keyword, "keyword") for keyword in keywords]
        if sign in {"{", ",", "["} or keywords is _IN_RULE:
            words = [*((print_label(label), "label") for label in sorted(labels)), *words]
    seen = dict.fromkeys(pair for pair in words if pair[0].casefold().startswith(typed) and pair[0].casefold() != typed)
    options = [{"text": word, "kind": kind} for word, kind in seen][:_MOST]
    return {"from": places.unit(start), "to": places.unit(end), "options": options}


def _labels(examined: Examined) -> set[str]:
    """The labels of the text; while somebody types and it cannot be read, also what stands where labels do."""
    found = labels_in(examined.document) if examined.document is not None else set()
    if examined.contract is None:
        tokens = tokenise(examined.source, DEFAULT_LIMITS)[0]
        pairs = pairwise(tokens)
        found |= {after.value for sign, after in pairs if sign.value in {"!", "?"} and after.kind in {"word", "string"}}
    return found


def _keywords(text: str, start: int, sign: str) -> tuple[str, ...]:
    """Those that mean something here, going by the declaration that was begun last."""
    head = text[:start]
    begun = max((head.rfind(f"\n{word}"), word) for word in _AT_START) if "\n" in head else (-1, "")
    first = head.lstrip().split(" ", 1)[0]
    inside = begun[1] if begun[0] >= 0 else first
    open_braces = head[max(begun[0], 0) :].count("{") - head[max(begun[0], 0) :].count("}")
    line = head[head.rfind("\n") + 1 :]
    if not line.strip() and open_braces <= 0:
        return _AT_START if sign != "." else _IN_PROTOCOL
    if inside == "rule" and open_braces > 0:
        return _IN_RULE
    if inside == "events" and open_braces > 0:
        return _IN_EVENTS
    if inside == "tools" and open_braces > 0:
        return _IN_TOOLS
    return _IN_PROTOCOL if sign in {".", "=", "{", ",", "(", ""} else _BEHIND_LABEL
