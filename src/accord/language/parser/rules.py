"""Rules: `rule "name" { … }`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from accord.diagnostics import Span
from accord.language.clauses import Guard, Register
from accord.language.parser.data import read_clauses, read_gate
from accord.language.parser.slices import read_slice
from accord.language.parser.time import read_duration
from accord.language.rules import (
    After,
    AfterForbid,
    AtMost,
    Before,
    Combination,
    Condition,
    Count,
    ForbidSequence,
    Happened,
    Not,
    Pattern,
    Rule,
    RuleBody,
    Within,
)

if TYPE_CHECKING:
    from accord.language.lexer import Token
    from accord.language.parser.cursor import Cursor
    from accord.language.rules import CombinationKind
    from accord.language.tree import Direction

__all__ = ["read_rule"]

_FORMS = (
    "a rule says `before … require …`, `after … require …`, `within D after … require …`, `after … forbid …`, "
    "`at most N …` or `forbid … then …`"
)
_CONDITION_WORDS = {"all": "all", "any": "any"}

# Conditions are nested no deeper than this; nobody reads more.
_DEEPEST_CONDITION = 50
_LARGEST_COUNT = 1_000_000


class _Unreadable(Exception):  # noqa: N818 - never leaves this module: the problem has been reported
    pass


def read_rule(cursor: Cursor) -> Rule | None:
    """The rule between the cursor, where a rule begins, and the boundary; `None` if it has errors."""
    start, name, brace = cursor.token, cursor.ahead(1), cursor.ahead(2)
    reports_before = cursor.reports
    if name.kind != "string":
        cursor.report("E013", "the name of a rule stands in quotes", name.span, help_=f'write `rule "{name.value}" {{`')
        return None
    if name.start in cursor.places:
        return None  # the name could not be read, which has been said
    if brace.kind != "sign" or brace.value != "{":
        cursor.report("E013", f"expected `{{` after the name of the rule; found {cursor.shown(brace)}", brace.span)
        return None
    cursor.at += 3
    body_start = cursor.token.start
    try:
        each = read_slice(cursor)
        body = _RuleParser(cursor).body()
        closing = cursor.token
        if closing.kind != "sign" or closing.value != "}":
            message = f"expected `}}` at the end of the rule; found {cursor.shown(closing)}"
            help_ = "conditions are joined by `and` or `or`; another sentence is another rule"
            cursor.report("E013", message, closing.span, help_=help_)
            return None
        cursor.at += 1
        if not cursor.at_boundary():
            token = cursor.token
            cursor.report("E013", f"expected the next declaration; found {cursor.shown(token)}", token.span)
    except _Unreadable:
        return None
    if cursor.reports > reports_before:
        return None
    return Rule(name.value, body, Span(start.start, closing.end), name.span, body_start, each)


class _RuleParser:
    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor

    def fail(self, message: str, token: Token, help_: str = "") -> _Unreadable:
        self.cursor.report("E013", f"{message}; found {self.cursor.shown(token)}", token.span, help_=help_)
        return _Unreadable()

    def word(self, *words: str) -> str | None:
        """Read past one of these words if it stands here."""
        token = self.cursor.token
        if token.kind == "word" and token.value in words and not self.cursor.is_joined():
            self.cursor.at += 1
            return token.value
        return None

    def sign(self, sign: str) -> bool:
        token = self.cursor.token
        if token.kind == "sign" and token.value == sign:
            self.cursor.at += 1
            return True
        return False

    def body(self) -> RuleBody:
        token = self.cursor.token
        form = self.word("before", "after", "at", "forbid", "within")
        if form == "before":
            each = self.word("each") is not None
            trigger = self.pattern()
            self.required("require")
            return Before(trigger, self.condition(0), each)
        if form == "after":
            each = self.word("each") is not None
            trigger = self.pattern()
            if self.required("require", "forbid") == "require":
                return After(trigger, self.condition(0), each)
            if each:
                raise self.fail("`each` goes with `require`", token, "write `after … forbid …`: once is enough")
            return AfterForbid(trigger, self.pattern())
        if form == "at":
            self.required("most")
            return AtMost(self.number(), self.pattern())
        if form == "forbid":
            return self.sequence()
        if form == "within":
            return self.in_time()
        raise self.fail("expected a rule", token, _FORMS)

    def in_time(self) -> Within:
        milliseconds = read_duration(self.cursor)
        self.required("after")
        each = self.cursor.token
        if self.word("each"):
            help_ = "leave `each` out: the time runs from the first one that is open"
            raise self.fail("`within` has no `each`", each, help_)
        trigger = self.pattern()
        self.required("require")
        return Within(milliseconds, trigger, self.condition(0))

    def required(self, *words: str) -> str:
        token = self.cursor.token
        found = self.word(*words)
        if found is None and token.kind == "sign" and token.value == ":":
            message, help_ = "a slice stands first in its rule", "write `{ each field: before … require … }`"
            self.cursor.report("E047", message, token.span, help_=help_)
            raise _Unreadable
        if found is None:
            raise self.fail(f"expected {' or '.join(f'`{word}`' for word in words)}", token, _FORMS)
        return found

    def sequence(self) -> ForbidSequence:
        patterns, adjacent = [self.pattern()], []
        while True:
            if self.word("then"):
                adjacent.append(True)
            elif self.ellipsis():
                adjacent.append(False)
            else:
                break
            patterns.append(self.pattern())
        if not adjacent:
            help_ = "a single message is forbidden by `at most 0 …`"
            raise self.fail("expected `then` or `...`", self.cursor.token, help_)
        return ForbidSequence(tuple(patterns), tuple(adjacent))

    def ellipsis(self) -> bool:
        dots = [self.cursor.ahead(count) for count in range(3)]
        if any(dot.kind != "sign" or dot.value != "." for dot in dots) or dots[0].start + 3 != dots[2].end:
            return False
        self.cursor.at += 3
        return True

    def number(self) -> int:
        token = self.cursor.token
        if token.kind != "word" or not token.value.isdecimal() or not token.value.isascii():
            raise self.fail("expected a number", token)
        if len(token.value) > 7 or int(token.value) > _LARGEST_COUNT:
            raise self.fail(f"expected a number up to {_LARGEST_COUNT}", token)
        self.cursor.at += 1
        return int(token.value)

    def pattern(self) -> Pattern:
        token, reports_before = self.cursor.token, self.cursor.reports
        direction: Direction | None = None
        if token.kind == "sign" and token.value in "!?":
            direction = cast("Direction", token.value)
            self.cursor.at += 1
        label = self.cursor.label("a label")
        if self.cursor.reports > reports_before:
            raise _Unreadable
        clauses = read_clauses(self.cursor) if label is not None else None
        gated = read_gate(self.cursor) if clauses is not None else None
        if label is None or clauses is None or gated is None:
            raise _Unreadable
        span = Span(token.start, self.cursor.tokens[self.cursor.at - 1].end)
        guards = tuple(clause for clause in clauses if isinstance(clause, Guard))
        for clause in clauses:
            register = not isinstance(clause, Guard) or isinstance(clause.operand, Register)
            if register:
                message = "rules have no registers"
                help_ = "compare with a literal; what a protocol has bound is read in the protocol"
                self.cursor.report("E053", message, clause.span, help_=help_)
        return Pattern(label[0], direction, guards, gated, span)

    # -- conditions: `or` of `and` of single ones ----------------------------------------------------------------------

    def condition(self, depth: int) -> Condition:
        return self.joined("or", depth)

    def joined(self, kind: CombinationKind, depth: int) -> Condition:
        start = self.cursor.token.start
        parts = [self.joined("and", depth) if kind == "or" else self.single(depth)]
        while self.word(kind):
            parts.append(self.joined("and", depth) if kind == "or" else self.single(depth))
        if len(parts) == 1:
            return parts[0]
        return Combination(kind, tuple(parts), span=self.since(start))

    def since(self, start: int) -> Span:
        return Span(start, self.cursor.tokens[self.cursor.at - 1].end)

    def single(self, depth: int) -> Condition:
        token, following = self.cursor.token, self.cursor.ahead(1)
        if depth > _DEEPEST_CONDITION:
            raise self.fail(f"conditions are nested deeper than {_DEEPEST_CONDITION}", token)
        if token.kind == "sign" and token.value == "(":
            self.cursor.at += 1
            inside = self.condition(depth + 1)
            if not self.sign(")"):
                raise self.fail("expected `)`", self.cursor.token)
            return inside
        if token.kind != "word":
            return Happened(self.pattern())
        if token.value == "not" and self.starts_condition(following):
            self.cursor.at += 1
            return Not(self.single(depth + 1))
        if following.kind == "word" and following.value == "of":
            return self.several(token, depth)
        if token.value == "at" and following.kind == "word" and following.value in {"least", "most"}:
            self.cursor.at += 2
            return Count("at least" if following.value == "least" else "at most", self.number(), self.pattern())
        return Happened(self.pattern())

    def starts_condition(self, token: Token) -> bool:
        if token.kind == "word":
            return token.value not in {"and", "or"}
        return token.kind == "string" or (token.kind == "sign" and token.value in "!?(")

    def several(self, token: Token, depth: int) -> Condition:
        """`all of […]`, `any of […]`, `N of […]`."""
        kind = cast("CombinationKind", _CONDITION_WORDS.get(token.value, "some"))
        if kind == "some":
            number = self.number()
        else:
            number = 0
            self.cursor.at += 1
        self.cursor.at += 1
        if not self.sign("["):
            raise self.fail("expected `[`", self.cursor.token)
        conditions: list[Condition] = []
        while not self.sign("]"):
            conditions.append(self.condition(depth + 1))
            if not self.sign(","):
                if not self.sign("]"):
                    raise self.fail("expected `,` or `]`", self.cursor.token)
                break
        if not conditions:
            raise self.fail("expected at least one condition", token)
        return Combination(kind, tuple(conditions), number, self.since(token.start))
