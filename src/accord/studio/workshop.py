"""Where texts are looked at: everything that is answered from a request alone.

It stands in a process of its own (see `worker`), which is ended if a request takes too long. So it holds nothing that
could be missed: texts and walks that were looked at last, because the next request is mostly about the same.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from accord.errors import ContractError
from accord.studio.contracts import examine_text
from accord.studio.walking import Memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from accord.machine.contract import Contract
    from accord.studio.bounds import Bounds
    from accord.studio.contracts import Examined

__all__ = ["Workshop"]

_REMEMBERED = 16


class Workshop:
    """The bounds that are kept, the files that were sent, whom to tell how far work is, and what was looked at last."""

    def __init__(
        self, bounds: Bounds, uploads: Path, tell: Callable[[dict[str, object]], None] = lambda _: None
    ) -> None:
        self.bounds = bounds
        self.uploads = uploads
        self.tell = tell
        self.examine = lru_cache(_REMEMBERED)(self._examine)
        self.memory = Memory()

    def _examine(self, text: str) -> Examined:
        return examine_text(text, self.bounds.limits)

    def compiled(self, text: str) -> Contract:
        """The contract of a text; `ContractError` if it has errors."""
        examined = self.examine(text)
        if examined.contract is None:
            raise ContractError(examined.findings)
        return examined.contract
