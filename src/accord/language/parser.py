"""Tokens to a tree.

The parser is a loop over tokens with a stack of open brackets and loops (`_Frame`), so nesting costs memory and never the
Python stack. It is always in one of three situations:

- STEP: a step must come;
- AFTER: a step has just been read, so `.`, `|`, `,` or a closing bracket follows;
- BRANCH: a branch of a choice must come, or its closing brace.

On an error it says what it expected, skips to the next sign at which it knows where it is, and goes on, so that one run
finds many errors. A declaration in which an error was found yields no tree.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic, Source, Span
from accord.diagnostics.visible import clip
from accord.language.labels import RESERVED, print_label
from accord.language.lexer import Token, tokenise
from accord.language.tree import (
    Action,
    Choice,
    Declaration,
    Document,
    End,
    Interleaving,
    Protocol,
    Recursion,
    Variable,
    sequence,
)

if TYPE_CHECKING:
    from accord.language.tree import Direction
    from accord.limits import Limits

__all__ = ["parse_document"]


class _Situation(Enum):
    STEP = auto()
    AFTER = auto()
    BRANCH = auto()


class _Frame:
    """Something opened and not yet closed: the declaration itself, a group, a choice or a loop."""

    __slots__ = ("direction", "finished", "kind", "opening", "partner", "steps", "variable")

    def __init__(self, kind: str, opening: Token) -> None:
        self.kind = kind  # "declaration", "(", "{" or "rec"
        self.opening = opening
        self.steps: list[Protocol] = []  # of the part or branch being read
        self.finished: list[Protocol] = []  # parts or branches read
        self.direction: Direction | None = None  # of a choice `!{…}`
        self.partner: str | None = None
        self.variable: Token | None = None


_HELP_FOR_STRAY = {
    "|": "an interleaving stands in parentheses: `(!a | !b)`",
    ",": "the branches of a choice stand in braces: `{!a, !b}`",
}
_A_STEP_IS = "a step is `!label`, `?label`, a choice `{…}`, a group `(…)`, `rec X.`, `end` or a recursion variable"


def parse_document(source: Source, limits: Limits) -> tuple[Document, list[Diagnostic]]:
    """Everything a text declares, and every error of its form, in source order."""
    tokens, comments, problems = tokenise(source, limits)
    parser = _Parser(source, tokens, problems, limits)
    declarations = parser.document()
    parser.problems.sort(key=lambda d: d.span)
    return Document(tuple(declarations), source, tuple(comments)), parser.problems


class _Parser:
    def __init__(self, source: Source, tokens: list[Token], problems: list[Diagnostic], limits: Limits) -> None:
        self.source = source
        self.tokens = tokens
        self.at = 0
        self.problems = problems
        self.lexical = [d.span.start for d in problems]
        self.limits = limits
        self.frames: list[_Frame] = []
        self.errors_before = 0
        self.boundary = 0  # where the declaration being read ends: at the next one, or at the end of the text

    # -- declarations ------------------------------------------------------------------------------------------------

    def document(self) -> list[Declaration]:
        declarations: list[Declaration] = []
        if self.tokens[0].kind == "end of text":
            if not self.problems:
                self.report(
                    "E020",
                    "the contract is empty",
                    Span(0, 0),
                    help_="write `end` for a session without messages",
                )
            return declarations
        if not self.at_declaration():
            declaration = self.declaration(None)
            declarations += [declaration] if declaration else []
            if self.at_declaration():
                self.report(
                    "E013",
                    "a bare protocol stands alone in its text",
                    self.tokens[self.at].span,
                    help_="give the first one a name too: `protocol Name = …`",
                )
        while self.at_declaration():
            name = self.tokens[self.at + 1]
            start = self.tokens[self.at].start
            self.at += 3
            if name.value in RESERVED or name.value[0].isdigit():
                self.report("E013", f"`{name.value}` cannot be the name of a protocol", name.span)
            declaration = self.declaration(name, start)
            declarations += [declaration] if declaration else []
        return declarations

    def at_declaration(self, at: int | None = None) -> bool:
        """Whether `protocol Name =` stands here."""
        at = self.at if at is None else at
        token = self.tokens[at]
        if token.value != "protocol" or token.kind != "word":
            return False
        name, sign = (*self.tokens[at + 1 : at + 3], token, token)[:2]
        return name.kind == "word" and sign.kind == "sign" and sign.value == "="

    def declaration(self, name: Token | None, start: int = 0) -> Declaration | None:
        """One protocol, up to the next declaration or the end of the text."""
        self.errors_before = len(self.problems)
        first = self.tokens[self.at]
        self.frames = [_Frame("declaration", first)]
        while self.boundary < len(self.tokens) - 1 and (
            self.boundary < self.at or not self.at_declaration(self.boundary)
        ):
            self.boundary += 1
        if self.at_boundary():
            where = name.span if name else first.span
            self.report(
                "E020",
                "the declaration is empty",
                where,
                help_="write `end` for a session without messages",
            )
            return None
        situation = _Situation.STEP
        while not self.at_boundary():
            if len(self.problems) >= self.limits.diagnostics or len(self.frames) > self.limits.nesting:
                self.give_up()
                break
            if situation is _Situation.STEP:
                situation = self.step()
            elif situation is _Situation.AFTER:
                situation = self.after()
            else:
                situation = self.branch()
        else:
            self.finish(situation)
        lexical = any(first.start <= at < self.tokens[self.at].end for at in self.lexical)
        if self.broken or lexical:
            return None
        body = sequence(self.frames[0].steps)
        end = body.span.end
        begin = start if name else body.span.start
        return Declaration(name.value if name else None, body, Span(begin, end), name.span if name else Span(0, 0))

    def at_boundary(self) -> bool:
        return self.at >= self.boundary

    def finish(self, situation: _Situation) -> None:
        """The text or the next declaration ends this one: whatever is still open was never closed."""
        token = self.tokens[self.at]
        if situation is _Situation.STEP:
            self.report(
                "E013",
                f"expected a step; found {self.shown(token)}",
                token.span,
                help_=_A_STEP_IS,
            )
        self.close_loops()
        for frame in self.frames[1 : self.limits.diagnostics]:
            if frame.kind in "({":
                self.not_closed(frame)

    def give_up(self) -> None:
        if len(self.frames) > self.limits.nesting:
            self.report(
                "E014",
                f"brackets and loops are nested deeper than {self.limits.nesting}",
                self.tokens[self.at].span,
                help_="pass `Limits(nesting=…)` to allow more",
            )
        while not self.at_boundary():
            self.at += 1

    @property
    def broken(self) -> bool:
        """Whether this declaration has an error; its tree is then thrown away and need not be well-formed."""
        return len(self.problems) > self.errors_before

    # -- the three situations ----------------------------------------------------------------------------------------

    def step(self) -> _Situation:
        token = self.tokens[self.at]
        frame = self.frames[-1]
        if token.kind == "sign":
            if token.value in "!?":
                return self.action_or_choice(None, token.start)
            if token.value == "{":
                self.at += 1
                self.frames.append(_Frame("{", token))
                return _Situation.BRANCH
            if token.value == "(":
                self.at += 1
                self.frames.append(_Frame("(", token))
                return _Situation.STEP
            if token.value == ")" and frame.kind == "(" and not frame.steps and not frame.finished:
                self.report(
                    "E020",
                    "the group is empty",
                    Span(frame.opening.start, token.end),
                    help_="write `end` for a part without messages",
                )
                self.frames.pop()
                self.at += 1
                return _Situation.AFTER
        elif token.kind == "word":
            return self.word_step(token)
        else:
            self.report(
                "E013",
                f"expected a step; found {self.shown(token)}",
                token.span,
                help_=f"a message says its direction: `!{print_label(token.value)}` or `?{print_label(token.value)}`",
            )
            self.at += 1
            return self.resynchronise()
        self.report(
            "E013",
            f"expected a step; found {self.shown(token)}",
            token.span,
            help_=_A_STEP_IS,
        )
        return self.resynchronise()

    def word_step(self, token: Token) -> _Situation:
        """`rec X.`, `end`, `Role!…`, or a recursion variable."""
        following = self.tokens[self.at + 1]
        if token.value == "rec":
            return self.loop(token)
        if token.value == "end":
            self.at += 1
            self.frames[-1].steps.append(End(token.span))
            return _Situation.AFTER
        if following.kind == "sign" and following.value in "!?" and self.good_name(token):
            self.at += 1
            return self.action_or_choice(token.value, token.start)
        joined = following.kind == "sign" and following.value in "-:" and following.start == token.end
        if joined or not self.good_name(token):
            label, end = self.joined_label()
            quoted = print_label(label)
            self.report(
                "E013",
                f"expected a step; found `{clip(label)}`",
                Span(token.start, end),
                help_=f"a message says its direction: `!{quoted}` or `?{quoted}`",
            )
            return self.resynchronise()
        self.at += 1
        self.frames[-1].steps.append(Variable(token.value, token.span))
        return _Situation.AFTER

    def loop(self, rec: Token) -> _Situation:
        self.at += 1
        name = self.tokens[self.at]
        if name.kind != "word" or not self.good_name(name):
            self.report(
                "E013",
                f"expected a name for the loop; found {self.shown(name)}",
                name.span,
                help_="a loop is written `rec Name. …`",
            )
            return self.resynchronise()
        self.at += 1
        dot = self.tokens[self.at]
        if dot.kind == "sign" and dot.value == ".":
            self.at += 1
        else:
            self.report("E013", f"expected `.` after `rec {name.value}`; found {self.shown(dot)}", dot.span)
        frame = _Frame("rec", rec)
        frame.variable = name
        self.frames.append(frame)
        return _Situation.STEP

    def action_or_choice(self, partner: str | None, start: int) -> _Situation:
        """`!label` or `!{…}`; the sign stands at the cursor."""
        sign = self.tokens[self.at]
        direction: Direction = "!" if sign.value == "!" else "?"
        self.at += 1
        following = self.tokens[self.at]
        if following.kind == "sign" and following.value == "{":
            frame = _Frame("{", Token("sign", "{", start, following.end))
            frame.direction, frame.partner = direction, partner
            self.frames.append(frame)
            self.at += 1
            return _Situation.BRANCH
        label = self.label(f"a label after `{sign.value}`")
        if label is None:
            return self.resynchronise()
        self.frames[-1].steps.append(Action(direction, label[0], partner, Span(start, label[1])))
        return _Situation.AFTER

    def branch(self) -> _Situation:
        """A branch of the innermost choice begins here, or the choice ends."""
        frame = self.frames[-1]
        token = self.tokens[self.at]
        if token.kind == "sign" and token.value == "}":
            return self.close_choice(frame, token)
        if token.kind == "word" and token.value == "end":
            self.at += 1
            frame.steps.append(End(token.span))
            return _Situation.AFTER
        if frame.direction is not None:
            return self.directed_branch(frame, token, frame.direction)
        start, partner = token.start, None
        if token.kind == "word" and self.tokens[self.at + 1].value in {"!", "?"} and self.good_name(token):
            partner = token.value
            self.at += 1
            token = self.tokens[self.at]
        if token.kind == "sign" and token.value in "!?":
            direction: Direction = "!" if token.value == "!" else "?"
            self.at += 1
            label = self.label(f"a label after `{token.value}`")
            if label is None:
                return self.resynchronise()
            frame.steps.append(Action(direction, label[0], partner, Span(start, label[1])))
            return _Situation.AFTER
        help_ = "a branch begins with its message, or is `end`"
        if token.kind in {"word", "string"}:
            help_ = "write `!{…}` or `?{…}`, or give each branch its direction: `{!a, ?b}`"
        self.report(
            "E013",
            f"expected a branch: `!label`, `?label` or `end`; found {self.shown(token)}",
            token.span,
            help_=help_,
        )
        return self.resynchronise()

    def directed_branch(self, frame: _Frame, token: Token, direction: Direction) -> _Situation:
        if token.kind == "sign":
            help_ = "a branch begins with its label, or is `end`"
            if token.value in "!?":
                help_ = "the direction stands once, in front of the brace; write `{!a, ?b}` to mix directions"
            self.report("E013", f"expected a label; found {self.shown(token)}", token.span, help_=help_)
            return self.resynchronise()
        label = self.label("a label")
        if label is None:
            return self.resynchronise()
        frame.steps.append(Action(direction, label[0], frame.partner, Span(token.start, label[1])))
        return _Situation.AFTER

    def after(self) -> _Situation:
        """A step has been read."""
        token = self.tokens[self.at]
        if token.kind == "sign":
            if token.value == ".":
                self.at += 1
                return _Situation.STEP
            if token.value in ",})|":
                return self.separator(token)
        starts_step = token.kind != "sign" or token.value in "!?{("
        if starts_step:
            self.report(
                "E013",
                f"expected `.` before the next step; found {self.shown(token)}",
                token.span,
                help_="steps are separated by `.`",
            )
            return _Situation.STEP
        self.report("E013", f"expected {self.follow()}; found {self.shown(token)}", token.span)
        self.at += 1
        return self.resynchronise()

    def separator(self, token: Token) -> _Situation:
        """`,`, `}`, `)` or `|` closes the loops around it and then belongs to the innermost bracket."""
        wanted = "{" if token.value in ",}" else "("
        self.close_loops()
        frame = self.frames[-1]
        if frame.kind != wanted:
            if wanted in [f.kind for f in self.frames]:
                self.not_closed(frame)
                self.frames.pop()
                return _Situation.AFTER
            self.report(
                "E013",
                f"expected {self.follow()}; found `{token.value}`",
                token.span,
                label="nothing to close" if token.value in "})" else "",
                help_=_HELP_FOR_STRAY.get(token.value, ""),
            )
            self.at += 1
            return _Situation.STEP if token.value in ",|" and not self.at_boundary() else _Situation.AFTER
        if token.value == "}":
            return self.close_choice(frame, token)
        self.at += 1
        self.finish_part(frame)
        if token.value == ",":
            return _Situation.BRANCH
        if token.value == "|":
            return _Situation.STEP
        self.frames.pop()
        parent = self.frames[-1].steps
        if len(frame.finished) > 1:
            parent.append(Interleaving(tuple(frame.finished), Span(frame.opening.start, token.end)))
        else:
            parent.extend(frame.finished)
        return _Situation.AFTER

    # -- closing -----------------------------------------------------------------------------------------------------

    def finish_part(self, frame: _Frame) -> None:
        if frame.steps:
            frame.finished.append(sequence(frame.steps))
            frame.steps = []

    def close_choice(self, frame: _Frame, token: Token) -> _Situation:
        self.at += 1
        self.finish_part(frame)
        self.frames.pop()
        span = Span(frame.opening.start, token.end)
        if self.broken:
            self.frames[-1].steps.append(End(span))
        elif frame.finished:
            self.frames[-1].steps.append(Choice(tuple(frame.finished), span))
        else:
            self.report("E022", "the choice has no branches", span, help_="name at least one: `{label}`")
        return _Situation.AFTER

    def close_loops(self) -> None:
        while self.frames[-1].kind == "rec":
            frame = self.frames.pop()
            assert frame.variable is not None  # noqa: S101 - set where the frame is made
            if frame.steps:
                body = sequence(frame.steps)
                span = Span(frame.opening.start, body.span.end)
                self.frames[-1].steps.append(Recursion(frame.variable.value, body, span, frame.variable.span))

    # -- small pieces ------------------------------------------------------------------------------------------------

    def label(self, wanted: str) -> tuple[str, int] | None:
        """The label at the cursor and where it ends; reports what else stands there."""
        token = self.tokens[self.at]
        if token.kind == "string":
            self.at += 1
            return token.value, token.end
        if token.kind != "word":
            self.report(
                "E013",
                f"expected {wanted}; found {self.shown(token)}",
                token.span,
                label="expected a label",
            )
            return None
        label, end = self.joined_label()
        if label in RESERVED or not self.good_name(token):
            why = "is reserved" if label in RESERVED else "does not start with a letter"
            self.report(
                "E013",
                f"expected {wanted}; `{label}` {why}",
                Span(token.start, end),
                help_=f"put it in quotes: {print_label(label)}",
            )
        return label, end

    def joined_label(self) -> tuple[str, int]:
        """Words joined by `-` or `:` with nothing between, as one label."""
        token = self.tokens[self.at]
        pieces, end = [token.value], token.end
        self.at += 1
        while True:
            sign, word = self.tokens[self.at], self.tokens[min(self.at + 1, len(self.tokens) - 1)]
            joined = sign.kind == "sign" and sign.value in "-:" and sign.start == end
            if not joined or word.kind != "word" or word.start != sign.end:
                return "".join(pieces), end
            pieces += (sign.value, word.value)
            end = word.end
            self.at += 2

    def good_name(self, token: Token) -> bool:
        return token.value not in RESERVED and (token.value[0].isalpha() or token.value[0] == "_")

    def resynchronise(self) -> _Situation:
        """Skip to a sign at which the parser knows where it is."""
        while not self.at_boundary():
            token = self.tokens[self.at]
            if token.kind == "sign" and token.value in ".,|)}":
                break
            self.at += 1
        return _Situation.AFTER

    def follow(self) -> str:
        kinds = {"{": "`.`, `,` or `}`", "(": "`.`, `|` or `)`"}
        for frame in reversed(self.frames):
            if frame.kind in kinds:
                return kinds[frame.kind]
        return "`.` or the end of the protocol"

    def not_closed(self, frame: _Frame) -> None:
        closing = "}" if frame.kind == "{" else ")"
        sign = Span(frame.opening.end - 1, frame.opening.end)
        self.report(
            "E016",
            f"`{frame.kind}` is not closed",
            sign,
            label="opened here",
            help_=f"add `{closing}`",
        )

    def shown(self, token: Token) -> str:
        if token.kind == "end of text":
            return "the end of the text"
        return f"`{clip(self.source.text[token.start : token.end], 40)}`"

    def report(self, code: str, message: str, span: Span, *, label: str = "", help_: str = "") -> None:
        # One place, one error: what follows from an error at the same place would only repeat it.
        if self.problems and self.problems[-1].span == span:
            return
        self.problems.append(Diagnostic(code, message, self.source, span, label, help_))
