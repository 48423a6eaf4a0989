"""Messages between roles as people write them: `Traveller -> Desk: Request {"city": "Rome"}`, a line for each.

`end` closes the conversation.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from accord.diagnostics.visible import clip
from accord.errors import UsageError
from accord.language.labels import is_name, parse_word
from accord.monitor.verdicts import CLOSING
from accord.stepping.events import decode_json

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Exchanged", "exchanges_in"]

_LINE = re.compile(
    r"""\s*(?P<sender>[^\s:"]+)\s*->\s*(?P<receiver>[^\s:"]+)\s*:\s*"""
    r"""(?P<label>"(?:[^"\\]|\\.)*"|[^\s"{]+)\s*(?P<payload>\{.*\})?\s*\Z"""
)


class Exchanged(NamedTuple):
    """A message from one role to another; without a label, that the conversation is closed."""

    sender: str = ""
    receiver: str = ""
    label: str | None = None
    payload: dict[str, object] | None = None


def exchanges_in(text: str) -> Iterator[Exchanged]:
    """The messages of a text. Raises `UsageError` that says which line cannot be read, and why.

    Example:
        >>> list(exchanges_in('A -> B: Ask {"n": 1}'))
        [Exchanged(sender='A', receiver='B', label='Ask', payload={'n': 1})]
    """
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            yield Exchanged() if line.strip() == CLOSING else _read(line)
        except ValueError as error:
            raise UsageError(f"line {number}: {error}") from None


def _read(line: str) -> Exchanged:
    match = _LINE.match(line)
    if match is None or not is_name(match["sender"]) or not is_name(match["receiver"]):
        raise ValueError(f"`{clip(line.strip(), 40)}` is no message; one is written `A -> B: label {{…}}`")
    _, label, _ = parse_word(f"!{match['label']}")
    payload = None if match["payload"] is None else decode_json(match["payload"])
    assert payload is None or isinstance(payload, dict)  # noqa: S101 - it begins and ends with braces
    return Exchanged(match["sender"], match["receiver"], label, payload)
