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
    options.never_capture = True  # nobody asks where
    try:
        compiled = re2.compile(pattern, options)
    except (re2.error, UnicodeError) as error:
        reason = error.args[0] if error.args else error
        raise PatternError(reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)) from None

    # What the package offers makes an object of each match, which costs twice the search itself. What it is made of
    # does not.
    engine = getattr(compiled, "_regexp", None)
    match, anywhere = getattr(engine, "Match", None), getattr(getattr(engine, "Anchor", None), "UNANCHORED", None)

    def found(text: str) -> bool:
        try:
            if match is None or anywhere is None:
                return compiled.search(text) is not None
            data = text.encode()
            return bool(match(anywhere, data, 0, len(data))[0][0] >= 0)
        except UnicodeError:  # half of a surrogate pair is no text
            return False

    return found
