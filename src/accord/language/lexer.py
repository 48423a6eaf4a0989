r"""Text to tokens.

Tokens know nothing of context. A run of letters and digits is one WORD; `-` and `:` are signs of their own, and the
parser joins `WORD - WORD` to a label where it reads a label and nothing stands between. That is why `A->B` and `each
id:` need no second mode here.

Behind `matches` a backslash that JSON gives no meaning to is one of the pattern, and so is `\b`: people write patterns
as they know them, and nobody means a backspace.

The lexer never fails: what it cannot read becomes a diagnostic and is left out.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from accord.diagnostics import Diagnostic, Source, Span
from accord.diagnostics.visible import visible
from accord.language.labels import is_word_character, normalise
from accord.language.tree import Comment

if TYPE_CHECKING:
    from accord.limits import Limits

__all__ = ["Token", "TokenKind", "tokenise"]

TokenKind = Literal["word", "string", "sign", "end of text"]


class Token(NamedTuple):
    """A piece of text with a meaning. `value` is what a string says, and the text itself for all others."""

    kind: TokenKind
    value: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        """Where it stands."""
        return Span(self.start, self.end)


_PIECE = re.compile(
    r"""
      (?P<space>[ \t\r\n]+)
    | (?P<sign>[]!?{}()|.,;=:<>[+-])
    | (?P<word>[A-Za-z0-9_]++(?![^\x00-\x7f]))
    | (?P<comment>//[^\n]*)
    | (?P<string>"(?:[^"\\\n]|\\[^\n])*")
    """,
    re.VERBOSE,
)

# A backslash in a pattern and what it escapes; `\b` and what JSON does not know belong to the pattern.
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_OF_JSON = frozenset('"\\/fnrtu')

_HELP_FOR_CHARACTER = {
    "#": "comments start with `//`",
    "/": "comments start with `//`",
    "\u00a0": "this is a no-break space; use an ordinary one",
    "→": "`->` belongs to protocols between roles, written with `protocol Name { … }`",
    "“": 'use straight quotes: "…"',
    "”": 'use straight quotes: "…"',
    "'": 'quotes are double: "…"',
    "`": 'quotes are double: "…"',
    "$": "labels with such characters are written in quotes, registers by their name alone: `amount <= t`",
    "&": "parts side by side are `(A | B)`, conditions of a rule are joined by `and`, clauses by `,`",
    "\uff01": "this is a full-width `!`; use the ordinary one",
    "\uff1f": "this is a full-width `?`; use the ordinary one",
    "\u2024": "this is not a full stop; use the ordinary `.`",
}


def tokenise(source: Source, limits: Limits) -> tuple[list[Token], list[Comment], list[Diagnostic]]:
    """All tokens of a text (the last one is `end of text`), its comments, and what could not be read."""
    text = source.text
    tokens: list[Token] = []
    comments: list[Comment] = []
    problems: list[Diagnostic] = []
    at = 1 if text.startswith("\ufeff") else 0
    if len(text) > limits.source_characters:
        message = f"the text has {len(text)} characters; the limit is {limits.source_characters}"
        help_ = "pass `Limits(source_characters=…)` to allow more"
        problems.append(Diagnostic("E014", message, source, Span(0, 0), help=help_))
        return [Token("end of text", "", 0, 0)], comments, problems
    match = _PIECE.match
    length = len(text)
    while at < length:
        piece = match(text, at)
        if piece is None:
            if text[at] == '"':
                at = _unterminated(source, at, tokens, problems)
            elif is_word_character(text[at]):
                at = _unicode_word(text, at, tokens)
            else:
                at = _unexpected(source, at, problems)
            continue
        end = piece.end()
        kind = piece.lastgroup
        if kind == "sign":
            tokens.append(Token("sign", piece[0], at, end))
        elif kind == "word":
            tokens.append(Token("word", piece[0], at, end))
        elif kind == "string":
            _string(source, piece[0], at, tokens, problems)
        elif kind == "comment":
            line_start = text.rfind("\n", 0, at) + 1
            own_line = not tokens or tokens[-1].end <= line_start
            comments.append(Comment(piece[0].rstrip(), Span(at, end), own_line))
        at = end
    tokens.append(Token("end of text", "", length, length))
    return tokens, comments, problems


def _unicode_word(text: str, start: int, tokens: list[Token]) -> int:
    end = start
    while end < len(text) and is_word_character(text[end]):
        end += 1
    tokens.append(Token("word", normalise(text[start:end]), start, end))
    return end


def _string(source: Source, quoted: str, start: int, tokens: list[Token], problems: list[Diagnostic]) -> None:
    span = Span(start, start + len(quoted))
    label = ""
    reason = help_ = ""
    if tokens and tokens[-1].kind == "word" and tokens[-1].value == "matches":
        quoted = _ESCAPE.sub(lambda escape: escape[0] if escape[1] in _OF_JSON else f"\\{escape[0]}", quoted)
    try:
        label = json.loads(quoted)
    except json.JSONDecodeError as error:
        reason = "the quoted text is not valid"
        help_ = f"inside quotes the escapes of JSON apply ({error.msg.lower()})"
    else:
        if any("\ud800" <= c <= "\udfff" for c in label):
            reason, help_ = "the quoted text holds half of a surrogate pair", "write both halves"
    if reason:
        problems.append(Diagnostic("E012", reason, source, span, help=help_))
        label = label or "?"
    tokens.append(Token("string", label, *span))


def _unterminated(source: Source, start: int, tokens: list[Token], problems: list[Diagnostic]) -> int:
    end = source.text.find("\n", start)
    end = len(source.text) if end < 0 else end
    problems.append(
        Diagnostic(
            "E011",
            "the quoted text is not closed",
            source,
            Span(start, end),
            label="starts here",
            help='close it with `"` on the same line',
        )
    )
    tokens.append(Token("string", "?", start, end))  # so that the parser does not miss a label
    return end


def _unexpected(source: Source, start: int, problems: list[Diagnostic]) -> int:
    text = source.text
    character = text[start]
    end = start + 1
    while end < len(text) and text[end] == character:
        end += 1
    help_ = _HELP_FOR_CHARACTER.get(character, "labels with such characters are written in quotes")
    message = f"unexpected character `{visible(character)}`"
    problems.append(Diagnostic("E010", message, source, Span(start, end), help=help_))
    return end
