"""E072: it is not clear what is meant: a declaration that makes no sense, a message that could belong to several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.agents.check.missteps import Misstep, listed
from accord.diagnostics import did_you_mean
from accord.diagnostics.agent_codes import UNCLEAR
from accord.language.labels import print_label

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from accord.agents.check.scripts import Script

__all__ = [
    "declaration",
    "not_followed",
    "several_conversations",
    "several_openers",
    "several_protocols",
    "several_roles",
    "wrong_protocol",
]


def declaration(what: str, help_: str) -> Misstep:
    """A declaration that the run time would refuse."""
    return Misstep(UNCLEAR, what, help_)


def several_openers(protocol: str, openers: Sequence[str]) -> Misstep:
    """A protocol in which two roles send before they have heard of a conversation: of which would the second one be?"""
    what = f"protocol `{protocol}` cannot be followed by agents: {listed(openers, 'and')} both send first"
    return Misstep(UNCLEAR, what, f"let `{openers[0]}` tell `{openers[1]}` first", "which conversation?")


def not_followed(protocol: str, scripts: Sequence[Script]) -> Misstep:
    """`protocol=` names none that the agent follows."""
    known = [script.protocol for script in scripts]
    meant = did_you_mean(protocol, known)
    help_ = f'did you mean `protocol="{meant}"`?' if meant else f"it follows {listed(known, 'and')}"
    return Misstep(UNCLEAR, f"`{protocol}` is no protocol of this agent", help_, "of which one?")


def several_protocols(label: str, protocols: Iterable[str]) -> Misstep:
    """A message that two protocols share, without `protocol=`."""
    which = " or ".join(f'`protocol="{name}"`' for name in sorted(set(protocols)))
    what = f"`{print_label(label)}` belongs to several protocols"
    return Misstep(UNCLEAR, what, f"say which: {which}", "of which one?")


def several_conversations(label: str, protocol: str) -> Misstep:
    """A message that is due in more than one conversation of a strand."""
    what = f"`{print_label(label)}` may be due in several conversations of `{protocol}`"
    return Misstep(UNCLEAR, what, "send it before the next conversation is opened, or `reply`", "in which one?")


def several_roles(label: str, roles: Iterable[str]) -> Misstep:
    """A message that may go to several roles, for a target that may be any of them."""
    what = f"`{print_label(label)}` may be for {listed(roles)}"
    return Misstep(UNCLEAR, what, "name the role", "for whom?")


def wrong_protocol(protocol: str, script: Script) -> Misstep:
    """A reply in a protocol of which nothing was received last."""
    what = f"the last message of this handler is not of `{protocol}`"
    return Misstep(UNCLEAR, what, f"it is of `{script.protocol}`; use `send` for the other one", "reply to what?")
