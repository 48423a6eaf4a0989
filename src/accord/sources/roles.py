"""Roles of messages that are no part of what happened, and those that nobody knows.

What the system or a developer says is left out. A role that a format does not have may be the user's or the agent's by
another name, and to leave that out would be to judge a run by half of it: such a run is broken.
"""

from __future__ import annotations

__all__ = ["UnknownRoleError", "pass_over"]

_SILENT = {"system", "developer"}


class UnknownRoleError(Exception):
    """A message has a role, or an item a type, that its format does not have."""


def pass_over(role: str | None, index: int) -> None:
    """Leave a message out that is no part of what happened. Raises `UnknownRoleError` if nobody can tell."""
    if role not in _SILENT:
        raise UnknownRoleError(
            f"message {index} has the role `{role or ''}`, which this format does not have; a mapping can describe it"
        )
