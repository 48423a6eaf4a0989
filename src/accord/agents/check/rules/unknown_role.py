"""E071: a role that the protocol does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.agents.check.missteps import Misstep, listed
from accord.diagnostics import did_you_mean
from accord.diagnostics.agent_codes import UNKNOWN_ROLE

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["no_role", "no_such_role", "no_text", "undefined_role"]


def no_such_role(role: str, protocol: str, roles: Sequence[str]) -> Misstep:
    """A role by another name."""
    meant = did_you_mean(role, roles)
    help_ = f"did you mean `{meant}`?" if meant else f"its roles are {listed(roles, 'and')}"
    return Misstep(UNKNOWN_ROLE, f"protocol `{protocol}` has no role `{role}`", help_, "no such role")


def undefined_role(name: str) -> Misstep:
    """A name in the code that nothing defines."""
    help_ = 'write the role as the protocol does, as text: `as_="Role"`'
    return Misstep(UNKNOWN_ROLE, f"unknown role `{name}`: nothing defines this name", help_, "not defined")


def no_text(got: str) -> Misstep:
    """`as_=3`."""
    return Misstep(UNKNOWN_ROLE, f"a role is named by a text, got `{got}`", 'write `as_="Role"`', "no role")


def no_role() -> Misstep:
    """`@follows(protocol)`."""
    return Misstep(UNKNOWN_ROLE, "which role is played is not said", 'write `@follows(protocol, as_="Role")`')
