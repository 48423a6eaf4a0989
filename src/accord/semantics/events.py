"""What an `events` block means: the label of a raw message, read off the lines one after the other."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from accord.language.events import Named, Says
from accord.semantics.data import accept, freeze

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.language.events import EventLine, Events, MessageKind
    from accord.language.tree import Direction

__all__ = ["label_of"]


def label_of(
    events: Events | None,
    kind: MessageKind,
    name: str | None,
    payload: Mapping[str, object],
    *,
    answers_user: bool = False,
) -> tuple[Direction, str | None, int | None] | None:
    """Direction, label and number of the line that gives it, without a label if it is ignored; `None` if nothing does.

    `answers_user` tells whether it is the answer to a call that the other party made.
    """
    way = direction(kind)
    name = None if name is None else unicodedata.normalize("NFC", name)
    plain = kind not in {"user", "agent", "user call"} and not answers_user and bool(name)
    if events is None:
        return (way, name, None) if plain else None
    for number, line in enumerate(events.lines):
        if line.as_named:
            if plain:
                return way, name, number
        elif fits(line, kind, name, payload):
            return way, line.label, number
    return None


def direction(kind: MessageKind) -> Direction:
    """What the agent does is sent; all else reaches it."""
    return "!" if kind in {"agent", "call"} else "?"


def fits(line: EventLine, kind: MessageKind, name: str | None, payload: Mapping[str, object]) -> bool:
    """Whether a line is about a message."""
    match line.origin:
        case None:
            return True
        case Says(speaker, text, is_pattern):
            said = payload.get("text")
            if kind != speaker or not isinstance(said, str):
                return False
            if (re.search(text, said) is None) if is_pattern else (text not in said):
                return False
        case Named(source, names):
            if kind != source or name not in names:
                return False
    return accept(line.guards, freeze(payload), frozenset()) is not None
