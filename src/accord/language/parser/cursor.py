"""A position in the tokens of a text, and what every part of the parser needs there: labels, names, reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic, Source, Span
from accord.diagnostics.visible import clip
from accord.language.labels import RESERVED, normalise, print_label
from accord.language.lexer import Token

if TYPE_CHECKING:
    from accord.limits import Limits

__all__ = ["Cursor"]


class Cursor:
    """The tokens, where the parser is, where the declaration being read ends, and the problems found so far."""

    def __init__(self, source: Source, tokens: list[Token], problems: list[Diagnostic], limits: Limits) -> None:
        self.source = source
        self.tokens = tokens
        self.limits = limits
        self.problems = problems
        self.at = 0
        self.boundary = len(tokens) - 1
        self.reports = 0  # how often something was wrong, told or not
        self.places = {problem.span.start for problem in problems}

    def at_boundary(self) -> bool:
        """Whether the declaration being read ends here."""
        return self.at >= self.boundary

    @property
    def token(self) -> Token:
        """The token here; where the declaration ends, one that is nothing but the end."""
        at = self.at
        return self.tokens[at] if at < self.boundary else self.ahead(0)

    def ahead(self, count: int) -> Token:
        """The token that many places on, never beyond the declaration."""
        if self.at + count < self.boundary:
            return self.tokens[self.at + count]
        end = self.tokens[self.boundary]
        return Token("end of text", "", end.start, end.end)

    def label(self, wanted: str) -> tuple[str, int] | None:
        """The label at the cursor and where it ends; reports what else stands there."""
        token = self.token
        if token.kind == "string":
            self.at += 1
            if not token.value:
                self.report("E012", "the quoted label is empty", token.span, help_="a label has at least one character")
            return normalise(token.value) or "?", token.end
        if token.kind != "word":
            self.report(
                "E013",
                f"expected {wanted}; found {self.shown(token)}",
                token.span,
                label="expected a label",
            )
            return None
        label, end = self.joined_label()
        if label in RESERVED or not (token.value[0].isalpha() or token.value[0] == "_"):
            why = "is reserved" if label in RESERVED else "does not start with a letter"
            self.report(
                "E013",
                f"expected {wanted}; `{label}` {why}",
                Span(token.start, end),
                help_=f"put it in quotes: {print_label(label)}",
            )
        return label, end

    def is_joined(self) -> bool:
        """Whether the word here goes on with `-` or `:`, so that it is only the beginning of a label."""
        word, sign, rest = self.token, self.ahead(1), self.ahead(2)
        joined = sign.kind == "sign" and sign.value in "-:" and sign.start == word.end
        return joined and rest.kind == "word" and rest.start == sign.end

    def joined_label(self) -> tuple[str, int]:
        """Words joined by `-` or `:` with nothing between, as one label."""
        token = self.token
        pieces, end = [token.value], token.end
        self.at += 1
        while True:
            sign, word = self.token, self.ahead(1)
            joined = sign.kind == "sign" and sign.value in "-:" and sign.start == end
            if not joined or word.kind != "word" or word.start != sign.end:
                return "".join(pieces), end
            pieces += (sign.value, word.value)
            end = word.end
            self.at += 2

    def good_name(self, token: Token) -> bool:
        """Whether a word can be a name."""
        return token.value not in RESERVED and (token.value[0].isalpha() or token.value[0] == "_")

    def shown(self, token: Token) -> str:
        """A token as messages quote it."""
        if token.start == token.end:
            return "the end of the text"
        return f"`{clip(self.source.text[token.start : token.end], 40)}`"

    def report(self, code: str, message: str, span: Span, *, label: str = "", help_: str = "") -> None:
        """Add a problem."""
        self.reports += 1
        # One place, one error: what follows from an error at the same place would only repeat it.
        if span.start in self.places:
            return
        self.places.add(span.start)
        self.problems.append(Diagnostic(code, message, self.source, span, label, help_))
