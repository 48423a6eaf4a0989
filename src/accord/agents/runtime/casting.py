"""Who plays which role in a conversation that is being opened.

INVARIANT: that is decided once, by whoever opens it, and every letter says it: so all agree. A role that only one agent
plays is played by that one; where several do, the opener says which: by whom it sends to first, or by `cast=`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.agents.references import AgentRef
from accord.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.agents.following import Following
    from accord.agents.runtime.addressing import Addressee
    from accord.agents.runtime.life import Life

__all__ = ["cast_roles"]


async def cast_roles(
    life: Life, following: Following, role: str, addressee: Addressee, chosen: Mapping[str, AgentRef] | None
) -> dict[str, str]:
    """The names of all who play, by role. `role` is who gets the first message, from the agent of this life."""
    picked = {} if addressee.name is None else {role: addressee.name}
    for other, reference in (chosen or {}).items():
        picked[other] = await _picked(life, following, other, reference, picked.get(other))
    cast = {following.role: life.name}
    for other in following.choreography.roles:
        if other != following.role:
            cast[other] = picked[other] if other in picked else await _only_one(life, following, other, first=role)
    return cast


async def _picked(life: Life, following: Following, role: str, reference: object, before: str | None) -> str:
    if not isinstance(reference, AgentRef):
        raise UsageError(f"`cast` says for a role which `AgentRef` plays it, got {reference!r} for {role!r}")
    if role not in following.choreography.roles or role == following.role:
        others = ", ".join(f"`{other}`" for other in following.choreography.roles if other != following.role)
        raise UsageError(f"`cast` names `{role}`; the other roles of protocol `{following.protocol}` are {others}")
    if before not in (None, reference.name):
        raise UsageError(
            f"the first message goes to agent `{before}`, and `cast` says that `{reference.name}` is `{role}`"
        )
    if following.part._replace(role=role) not in await life.hub.transport.parts(reference.name):
        raise UsageError(f"agent `{reference.name}` does not play role `{role}` of protocol `{following.protocol}`")
    return reference.name


async def _only_one(life: Life, following: Following, role: str, *, first: str) -> str:
    names = await life.hub.transport.find(following.part._replace(role=role))
    if len(names) == 1:
        return names[0]
    where = f"role `{role}` of protocol `{following.protocol}`"
    if not names:
        raise UsageError(f"{where}: no agent plays it")
    hint = "send the first message to one of them" if role == first else f"say which one by `cast={{{role!r}: …}}`"
    raise UsageError(f"{where}: several agents play it: {', '.join(names)}; {hint}")
