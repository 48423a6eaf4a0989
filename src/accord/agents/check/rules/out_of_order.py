"""E077: a message that the role sends, but not now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.agents.check.missteps import Misstep, labelled
from accord.diagnostics.agent_codes import OUT_OF_ORDER
from accord.language.labels import print_label

if TYPE_CHECKING:
    from accord.agents.check.scripts import Script

__all__ = ["not_a_beginning", "out_of_order"]


def out_of_order(script: Script, state: int, label: str) -> Misstep:
    """Something else is due."""
    if script.sends[state]:
        now = f"`{script.role}` has to send {labelled(word for word, _ in script.sends[state])} now"
    else:
        now = f"`{script.role}` waits for {labelled(word for word, _ in script.receives[state])} now"
    help_ = f"the order is that of `{script.protocol}`: {script.step_of(label)}"
    return Misstep(OUT_OF_ORDER, f"`{print_label(label)}` is out of order: {now}", help_, "not now")


def not_a_beginning(script: Script, label: str) -> Misstep:
    """There is no conversation, and the message does not begin one."""
    first = labelled(word for word, _ in script.sends[0]) or "a message of a partner"
    message = f"`{print_label(label)}` is out of order: `{script.protocol}` begins with {first}"
    return Misstep(OUT_OF_ORDER, message, f"the step is {script.step_of(label)}", "not now")
