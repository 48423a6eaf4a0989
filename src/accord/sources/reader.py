"""What a reader is: the one shape that all formats have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from accord.sources.model import Broken, Run
    from accord.sources.sketch import Sketch

__all__ = ["Read", "Reader"]

Read: TypeAlias = "Callable[[BinaryIO, str], Iterator[Run | Broken]]"


@dataclass(frozen=True, slots=True)
class Reader:
    """A format that runs are recorded in.

    `read` takes a stream and the name of its file. It never raises because of what the stream holds: what cannot be
    read is a `Broken`. It holds one run at a time where a file has a run or less per line, else one file.

    `version` is raised whenever the same bytes would give other runs, so that results which were kept are not used.
    """

    name: str
    version: int
    recognises: Callable[[Sketch], bool]
    """Whether a file that looks so is of this format; asked only if no more special format is recognised."""
    read: Read
    skim: Read | None = None
    """As `read`, without what tools returned: whoever does not look at it is served much faster."""
