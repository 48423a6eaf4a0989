"""What a session holds, as text: the values of its registers, safe and clipped."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, cast

from accord.diagnostics.visible import clip
from accord.language.values import thaw
from accord.machine.collection import Collection
from accord.machine.extent import Extent
from accord.machine.guards import UNBOUND
from accord.machine.taking import Possibilities
from accord.stepping.wording import json_text

if TYPE_CHECKING:
    from accord.language.values import Frozen
    from accord.machine.guards import Held
    from accord.machine.slices import Instance
    from accord.monitor.step import Situation

__all__ = ["registers_of"]

_WIDEST = 60
_MOST = 4


def registers_of(situation: Situation, instance: Instance | None = None) -> dict[str, str | None]:
    """Each register with the value it has, or has in an instance; `None` if nothing has bound it.

    Where a session follows several possibilities a register may have several values; then all of them are named.
    """
    held = situation.holding
    standing, holding = instance or (situation.standing, held.registers if isinstance(held, Extent) else held)
    machine = standing.standings.machine
    if not standing.symbols and instance is not None:
        return {}  # what a finished instance held is forgotten
    versions = [registers for _, registers in holding.pairs] if isinstance(holding, Possibilities) else [holding]
    return {name: _either([of[place] for of in versions]) for place, name in enumerate(machine.registers)}


def _either(values: list[Held]) -> str | None:
    texts = sorted({_text(value) for value in values if value is not UNBOUND})
    if not texts:
        return None
    if any(value is UNBOUND for value in values):
        texts.append("nothing")
    more = [f"{len(texts) - _MOST} more"] if len(texts) > _MOST else []
    return " or ".join([*texts[:_MOST], *more])


def _text(value: Held) -> str:
    if isinstance(value, Collection):
        shown = [json_text(thaw(element)) for element in islice(value, _MOST)]
        more = [f"{len(value) - _MOST} more"] if len(value) > _MOST else []
        return clip(f"{{{', '.join([*shown, *more])}}}", _WIDEST)
    return json_text(thaw(cast("Frozen", value)), _WIDEST)
