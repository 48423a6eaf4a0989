"""From raw agent messages to labels: an `events` block compiled to tables.

Kind and name of a message lead to the few lines that could take it, mostly to one that needs no further look. Text is
read only where a line looks at text, and a payload only where a line has guards.

Without an `events` block a call of tool `t` is `!t`, its result or error `?t`, and an event its own name. A protocol
refuses what it does not name, so a result is an event only if the protocol speaks of it, as for a guard. What the other
party's tools are told reaches nobody here, so it has a label only where the contract says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from accord.language.events import DIRECTIONS, SPEAKERS, Named, Says
from accord.language.labels import normalise
from accord.language.patterns import compile_pattern
from accord.machine.guards import compile_guard

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from accord.language.clauses import Guard
    from accord.language.events import EventLine, Events, MessageKind
    from accord.language.tree import Direction

__all__ = ["Candidate", "Label", "Labeller", "RawMessage"]


class RawMessage(Protocol):
    """What a labeller looks at: `accord.sources.Message` is one."""

    @property
    def kind(self) -> MessageKind:
        """Who or what it is from."""

    @property
    def name(self) -> str | None:
        """The tool, or the event."""

    @property
    def text(self) -> str:
        """What was said."""

    @property
    def payload(self) -> Mapping[str, object]:
        """What it carries."""

    @property
    def answers(self) -> RawMessage | None:
        """The call that a result or an error answers, if it is known."""

    @property
    def labelled(self) -> bool:
        """Whether the recording itself says which event it is."""


class Label(NamedTuple):
    """What a message is. Without a `label` it is to be ignored."""

    direction: Direction
    label: str | None
    line: int | None = None
    """Which line of the events block said so, from 0; `None` without a block."""
    by: str | None = None
    """Who made the step: what a user says is said by a person, which is what gates ask for."""


_Test: TypeAlias = "Callable[[RawMessage], bool]"
Candidate: TypeAlias = "tuple[_Test | None, Label]"
_Found: TypeAlias = "Label | list[Candidate] | None"

USER = "user"


class Labeller:
    """Gives messages their labels. Pure: the same message always has the same label."""

    __slots__ = ("_behind", "_first", "_kept", "_results", "lines", "refuses_unmatched_calls")

    def __init__(self, events: Events | None, results: frozenset[str] | None) -> None:
        """`results` are the labels whose results a protocol speaks of; `None` where there are rules alone."""
        self._results = results
        self.refuses_unmatched_calls = results is not None
        """Whether a call without a label is a violation: under a protocol it is, under rules alone it passes."""
        self.lines: tuple[EventLine, ...] | None = None if events is None else events.lines
        numbered = list(enumerate(self.lines or ()))
        self._kept = next((number for number, line in numbered if line.as_named), None)
        """The number of `as named otherwise`, if there is such a line; those behind it have a table of their own."""
        self._first = _Table(numbered[: self._kept])
        self._behind = _Table([] if self._kept is None else numbered[self._kept + 1 :])

    def label(self, message: RawMessage) -> Label | None:
        """The label of a message, `None` if nothing says what it is."""
        if self.lines is None:
            return self._plain(message)
        found = self._first.label(message)
        if found is not None or self._kept is None:
            return found
        plain = self._plain(message)
        return self._behind.label(message) if plain is None else plain._replace(line=self._kept)

    def _hears(self, label: str) -> bool:
        """Whether the result of a tool is an event."""
        return self._results is None or label in self._results

    def _plain(self, message: RawMessage) -> Label | None:
        """What a message is if no events block says so."""
        kind, name = message.kind, message.name
        if not name or kind in SPEAKERS or kind == "user call":
            return None
        label = normalise(name)
        if kind in {"result", "error"} and not self._hears(label) and not message.labelled:
            return None
        return Label(DIRECTIONS[kind], label) if _answers_the_agent(message) else None

    @property
    def reads_outputs(self) -> bool:
        """Whether a label can depend on what a tool returned, or on the arguments of the call that this answers."""
        guarded = [line.origin for line in self.lines or () if line.guards]
        return any(origin is not None and origin.kind in {"result", "error"} for origin in guarded)

    def candidates(self, kind: MessageKind, name: str | None) -> list[Candidate]:
        """What a message of that kind and name can be: the first of these that has no test, or whose test it passes."""
        if self.lines is None:
            return self._plain_candidates(kind, name)
        found = self._first.candidates(kind, name)
        if self._kept is not None:
            found += [(test, label._replace(line=self._kept)) for test, label in self._plain_candidates(kind, name)]
            found += self._behind.candidates(kind, name)
        return found

    def _plain_candidates(self, kind: MessageKind, name: str | None) -> list[Candidate]:
        if kind in {"result", "error"} and name:
            label = normalise(name)
            test = _answers_the_agent if self._hears(label) else _is_labelled
            return [(test, Label(DIRECTIONS[kind], label))]
        return [(None, Label(DIRECTIONS[kind], normalise(name)))] if name and kind in {"call", "event"} else []


class _Table:
    """Some lines of a block: kind and name of a message lead to those that could take it."""

    __slots__ = ("_by_name", "_others")

    def __init__(self, numbered: Sequence[tuple[int, EventLine]]) -> None:
        self._by_name: dict[str, dict[str | None, _Found]] = {}
        self._others: dict[str, _Found] = {}
        for kind in DIRECTIONS:
            lines = [(number, line) for number, line in numbered if _is_about(line, kind)]
            names = {name for _, line in lines if isinstance(line.origin, Named) for name in line.origin.names}
            self._by_name[kind] = {name: _candidates(lines, kind, name) for name in names}
            self._others[kind] = _candidates(lines, kind, None)

    def label(self, message: RawMessage) -> Label | None:
        """What the first line says that takes the message."""
        kind = message.kind
        named, others, name = self._by_name[kind], self._others[kind], message.name
        found = named.get(name, others)
        if found is others and name is not None and not name.isascii():
            found = named.get(normalise(name), others)
        if type(found) is not list:
            return found  # type: ignore[return-value] # mypy does not see that it is no list
        for test, label in found:
            if test is None or test(message):
                return label
        return None

    def candidates(self, kind: MessageKind, name: str | None) -> list[Candidate]:
        """The lines that could take a message of that kind and name."""
        found = self._by_name[kind].get(name if name is None else normalise(name), self._others[kind])
        if found is None:
            return []
        return list(found) if isinstance(found, list) else [(None, found)]


def _answers_the_agent(message: RawMessage) -> bool:
    """Whether it is no answer to a call of the other party."""
    return message.answers is None or message.answers.kind != "user call"


def _is_labelled(message: RawMessage) -> bool:
    return message.labelled


def _is_about(line: EventLine, kind: MessageKind) -> bool:
    return not line.as_named and (line.origin is None or line.origin.kind == kind)


def _candidates(lines: Sequence[tuple[int, EventLine]], kind: MessageKind, name: str | None) -> _Found:
    """The lines that could take a message of that kind and name, up to the first that takes all of them."""
    found: list[tuple[_Test | None, Label]] = []
    for number, line in lines:
        if isinstance(line.origin, Named) and name not in line.origin.names:
            continue
        by = USER if kind == "user" else None
        label = Label(DIRECTIONS[kind], line.label, number, by)
        test = _test(line)
        found.append((test, label))
        if test is None:
            break
    if not found:
        return None
    return found[0][1] if found[0][0] is None else found


def _test(line: EventLine) -> _Test | None:
    """What a message of the right kind and name still has to satisfy."""
    guards = _guarding(line.guards) if line.guards else None
    if not isinstance(line.origin, Says) or (not line.origin.text and not line.origin.is_pattern):
        return guards
    text = line.origin.text
    holds = compile_pattern(text) if line.origin.is_pattern else None
    if guards is None:
        return (lambda message: text in message.text) if holds is None else (lambda message: holds(message.text))
    if holds is None:
        return lambda message: text in message.text and guards(message)
    return lambda message: holds(message.text) and guards(message)


def _guarding(guards: tuple[Guard, ...]) -> _Test:
    compiled = [compile_guard(guard) for guard in guards]

    def holds(message: RawMessage) -> bool:
        payload = message.payload
        return all(guard(payload) for guard in compiled)

    return holds
