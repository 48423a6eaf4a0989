"""E081: a `receive` that can never be satisfied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.agents.check.missteps import Misstep, labelled, listed
from accord.diagnostics import did_you_mean
from accord.diagnostics.agent_codes import NEVER_RECEIVED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accord.agents.check.scripts import Script

__all__ = ["never_here", "never_received", "never_without_conversation"]


def never_received(scripts: Sequence[Script], labels: tuple[str, ...]) -> Misstep:
    """No protocol has such a message for this agent."""
    roles = listed([script.role for script in scripts]) or "this agent"
    received = [label for script in scripts for label, _ in sorted(script.received)]
    meant = did_you_mean(labels[0], received)
    help_ = f"did you mean `{meant}`?" if meant else f"it receives {labelled(received)}" if received else ""
    message = f"{labelled(labels)} never comes: no protocol sends it to {roles}"
    return Misstep(NEVER_RECEIVED, message, help_, "waits for ever")


def never_without_conversation(script: Script, labels: tuple[str, ...], *, is_over: bool) -> Misstep:
    """The strand works on no conversation, or on none that goes on."""
    label, sender = next(key for key in sorted(script.received) if key[0] in labels)
    why = "the conversation is over" if is_over else "no conversation has begun here"
    help_ = f"the step is {script.step(label, sender, sending=False)}"
    if not is_over and (label, sender) in script.receives[0]:
        help_ = f"what begins a conversation is taken by a handler: `async def on_message(self, message: {label})`"
    return Misstep(NEVER_RECEIVED, f"{labelled(labels)} never comes: {why}", help_, "waits for ever")


def never_here(script: Script, state: int, labels: tuple[str, ...]) -> Misstep:
    """Something else comes first."""
    if script.sends[state]:
        why = f"{labelled(word for word, _ in script.sends[state])} has to be sent first"
    else:
        why = f"{labelled(word for word, _ in script.receives[state])} comes first"
    keys = [key for key in sorted(script.received) if key[0] in labels]
    help_ = f"the step is {script.step(*keys[0], sending=False)}" if keys else ""
    return Misstep(NEVER_RECEIVED, f"{labelled(labels)} never comes here: {why}", help_, "waits for ever")
