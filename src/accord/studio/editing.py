"""Changes of a text by form: a step before or after another, a branch beside it, a loop around it, a rule.

A change is made in the text itself, at the place of a step, so comments and everything else stay as they are. If the
result can be read it is formatted; if not, it is given as it is, with its findings: nothing that somebody wanted is
lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from accord.diagnostics import Source
from accord.errors import ContractError, UsageError
from accord.language.formatting import formatted
from accord.language.labels import is_name, print_label
from accord.language.tree import Choice, Deadline, Sequence
from accord.machine.tables import Symbol
from accord.studio.contracts import steps_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.language.tree import Action, Document, Protocol
    from accord.limits import Limits
    from accord.studio.contracts import Examined
    from accord.studio.requests import Edit

__all__ = ["edit"]

_LONGEST = 2_000


def edit(examined: Examined, request: Edit, limits: Limits) -> dict[str, object]:
    """The text after a change."""
    what = request.what.strip()
    if len(what) > _LONGEST:
        raise UsageError(f"what is put in has {_LONGEST} characters at the most")
    if not what and request.change not in {"remove", "loop"}:
        raise UsageError("there is nothing to put in: type it first, such as `!ask` or `?answer`")
    text = _changed(examined, request, what)
    try:
        return {"text": formatted(Source(text, examined.source.name), limits), "formatted": True}
    except ContractError:
        return {"text": text, "formatted": False}


def _changed(examined: Examined, request: Edit, what: str) -> str:
    text, change = examined.source.text, request.change
    if change == "rule":
        return _paragraphs(_declared(examined), what)
    if change == "begin":
        return _paragraphs(_declared(examined), f"protocol {what} =\n    end")
    if examined.document is None:
        raise UsageError("the text cannot be read; mend it first")
    steps = steps_in(examined.document)
    if not steps and change in {"before", "after"}:
        return _first(text, examined.document, what)
    if not 0 <= request.step < len(steps):
        raise UsageError(f"there is no step {request.step}; the text has {len(steps)}")
    return _CHANGES[change](_Place.of(text, steps[request.step], examined.document), what)


def _paragraphs(*parts: str) -> str:
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def _declared(examined: Examined) -> str:
    """The text as declarations: a bare protocol beside others needs a name."""
    document = examined.document
    if document is not None and any(declaration.name is None for declaration in document.declarations):
        return f"protocol Main = {examined.source.text.lstrip()}"
    return examined.source.text


def _first(text: str, document: Document, what: str) -> str:
    """A step in a protocol that has none yet."""
    if not document.declarations:
        return _paragraphs(text, f"protocol Main =\n    {what}\n    .end")
    start = document.declarations[0].body.span.start
    return f"{text[:start]}{what}.{text[start:]}"


# -- at a step ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    """A step where it stands in the text."""

    text: str
    step: Action
    choice: Choice | None
    """The choice of which it begins a branch."""
    end: int
    """Where it ends, with its deadline."""

    @classmethod
    def of(cls, text: str, step: Action, document: Document) -> _Place:
        """The place of a step of a document."""
        parents: dict[int, Protocol] = {}
        stack: list[Protocol] = [declaration.body for declaration in document.declarations]
        while stack:
            here = stack.pop()
            for child in here.children():
                parents[id(child)] = here
                stack.append(child)
        inner: Protocol = step
        parent = parents.get(id(step))
        end = step.span.end
        if isinstance(parent, Deadline) and parent.body is step:
            end = parent.span.end
        if isinstance(parent, Sequence) and parent.steps[0] is step:
            inner, parent = parent, parents.get(id(parent))
        is_branch = isinstance(parent, Choice) and any(branch is inner for branch in parent.branches)
        return cls(text, step, parent if is_branch and isinstance(parent, Choice) else None, end)

    @property
    def start(self) -> int:
        return self.step.span.start

    @property
    def word(self) -> str:
        step = self.step
        return Symbol(step.direction, step.label, step.partner, step.clauses, step.gated).word

    def put(self, start: int, end: int, what: str) -> str:
        """The text with something else from `start` to `end`."""
        return f"{self.text[:start]}{what}{self.text[end:]}"


def _after(place: _Place, what: str) -> str:
    return place.put(place.end, place.end, f".{what}")


def _before(place: _Place, what: str) -> str:
    if place.choice is not None:
        raise UsageError(f"`{place.word}` begins a branch; put the step before the whole choice, or beside it")
    return place.put(place.start, place.start, f"{what}.")


def _beside(place: _Place, what: str) -> str:
    """One more branch; a step that is no branch yet becomes one."""
    if place.choice is None:
        return place.put(place.start, place.end, f"{{{place.text[place.start : place.end]}, {what}}}")
    sign = place.text[place.choice.span.start]
    if sign in "!?":  # it stands in front of the braces and belongs to every branch
        if not what.startswith(sign):
            raise UsageError(f"all branches of this choice are `{sign}`; write `{sign}…`, or make it a mixed choice")
        what = what[1:]
    return place.put(place.start, place.start, f"{what}, ")


def _rename(place: _Place, what: str) -> str:
    """Another label; its sign, clauses and gate stay."""
    label = what.lstrip("!?").strip()
    new = label if label.startswith('"') else print_label(label)
    old = print_label(place.step.label)
    at = place.text.find(old, place.start, place.end)
    if at < 0:
        raise UsageError(f"`{place.word}` is written in an unusual way; rename it in the text")
    return place.put(at, at + len(old), new)


def _loop(place: _Place, what: str) -> str:
    name = what or "Again"
    if not is_name(name):
        raise UsageError(f"`{name}` is no name for a loop: a letter, then letters, digits and `_`")
    if place.choice is not None:
        raise UsageError(f"`{place.word}` begins a branch; a loop begins before a choice")
    return place.put(place.start, place.start, f"rec {name}.")


def _remove(place: _Place, _: str) -> str:
    """Without a step; of a choice, without the branch that it begins."""
    text, start, end, separator = place.text, place.start, place.end, "."
    if place.choice is not None:
        if len(place.choice.branches) == 1:
            raise UsageError("it is the only branch; remove the choice in the text")
        branch = next(b for b in place.choice.branches if b.span.start <= start < b.span.end)
        (start, end), separator = branch.span, ","
    rest = text[end:].lstrip()
    if rest.startswith(separator):
        return text[:start] + rest[1:].lstrip()
    before = text[:start].rstrip()
    if before.endswith(separator):
        return before.removesuffix(separator) + text[end:]
    return f"{text[:start]}end{text[end:]}"


_CHANGES: dict[str, Callable[[_Place, str], str]] = {
    "after": _after,
    "before": _before,
    "beside": _beside,
    "rename": _rename,
    "loop": _loop,
    "remove": _remove,
}
