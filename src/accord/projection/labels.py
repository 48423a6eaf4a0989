"""From happenings to labels: an `events` block compiled to tables.

Kind and name of a happening lead to the few lines that could take it, mostly to one that needs no further look. Text is
read only where a line looks at text, and a payload only where a line has guards.

Without an `events` block a call of tool `t` is `!t`, its result or error `?t`, and an event its own name. What is said,
and what the other party's tools are asked and told, has a label only where the contract says so. Whom an event reaches
is not told here but by the projection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from accord.language.events import DIRECTIONS, SPEAKERS, Named, Says
from accord.language.labels import normalise
from accord.language.patterns import compile_pattern
from accord.machine.guards import compile_guard

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from accord.language.clauses import Guard
    from accord.language.events import EventLine, Events
    from accord.language.tree import Direction
    from accord.machine.contract import Contract
    from accord.projection.happenings import Happened, Kind

__all__ = ["USER", "Candidate", "Label", "Labeller", "Test", "labeller_of"]


class Label(NamedTuple):
    """What a message is. Without a `label` it is to be ignored."""

    direction: Direction
    label: str | None
    line: int | None = None
    """Which line of the events block said so, from 0; `None` without a block."""
    by: str | None = None
    """Who made the step: what a user says is said by a person, which is what gates ask for."""
    by_name: bool = False
    """Whether it is the name that the tool or the event has itself."""


Test: TypeAlias = "Callable[[Happened], bool]"
Candidate: TypeAlias = "tuple[Test | None, Label]"
_Found: TypeAlias = "list[Candidate]"

USER = "user"
"""By whom something is if the user says it: a person without roles."""


def labeller_of(contract: Contract) -> Labeller:
    """The labeller of a contract, made once."""
    known = contract.kept.get(("labeller", ""))
    if known is None:
        known = contract.kept.setdefault(("labeller", ""), Labeller(contract.document.events))
    assert isinstance(known, Labeller)  # noqa: S101 - kept under this name
    return known


class Labeller:
    """Gives happenings their labels. Pure: the same happening always has the same label."""

    __slots__ = ("_by_name", "_others", "_plain", "lines")

    def __init__(self, events: Events | None) -> None:
        self.lines: tuple[EventLine, ...] | None = None if events is None else events.lines
        self._by_name: dict[str, dict[str | None, _Found]] = {}
        self._others: dict[str, _Found] = {}
        numbered = list(enumerate(self.lines or ()))
        self._plain = next((number for number, line in numbered if line.as_named), None)
        """The number of the line `as named otherwise`, if there is one."""
        for kind in DIRECTIONS if self.lines is not None else ():
            lines = [(number, line) for number, line in numbered if _is_about(line, kind)]
            names = {name for _, line in lines if isinstance(line.origin, Named) for name in line.origin.names}
            self._by_name[kind] = {name: _candidates(lines, kind, name) for name in names}
            self._others[kind] = _candidates(lines, kind, None)

    def label(self, happened: Happened) -> Label | None:
        """The label of a happening, `None` if nothing says what it is."""
        for test, label in self.candidates(happened.kind, happened.name):
            if test is None or test(happened):
                return label
        return None

    def candidates(self, kind: Kind, name: str | None) -> list[Candidate]:
        """What a happening of that kind and name can be: the first that has no test, or whose test it passes."""
        own = None if name is None else normalise(name)
        if self.lines is None:
            return _by_its_name(kind, own)
        found = self._by_name[kind].get(own, self._others[kind])
        if self._plain is None:
            return found
        before = [candidate for candidate in found if (candidate[1].line or 0) < self._plain]
        if before and before[-1][0] is None:
            return before
        plain = [(test, label._replace(line=self._plain)) for test, label in _by_its_name(kind, own)]
        behind = found[len(before) :]
        return [*before, *plain, *behind]

    @property
    def reads_outputs(self) -> bool:
        """Whether a label can depend on what a tool returned, or on the arguments of the call that this answers."""
        guarded = [line.origin for line in self.lines or () if line.guards]
        return any(origin is not None and origin.kind in {"result", "error"} for origin in guarded)


def _by_its_name(kind: Kind, name: str | None) -> list[Candidate]:
    """What a happening is if no line says so."""
    if not name or kind in SPEAKERS or kind == "user call":
        return []
    label = Label(DIRECTIONS[kind], name, by_name=True)
    return [(_answers_the_agent if kind in {"result", "error"} else None, label)]


def _answers_the_agent(message: Happened) -> bool:
    """Whether it is no answer to a call of the other party."""
    answered = message.answers
    return answered is None or answered.kind != "user call"


def _is_about(line: EventLine, kind: Kind) -> bool:
    return not line.as_named and (line.origin is None or line.origin.kind == kind)


def _candidates(lines: Sequence[tuple[int, EventLine]], kind: Kind, name: str | None) -> _Found:
    """The lines that could take a happening of that kind and name, up to the first that takes all of them."""
    found: _Found = []
    for number, line in lines:
        if isinstance(line.origin, Named) and name not in line.origin.names:
            continue
        by = USER if kind == "user" else None
        label = Label(DIRECTIONS[kind], line.label, number, by)
        test = _test(line)
        found.append((test, label))
        if test is None:
            break
    return found


def _test(line: EventLine) -> Test | None:
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


def _guarding(guards: tuple[Guard, ...]) -> Test:
    compiled = [compile_guard(guard) for guard in guards]

    def holds(message: Happened) -> bool:
        payload = message.payload
        return all(guard(payload) for guard in compiled)

    return holds
