"""Where a message belongs: in which conversation of a strand it is due, whether it can still come, and if not, why.

These are questions about the strand's conversations. The answers that are no are errors that say what would be right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accord.agents.runtime.partings import bereaved
from accord.diagnostics import did_you_mean
from accord.diagnostics.agent_codes import (
    AFTER_THE_END,
    NEVER_RECEIVED,
    NO_SHARED_PROTOCOL,
    OUT_OF_ORDER,
    SECOND_REPLY,
    UNCLEAR,
    UNTAKEN,
    WRONG_ROLE,
    WRONG_TYPE,
)
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

__all__ = ["check_hope", "check_protocol", "code_of", "find_place", "violation"]


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
        raise UsageError(_ambiguous(label, {c.following.protocol for c, _ in due}), code=UNCLEAR)
    if due and cast is not None:
        raise UsageError(f"`cast` is said when a conversation is opened, and `{label}` goes on with one")
    if due:
        return due[0]
    roles = [f for f in strand.life.declaration.roles if protocol in (None, f.protocol)]
    opening = [(f, role) for f in roles for word, role in f.opening if word == label and addressee.plays(f, role)]
    if len(opening) > 1:
        raise UsageError(_ambiguous(label, {following.protocol for following, _ in opening}), code=UNCLEAR)
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
    followed = ", ".join(f"`{following.protocol}`" for following in roles)
    others = [role for following in roles for role in following.choreography.roles if role != following.role]
    if addressee.role is not None and addressee.role not in others:
        meant = did_you_mean(addressee.role, others)
        hint = f"did you mean `{meant}`?" if meant else f"there is {', '.join(f'`{role}`' for role in others)}"
        return UsageError(f"there is no {addressee} to send to in {followed}; {hint}", code=WRONG_ROLE)
    if not any(addressee.shares(following) for following in roles):
        what = f"{addressee} shares no protocol with this agent, which follows {followed}"
        return UsageError(what, code=NO_SHARED_PROTOCOL)
    code = _code_of_misplaced(strand, label, addressee, mine, roles)
    knows = [c for c in mine if label in c.following.sends] or mine
    if knows:
        conversation = strand.last[0] if strand.last is not None and strand.last[0] in knows else knows[-1]
        role = addressee.role_in(conversation)
        verdict = conversation.session.send(label, payload, role)
        return violation(conversation.following, verdict, conversation.following.role, code)
    following = next((f for f in roles if label in f.sends), roles[0])
    verdict = strand.life.outside(following).send(label, payload, addressee.role_of(following))
    return violation(following, verdict, following.role, code)


def _code_of_misplaced(
    strand: Strand, label: str, addressee: Addressee, mine: list[Conversation], roles: list[Following]
) -> str:
    """The code of a message that is due nowhere, as `accord lint` tells these mistakes apart."""
    known = [following for following in roles if label in following.sends]
    if not known:
        return WRONG_TYPE
    is_due = any(("!", label) == (s.direction, s.label) for c in mine for s in c.following.edges(c.state))
    begins = not mine and any(label == word for following in known for word, _ in following.opening)
    if is_due or begins or not any(addressee.plays(f, role) for f in known for role in f.sends[label]):
        return WRONG_ROLE
    if any(conversation.following in known and not conversation.finished for conversation in mine):
        return OUT_OF_ORDER
    is_over = strand.last is not None and strand.last[0].following in known
    return AFTER_THE_END if is_over else OUT_OF_ORDER


def code_of(conversation: Conversation, label: str, *, is_second: bool) -> str:
    """The code of a message that may not be sent in its conversation; `is_second` if it is one more reply."""
    following = conversation.following
    due = [] if conversation.over else [s for s in following.edges(conversation.state) if s.direction == "!"]
    if is_second and not due:
        return SECOND_REPLY
    if label not in following.sends:
        return WRONG_TYPE
    if conversation.over or conversation.finished:
        return AFTER_THE_END
    return WRONG_ROLE if any(symbol.label == label for symbol in due) else OUT_OF_ORDER


def check_protocol(strand: Strand, protocol: str | None) -> None:
    """`UsageError` if `protocol=` names none that the agent follows."""
    known = [following.protocol for following in strand.life.declaration.roles]
    if protocol is not None and protocol not in known:
        meant = did_you_mean(protocol, known) if isinstance(protocol, str) else None
        hint = f"did you mean {meant!r}?" if meant else f"it follows {', '.join(f'`{name}`' for name in known)}"
        raise UsageError(f"`protocol={protocol!r}` names no protocol of this agent; {hint}", code=UNCLEAR)


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
        what = f"{labels} can never come: this handler is in no conversation{of} that goes on"
        raise ViolationError(what, code=NEVER_RECEIVED)
    conversation = alive[-1]
    label = next(iter(wanted))
    other = conversation.next()
    if other is not None:
        come = f"`{other.label}` from `{other.sender}` has come instead"
        both = " | ".join([*wanted, other.label])
        could = any(s.direction == "?" and s.label in wanted for s in conversation.following.edges(conversation.state))
        what = f"{labels} can never come: {come}; `receive({both})` takes either"
        raise ViolationError(what, code=UNTAKEN if could else NEVER_RECEIVED)
    verdict = conversation.session.peek_receive(label)
    raise ViolationError(f"{labels} can never come here: {_explained(verdict)}", verdict, code=NEVER_RECEIVED)


def violation(following: Following, verdict: Verdict, role: str, code: str) -> ViolationError:
    """The error of a verdict, which blames a role, with the code that `accord lint` has for the mistake."""
    if isinstance(verdict, Violation) and verdict.role is None:
        told = verdict.explain()
        verdict = Violation.blaming((role,), verdict.expected, verdict.got, told, contract=following.protocol)
    what = f"protocol `{following.protocol}`, role `{role}`: {_explained(verdict)}"
    return ViolationError(what, verdict, code=code)


def _explained(verdict: Verdict) -> str:
    return "" if isinstance(verdict, Ok) else verdict.explain()


def _ambiguous(label: str, protocols: set[str]) -> str:
    if len(protocols) > 1:
        listed = ", ".join(f"protocol={name!r}" for name in sorted(protocols))
        return f"`{label}` belongs to several protocols; say which: {listed}"
    (name,) = protocols
    return f"`{label}` is due in several conversations of `{name}`; send it to the agent that is meant, or `reply`"
