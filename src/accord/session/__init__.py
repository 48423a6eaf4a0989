"""All roles of a protocol watched at once: `Session`, the `Endpoint` of each role, many `Conversations`."""

from __future__ import annotations

from accord.session.conversations import Conversations
from accord.session.session import Endpoint, Session

__all__ = ["Conversations", "Endpoint", "Session"]
