"""A step that some session has taken before, along the links of its stage; for whoever steps without a `Monitor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accord.monitor.careful import choose
from accord.monitor.step import Situation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.language.tree import Direction
    from accord.machine.events import Event

__all__ = ["follow", "quick_step"]


def quick_step(situation: Situation, event: Event) -> Situation | None:
    """Where a session is after an event that is accepted; `None` if that is not known yet, or it is not accepted.

    INVARIANT: a link is an accepted step, and what it does to what is held is in its check. Sessions of contracts with
    slices or deadlines have none.
    """
    direction, label, partner, payload, by, _, to_rules = event
    if partner is not None or by is not None or to_rules:
        return None
    return follow(situation, direction, label, payload)


def follow(situation: Situation, direction: Direction, label: str, payload: Mapping[str, object]) -> Situation | None:
    """The same for an event of which there is nothing else to say."""
    place, held = situation
    link = (place.sends if direction == "!" else place.receives).get(label)
    if link is not None:
        return Situation(link[1], held)
    careful = (place.careful_sends if direction == "!" else place.careful_receives).get(label)
    if careful is None:
        return None
    _, check, after, others = careful
    registers: Any = held  # a session with several possibilities has no links
    try:
        taken = registers if check is None else check(payload, None, registers)
        if others:
            taken, after = choose(taken, after, others, payload, registers)
    except Exception:  # noqa: BLE001 - a payload that breaks when it is read is told about on the slow path
        return None
    return None if taken is None else Situation(after, taken)
