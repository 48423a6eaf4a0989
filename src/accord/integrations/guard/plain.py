"""Values as a guard judges them and writes them down."""

from __future__ import annotations

from accord.projection import payloads
from accord.projection.plain import DEEPEST, LARGEST, NotPlainError, is_text, plain_text, plainly

__all__ = ["DEEPEST", "LARGEST", "NotPlainError", "answer_of", "is_text", "plain_text", "plainly"]


def answer_of(value: object) -> dict[str, object]:
    """What a contract sees of what a tool returned, beside the call that it answers."""
    return payloads.of_result(value, None, None)
