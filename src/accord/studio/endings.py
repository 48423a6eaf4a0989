r"""The ends of lines, which a text field of a browser does not keep: it has `\n` alone.

So a file's own ends of lines are put back when it is saved. A line that was not touched keeps the end that it had; a
new one gets that of the line above it, or of the first.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher

__all__ = ["with_endings"]

_END = re.compile("\r\n|\r|\n")


def with_endings(text: str, before: str) -> str:
    """A text of a text field, with the ends of lines of the one that it was made from."""
    ends: list[str] = _END.findall(before)
    if "\r" in text or set(ends) <= {"\n"}:
        return text
    lines = text.split("\n")
    if len(set(ends)) == 1:
        return ends[0].join(lines)
    olds = _END.split(before)
    found: list[str | None] = [None] * len(lines)
    for old, new, size in SequenceMatcher(None, olds, lines).get_matching_blocks():
        for offset in range(size):
            if old + offset < len(ends):
                found[new + offset] = ends[old + offset]
    end = ends[0]
    pieces = []
    for line, kept in zip(lines[:-1], found, strict=False):
        end = kept or end
        pieces.append(line + end)
    return "".join(pieces) + lines[-1]
