"""Where a message belongs: in which conversation of a strand it is due, whether it can still come, and if not, why.

These are questions about the strand's conversations. The answers that are no are errors that say what would be right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accord.agents.runtime.partings import bereaved
from accord.errors import UsageError, ViolationError
from accord.monitor import Ok, Violation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.agents.following import Following
    from accord.agents.references import AgentRef
    from accord.agents.runtime.addressing import Addressee
    from accord.agents.runtime.conversation import Conversation
    from accord.agents.runtime.strand import Strand
    from accord.monitor import Verdict

__all__ = ["check_hope", "find_place", "violation"]


async def find_place(
    strand: Strand,
    label: str,
    payload: dict[str, Any],
    addressee: Addressee,
    protocol: str | None,
    cast: Mapping[str, AgentRef] | None,
) -> tuple[Conversation, str]:
    """The conversation and the role that a message is for; a conversation is opened if that is what it does."""
    mine = [conversation for conversation in strand.of(protocol) if not conversation.over]
    due = []
    for conversation in mine:
        for symbol in conversation.following.edges(conversation.state):
            role = symbol.partner or ""
            if (symbol.direction, symbol.label) == ("!", label) and addressee.is_role(conversation, role):
                due.append((conversation, role))
    if len(due) > 1 and strand.last is not None:
        due = [place for place in due if place[0] is strand.last[0]] or due
    if len(due) > 1:
        raise UsageError(_ambiguous(label, {c.following.protocol for c, _ in due}))
    if due and cast is not None:
        raise UsageError(f"`cast` is said when a conversation is opened, and `{label}` goes on with one")
    if due:
        return due[0]
    roles = [f for f in strand.life.declaration.roles if protocol in (None, f.protocol)]
    opening = [(f, role) for f in roles for word, role in f.opening if word == label and addressee.plays(f, role)]
    if len(opening) > 1:
        raise UsageError(_ambiguous(label, {following.protocol for following, _ in opening}))
    if opening:
        following, role = opening[0]
        conversation = await strand.life.open(following, role, addressee, cast)
        strand.own(conversation)
        return conversation, role
    for conversation in strand.of(protocol):
        conversation.check_whole()
    raise _misplaced(strand, label, payload, addressee, mine, roles)


def _misplaced(
    strand: Strand,
    label: str,
    payload: dict[str, Any],
    addressee: Addressee,
    mine: list[Conversation],
    roles: list[Following],
) -> Exception:
    """Why a message can be sent in no conversation."""
    if not any(addressee.shares(following) for following in roles):
        followed = ", ".join(f"`{following.protocol}`" for following in roles) or "none"
        return UsageError(f"E078: {addressee} shares no protocol with this agent, which follows {followed}")
    knows = [c for c in mine if label in c.following.sends] or mine
    if knows:
        conversation = strand.last[0] if strand.last is not None and strand.last[0] in knows else knows[-1]
        role = addressee.role_in(conversation)
        verdict = conversation.session.send(label, payload, role)
        return violation(conversation.following, verdict, conversation.following.role)
    following = next((f for f in roles if label in f.sends), roles[0])
    verdict = strand.life.outside(following).send(label, payload, addressee.role_of(following))
    return violation(following, verdict, following.role)


async def check_hope(strand: Strand, mine: list[Conversation], wanted: dict[str, type], protocol: str | None) -> None:
    """Raise if none of these messages can come any more."""
    alive = [conversation for conversation in mine if not conversation.over]
    if any(c.can_come(wanted) and c.vain is None for c in alive):
        return
    for conversation in mine:
        concerned = bool(set(wanted) & set(conversation.following.receives))
        if concerned and (conversation.lost if conversation.over else conversation.vain) is not None:
            strand.conversations.remove(conversation)  # it is told once
            raise await bereaved(strand.life, conversation)
    for conversation in mine:
        conversation.check_whole()
    labels = " or ".join(f"`{label}`" for label in wanted)
    if not alive:
        of = "" if protocol is None else f" of `{protocol}`"
        raise ViolationError(f"{labels} can never come: this handler is in no conversation{of} that goes on")
    conversation = alive[-1]
    label = next(iter(wanted))
    other = conversation.next()
    if other is not None:
        come = f"`{other.label}` from `{other.sender}` has come instead"
        both = " | ".join([*wanted, other.label])
        raise ViolationError(f"{labels} can never come: {come}; `receive({both})` takes either")
    verdict = conversation.session.peek_receive(label)
    raise ViolationError(f"{labels} can never come here: {_explained(verdict)}", verdict)


def violation(following: Following, verdict: Verdict, role: str) -> ViolationError:
    """The error of a verdict, which blames a role."""
    if isinstance(verdict, Violation) and verdict.role is None:
        told = verdict.explain()
        verdict = Violation.blaming((role,), verdict.expected, verdict.got, told, contract=following.protocol)
    return ViolationError(f"protocol `{following.protocol}`, role `{role}`: {_explained(verdict)}", verdict)


def _explained(verdict: Verdict) -> str:
    return "" if isinstance(verdict, Ok) else verdict.explain()


def _ambiguous(label: str, protocols: set[str]) -> str:
    if len(protocols) > 1:
        listed = ", ".join(f"protocol={name!r}" for name in sorted(protocols))
        return f"`{label}` belongs to several protocols; say which: {listed}"
    (name,) = protocols
    return f"`{label}` is due in several conversations of `{name}`; send it to the agent that is meant, or `reply`"
