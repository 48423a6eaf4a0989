"""Patterns behind `matches`: RE2, so that matching takes linear time whatever the pattern and the text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PatternError", "compile_pattern"]

# A pattern may use this much memory; more is refused when the contract is compiled.
_MEMORY = 8 << 20


class PatternError(ValueError):
    """The pattern is not valid."""


def compile_pattern(pattern: str) -> Callable[[str], bool]:
    """A function that tells whether a text holds the pattern anywhere.

    Raises `PatternError` that says what is wrong with it.
    """
    import re2  # noqa: PLC0415 - loaded only by contracts with patterns

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        search = re2.compile(pattern, options).search
    except (re2.error, UnicodeError) as error:
        reason = error.args[0] if error.args else error
        raise PatternError(reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)) from None

    def found(text: str) -> bool:
        try:
            return search(text) is not None
        except UnicodeError:  # half of a surrogate pair is no text
            return False

    return found
