"""E082: a message that can arrive and that nothing takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.agents.check.missteps import Misstep, labelled
from accord.diagnostics.agent_codes import UNTAKEN
from accord.language.global_tree import CRASH
from accord.language.labels import print_label

if TYPE_CHECKING:
    from accord.agents.check.scripts import Script

__all__ = ["no_handler", "received_by_half"]


def _class_of(label: str) -> str:
    return "Crash" if label == CRASH else label


def no_handler(script: Script, label: str, sender: str, agent: str) -> Misstep:
    """A conversation rests, the message arrives, and there is no handler."""
    message = f"`{print_label(label)}` from `{sender}` can arrive, and `{agent}` has no handler for it"
    method = f"`async def on_{_class_of(label).lower()}(self, message: {_class_of(label)})`"
    help_ = f"add {method}; the step is {script.step(label, sender, sending=False)}"
    return Misstep(UNTAKEN, message, help_, "no handler")


def received_by_half(script: Script, state: int, labels: tuple[str, ...]) -> Misstep:
    """`receive` waits for one message, and another can come instead."""
    other, sender = script.others(state, labels)[0]
    message = f"`{print_label(other)}` from `{sender}` can arrive here instead of {labelled(labels)}"
    wanted = " | ".join(map(_class_of, [*labels, other]))
    help_ = f"receive `{wanted}` and see which it is; the step is {script.step(other, sender, sending=False)}"
    return Misstep(UNTAKEN, message, help_, "takes only some of what can come")
