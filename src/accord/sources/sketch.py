"""What the beginning of a file looks like, so that readers can tell whether it is theirs.

Only names count that are really keys: inside a string of JSON the quotes of a key are escaped, so what an agent says
about a format is not taken for one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["BOM", "Sketch", "sketch"]

_KEY = re.compile(rb'"([A-Za-z_][\w.]{0,63})"\s*:')
_TYPE = re.compile(rb'"(?:type|kind|run_type)"\s*:\s*"(\w{1,40})"')
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Sketch:
    """The beginning of a file: the keys of its JSON at all depths, what its `type`s are, its first bytes and line."""

    keys: frozenset[str]
    types: frozenset[str]
    start: bytes
    first_line: bytes


def sketch(head: bytes) -> Sketch:
    """The sketch of a file that begins so."""
    head = head.removeprefix(BOM)
    start = head.lstrip()[:4]
    json = start[:1] in {b"{", b"["} or b"\n{" in head or b"\n[" in head  # the first line may be damaged
    keys = frozenset(key.decode() for key in _KEY.findall(head)) if json else frozenset()
    types = frozenset(name.decode() for name in _TYPE.findall(head)) if json else frozenset()
    return Sketch(keys, types, start, head.split(b"\n", 1)[0])
