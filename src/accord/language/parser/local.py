"""Local protocols: one party's view.

The parser is a loop over tokens with a stack of open brackets and loops (`_Frame`), so nesting costs memory and never
the Python stack. It is always in one of three situations:

- STEP: a step must come;
- AFTER: a step has just been read, so `.`, `|`, `,` or a closing bracket follows, or `within`;
- BRANCH: a branch of a choice must come, or its closing brace.

On an error it says what it expected, skips to the next sign at which it knows where it is, and goes on, so that one
run finds many errors.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from accord.diagnostics import Span
from accord.diagnostics.visible import clip
from accord.language.labels import print_label
from accord.language.lexer import Token
from accord.language.parser.data import read_clauses, read_gate
from accord.language.parser.slices import misplaced_slice
from accord.language.parser.time import read_duration
from accord.language.tree import Action, Choice, Deadline, End, Interleaving, Protocol, Recursion, Variable, sequence

if TYPE_CHECKING:
    from accord.language.parser.cursor import Cursor
    from accord.language.tree import Direction

__all__ = ["read_protocol"]


class _Situation(Enum):
    STEP = auto()
    AFTER = auto()
    BRANCH = auto()


class _Frame:
    """Something opened and not yet closed: the declaration itself, a group, a choice, a loop or a deadline."""

    __slots__ = (
        "direction",
        "finished",
        "kind",
        "milliseconds",
        "opening",
        "partner",
        "reports_before",
        "steps",
        "timed",
        "variable",
    )

    def __init__(self, kind: str, opening: Token, reports_before: int) -> None:
        self.reports_before = reports_before
        self.kind = kind  # "declaration", "(", "{", "rec" or "else"
        self.opening = opening
        self.steps: list[Protocol] = []  # of the part or branch being read
        self.finished: list[Protocol] = []  # parts or branches read
        self.direction: Direction | None = None  # of a choice `!{…}`
        self.partner: str | None = None
        self.variable: Token | None = None
        self.timed: Protocol | None = None  # what stands in front of `within`
        self.milliseconds = 0


_HELP_FOR_STRAY = {
    "|": "an interleaving stands in parentheses: `(!a | !b)`",
    ",": "the branches of a choice stand in braces: `{!a, !b}`",
    ";": "steps of a local protocol are separated by `.`",
    "-": "steps of a local protocol are separated by `.`; `A -> B: Message` stands in `protocol Name { … }`",
}
_A_STEP_IS = "a step is `!label`, `?label`, a choice `{…}`, a group `(…)`, `rec X.`, `end` or a recursion variable"
_BEHIND_ELSE = "write `else end`, `else !label`, a recursion variable, a choice, or several steps in parentheses"


def read_protocol(cursor: Cursor) -> Protocol | None:
    """The protocol between the cursor and the boundary, or `None` if it has errors."""
    return _LocalParser(cursor).read()


class _LocalParser:
    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.reports_before = cursor.reports
        self.frames = [_Frame("declaration", cursor.token, cursor.reports)]
        self.timeable = False  # whether what has just been read was a label or a closing brace

    def read(self) -> Protocol | None:
        situation = _Situation.STEP
        while not self.cursor.at_boundary():
            too_deep = len(self.frames) - 1 > self.cursor.limits.nesting
            if too_deep or len(self.cursor.problems) >= self.cursor.limits.diagnostics:
                self.give_up()
                return None
            if situation is _Situation.STEP:
                situation = self.step()
            elif situation is _Situation.AFTER:
                situation = self.after()
            else:
                situation = self.branch()
        self.finish(situation)
        return None if self.broken else sequence(self.frames[0].steps)

    def open(self, kind: str, opening: Token) -> _Frame:
        frame = _Frame(kind, opening, self.cursor.reports)
        self.frames.append(frame)
        return frame

    @property
    def broken(self) -> bool:
        """Whether there was an error; the tree is then thrown away and need not be well-formed."""
        return self.cursor.reports > self.reports_before

    # -- the three situations ----------------------------------------------------------------------------------------

    def step(self) -> _Situation:
        token = self.cursor.token
        frame = self.frames[-1]
        if token.kind == "sign":
            if token.value in "!?":
                return self.action_or_choice(None, token.start)
            if token.value == "{":
                self.cursor.at += 1
                self.open("{", token)
                return _Situation.BRANCH
            if token.value == "(":
                self.cursor.at += 1
                self.open("(", token)
                return _Situation.STEP
            if token.value == ")" and frame.kind == "(" and not frame.steps and not frame.finished:
                self.cursor.report(
                    "E020",
                    "the group is empty",
                    Span(frame.opening.start, token.end),
                    help_="write `end` for a part without messages",
                )
                self.frames.pop()
                self.cursor.at += 1
                return _Situation.AFTER
            if frame.kind == "else":
                self.nothing_behind_else(token)
                return self.resynchronise()
        elif token.kind == "word":
            return self.word_step(token)
        else:
            self.cursor.report(
                "E013",
                f"expected a step; found {self.cursor.shown(token)}",
                token.span,
                help_=f"a message says its direction: `!{print_label(token.value)}` or `?{print_label(token.value)}`",
            )
            self.cursor.at += 1
            return self.resynchronise()
        self.cursor.report(
            "E013",
            f"expected a step; found {self.cursor.shown(token)}",
            token.span,
            help_=_A_STEP_IS,
        )
        return self.resynchronise()

    def word_step(self, token: Token) -> _Situation:
        """`rec X.`, `end`, `Role!…`, or a recursion variable."""
        following = self.cursor.ahead(1)
        if token.value == "rec":
            return self.loop(token)
        if token.value == "each" and not self.cursor.is_joined():
            return _Situation.STEP if misplaced_slice(self.cursor) else self.resynchronise()
        if token.value == "end" and not self.cursor.is_joined():
            self.cursor.at += 1
            self.frames[-1].steps.append(End(token.span))
            return _Situation.AFTER
        if following.kind == "sign" and following.value in "!?" and self.cursor.good_name(token):
            self.cursor.at += 1
            return self.action_or_choice(token.value, token.start)
        joined = following.kind == "sign" and following.value in "-:" and following.start == token.end
        if joined or not self.cursor.good_name(token):
            label, end = self.cursor.joined_label()
            quoted = print_label(label)
            self.cursor.report(
                "E013",
                f"expected a step; found `{clip(label)}`",
                Span(token.start, end),
                help_=f"a message says its direction: `!{quoted}` or `?{quoted}`",
            )
            return self.resynchronise()
        self.cursor.at += 1
        self.frames[-1].steps.append(Variable(token.value, token.span))
        return _Situation.AFTER

    def loop(self, rec: Token) -> _Situation:
        if self.frames[-1].kind == "else":
            help_ = "write `else (rec Name. …)`"
            self.cursor.report("E029", "a loop behind `else` stands in parentheses", rec.span, help_=help_)
        self.cursor.at += 1
        name = self.cursor.token
        if name.kind != "word" or not self.cursor.good_name(name):
            self.cursor.report(
                "E013",
                f"expected a name for the loop; found {self.cursor.shown(name)}",
                name.span,
                help_="a loop is written `rec Name. …`",
            )
            return self.resynchronise()
        self.cursor.at += 1
        dot = self.cursor.token
        if dot.kind == "sign" and dot.value == ".":
            self.cursor.at += 1
        else:
            self.cursor.report(
                "E013", f"expected `.` after `rec {name.value}`; found {self.cursor.shown(dot)}", dot.span
            )
        self.open("rec", rec).variable = name
        return _Situation.STEP

    def action_or_choice(self, partner: str | None, start: int) -> _Situation:
        """`!label` or `!{…}`; the sign stands at the cursor."""
        sign = self.cursor.token
        direction: Direction = "!" if sign.value == "!" else "?"
        self.cursor.at += 1
        following = self.cursor.token
        if following.kind == "sign" and following.value == "{":
            frame = self.open("{", Token("sign", "{", start, following.end))
            frame.direction, frame.partner = direction, partner
            self.cursor.at += 1
            return _Situation.BRANCH
        label = self.cursor.label(f"a label after `{sign.value}`")
        if label is None:
            return self.resynchronise()
        return self.action(direction, label[0], partner, start)

    def action(self, direction: Direction, label: str, partner: str | None, start: int) -> _Situation:
        """The rest of an action, behind its label: clauses and gate."""
        clauses = read_clauses(self.cursor)
        gated = read_gate(self.cursor) if clauses is not None else None
        if clauses is None or gated is None:
            return self.resynchronise()
        span = Span(start, self.cursor.tokens[self.cursor.at - 1].end)
        if gated and self.cursor.token.kind == "sign" and self.cursor.token.value == "(":
            message = "expected the clauses before `by human`"
            self.cursor.report("E013", message, self.cursor.token.span, help_="write `?label(clauses) by human`")
            return self.resynchronise()
        self.frames[-1].steps.append(Action(direction, label, partner, span, clauses, gated))
        self.timeable = True
        return _Situation.AFTER

    def branch(self) -> _Situation:
        """A branch of the innermost choice begins here, or the choice ends."""
        frame = self.frames[-1]
        token = self.cursor.token
        if token.kind == "sign" and token.value == "}":
            return self.close_choice(frame, token)
        if token.kind == "word" and token.value == "end" and not self.cursor.is_joined():
            self.cursor.at += 1
            frame.steps.append(End(token.span))
            return _Situation.AFTER
        if frame.direction is not None:
            return self.directed_branch(frame, token, frame.direction)
        start, partner = token.start, None
        if token.kind == "word" and self.cursor.ahead(1).value in {"!", "?"} and self.cursor.good_name(token):
            partner = token.value
            self.cursor.at += 1
            token = self.cursor.token
        if token.kind == "sign" and token.value in "!?":
            direction: Direction = "!" if token.value == "!" else "?"
            self.cursor.at += 1
            label = self.cursor.label(f"a label after `{token.value}`")
            if label is None:
                return self.resynchronise()
            return self.action(direction, label[0], partner, start)
        help_ = "a branch begins with its message, or is `end`"
        if token.kind in {"word", "string"}:
            help_ = "write `!{…}` or `?{…}`, or give each branch its direction: `{!a, ?b}`"
        self.cursor.report(
            "E013",
            f"expected a branch: `!label`, `?label` or `end`; found {self.cursor.shown(token)}",
            token.span,
            help_=help_,
        )
        return self.resynchronise()

    def directed_branch(self, frame: _Frame, token: Token, direction: Direction) -> _Situation:
        if token.kind == "sign":
            help_ = "a branch begins with its label, or is `end`"
            if token.value in "!?":
                help_ = "the direction stands once, in front of the brace; write `{!a, ?b}` to mix directions"
            self.cursor.report("E013", f"expected a label; found {self.cursor.shown(token)}", token.span, help_=help_)
            return self.resynchronise()
        label = self.cursor.label("a label")
        if label is None:
            return self.resynchronise()
        return self.action(direction, label[0], frame.partner, token.start)

    def after(self) -> _Situation:
        """A step has been read."""
        token = self.cursor.token
        timeable, self.timeable = self.timeable, False
        if token.kind == "word" and token.value == "within":
            return self.within(token, timeable=timeable)
        self.close_deadlines()
        if token.kind == "word" and token.value == "else":
            help_ = "write `within D else …`"
            self.cursor.report("E029", "`else` belongs to a deadline", token.span, help_=help_)
            self.cursor.at += 1
            return _Situation.STEP
        if token.kind == "sign":
            if token.value == ".":
                self.cursor.at += 1
                return _Situation.STEP
            if token.value in ",})|":
                return self.separator(token)
        starts_step = token.kind != "sign" or token.value in "!?{("
        if starts_step:
            self.cursor.report(
                "E013",
                f"expected `.` before the next step; found {self.cursor.shown(token)}",
                token.span,
                help_="steps are separated by `.`",
            )
            return _Situation.STEP
        message = f"expected {self.follow()}; found {self.cursor.shown(token)}"
        self.cursor.report("E013", message, token.span, help_=_HELP_FOR_STRAY.get(token.value, ""))
        self.cursor.at += 1
        return self.resynchronise()

    def within(self, token: Token, *, timeable: bool) -> _Situation:
        """`within D else`, behind what is timed. What follows is read as a step and closed by `close_deadlines`."""
        frame = self.frames[-1]
        if not timeable:
            message = "a deadline stands behind a label or behind the closing brace of a choice"
            self.cursor.report("E029", message, token.span, help_="write `?label within D else …`")
        elif frame.kind == "{" and len(frame.steps) == 1:
            message = "the first message of a branch has no deadline of its own"
            help_ = "put it behind the closing brace, where it covers the whole choice: `{…} within D else …`"
            self.cursor.report("E029", message, token.span, help_=help_)
        self.cursor.at += 1
        milliseconds = read_duration(self.cursor)
        following = self.cursor.token
        if following.kind != "word" or following.value != "else":
            gate = following.kind == "word" and following.value == "by"
            help_ = "the order is `?label(clauses) by human within D else …`" if gate else _BEHIND_ELSE
            message = f"expected `else` and what follows if it is late; found {self.cursor.shown(following)}"
            self.cursor.report("E029", message, following.span, help_=help_)
            return self.resynchronise()
        self.cursor.at += 1
        timed = frame.steps.pop() if frame.steps else End(token.span)
        opened = self.open("else", token)
        opened.timed, opened.milliseconds = timed, milliseconds
        return _Situation.STEP

    def nothing_behind_else(self, token: Token) -> None:
        message = f"expected what follows if it is late; found {self.cursor.shown(token)}"
        self.cursor.report("E029", message, token.span, help_=_BEHIND_ELSE)

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
            self.cursor.report(
                "E013",
                f"expected {self.follow()}; found `{token.value}`",
                token.span,
                label="nothing to close" if token.value in "})" else "",
                help_=_HELP_FOR_STRAY.get(token.value, ""),
            )
            self.cursor.at += 1
            return _Situation.STEP if token.value in ",|" and not self.cursor.at_boundary() else _Situation.AFTER
        if token.value == "}":
            return self.close_choice(frame, token)
        self.cursor.at += 1
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

    def finish(self, situation: _Situation) -> None:
        """The text or the next declaration ends this one: whatever is still open was never closed."""
        token = self.cursor.token
        if situation is _Situation.STEP and self.frames[-1].kind == "else":
            self.nothing_behind_else(token)
        elif situation is _Situation.STEP:
            self.cursor.report(
                "E013",
                f"expected a step; found {self.cursor.shown(token)}",
                token.span,
                help_=_A_STEP_IS,
            )
        self.close_loops()
        for frame in self.frames[1 : self.cursor.limits.diagnostics]:
            if frame.kind in "({":
                self.not_closed(frame)

    def give_up(self) -> None:
        if len(self.frames) - 1 > self.cursor.limits.nesting:
            self.cursor.report(
                "E014",
                f"brackets and loops are nested deeper than {self.cursor.limits.nesting}",
                self.cursor.token.span,
                help_="pass `Limits(nesting=…)` to allow more",
            )
        self.cursor.at = self.cursor.boundary

    def finish_part(self, frame: _Frame) -> None:
        if frame.steps:
            frame.finished.append(sequence(frame.steps))
            frame.steps = []

    def close_choice(self, frame: _Frame, token: Token) -> _Situation:
        self.cursor.at += 1
        self.finish_part(frame)
        self.frames.pop()
        span = Span(frame.opening.start, token.end)
        if frame.finished and not self.broken:
            self.frames[-1].steps.append(Choice(tuple(frame.finished), span))
            self.timeable = True
            return _Situation.AFTER
        self.frames[-1].steps.append(End(span))
        self.timeable = True
        if not frame.finished and self.cursor.reports == frame.reports_before:
            self.cursor.report("E022", "the choice has no branches", span, help_="name at least one: `{label}`")
        return _Situation.AFTER

    def close_deadlines(self) -> None:
        """What stands behind `else` is one step, and it has been read."""
        while self.frames[-1].kind == "else":
            frame = self.frames.pop()
            timed, late = frame.timed, sequence(frame.steps or [End(frame.opening.span)])
            step: Protocol = late
            if isinstance(timed, Action | Choice) and not self.broken:
                step = Deadline(timed, frame.milliseconds, late, Span(timed.span.start, late.span.end))
            self.frames[-1].steps.append(step)

    def close_loops(self) -> None:
        self.close_deadlines()
        while self.frames[-1].kind == "rec":
            frame = self.frames.pop()
            assert frame.variable is not None  # noqa: S101 - set where the frame is made
            if frame.steps:
                body = sequence(frame.steps)
                span = Span(frame.opening.start, body.span.end)
                self.frames[-1].steps.append(Recursion(frame.variable.value, body, span, frame.variable.span))
            self.close_deadlines()

    def resynchronise(self) -> _Situation:
        """Skip to a sign at which the parser knows where it is, past whole brackets."""
        depth = 0
        while not self.cursor.at_boundary():
            token = self.cursor.token
            if token.kind == "sign":
                if depth == 0 and token.value in ".,|)}":
                    break
                depth += (token.value in "({") - (token.value in ")}")
            self.cursor.at += 1
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
        self.cursor.report(
            "E016",
            f"`{frame.kind}` is not closed",
            sign,
            label="opened here",
            help_=f"add `{closing}`",
        )
