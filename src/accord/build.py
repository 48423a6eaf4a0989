"""Contracts in Python code, for people who prefer it to text. It makes the same tree.

Example:
    >>> from accord import build as b
    >>> document = b.contract(
    ...     b.protocol(
    ...         "Payment",
    ...         b.receive("quote", b.field("total").bind("t")),
    ...         b.choice(
    ...             [b.send("pay", b.field("amount") <= b.register("t"), b.field("currency") == "EUR")],
    ...             [b.send("decline"), b.end],
    ...         ),
    ...         b.receive("receipt"),
    ...     ),
    ...     b.rule("one approval per payment", b.before_each("pay", b.message("Approval", by_human=True))),
    ... )
    >>> print(document, end="")
    protocol Payment =
        ?quote(total as t).!{pay(amount <= t, currency == "EUR"), decline.end}.?receipt
    <BLANKLINE>
    rule "one approval per payment" { before each pay require Approval by human }

`accord.compile(document)` checks and compiles it like any other contract.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.build_roles import again, all_at_once, between, choice_at, do, enum, exchange, record, repeat
from accord.errors import UsageError
from accord.language.clauses import Bind, Collect, Guard, Register, Value
from accord.language.durations import DurationError, parse_duration
from accord.language.events import EventLine, Events, Named, Says
from accord.language.labels import is_name, normalise
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
    Within,
)
from accord.language.tools import FAILURES, ToolLine, Tools
from accord.language.tree import (
    RECEIVE,
    SEND,
    Action,
    Choice,
    Deadline,
    Declaration,
    Document,
    End,
    Interleaving,
    Item,
    Protocol,
    Recursion,
    Variable,
    sequence,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accord.language.clauses import Clause, Operator, Path, Scalar
    from accord.language.events import NamedKind, Origin, Speaker
    from accord.language.rules import RuleBody
    from accord.language.tools import Failure
    from accord.language.tree import Direction, Item

__all__ = [
    "after",
    "after_each",
    "after_forbid",
    "again",
    "all_at_once",
    "all_of",
    "any_of",
    "as_named",
    "at_least",
    "at_most",
    "before",
    "before_each",
    "between",
    "choice",
    "choice_at",
    "contract",
    "deadline",
    "do",
    "end",
    "enum",
    "events",
    "exchange",
    "fails",
    "field",
    "forbid_adjacent",
    "forbid_ever_after",
    "ignore",
    "jump",
    "limit",
    "loop",
    "message",
    "named",
    "not_",
    "otherwise",
    "protocol",
    "receive",
    "record",
    "register",
    "repeat",
    "rule",
    "says",
    "send",
    "side_by_side",
    "some_of",
    "tools",
    "when",
    "within",
]

Literal_ = str | int | float | bool | list["Literal_"] | tuple["Literal_", ...] | None


def contract(*items: Item) -> Document:
    """Everything together, ready for `accord.compile`."""
    return Document(tuple(items))


def protocol(
    name: str | None,
    *steps: Protocol,
    each: str | field | None = None,
    open: bool = False,  # noqa: A002 - the word of the language
) -> Declaration:
    """`protocol Name = …`; a bare protocol has the name `None`. With `each` every value of that field has its own.

    One that is `open` lets pass what it does not name.
    """
    named = None if name is None else _name(name)
    return Declaration(named, sequence(steps), each=_slice(each), is_open=open)


def tools(*lines: ToolLine) -> Tools:
    """`tools { … }`: what it means if calls fail."""
    if not lines:
        raise UsageError("tools have at least one line")
    return Tools(tuple(lines))


def fails(means: Failure, *names: str) -> ToolLine:
    """`NAME fails undone`, for any of the names; without names `otherwise fails …`."""
    if means not in FAILURES:
        raise UsageError(f"a failed call is `undone`, `done` or `unknown`, got {means!r}")
    return ToolLine(tuple(map(_label, names)) or None, means)


# -- steps -------------------------------------------------------------------------------------------------------------


def send(label: str, *clauses: Clause, to: str | None = None) -> Action:
    """`!label(clauses)`."""
    return _action(SEND, label, clauses, to, gated=False)


def receive(label: str, *clauses: Clause, sender: str | None = None, by_human: bool = False) -> Action:
    """`?label(clauses)`, with `by human` if only a person can make the step."""
    return _action(RECEIVE, label, clauses, sender, gated=by_human)


def choice(*branches: Protocol | Iterable[Protocol]) -> Choice:
    """One of several branches; a branch is a step or a list of steps."""
    return Choice(tuple(_steps(branch) for branch in branches))


def side_by_side(*parts: Protocol | Iterable[Protocol]) -> Interleaving:
    """`(A | B)`: parts in any order; a part is a step or a list of steps."""
    return Interleaving(tuple(_steps(part) for part in parts))


def deadline(step: Action | Choice, duration: str, *otherwise: Protocol) -> Deadline:
    """`step within D else T`: if nothing has happened in time, the session goes on with `otherwise` instead."""
    if not isinstance(step, Action | Choice):
        raise UsageError(f"a deadline is about a message or a choice, got {step!r}")
    if not otherwise:
        raise UsageError("a deadline says what follows if it passes, for example `end`")
    return Deadline(step, _milliseconds(duration), sequence(otherwise))


def loop(name: str, *steps: Protocol) -> Recursion:
    """`rec Name. …`."""
    return Recursion(_name(name), sequence(steps))


def jump(name: str) -> Variable:
    """Back to the loop of that name."""
    return Variable(_name(name))


end = End()
"""The session is over."""


def _steps(steps: Protocol | Iterable[Protocol]) -> Protocol:
    return sequence([steps]) if isinstance(steps, Protocol) else sequence(steps)


def _action(
    direction: Direction, label: str, clauses: tuple[Clause, ...], partner: str | None, *, gated: bool
) -> Action:
    partner = None if partner is None else _name(partner)
    return Action(direction, _label(label), partner, clauses=clauses, gated=gated)


def _milliseconds(duration: str) -> int:
    if not isinstance(duration, str):
        raise UsageError(f'a duration is a text such as "24h", got `{type(duration).__name__}`')
    try:
        return parse_duration(duration)
    except DurationError as error:
        raise UsageError(f"{error}; {error.help}") from None


def _slice(each: str | field | None) -> Path | None:
    return None if each is None else each.path if isinstance(each, field) else field(each).path


def _name(name: str) -> str:
    if not isinstance(name, str) or not is_name(name):
        raise UsageError(f"expected a name, got {name!r}")
    return normalise(name)


def _label(label: str) -> str:
    if not isinstance(label, str) or not label:
        raise UsageError(f"expected a label, got {label!r}")
    return normalise(label)


# -- data --------------------------------------------------------------------------------------------------------------


def register(name: str) -> Register:
    """A register, to compare with."""
    return Register(_name(name))


class field:  # noqa: N801 - reads as the word it stands for
    """A field of the payload; `field("order", "id")` leads into an object. Comparing it makes a clause."""

    __hash__ = None  # type: ignore[assignment] # comparing makes clauses

    def __init__(self, *path: str) -> None:
        if not path or not all(isinstance(segment, str) for segment in path):
            raise UsageError(f"a field is named by texts, got {path!r}")
        self.path = path

    def bind(self, name: str) -> Bind:
        """`field as name`."""
        return Bind(self.path, _name(name))

    def collect(self, name: str) -> Collect:
        """`field into name`."""
        return Collect(self.path, _name(name))

    def __eq__(self, other: Literal_ | Register) -> Guard:  # type: ignore[override] # a clause
        return self._guard("==", other)

    def __ne__(self, other: Literal_ | Register) -> Guard:  # type: ignore[override] # a clause
        return self._guard("!=", other)

    def __lt__(self, other: Literal_ | Register) -> Guard:
        return self._guard("<", other)

    def __le__(self, other: Literal_ | Register) -> Guard:
        return self._guard("<=", other)

    def __gt__(self, other: Literal_ | Register) -> Guard:
        return self._guard(">", other)

    def __ge__(self, other: Literal_ | Register) -> Guard:
        return self._guard(">=", other)

    def is_in(self, other: Literal_ | Register) -> Guard:
        """`field in …`."""
        return self._guard("in", other)

    def is_not_in(self, other: Literal_ | Register) -> Guard:
        """`field not in …`."""
        return self._guard("not in", other)

    def matches(self, pattern: str) -> Guard:
        """`field matches "pattern"`."""
        if not isinstance(pattern, str):
            raise UsageError(f"a pattern is a text, got `{type(pattern).__name__}`")
        return self._guard("matches", pattern)

    def _guard(self, operator: Operator, other: Literal_ | Register) -> Guard:
        return Guard(self.path, operator, other if isinstance(other, Register) else Value(_scalar(other)))


def _scalar(value: object) -> Scalar:
    if isinstance(value, list | tuple):
        return tuple(_scalar(item) for item in value)
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float) and value - value == 0:
        return value
    raise UsageError(f"expected a literal or a register, got {value!r}")


# -- rules -------------------------------------------------------------------------------------------------------------


def rule(name: str, body: RuleBody, *, each: str | field | None = None) -> Rule:
    """`rule "name" { … }`; with `each` it holds for every value of that field by itself."""
    if not isinstance(name, str):
        raise UsageError(f"the name of a rule is a text, got `{type(name).__name__}`")
    return Rule(name, body, each=_slice(each))


def message(label: str, *guards: Guard, direction: Direction | None = None, by_human: bool = False) -> Pattern:
    """A message a rule looks for; where a message is expected, its label alone will do."""
    for guard in guards:
        if not isinstance(guard, Guard) or isinstance(guard.operand, Register):
            raise UsageError("rules have no registers: compare fields with literals")
    if direction not in {None, SEND, RECEIVE}:
        raise UsageError(f"a direction is `!` or `?`, got {direction!r}")
    return Pattern(_label(label), direction, guards, by_human)


_Message = str | Pattern
_Condition = str | Pattern | Condition


def before(trigger: _Message, require: _Condition) -> Before:
    """`before B require C`."""
    return Before(_pattern(trigger), _condition(require))


def before_each(trigger: _Message, require: _Condition) -> Before:
    """`before each B require C`."""
    return Before(_pattern(trigger), _condition(require), each=True)


def after(trigger: _Message, require: _Condition) -> After:
    """`after A require C`."""
    return After(_pattern(trigger), _condition(require))


def after_each(trigger: _Message, require: _Condition) -> After:
    """`after each A require B`."""
    return After(_pattern(trigger), _condition(require), each=True)


def within(duration: str, trigger: _Message, require: _Condition) -> Within:
    """`within D after A require C`."""
    return Within(_milliseconds(duration), _pattern(trigger), _condition(require))


def after_forbid(trigger: _Message, forbidden: _Message) -> AfterForbid:
    """`after A forbid B`."""
    return AfterForbid(_pattern(trigger), _pattern(forbidden))


def limit(number: int, what: _Message) -> AtMost:
    """`at most N L`, as a rule."""
    return AtMost(_number(number), _pattern(what))


def forbid_adjacent(*messages: _Message) -> ForbidSequence:
    """`forbid A then B`: one at once after the other."""
    return _sequence(messages, adjacent=True)


def forbid_ever_after(*messages: _Message) -> ForbidSequence:
    """`forbid A ... B`: one ever after the other."""
    return _sequence(messages, adjacent=False)


def all_of(*conditions: _Condition) -> Combination:
    """`all of […]`."""
    return Combination("all", _conditions(conditions))


def any_of(*conditions: _Condition) -> Combination:
    """`any of […]`."""
    return Combination("any", _conditions(conditions))


def some_of(number: int, *conditions: _Condition) -> Combination:
    """`N of […]`."""
    return Combination("some", _conditions(conditions), _number(number))


def not_(condition: _Condition) -> Not:
    """`not C`."""
    return Not(_condition(condition))


def at_least(number: int, what: _Message) -> Count:
    """`at least N L`, as a condition."""
    return Count("at least", _number(number), _pattern(what))


def at_most(number: int, what: _Message) -> Count:
    """`at most N L`, as a condition."""
    return Count("at most", _number(number), _pattern(what))


def _pattern(what: _Message) -> Pattern:
    return what if isinstance(what, Pattern) else message(what)


def _condition(what: _Condition) -> Condition:
    return Happened(_pattern(what)) if isinstance(what, str | Pattern) else what


def _conditions(conditions: tuple[_Condition, ...]) -> tuple[Condition, ...]:
    if not conditions:
        raise UsageError("expected at least one condition")
    return tuple(_condition(condition) for condition in conditions)


def _number(number: int) -> int:
    if type(number) is not int or not 0 <= number <= 1_000_000:
        raise UsageError(f"expected a number up to 1000000, got {number!r}")
    return number


def _sequence(messages: tuple[_Message, ...], *, adjacent: bool) -> ForbidSequence:
    if len(messages) < 2:
        raise UsageError("a sequence has at least two messages")
    return ForbidSequence(tuple(map(_pattern, messages)), (adjacent,) * (len(messages) - 1))


# -- events ------------------------------------------------------------------------------------------------------------


def events(*lines: EventLine) -> Events:
    """`events { … }`: the first line that fits a message decides."""
    if not lines:
        raise UsageError("events have at least one line")
    return Events(tuple(lines))


def when(label: str, origin: Origin, *where: Guard) -> EventLine:
    """`Label when origin where guards`."""
    return EventLine(_label(label), origin, message(label, *where).guards)


def ignore(origin: Origin | None = None, *where: Guard) -> EventLine:
    """`ignore when origin where guards`; without an origin `ignore otherwise`."""
    if origin is None and where:
        raise UsageError("`otherwise` takes whatever is left, without guards")
    return EventLine(None, origin, message("ignore", *where).guards)


def otherwise(label: str) -> EventLine:
    """`Label otherwise`."""
    return EventLine(_label(label), None)


def as_named() -> EventLine:
    """`as named otherwise`: messages that have a name keep it as their label."""
    return EventLine(None, None, as_named=True)


def says(speaker: Speaker, text: str = "", *, matches: str | None = None) -> Says:
    """`user says "text"`, or `user says matches "pattern"`; the speaker is `user` or `agent`."""
    if speaker not in {"user", "agent"}:
        raise UsageError(f"the user or the agent says something, got {speaker!r}")
    said = text if matches is None else matches
    if not isinstance(said, str) or (text and matches is not None):
        raise UsageError("what is said is a text, or a pattern that it `matches`")
    return Says(speaker, said, matches is not None)


def named(kind: NamedKind, *names: str) -> Named:
    """`call NAME`, `user call NAME`, `result of NAME`, `error of NAME` or `event NAME`, for any of the names."""
    if kind not in {"call", "user call", "result", "error", "event"}:
        raise UsageError(f"expected `call`, `user call`, `result`, `error` or `event`, got {kind!r}")
    if not names:
        raise UsageError(f"a {kind} has a name")
    return Named(kind, tuple(map(_label, names)))
