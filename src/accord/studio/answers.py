"""The table of what is answered from a request alone: its name, its type, and the function that answers it.

What was opened, files and a store, is asked for by another table: see `opened`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.choreography.draw import draw_contract
from accord.language.formatting import formatted
from accord.studio.completing import complete
from accord.studio.contracts import describe
from accord.studio.crews import read_messages, talk
from accord.studio.editing import edit
from accord.studio.requests import (
    Complete,
    Edit,
    Judge,
    Named,
    OneRun,
    Runs,
    Snippet,
    Talk,
    Text,
    Tools,
    Trace,
    Walk,
)
from accord.studio.runs import judge, one_run, several_runs
from accord.studio.snippets import snippet
from accord.studio.tools import tools_in
from accord.studio.walking import event_line, read_events, walk
from accord.templates import template

if TYPE_CHECKING:
    from accord.studio.answering import Table
    from accord.studio.workshop import Workshop

__all__ = ["ANSWERS", "TOLD"]


def _template(_: Workshop, request: Named) -> object:
    one = template(request.name)
    good, bad = one.runs
    return {"name": one.name, "title": one.title, "text": one.text, "page": one.page, "good": good, "bad": bad}


def _contract(shop: Workshop, request: Text) -> object:
    return describe(shop.examine(request.text), shop.bounds, everything=request.everything)


def _walk(shop: Workshop, request: Walk) -> object:
    return walk(shop.compiled(request.text), request, shop.bounds, shop.memory)


def _events(shop: Workshop, request: Trace) -> object:
    return {"events": [event_line(event) for event in read_events(request.text, shop.bounds.events)]}


def _talk(shop: Workshop, request: Talk) -> object:
    return talk(shop.compiled(request.text), request, shop.bounds)


def _messages(shop: Workshop, request: Trace) -> object:
    return {"messages": read_messages(request.text, shop.bounds.events)}


def _format(shop: Workshop, request: Text) -> object:
    return {"text": formatted(shop.examine(request.text).source, shop.bounds.limits)}


def _mermaid(shop: Workshop, request: Text) -> object:
    return {"text": draw_contract(shop.compiled(request.text), "mermaid")}


def _complete(shop: Workshop, request: Complete) -> object:
    return complete(shop.examine(request.text), request.at, request.palette)


def _edit(shop: Workshop, request: Edit) -> object:
    return edit(shop.examine(request.text), request, shop.bounds.limits)


def _tools(_: Workshop, request: Tools) -> object:
    return {"tools": tools_in(request.text)}


def _snippet(shop: Workshop, request: Snippet) -> object:
    return {"text": snippet(shop.compiled(request.text), request)}


ANSWERS: Table[Workshop] = {
    "template": (Named, _template),
    "contract": (Text, _contract),
    "walk": (Walk, _walk),
    "talk": (Talk, _talk),
    "messages": (Trace, _messages),
    "events": (Trace, _events),
    "judge": (Judge, judge),
    "runs": (Runs, several_runs),
    "run": (OneRun, one_run),
    "format": (Text, _format),
    "mermaid": (Text, _mermaid),
    "complete": (Complete, _complete),
    "edit": (Edit, _edit),
    "tools": (Tools, _tools),
    "snippet": (Snippet, _snippet),
}
"""The table."""

TOLD = frozenset({"judge"})
"""Those whose answers take a while and tell on the way how far they are."""
