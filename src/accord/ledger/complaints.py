"""What is wrong with a bad line, in words.

Nothing here decides whether a line is bad: that is done by then, quickly. Here the reason is looked for, slowly. Bytes
of the line are quoted clipped and made visible: they may come from anywhere.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NoReturn

from accord.diagnostics.visible import clip
from accord.ledger.entries import LONGEST, OPENING, is_canonical

if TYPE_CHECKING:
    from accord.ledger.chain import Fault

__all__ = ["about_content", "about_frame"]

_BOM = b"\xef\xbb\xbf"
_TORN = "the file ends in the middle of this line, as after a crash; opening the ledger for writing cuts the piece off"


def about_frame(line: bytes, *, first: bool) -> tuple[Fault, str]:
    """Why a line is not the frame of an entry."""
    if len(line) > LONGEST:
        return "not a line", f"the line is longer than {LONGEST:,} bytes, which no entry is"
    if line.startswith(_BOM):
        return "not a line", "the line begins with a byte order mark"
    if line.endswith(b"\r\n"):
        return "not a line", "the line ends with CR LF instead of LF"
    if not line.strip():
        return "not a line", "the line is blank"
    if not line.endswith(b"\n"):
        return ("not a line", "this is no ledger") if first and not _may_begin(line) else ("cut off", _TORN)
    if not line.startswith(OPENING):
        return "not a line", f"a line begins with `{OPENING.decode()}`, this one with `{_quote(line)}`"
    return "not a line", 'a line ends with `,"hash":"…"}` and 64 hexadecimal digits, and with nothing behind it'


def _may_begin(piece: bytes) -> bool:
    return piece.startswith(OPENING) or OPENING.startswith(piece)


def about_content(body: bytes, error: Exception) -> str:
    """Why the bytes of an entry are none, though their hash is right."""
    try:
        text = body.decode("utf-8")
        json.loads(text, object_pairs_hook=_no_key_twice, parse_constant=_no_constant)
    except UnicodeDecodeError:
        return "its content is not UTF-8"
    except _ComplaintError as complaint:
        return str(complaint)
    except RecursionError:
        return "its content is nested too deep"
    except ValueError as broken:
        return f"its content is no JSON: {clip(str(broken), 100)}"
    try:
        canonical = is_canonical(body)
    except (ValueError, TypeError, RecursionError, OverflowError):
        canonical = False
    if not canonical:
        return "its content is not canonical JSON: other spacing, order, escapes or digits than an entry has"
    return f"its content is no entry: {clip(str(error), 200)}"


class _ComplaintError(Exception):
    """The reason was found."""


def _no_key_twice(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise _ComplaintError(f"the key `{clip(key, 40)}` stands twice in one object")
        found[key] = value
    return found


def _no_constant(name: str) -> NoReturn:
    raise _ComplaintError(f"{name} is no JSON")


def _quote(line: bytes) -> str:
    return clip(line[:60].decode("utf-8", "replace").rstrip("\n"), 30)
