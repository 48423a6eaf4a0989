"""Which parts of a session an event can change: its protocol, single rules, single instances of what is sliced.

Whether an event is legal is decided by each part for itself, and each part looks only at the events that are its
business. So calls that have no part in common do not concern each other: what becomes of one changes nothing for
another, and they need not be followed together.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from accord.calls.entries import Firm, Out
from accord.machine.events import Event
from accord.machine.extent import Extent
from accord.machine.slices import NoKey, key_of
from accord.machine.standing import OpenStanding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from accord.calls.entries import End, Logged
    from accord.machine.stages import Stages
    from accord.monitor.step import Situation

__all__ = ["Called", "Footprint", "called_in", "end_of", "footprint", "located", "located_behind", "related"]

Footprint: TypeAlias = "frozenset[tuple[object, ...]]"
Called: TypeAlias = "Callable[[int, str], Footprint | None]"

_PROTOCOL = ("protocol",)


def _nobody_knows(_place: int, _label: str) -> None:
    """For an event that is looked at by itself."""


def end_of(arguments: Mapping[str, object], end: End) -> Event:
    """An end of a call of which nothing is known but which call it ends."""
    return Event("?", end.label, None, {"call": arguments}, to_rules=end.to_rules)


def footprint(stages: Stages, events: Iterable[Event], called: Called = _nobody_knows) -> Footprint | None:
    """What these events can change; `None` if that may be anything.

    `called` tells where it stands that a label has been called, of a sliced rule that wants to know; `None` if that is
    not known.
    """
    found: set[tuple[object, ...]] = set()
    for event in events:
        parts = _touched(stages, event, called)
        if parts is None:
            return None
        found |= parts
    return frozenset(found)


def located(stages: Stages, logged: Logged, called: Called = _nobody_knows) -> Logged:
    """The entry with what it can change."""
    if isinstance(logged, Out):
        labels = {event.label for event in logged.events if event.direction == "!"}
        ends = [end_of(logged.arguments, end) for end in logged.ends]
        touches = footprint(
            stages,
            (*logged.events, *ends),
            lambda place, label: frozenset() if label in labels else called(place, label),
        )
        return logged._replace(touches=touches)
    if not isinstance(logged.step, Event):
        return logged  # time, and a protocol that begins again, are everybody's business
    return logged._replace(touches=footprint(stages, (logged.step,), called))


def located_behind(settled: Situation, log: tuple[Logged, ...], logged: Logged) -> Logged:
    """The entry with what it can change, where these stand before it."""
    stages = settled.stage.stages
    return located(stages, logged, partial(called_in, stages, settled.holding, log))


def called_in(stages: Stages, held: object, log: tuple[Logged, ...], place: int, label: str) -> Footprint | None:
    """Where it stands for certain that a label has been called, which the instances of a sliced rule share."""
    assert isinstance(held, Extent)  # noqa: S101 - a session with slices holds one
    if held.slices[place].called & stages.sliced_rules[place].machine.bits[label]:
        return frozenset()
    for logged in log:
        if isinstance(logged, Firm) and type(logged.step) is Event and logged.step[:2] == ("!", label):
            return logged.touches
    return None


def _touched(stages: Stages, event: Event, called: Called) -> set[tuple[object, ...]] | None:
    direction, label = event.direction, event.label
    book = stages.book
    found: set[tuple[object, ...]] = set()
    if not event.to_rules:
        if stages.sliced is not None:
            key = key_of(stages.sliced.path, direction, event.payload)
            if not isinstance(key, NoKey):
                found.add(("instance", key))
        elif not isinstance(stages.start.standing, OpenStanding):
            found.add(_PROTOCOL)
    found.update(("rule", number) for number in book.watchers.get((direction, label), ()))
    if book.adjacent:  # such a rule is told of everything that happens
        found.update(("rule", number) for number, rule in enumerate(book.machines) if rule.has_adjacency)
    for place, sliced in enumerate(stages.sliced_rules):
        machine = sliced.machine
        # Whether a label has been called is known for all instances together. Only where labels are names do we know
        # of an end, without looking further, that its own call was of the label.
        if direction == "?" and label in machine.bits and ("call" not in event.payload or stages.events is not None):
            somewhere = called(place, label)
            if somewhere is None:
                return None
            found |= somewhere
        if label in machine.by_label or machine.has_adjacency:
            key = key_of(sliced.path, direction, event.payload)
            if not isinstance(key, NoKey):
                found.add(("slice", place, key))
    return found


def related(log: tuple[Logged, ...], about: Footprint) -> list[Logged]:
    """What has to do with these parts: with them, or with parts of something that has. Time has to do with all."""
    if any(logged.touches is None and _is_event(logged) for logged in log):
        return [*log]  # what it changes may rest on anything before it, and anything behind it on that
    wanted = set(about)
    chosen = [False] * len(log)
    growing = True
    while growing:
        growing = False
        for place, logged in enumerate(log):
            if chosen[place]:
                continue
            touches = logged.touches
            if touches is None or not touches.isdisjoint(wanted):
                chosen[place] = True
                if touches is not None and not touches <= wanted:
                    wanted |= touches
                    growing = True
    return [logged for place, logged in enumerate(log) if chosen[place]]


def _is_event(logged: Logged) -> bool:
    """Whether parts may be linked by it; time passes for each of them alone."""
    return isinstance(logged, Out) or isinstance(logged.step, Event)
