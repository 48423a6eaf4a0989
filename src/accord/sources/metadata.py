"""What is known about a run beside its messages: JSON scalars that reports group by."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accord.canonical import Json

__all__ = ["scalars"]

_MOST = 64
_LONGEST = 500


def scalars(*found: object) -> dict[str, Json]:
    """The scalars in mappings, earlier ones first; nulls and long texts are left out, and what is no mapping is too."""
    kept: dict[str, Json] = {}
    for mapping in found:
        if not isinstance(mapping, dict):
            continue
        for name, value in mapping.items():
            if value is None or not isinstance(value, str | int | float) or name in kept:
                continue
            if isinstance(value, str) and len(value) > _LONGEST:
                continue
            if len(kept) < _MOST and isinstance(name, str):
                kept[name] = value
    return kept
