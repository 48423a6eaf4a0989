"""The instances of slices, for the stepper: which there are, where they stand, what can happen in them.

Whoever steps by hand has begun all of them by hand, so they are found from the events that were typed, the latest
first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics.visible import clip
from accord.machine.events import Event
from accord.machine.extent import Extent
from accord.machine.slices import NoKey, key_of
from accord.machine.standing import TimedStanding
from accord.monitor.wording import key_text, path_text, span_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accord.language.clauses import Path
    from accord.language.values import Frozen
    from accord.machine.rules import RuleMachine
    from accord.machine.slices import Course, Instance, SlicedProtocol
    from accord.machine.tables import Symbol
    from accord.monitor.step import Situation
    from accord.stepping.happenings import Happening

__all__ = ["course_of", "instance_text", "keys_of", "latest_instance", "rules_of", "shown_key", "symbols_of"]


def course_of(situation: Situation) -> tuple[SlicedProtocol, Course] | None:
    """The sliced protocol and its instances; `None` if the protocol is not sliced."""
    sliced, held = situation.stage.stages.sliced, situation.holding
    if sliced is None or not isinstance(held, Extent) or held.course is None:
        return None
    return sliced, held.course


def rules_of(situation: Situation) -> Iterator[tuple[RuleMachine, int]]:
    """Every rule, and which bare labels it has seen called; a sliced one knows that for all its instances."""
    sliced = situation.stage.stages.book.sliced
    for number, node in enumerate(situation.rules):
        if number in sliced and isinstance(situation.holding, Extent):
            yield node.machine, situation.holding.slices[sliced.index(number)].called
        else:
            yield node.machine, node.state.called


def keys_of(path: Path, happenings: Iterable[Happening]) -> list[Frozen]:
    """The keys that these events have, each once, the latest first."""
    found: dict[Frozen, None] = {}
    for happening in happenings:
        if isinstance(happening, Event):
            key = key_of(path, happening.direction, happening.payload)
            if not isinstance(key, NoKey):
                found.pop(key, None)
                found[key] = None
    return list(reversed(found))


def latest_instance(situation: Situation, happenings: Iterable[Happening]) -> tuple[str, Instance] | None:
    """The instance in which something happened last, and what it is called."""
    sliced = course_of(situation)
    if sliced is None:
        return None
    protocol, course = sliced
    for key in keys_of(protocol.path, happenings):
        if key in course.instances:
            return shown_key(protocol.path, key), course.instances[key]
    return None


def shown_key(path: Path, key: Frozen) -> str:
    """An instance as it is called in a line; safe and clipped."""
    return f"{path_text(path)} {key_text(key)}"


def instance_text(instance: Instance, now: float) -> str:
    """Where an instance stands and until when it is in time."""
    standing = instance[0]
    if not standing.symbols:
        return "finished"
    first, *others = standing.configurations
    # Of one state with a deadline, how much time is left says enough.
    alone = not others and len(first) == 3 and not first[1]
    place = clip(f"at {first[0] if alone else standing.number}")
    due = standing.next_due if isinstance(standing, TimedStanding) else None
    if due is None:
        return place
    return f"{place}, due in {span_text(due - now)}" if due > now else f"{place}, due now"


def symbols_of(situation: Situation) -> frozenset[Symbol] | None:
    """What can happen in any instance and in a new one; `None` if the protocol is not sliced."""
    sliced = course_of(situation)
    return None if sliced is None else sliced[0].symbols(sliced[1])
