"""Places in a text as a browser counts them: in UTF-16 units, of which some characters take two."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accord.diagnostics import Span

__all__ = ["Places"]


class Places:
    """Offsets of one text, there and back."""

    def __init__(self, text: str) -> None:
        # Where characters that take two units stand, by our count and by the browser's.
        self._ours = [] if text.isascii() else [at for at, character in enumerate(text) if character > "\uffff"]
        self._theirs = [at + before for before, at in enumerate(self._ours)]

    def unit(self, offset: int) -> int:
        """The browser's offset of one of ours."""
        return offset + bisect_left(self._ours, offset)

    def offset(self, unit: int) -> int:
        """Our offset of one of the browser's."""
        return unit - bisect_left(self._theirs, unit)

    def span(self, span: Span) -> list[int]:
        """A stretch of the text."""
        return [self.unit(span.start), self.unit(span.end)]
