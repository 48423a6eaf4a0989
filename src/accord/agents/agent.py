"""`Agent`: what a class that follows protocols is derived from.

It has no state of its own. What an agent may do depends on where it is called from: a handler works in its
conversation, and what that is the run time knows from the task that calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from accord.agents.runtime.strand import current_strand

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import UnionType

    from accord.agents.references import AgentRef

__all__ = ["Agent"]

M = TypeVar("M")


class Agent:
    """The base of agents. `@follows` says what it plays, methods `on_…` take messages, a `Supervisor` runs it.

    An agent works on many conversations at the same time, each in its own task; within one conversation everything
    happens in order. Where two protocols share a message, `protocol=` names the one that is meant.
    """

    async def on_start(self) -> None:
        """Runs when the agent starts, and again whenever it is started again after a crash."""

    async def send(
        self,
        to: str | AgentRef | type[Agent],
        message: object,
        *,
        protocol: str | None = None,
        cast: Mapping[str, AgentRef] | None = None,
    ) -> None:
        """Send a message to a role, to an agent, or to the agent of a class.

        It goes into the conversation of this handler in which it is due. If there is none, and the message is one that
        a protocol begins with, it opens a conversation. Returns when the message is in the receiver's mailbox, and
        waits while that is full.

        Where several agents play a role, `cast` says who plays it in the conversation that is opened.

        Raises `ViolationError` if the protocol does not allow it; nothing is sent then.
        """
        await current_strand(self).send(to, message, protocol, cast)

    async def reply(self, message: object, *, protocol: str | None = None) -> None:
        """Send a message to whoever sent the last one that this handler has received; errors as for `send`."""
        await current_strand(self).reply(message, protocol)

    @overload
    async def receive(self, message_class: type[M], *, protocol: str | None = None) -> M: ...

    @overload
    async def receive(self, message_class: UnionType, *, protocol: str | None = None) -> Any: ...  # noqa: ANN401 - one of them

    async def receive(self, message_class: object, *, protocol: str | None = None) -> Any:
        """Wait for a message of a class, or of one of `A | B`, in the conversations of this handler.

        Raises `ViolationError` if no such message can come, and `PartnerCrashedError` if its sender has crashed.
        """
        return await current_strand(self).receive(message_class, protocol)
