"""What an agent and whoever runs it are told when something has failed for good."""

from __future__ import annotations

from accord.errors import AccordError, StoreError

__all__ = ["GaveUpError", "PartnerCrashedError", "SupersededError"]


class PartnerCrashedError(AccordError):
    """A partner has crashed, and the protocol does not say what comes then: this conversation is over.

    Nothing more can be sent or received in it. The partner may be back, for another conversation. An agent that does
    not catch it has ended its part of the conversation in good order: it does not crash itself.
    """

    def __init__(self, message: str, *, role: str, conversation: str) -> None:
        super().__init__(message)
        self.role = role
        self.conversation = conversation


class GaveUpError(AccordError):
    """Agents crashed more often than their supervisor allows; `__cause__` is what the last one crashed with."""


class SupersededError(StoreError):
    """Another process runs an agent of this name now. To start it again here would only take it away from there."""
