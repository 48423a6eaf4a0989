"""W091: an agent that is called like a role which it does not play."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.agents.check.missteps import Misstep
from accord.diagnostics.agent_codes import MISNAMED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accord.agents.check.scripts import Script

__all__ = ["misnamed"]


def misnamed(agent: str, scripts: Sequence[Script]) -> Iterator[Misstep]:
    """Each protocol in which another role has the agent's name; none if it has that from a role it plays elsewhere."""
    name = _plain(agent)
    if any(_plain(script.role) == name for script in scripts):
        return
    for script in scripts:
        other = next((role for role in script.roles if _plain(role) == name), None)
        if other is not None:
            message = (
                f"agent `{agent}` plays `{script.role}` of `{script.protocol}`, in which `{other}` is another role"
            )
            help_ = f'call the agent `{script.role}`, or let it play its own role: `as_="{other}"`'
            yield Misstep(MISNAMED, message, help_, "another role's name")


def _plain(name: str) -> str:
    return name.replace("_", "").casefold()
