"""E080: a message after the end of its conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.agents.check.missteps import Misstep
from accord.diagnostics.agent_codes import AFTER_THE_END
from accord.language.labels import print_label

if TYPE_CHECKING:
    from accord.agents.check.scripts import Script

__all__ = ["after_the_end"]


def after_the_end(script: Script, label: str) -> Misstep:
    """Nothing more is due."""
    message = f"`{print_label(label)}` comes after the end of `{script.protocol}`"
    return Misstep(
        AFTER_THE_END, message, f"the step is {script.step_of(label)}; the conversation is over here", "after the end"
    )
