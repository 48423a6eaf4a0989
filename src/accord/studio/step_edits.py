"""Changes of a local protocol at one of its nodes. Each gives the new body, or says why the language cannot say it.

They are made in the tree, so brackets, signs and what follows an `else` are never in the way, and printed with the
comments that were there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from accord.diagnostics import Span
from accord.errors import UsageError
from accord.language.tree import (
    Action,
    Choice,
    Deadline,
    End,
    Interleaving,
    Protocol,
    Recursion,
    Sequence,
    Variable,
    sequence,
)
from accord.studio.loop_edits import LOOP_CHANGES
from accord.studio.requests import Put
from accord.studio.steps_by_form import label_typed, put_text, step_read
from accord.studio.trees import exchanged, exchanged_at, node_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.studio.edited_places import Place
    from accord.studio.trees import Spot

__all__ = ["STEP_CHANGES"]


def _after(place: Place) -> Protocol:
    spot = place.spot.timed
    if isinstance(spot.node, Variable | End):
        raise UsageError("nothing happens behind the end or a jump")
    return exchanged(spot, sequence([spot.node, place.new()]))


def _before(place: Place) -> Protocol:
    spot = place.spot.timed
    return exchanged(spot, sequence([place.new(before=True), spot.node]))


def _beside(place: Place) -> Protocol:
    """One more branch of the choice that is there, or that there is now."""
    new = place.new()
    if isinstance(new, Deadline):
        raise UsageError("a deadline is about the whole choice; give it one afterwards")
    return _with_branch(place, new)


def _with_branch(place: Place, new: Protocol) -> Protocol:
    spot = _beginning(place.spot, place.spots)
    branch = spot.branch
    if branch is not None and branch.parent is not None and isinstance(branch.parent.node, Choice):
        choice = branch.parent
        branches = [*branch.parent.node.branches]
        branches.insert(branch.index + 1, new)
        return exchanged(choice, Choice(tuple(branches), choice.node.span))
    if isinstance(spot.node, Choice):
        return exchanged(spot, Choice((*spot.node.branches, new), spot.node.span))
    if not isinstance(spot.node, Action | End):
        raise UsageError("branches begin with a message, and what stands there does not; add it at one of its steps")
    first = spot.node
    return exchanged(spot, Choice((first, new), first.span))


def _beginning(spot: Spot, spots: list[Spot]) -> Spot:
    """What a loop or a deadline begins with."""
    while isinstance(spot.node, Recursion | Sequence | Deadline):
        spot = spots[spot.number + 1]  # the first child comes right behind its parent
    return spot


def _may_end(place: Place) -> Protocol:
    if isinstance(place.node, End | Variable):
        raise UsageError("it ends or goes back there already")
    at = place.node.span.end
    return _with_branch(place, End(Span(at, at)))


def _parallel(place: Place) -> Protocol:
    spot = place.spot.timed
    if place.spot.branch:
        raise UsageError(f"{place.name} begins a branch, and branches begin with a message; put it behind it")
    new = place.new()
    if spot.parent is not None and isinstance(spot.parent.node, Interleaving):
        parts = [*spot.parent.node.parts]
        parts.insert(spot.index + 1, new)
        return exchanged(spot.parent, Interleaving(tuple(parts), spot.parent.node.span))
    return exchanged(spot, Interleaving((spot.node, new), spot.node.span))


def _details(place: Place) -> Protocol:
    """Other conditions, another gate, another deadline; the label stays. Of a choice, the deadline is that of all."""
    put, action = place.edit.put, place.action
    if put is None:
        raise UsageError("say what is to hold")
    named = Put(action.direction, action.label, action.partner or "", put.guards, gated=put.gated)
    step = step_read(put_text(named), place.limits, 0)
    body = exchanged(place.spot, replace(step, span=action.span))
    branch = place.spot.branch
    timed = place.spot if branch is None or branch.parent is None else branch.parent
    inner, whole = node_at(body, timed.path), timed.timed
    if not put.within.strip():
        if put.otherwise.strip():
            raise UsageError("say how long the step may take, such as `24h`")
        return exchanged_at(body, whole.path, inner)
    clock = step_read(put_text(Put("!", "x", within=put.within, otherwise=put.otherwise)), place.limits, inner.span.end)
    assert isinstance(clock, Deadline)  # noqa: S101 - it has a time
    late = clock.otherwise
    if isinstance(whole.node, Deadline) and late == whole.node.otherwise:
        late = whole.node.otherwise  # as it stands in the text, with its comments
    return exchanged_at(body, whole.path, Deadline(inner, clock.milliseconds, late, inner.span))  # type: ignore[arg-type] # it looks itself


def _rename(place: Place) -> Protocol:
    label = label_typed(place.edit.what.lstrip("!?"))
    if not label:
        raise UsageError("say what it is to be called")
    return exchanged(place.spot, replace(place.action, label=label))


def _remove(place: Place) -> Protocol:
    """Without a step; of a choice, without the branch that it begins."""
    branch = place.spot.branch
    return exchanged(branch or place.spot.timed, None)


STEP_CHANGES: dict[str, Callable[[Place], Protocol]] = {
    "after": _after,
    "before": _before,
    "beside": _beside,
    "may end": _may_end,
    "parallel": _parallel,
    "details": _details,
    "rename": _rename,
    "remove": _remove,
    **LOOP_CHANGES,
}
"""Every change, by the name that the page asks for it by."""
