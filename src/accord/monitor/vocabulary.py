"""What the labels of a contract are called in sentences: the tools behind them, and who does what no tool does.

An `events` block says what its labels stand for, so they are told as that: a label for calls as the tools, one for what
the agent says as saying it, one for what the user says as asking the user. Without a block `!t` is a call of the tool
`t` for a guard and a message for whoever steps a monitor by hand, and nothing tells which. It is told as a call where
the contract names its result too, or where it is written as tools are, with a small letter. A capital letter leaves it
open, and so does a label that a rule names without a direction; so do the sentences: "first `Order`, then `Invoice`".

Where a protocol names `?t` before `!t`, it is the view of the program that answers calls: `?t` is the call there.

Sentences depend on the contract and what has happened alone, so that every surface says the same. A guard that was
given labels for its tools adds these.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from accord.language.clauses import Guard
from accord.language.details import print_clause
from accord.language.events import Says
from accord.machine.tables import Plain
from accord.monitor.wording import list_quoted, quote_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.language.clauses import Clause
    from accord.language.events import EventLine, NamedKind
    from accord.language.tree import Direction
    from accord.machine.stages import Stages
    from accord.machine.tables import Machine, Symbol

__all__ = ["Phrase", "Vocabulary", "join_options", "join_steps"]

_MOST_GUARDS = 3
_MOST_TOOLS = 5
_APPROVES = re.compile(r"(?i)approv|allow|accept|permit|consent|sign.?off")
_CONFIRMS = re.compile(r"(?i)confirm")
_SAID_ONCE = frozenset({"call", "send", "wait for"})


class Phrase(NamedTuple):
    """Something to do, or to see done. `verb` is what need not be said twice."""

    verb: str
    rest: str

    @property
    def text(self) -> str:
        """The phrase in full."""
        return f"{self.verb} {self.rest}" if self.verb else self.rest


def join_steps(phrases: list[Phrase]) -> str:
    """Things to do one after the other: "call `a`, then `b`, then wait for `c`"."""
    said, before = [], ""
    for phrase in phrases:
        said.append(phrase.rest if phrase.verb in _SAID_ONCE and phrase.verb == before else phrase.text)
        before = phrase.verb
    return ", then ".join(said)


def join_options(phrases: list[Phrase]) -> str:
    """Things of which one is to be done: "wait for `a` or `b`"."""
    by_verb: dict[str, list[str]] = {}
    for phrase in phrases:
        by_verb.setdefault(phrase.verb, []).append(phrase.rest)
    return ", or ".join(Phrase(verb, list_quoted(rest, "or")).text for verb, rest in by_verb.items())


class Vocabulary(NamedTuple):
    """How sentences about the sessions of a protocol name what happens. `tools` are those that a guard has labelled."""

    stages: Stages
    tools: Mapping[str, tuple[str, ...]]

    # -- names ---------------------------------------------------------------------------------------------------------

    def name(self, direction: Direction, label: str, partner: str | None = None) -> str:
        """What happened, or can happen, as a sentence calls it."""
        if partner is not None:
            return f"{quote_text(label)} {'to' if direction == '!' else 'from'} {quote_text(partner)}"
        if self.is_mine(direction, label):
            tools = self._tools(label)
            return f"this call ({quote_text(label)})" if len(tools) > 1 else quote_text(tools[0] if tools else label)
        returning = self._returning(label)
        return f"the result of {quote_text(returning[0])}" if len(returning) == 1 else quote_text(label)

    def is_mine(self, direction: Direction, label: str) -> bool:
        """Whether it is the agent who does it, by a call or otherwise."""
        return direction == (self._call_sign(label) if self._is_answered(label) else "!")

    def option(self, symbol: Symbol) -> str:
        """Something that may happen, in a list of such."""
        tools = self._tools(symbol.label) if self.is_mine(symbol.direction, symbol.label) else ()
        name = _tool_names(tools) if len(tools) > 1 else self.name(symbol.direction, symbol.label, symbol.partner)
        return f"{name}{_with(symbol.clauses)}"

    # -- things to do --------------------------------------------------------------------------------------------------

    def do(self, symbol: Symbol, *, either: bool = False) -> Phrase:
        """A step as something to do, or to see done.

        `either`: nothing says in which direction it goes. If it is one that is sent all the same, it has been before.
        """
        label, data = symbol.label, _with(symbol.clauses)
        if symbol.partner is not None:
            verb, to = ("send", "to") if symbol.direction == "!" else ("wait for", "from")
            return Phrase(verb, f"{quote_text(label)}{data} {to} {quote_text(symbol.partner)}")
        lines = [line for line in self._lines(label) if either or line.direction in {None, symbol.direction}]
        if symbol.gated:
            return _by_person(label, lines, data)
        if lines:
            phrases = list(dict.fromkeys(self._from_line(line, label, data) for line in lines))
            return phrases[0] if len(phrases) == 1 else Phrase("", join_options(phrases))
        if self._is_answered(label):
            if either or symbol.direction == self._call_sign(label):
                return Phrase("call", f"{_tool_names(self._tools(label) or (label,))}{data}")
            return Phrase(self._waiting(label, "get"), f"the result of {_tool_names(self._returning(label))}{data}")
        if symbol.direction == "!":
            return self._by_agent(label, data)
        tools = self._tools(label) if either else ()
        if tools:
            return Phrase("call", f"{_tool_names(tools)}{data}")
        return Phrase(self._waiting(label, ""), f"{quote_text(label)}{data}")

    def is_result(self, call: Symbol, symbol: Symbol) -> bool:
        """Whether a step is that the call before it returns."""
        if symbol.gated or symbol.partner or call.partner or self.is_mine(symbol.direction, symbol.label):
            return False
        returning = self._returning(symbol.label)
        return bool(returning) and set(self._tools(call.label) or (call.label,)) == set(returning)

    def must_be(self, symbol: Symbol) -> str:
        """What a result has to be, behind the call that returns it; empty if anything will do."""
        guards = _guards(symbol.clauses)
        for line in self._lines(symbol.label):
            guards = guards or (_guards(line.guards) if line.direction == symbol.direction else "")
        return f" (its result must have {guards})" if guards else ""

    def _by_agent(self, label: str, data: str) -> Phrase:
        tools = self._tools(label)
        if tools or (self._events is None and label[:1].islower()):
            return Phrase("call", f"{_tool_names(tools or (label,))}{data}")
        return Phrase("" if self._events is None else "send", f"{quote_text(label)}{data}")

    def _from_line(self, line: EventLine, label: str, data: str) -> Phrase:
        """What makes a line of the `events` block fit."""
        origin, what = line.origin, quote_text(label)
        if origin is None:
            return Phrase("", f"{what}{data}")
        if isinstance(origin, Says):
            return _saying(origin, label, data)
        names, data = _tool_names(origin.names), data or _with(line.guards)
        told: dict[NamedKind, Phrase] = {
            "call": Phrase("call", f"{names}{data}"),
            "user call": Phrase("the user must call", f"{names}{data}"),
            "result": Phrase(self._waiting(label, "get"), f"the result of {names}{data}"),
            "error": Phrase("", f"{names} has to fail ({what}){data}"),
            "event": Phrase("", f"{what} has to be reported by the program{data}"),
        }
        return told[origin.kind]

    def _waiting(self, label: str, otherwise: str) -> str:
        """What is to be done about something that arrives.

        Where a protocol has it, it is waited for. What only a rule names may be the result of a tool, and nobody should
        wait for that without a call.
        """
        return "wait for" if ("?", label) in self.machine.by_event else otherwise

    # -- what the contract says ----------------------------------------------------------------------------------------

    @property
    def machine(self) -> Machine:
        """The protocol."""
        sliced = self.stages.sliced
        return (self.stages.standings if sliced is None else sliced.standings).machine

    @property
    def _events(self) -> tuple[EventLine, ...] | None:
        events = self.stages.events
        return None if events is None else events.lines

    def _lines(self, label: str) -> list[EventLine]:
        return [line for line in self._events or () if line.label == label]

    def _named_by(self, label: str, kind: NamedKind) -> tuple[str, ...]:
        names: dict[str, None] = {}
        for line in self._lines(label):
            if line.origin is not None and not isinstance(line.origin, Says) and line.origin.kind == kind:
                names.update(dict.fromkeys(line.origin.names))
        return tuple(names)

    def _tools(self, label: str) -> tuple[str, ...]:
        """The tools whose calls have a label, where somebody says so."""
        return self.tools.get(label) or self._named_by(label, "call")

    def _returning(self, label: str) -> tuple[str, ...]:
        """The tools of whose results a label tells."""
        if self._events is not None:
            return self._named_by(label, "result")
        return (self._tools(label) or (label,)) if self._is_answered(label) else ()

    def _is_answered(self, label: str) -> bool:
        """Whether the contract names both a call and its result, and no `events` block says what they are."""
        if self._events is not None:
            return False
        patterns = [one for rule in self.stages.book.machines for one in rule.patterns if one.label == label]
        directions = {one.direction for one in patterns if not one.gated}
        return {"!", "?"} <= directions.union(self._offered(label))

    def _call_sign(self, label: str) -> Direction:
        """Which way the calls of a tool go: as its protocol names them first."""
        if set(self._offered(label)) == {"!", "?"}:
            symbols = self.machine.symbols
            for state in self.machine.states:
                edges = state.edges if isinstance(state, Plain) else ()
                found = {symbols[number].direction for number, _ in edges if symbols[number].label == label}
                if found:
                    return "!" if "!" in found else "?"
        return "!"

    def _offered(self, label: str) -> list[Direction]:
        """The directions in which the protocol has such a message, from or to nobody in particular."""
        found: list[Direction] = []
        for direction in ("!", "?"):
            symbols = [self.machine.symbols[number] for number in self.machine.by_event.get((direction, label), ())]
            if any(not symbol.gated and symbol.partner is None for symbol in symbols):
                found.append(direction)
        return found


def _by_person(label: str, lines: list[EventLine], data: str) -> Phrase:
    for line in lines:
        if isinstance(line.origin, Says):
            return _saying(line.origin, label, data)
    verb = "approve" if _APPROVES.search(label) else "confirm" if _CONFIRMS.search(label) else "decide"
    return Phrase(f"a person must {verb}", f"({quote_text(label)}){data}")


def _saying(origin: Says, label: str, data: str) -> Phrase:
    what = quote_text(label)
    literal = quote_text(origin.text) if origin.text and not origin.is_pattern else ""
    if origin.kind == "agent":
        return Phrase("say", f"{literal} ({what}){data}" if literal else f"it ({what}){data}")
    if _CONFIRMS.search(label):
        return Phrase("ask the user to confirm", f"({what}){data}")
    if literal:
        return Phrase("the user must say", f"{literal} ({what}){data}")
    return Phrase("the user must say", f"{'so' if origin.is_pattern else 'something'} ({what}){data}")


def _tool_names(names: tuple[str, ...]) -> str:
    """Tools of which any will do, a handful at the most."""
    quoted = [quote_text(name) for name in names[:_MOST_TOOLS]]
    return list_quoted([*quoted, f"{len(names) - _MOST_TOOLS} more"] if len(names) > _MOST_TOOLS else quoted, "or")


def _guards(clauses: tuple[Clause, ...]) -> str:
    guards = [quote_text(print_clause(clause)) for clause in clauses if isinstance(clause, Guard)]
    shown = guards[:_MOST_GUARDS]
    if len(guards) > len(shown):
        shown.append(f"{len(guards) - len(shown)} more")
    return list_quoted(shown, "and")


def _with(clauses: tuple[Clause, ...]) -> str:
    """What data a step must carry; what it binds is nobody's to see to."""
    guards = _guards(clauses)
    return f" with {guards}" if guards else ""
