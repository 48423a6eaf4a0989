"""E074: a message that the role never sends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.agents.check.missteps import Misstep, labelled
from accord.diagnostics import did_you_mean
from accord.diagnostics.agent_codes import WRONG_TYPE
from accord.language.labels import print_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accord.agents.check.scripts import Script

__all__ = ["wrong_type"]


def wrong_type(script: Script | None, label: str, expected: Sequence[tuple[str, str]]) -> Misstep:
    """`expected` are the messages that could be sent, with their receivers."""
    shown = print_label(label)
    if script is None:
        return Misstep(
            WRONG_TYPE, f"`{shown}` is sent, and the agent follows no protocol", "write `@follows`", "wrong type"
        )
    wants = f"expects {labelled(word for word, _ in expected)}" if expected else "expects nothing to be sent here"
    message = f"protocol `{script.protocol}` {wants}, got `{shown}`"
    meant = did_you_mean(label, [word for word, _ in expected])
    help_ = f"did you mean `{meant}`?" if meant else ""
    if not help_ and expected:
        help_ = f"the step is {script.step(*expected[0], sending=True)}"
    return Misstep(WRONG_TYPE, message, help_, "wrong type")
