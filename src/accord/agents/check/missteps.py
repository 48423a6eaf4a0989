"""What is wrong at a place in the code, in words; the rules make it, one file each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from accord.language.labels import print_label

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Misstep", "labelled", "listed"]


@dataclass(frozen=True)
class Misstep:
    """A code with its sentence, how to do it right, and a word at the caret."""

    code: str
    message: str
    help: str = ""
    label: str = ""


def listed(words: Iterable[str], last: str = "or") -> str:
    """Words in backticks, each once, no more than a reader takes in."""
    shown = [f"`{word}`" for word in dict.fromkeys(words)]
    return f" {last} ".join(shown[:4]) + (" …" if len(shown) > 4 else "")


def labelled(labels: Iterable[str]) -> str:
    """The same for labels, as a contract writes them."""
    return listed(map(print_label, labels))
