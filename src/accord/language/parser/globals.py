"""Protocols between roles: `protocol Name { A -> B: Msg … }`.

After an error the parser goes on at the next thing that looks like a step, so that one run finds many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Span
from accord.language.global_tree import (
    DEEPEST,
    Call,
    Continue,
    Exchange,
    GlobalChoice,
    GlobalLoop,
    GlobalProtocol,
    Parallel,
)

if TYPE_CHECKING:
    from accord.language.global_tree import Block, GlobalStep
    from accord.language.lexer import Token
    from accord.language.parser.cursor import Cursor

__all__ = ["read_global"]

_A_STEP_IS = (
    "a step is `A -> B: Message`, `choice at A {…} or {…}`, `rec X {…}`, `continue X`, `par {…} and {…}` or `do P(…)`"
)
_NOT_YET = "leave it out: records say what messages carry, and rules what must hold"


class _Unreadable(Exception):  # noqa: N818 - never leaves this module: the problem has been reported
    pass


def read_global(cursor: Cursor) -> GlobalProtocol | None:
    """The protocol at the cursor, where `protocol Name {` stands; `None` if it has errors."""
    start, name = cursor.token, cursor.ahead(1)
    reports_before = cursor.reports
    cursor.at += 3
    if not cursor.good_name(name):
        cursor.report("E013", f"`{name.value}` cannot be the name of a protocol", name.span)
    parser = _GlobalParser(cursor)
    listed = parser.roles()
    body = parser.block_behind_brace(Span(name.end, cursor.tokens[cursor.at - 1].end), 0)
    end = cursor.tokens[cursor.at - 1].end
    if not cursor.at_boundary() and cursor.reports == reports_before:
        found = cursor.shown(cursor.token)
        cursor.report("E013", f"expected the next declaration; found {found}", cursor.token.span)
    if cursor.reports == reports_before and not body:
        help_ = "say what its roles do: `A -> B: Message`"
        cursor.report("E020", f"protocol `{name.value}` is empty", name.span, help_=help_)
    if cursor.reports > reports_before:
        return None
    names = tuple(token.value for token in listed) if listed is not None else None
    spans = tuple(token.span for token in listed or ())
    return GlobalProtocol(name.value, body, names, Span(start.start, end), name.span, spans)


class _GlobalParser:
    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor

    # -- words and signs -----------------------------------------------------------------------------------------------

    def is_word(self, word: str, ahead: int = 0) -> bool:
        token = self.cursor.ahead(ahead)
        return token.kind == "word" and token.value == word

    def is_sign(self, sign: str, ahead: int = 0) -> bool:
        token = self.cursor.ahead(ahead)
        return token.kind == "sign" and token.value == sign

    def sign(self, sign: str) -> bool:
        if self.is_sign(sign):
            self.cursor.at += 1
            return True
        return False

    def is_arrow(self, ahead: int) -> bool:
        return self.is_sign("-", ahead) and self.is_sign(">", ahead + 1)

    def fail(self, message: str, help_: str = "") -> _Unreadable:
        token = self.cursor.token
        self.cursor.report("E013", f"{message}; found {self.cursor.shown(token)}", token.span, help_=help_)
        return _Unreadable()

    def name(self, what: str, help_: str = "") -> Token:
        token = self.cursor.token
        if token.kind != "word" or not self.cursor.good_name(token):
            raise self.fail(f"expected {what}", help_)
        self.cursor.at += 1
        return token

    def since(self, start: int) -> Span:
        return Span(start, self.cursor.tokens[self.cursor.at - 1].end)

    # -- blocks --------------------------------------------------------------------------------------------------------

    def roles(self) -> list[Token] | None:
        """`roles A, B`, at the beginning of a protocol; a role may have that name too."""
        if not self.is_word("roles") or self.is_arrow(1):
            return None
        self.cursor.at += 1
        found: list[Token] = []
        try:
            while True:
                found.append(self.name("the name of a role", "write `roles A, B, C`"))
                if not self.sign(","):
                    break
        except _Unreadable:
            self.resynchronise()
        self.sign(";")
        return found

    def block(self, depth: int) -> tuple[Block, Span]:
        opening = self.cursor.token
        if not self.sign("{"):
            raise self.fail("expected `{`")
        if depth > DEEPEST:
            help_ = "give the inner steps a protocol of their own, and write `do`"
            self.cursor.report("E014", f"blocks are nested deeper than {DEEPEST}", opening.span, help_=help_)
            self.cursor.at = self.cursor.boundary
            raise _Unreadable
        steps = self.block_behind_brace(opening.span, depth)
        return steps, self.since(opening.start)

    def block_behind_brace(self, opening: Span, depth: int) -> Block:
        """The steps of a block up to its closing brace, and past it."""
        steps: list[GlobalStep] = []
        while not self.is_sign("}"):
            if self.cursor.at_boundary() or len(self.cursor.problems) >= self.cursor.limits.diagnostics:
                sign = Span(opening.end - 1, opening.end)
                self.cursor.report("E016", "`{` is not closed", sign, label="opened here", help_="add `}`")
                self.cursor.at = self.cursor.boundary
                return tuple(steps)
            before = self.cursor.at
            try:
                steps.append(self.step(depth))
                self.nothing_behind(steps[-1])
                while self.sign(";"):
                    pass
            except _Unreadable:
                self.cursor.at += self.cursor.at == before
                self.resynchronise()
        self.cursor.at += 1
        return tuple(steps)

    def resynchronise(self) -> None:
        """Skip to where a step begins or a block ends."""
        depth = 0
        while not self.cursor.at_boundary():
            if self.is_sign("}"):
                if depth == 0:
                    return
                depth -= 1
            elif self.is_sign("{"):
                depth += 1
            elif depth == 0 and self.cursor.token.kind == "word" and self.starts_step():
                return
            self.cursor.at += 1

    def starts_step(self) -> bool:
        if self.is_arrow(1):
            return True
        word = self.cursor.token.value
        behind_word = self.cursor.ahead(1).kind == "word"
        return (word in {"rec", "continue", "do", "choice"} and behind_word) or (word == "par" and self.is_sign("{", 1))

    # -- steps ---------------------------------------------------------------------------------------------------------

    def step(self, depth: int) -> GlobalStep:
        token = self.cursor.token
        if token.kind != "word":
            raise self.fail("expected a step", _A_STEP_IS)
        if self.is_arrow(1):
            return self.exchange()
        if token.value == "rec":
            return self.loop(depth)
        if token.value == "continue":
            self.cursor.at += 1
            name = self.name("the name of a loop", "write `continue X` inside `rec X {…}`")
            return Continue(name.value, self.since(token.start))
        if token.value == "choice":
            return self.choice(depth)
        if token.value == "par":
            return self.parallel(depth)
        if token.value == "do":
            return self.call()
        if self.is_sign("!", 1) or self.is_sign("?", 1):
            raise self.fail(
                "expected a step between two roles", "write `A -> B: Message`; `!` and `?` are for one party"
            )
        raise self.fail("expected a step", _A_STEP_IS)

    def exchange(self) -> Exchange:
        sender = self.name("the role that sends", _A_STEP_IS)
        self.cursor.at += 2
        receiver = self.name("the role that receives", "write `A -> B: Message`")
        if not self.sign(":"):
            raise self.fail("expected `:` and a message", "write `A -> B: Message`")
        reports_before = self.cursor.reports
        label = self.cursor.label("a message")
        if label is None or self.cursor.reports > reports_before:
            raise _Unreadable
        return Exchange(sender.value, receiver.value, label[0], Span(sender.start, label[1]), receiver.span)

    def nothing_behind(self, step: GlobalStep) -> None:
        """Report what a message of a local protocol may have behind its label, and one between roles may not."""
        if not isinstance(step, Exchange):
            return
        token = self.cursor.token
        what = ""
        if self.is_sign("("):
            what = "clauses"
        elif self.is_word("by") and not self.is_arrow(1):
            what = "a gate"
        elif self.is_word("within") and not self.is_arrow(1):
            what = "a deadline"
        if what:
            message = f"{what} inside protocols between roles: not yet supported here"
            self.cursor.report("E035", message, token.span, help_=_NOT_YET)
            raise _Unreadable

    def loop(self, depth: int) -> GlobalLoop:
        start = self.cursor.token.start
        self.cursor.at += 1
        name = self.name("a name for the loop", "a loop is written `rec Name {…}`")
        body, _ = self.block(depth + 1)
        return GlobalLoop(name.value, body, self.since(start), name.span)

    def choice(self, depth: int) -> GlobalChoice:
        start = self.cursor.token.start
        self.cursor.at += 1
        if not self.is_word("at"):
            raise self.fail("expected `at` and the role that decides", "write `choice at A {…} or {…}`")
        self.cursor.at += 1
        decider = self.name("the role that decides", "write `choice at A {…} or {…}`")
        first, span = self.block(depth + 1)
        branches, spans = [first], [span]
        crash: tuple[Block, Span] | None = None
        while self.is_word("or") and not self.is_arrow(1):
            self.cursor.at += 1
            if not (self.is_word("crash") and not self.is_sign("{")):
                block, span = self.block(depth + 1)
                branches.append(block)
                spans.append(span)
                continue
            word = self.cursor.token
            self.cursor.at += 1
            crashed = self.name("the role that crashes", f"write `or crash {decider.value} {{…}}`")
            block, span = self.block(depth + 1)
            if crashed.value != decider.value:
                message = f"`{crashed.value}` does not decide here"
                help_ = f"only who decides can fail to: `or crash {decider.value} {{…}}`"
                self.cursor.report("E033", message, crashed.span, help_=help_)
            elif crash is not None:
                help_ = "a choice has one branch for the crash of its decider"
                self.cursor.report("E032", "a second branch for the same crash", word.span, help_=help_)
            crash = block, span
        if crash is not None:
            spans.append(crash[1])
        return GlobalChoice(
            decider.value,
            tuple(branches),
            None if crash is None else crash[0],
            self.since(start),
            decider.span,
            tuple(spans),
        )

    def parallel(self, depth: int) -> Parallel:
        start = self.cursor.token.start
        self.cursor.at += 1
        parts, spans = [], []
        while True:
            block, span = self.block(depth + 1)
            parts.append(block)
            spans.append(span)
            if not self.is_word("and") or self.is_arrow(1):
                break
            self.cursor.at += 1
        if len(parts) < 2:
            raise self.fail("expected `and` and another part", "write `par {…} and {…}`")
        return Parallel(tuple(parts), self.since(start), tuple(spans))

    def call(self) -> Call:
        start = self.cursor.token.start
        self.cursor.at += 1
        help_ = "write `do Name(Role = Role, …)`"
        protocol = self.name("the name of a protocol", help_)
        if not self.sign("("):
            raise self.fail("expected `(` and who plays which role", help_)
        arguments: list[tuple[str, str]] = []
        spans: list[Span] = []
        while not self.sign(")"):
            formal = self.name(f"a role of `{protocol.value}`", help_)
            if not self.sign("="):
                raise self.fail("expected `=`", help_)
            actual = self.name("a role of this protocol", help_)
            arguments.append((formal.value, actual.value))
            spans.append(Span(formal.start, actual.end))
            if not self.sign(",") and not self.is_sign(")"):
                raise self.fail("expected `,` or `)`", help_)
        return Call(protocol.value, tuple(arguments), self.since(start), protocol.span, tuple(spans))
