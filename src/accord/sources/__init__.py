"""Recorded runs of agents, from whatever wrote them: one reader per format, all of which give the same model."""

from __future__ import annotations

from accord.sources.model import KINDS, Broken, Kind, Message, Run

__all__ = ["KINDS", "Broken", "Kind", "Message", "Run"]
