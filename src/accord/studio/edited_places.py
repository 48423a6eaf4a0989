"""A node that is to be changed, with what a form puts there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.errors import UsageError
from accord.language.details import print_action
from accord.language.labels import is_name
from accord.language.tree import Action, Deadline, Protocol, Sequence
from accord.studio.steps_by_form import put_text, step_read
from accord.studio.trees import names_in

if TYPE_CHECKING:
    from accord.language.tree import Document
    from accord.limits import Limits
    from accord.studio.requests import Edit
    from accord.studio.trees import Spot

__all__ = ["Place"]


class Place:
    """A node that is to be changed, with what is put there."""

    def __init__(self, document: Document, spots: list[Spot], edit: Edit, limits: Limits) -> None:
        self.document, self.spots, self.edit, self.limits = document, spots, edit, limits
        self.spot = spots[edit.at]

    @property
    def node(self) -> Protocol:
        """What stands there now."""
        return self.spot.node

    @property
    def action(self) -> Action:
        """The step; `UsageError` if something else stands there."""
        if not isinstance(self.node, Action):
            raise UsageError("choose a step: something that happens")
        return self.node

    @property
    def name(self) -> str:
        """As messages call it."""
        return f"`{print_action(self.node)}`" if isinstance(self.node, Action) else "what stands there"

    def new(self, *, before: bool = False) -> Action | Deadline:
        """The step of the form, where comments that belong to its neighbours stay with them."""
        if self.edit.put is None:
            raise UsageError("say which step is put in")
        at = self._gap_before() if before else self._gap_after(self.spot.timed.node.span.end)
        return step_read(put_text(self.edit.put), self.limits, at)

    def fresh(self) -> str:
        """A name for a loop."""
        wanted = self.edit.what.strip() or "Again"
        if not is_name(wanted):
            raise UsageError(f"`{wanted}` is no name for a loop: a letter, then letters, digits and `_`")
        taken, number = names_in(self.spot), 1
        name = wanted
        while name in taken:
            number += 1
            name = f"{wanted}{number}"
        return name

    def follower(self) -> Protocol | None:
        """What comes next in the same sequence."""
        spot = self.spot.timed
        if spot.parent is None or not isinstance(spot.parent.node, Sequence):
            return None
        steps = spot.parent.node.steps
        return steps[spot.index + 1] if spot.index + 1 < len(steps) else None

    def _gap_after(self, end: int) -> int:
        """Behind a comment on the same line: it is about what stands there."""
        text = self.document.source.text
        for comment in self.document.comments:
            if comment.span.start >= end and not comment.own_line and "\n" not in text[end : comment.span.start]:
                return comment.span.end
        return end

    def _gap_before(self) -> int:
        """In front of comments on lines of their own: they are about what follows them."""
        start = self.spot.node.span.start
        gap = start
        for comment in reversed(self.document.comments):
            if comment.span.start > gap:
                continue
            if not comment.own_line or self.document.source.text[comment.span.end : gap].strip(" \t\r\n.|,"):
                break
            gap = comment.span.start
        return gap
