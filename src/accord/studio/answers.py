"""The table of answers: what the page may ask by name, the type of each request, and the function that answers it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accord import __version__
from accord.choreography.draw import draw_contract
from accord.errors import ContractError
from accord.language.formatting import formatted
from accord.studio.completing import complete
from accord.studio.contracts import describe
from accord.studio.crews import read_messages, talk
from accord.studio.editing import edit
from accord.studio.requests import (
    Complete,
    Decide,
    Edit,
    File,
    Key,
    Named,
    Nothing,
    OneRun,
    Runs,
    Save,
    Snippet,
    Talk,
    Text,
    Tools,
    Trace,
    Walk,
)
from accord.studio.runs import one_run, several_runs
from accord.studio.snippets import KINDS, snippet
from accord.studio.tools import tools_in
from accord.studio.walking import event_line, read_events, walk
from accord.templates import template, templates

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accord.machine.contract import Contract
    from accord.studio.app import Studio

__all__ = ["ANSWERS"]


def _compiled(studio: Studio, text: str) -> Contract:
    examined = studio.examine(text)
    if examined.contract is None:
        raise ContractError(examined.findings)
    return examined.contract


def _about(studio: Studio, _: Nothing) -> object:
    library = [{"name": one.name, "title": one.title, "summary": one.summary} for one in templates()]
    return {
        "version": __version__,
        "templates": library,
        "files": studio.files.listed(),
        "writable": studio.files.writable,
        "store": studio.desk.is_open,
        "snippets": [{"kind": kind, "title": title} for kind, title in KINDS.items()],
    }


def _template(_: Studio, request: Named) -> object:
    one = template(request.name)
    good, bad = one.runs
    return {"name": one.name, "title": one.title, "text": one.text, "page": one.page, "good": good, "bad": bad}


def _file(studio: Studio, request: File) -> object:
    return {"name": str(studio.files.path(request.number)), "text": studio.files.text(request.number)}


def _save(studio: Studio, request: Save) -> object:
    studio.files.save(request.number, request.text, request.before)
    return {"saved": str(studio.files.path(request.number))}


def _contract(studio: Studio, request: Text) -> object:
    return describe(studio.examine(request.text), studio.bounds, everything=request.everything)


def _walk(studio: Studio, request: Walk) -> object:
    return walk(_compiled(studio, request.text), request, studio.bounds, studio.memory)


def _events(studio: Studio, request: Trace) -> object:
    return {"events": [event_line(event) for event in read_events(request.text, studio.bounds.events)]}


def _talk(studio: Studio, request: Talk) -> object:
    return talk(_compiled(studio, request.text), request, studio.bounds)


def _messages(studio: Studio, request: Trace) -> object:
    return {"messages": read_messages(request.text, studio.bounds.events)}


def _runs(studio: Studio, request: Runs) -> object:
    return several_runs(_compiled(studio, request.text), request, studio.bounds)


def _run(studio: Studio, request: OneRun) -> object:
    return one_run(_compiled(studio, request.text), request, studio.bounds)


def _sessions(studio: Studio, _: Nothing) -> object:
    return studio.desk.sessions()


def _session(studio: Studio, request: Key) -> object:
    return studio.desk.session(request.key)


def _decide(studio: Studio, request: Decide) -> object:
    return studio.desk.decide(request)


def _format(studio: Studio, request: Text) -> object:
    return {"text": formatted(studio.examine(request.text).source, studio.bounds.limits)}


def _mermaid(studio: Studio, request: Text) -> object:
    return {"text": draw_contract(_compiled(studio, request.text), "mermaid")}


def _complete(studio: Studio, request: Complete) -> object:
    return complete(studio.examine(request.text), request.at, request.palette)


def _edit(studio: Studio, request: Edit) -> object:
    return edit(studio.examine(request.text), request, studio.bounds.limits)


def _tools(_: Studio, request: Tools) -> object:
    return {"tools": tools_in(request.text)}


def _snippet(studio: Studio, request: Snippet) -> object:
    return {"text": snippet(_compiled(studio, request.text), request.kind)}


ANSWERS: Mapping[str, tuple[type[Any], Callable[[Studio, Any], object]]] = {
    "about": (Nothing, _about),
    "template": (Named, _template),
    "file": (File, _file),
    "save": (Save, _save),
    "contract": (Text, _contract),
    "walk": (Walk, _walk),
    "talk": (Talk, _talk),
    "messages": (Trace, _messages),
    "events": (Trace, _events),
    "runs": (Runs, _runs),
    "run": (OneRun, _run),
    "sessions": (Nothing, _sessions),
    "session": (Key, _session),
    "decide": (Decide, _decide),
    "format": (Text, _format),
    "mermaid": (Text, _mermaid),
    "complete": (Complete, _complete),
    "edit": (Edit, _edit),
    "tools": (Tools, _tools),
    "snippet": (Snippet, _snippet),
}
