"""Recorded runs of agents, from whatever wrote them: one reader per format, all of which give the same model."""

from __future__ import annotations

from accord.sources.files import files_of
from accord.sources.model import KINDS, Broken, Kind, Message, Run
from accord.sources.reader import Reader
from accord.sources.registry import READERS, detect, read_runs, reader_named

__all__ = [
    "KINDS",
    "READERS",
    "Broken",
    "Kind",
    "Message",
    "Reader",
    "Run",
    "detect",
    "files_of",
    "read_runs",
    "reader_named",
]
