"""E079: a message for a role that does not get it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.agents.check.missteps import Misstep, listed
from accord.diagnostics import did_you_mean
from accord.diagnostics.agent_codes import WRONG_ROLE
from accord.language.labels import print_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accord.agents.check.scripts import Script

__all__ = ["reply_to_another", "wrong_role"]


def wrong_role(scripts: Sequence[Script], label: str, role: str | None, to: str) -> Misstep:
    """`role` is what was named; `to` says the same in words."""
    receivers = [(script, partner) for script in scripts for word, partner in sorted(script.sent) if word == label]
    if receivers:
        script, partner = receivers[0]
        message = f"`{print_label(label)}` goes to {listed(p for _, p in receivers)}, not to {to}"
        return Misstep(WRONG_ROLE, message, f"the step is {script.step(label, partner, sending=True)}", "wrong role")
    roles = [other for script in scripts for other in script.roles if other != script.role]
    message = f"there is no {to} to send to in {listed([script.protocol for script in scripts])}"
    meant = did_you_mean(role or "", roles)
    return Misstep(
        WRONG_ROLE, message, f"did you mean `{meant}`?" if meant else f"there is {listed(roles)}", "wrong role"
    )


def reply_to_another(label: str, receivers: Sequence[str], sender: str) -> Misstep:
    """A reply that is due, but to somebody else than the sender of the last message."""
    message = f"`{print_label(label)}` goes to {listed(receivers)}, and the last message came from `{sender}`"
    return Misstep(WRONG_ROLE, message, f'write `self.send("{receivers[0]}", …)`', "wrong role")
