"""What the studio was opened on, files and a store, and the table of what is answered from it.

This stays in the studio's own process: what it writes must not be ended in the middle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord import __version__
from accord.errors import UsageError
from accord.studio.bounds import DEFAULT_BOUNDS
from accord.studio.desk import Desk
from accord.studio.ledgers import Ledgers
from accord.studio.requests import Decide, File, Key, Nothing, Save
from accord.studio.role_snippets import ROLE_KINDS
from accord.studio.snippets import KINDS
from accord.templates import templates

if TYPE_CHECKING:
    from accord.stores import Store
    from accord.studio.answering import Table
    from accord.studio.files import Files

__all__ = ["OPENED", "Studio"]


class Studio:
    """Files, ledgers, and the desk on which a store is looked at."""

    def __init__(self, files: Files, store: Store | None = None, ledgers: Ledgers | None = None) -> None:
        self.files = files
        self.ledgers = ledgers or Ledgers()
        self.desk = Desk(store, files)


def _about(studio: Studio, _: Nothing) -> object:
    library = [{"name": one.name, "title": one.title, "summary": one.summary} for one in templates()]
    return {
        "version": __version__,
        "templates": library,
        "files": studio.files.listed(),
        "writable": studio.files.writable,
        "store": studio.desk.is_open,
        "ledgers": len(studio.ledgers.paths),
        "upload_bytes": DEFAULT_BOUNDS.upload_bytes,
        "snippets": [{"kind": kind, "title": title, "roles": False} for kind, title in KINDS.items()]
        + [{"kind": kind, "title": title, "roles": True} for kind, title in ROLE_KINDS.items()],
    }


def _file(studio: Studio, request: File) -> object:
    return {**studio.files.one(request.number), "text": studio.files.text(request.number)}


def _save(studio: Studio, request: Save) -> object:
    about = studio.files.one(request.number)
    if about["path"] != request.path:
        raise UsageError(f"the studio was started anew and does not have {request.path} open; nothing was saved")
    return {"name": about["name"], "text": studio.files.save(request.number, request.text, request.before)}


def _sessions(studio: Studio, _: Nothing) -> object:
    return studio.desk.sessions()


def _session(studio: Studio, request: Key) -> object:
    return studio.desk.session(request.key)


def _ledgers(studio: Studio, _: Nothing) -> object:
    return {"ledgers": studio.ledgers.listed()}


def _ledger(studio: Studio, request: File) -> object:
    return studio.ledgers.one(request.number)


def _decide(studio: Studio, request: Decide) -> object:
    return studio.desk.decide(request)


OPENED: Table[Studio] = {
    "about": (Nothing, _about),
    "file": (File, _file),
    "save": (Save, _save),
    "sessions": (Nothing, _sessions),
    "session": (Key, _session),
    "decide": (Decide, _decide),
    "ledgers": (Nothing, _ledgers),
    "ledger": (File, _ledger),
}
