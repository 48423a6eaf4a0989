"""A code: what a diagnostic means, with an example that has the mistake and one that does not."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Code"]


@dataclass(frozen=True, slots=True)
class Code:
    """What a code means. Its examples are contracts, trace configurations (E06x) or Python files (E07x to E09x)."""

    code: str
    title: str
    explanation: str
    wrong: str
    right: str

    @property
    def is_configuration(self) -> bool:
        """Whether its examples are trace configurations."""
        return self.code[1:3] == "06"

    @property
    def is_python(self) -> bool:
        """Whether its examples are Python files with agents in them."""
        return self.code[1:3] in {"07", "08", "09"}
