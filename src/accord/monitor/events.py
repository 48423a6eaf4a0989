"""Events as the caller gives them, checked before anything looks at them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from accord.diagnostics.visible import clip
from accord.errors import UsageError
from accord.language.labels import is_name, normalise, parse_word
from accord.machine.clocks import time_of
from accord.machine.events import NO_PAYLOAD, Event

if TYPE_CHECKING:
    from accord.language.tree import Direction
    from accord.machine.clocks import Time

__all__ = ["make_event", "make_time", "read_event"]


def make_time(at: object) -> Time | None:
    """A time from what a caller gave, `None` if nothing; `UsageError` if that cannot be one."""
    if at is None:
        return None
    time = time_of(at)
    if time is None:
        raise UsageError(f"`at` is a time in seconds, a finite number, got {clip(_shown(at))}")
    return time


def _shown(value: object) -> str:
    """A value for a message; Python refuses to print huge integers, and a foreign class may refuse anything."""
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - whatever it is, it is no time
        return f"a `{type(value).__name__}`"


def make_event(
    direction: Direction, label: object, payload: object, partner: object, by: object = None, at: object = None
) -> Event:
    """An event from what a caller gave; `UsageError` if that cannot be one."""
    if type(label) is not str:
        raise UsageError(f"a label is a `str`, got `{type(label).__name__}`")
    if not label:
        raise UsageError("a label has at least one character")
    if partner is not None and (type(partner) is not str or not is_name(partner)):
        raise UsageError(f"a partner is a role name, got {partner!r}")
    if by is not None and (type(by) is not str or not by.strip()):
        raise UsageError(f"`by` names the person who made the step, got {by!r}")
    if payload is None:
        payload = NO_PAYLOAD
    elif type(payload) is not dict:
        payload = _as_dict(payload)
    return Event(direction, normalise(label), partner and normalise(partner), payload, by, make_time(at))


def _as_dict(payload: object) -> dict[str, object]:
    """A plain copy of any mapping: one of an unusual class could change when it is read."""
    if not isinstance(payload, Mapping):
        raise UsageError(f"a payload is a mapping (such as a `dict`), got `{type(payload).__name__}`")
    try:
        return {key: payload[key] for key in payload}
    except Exception as error:
        raise UsageError(f"the payload of class `{type(payload).__name__}` cannot be read: {error!r}") from error


_QUOTED = r'"(?:[^"\\]|\\.)*+"'
_EVENT = re.compile(
    rf"""
    (?P<word> [^!?"\s]* [!?] (?: {_QUOTED} | [^\s"{{]+ ) )
    (?: \s* (?P<payload> \{{.*\}} ) )?
    (?: \s+ by \s+ (?P<by> {_QUOTED} | [^\s"!?{{]+ ) )?
    \s* \Z
    """,
    re.VERBOSE | re.DOTALL,
)


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def read_event(text: str) -> Event:
    """The event in a text such as `!Ask`, `?Approval by ana` or `!pay {"amount": 3}`; `ValueError` if there is none.

    What does not have this form is taken as a word whose label is not quoted, so `!my tool` is read too.
    """
    if not isinstance(text, str):
        raise ValueError(f"an event is a text, got `{type(text).__name__}`")  # noqa: TRY004 - as for all other faults
    match = _EVENT.match(text)
    if match is None:
        if "{" in text:
            raise ValueError("a payload is one JSON object behind the label, and a label with `{` stands in quotes")
        return Event(*parse_word(text))
    payload = NO_PAYLOAD
    if match["payload"]:
        try:
            payload = json.loads(match["payload"], parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"the payload is no JSON object: {error}") from None
    by = match["by"]
    if by is not None and by.startswith('"'):
        by = parse_word(f"!{by}")[1]
    direction, label, partner = parse_word(match["word"])
    return Event(direction, label, partner, payload, by)
