"""One step of a session of several roles, as a pure function: where all of them were and what one did, to the verdict.

A session's `Place` is a joint (see `crew`) if that is all there is to it, else it is `Apart`: rules have a state of
their own, or the session is over.

Who is to blame: whoever sends what its own machine does not allow; that of the others is known to fit. Where a role
says that it received what nobody is known to have sent, it may be wrong, or its partner may have sent past everybody:
both are suspects. What is still owed at the end is owed by everybody who could send next.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from accord.language.global_printer import print_exchange
from accord.language.labels import print_word
from accord.machine.events import Event
from accord.monitor import step as rules
from accord.monitor.verdicts import CLOSING, OK, TICKING, Blocked, Violation
from accord.monitor.wording import list_words, quote_text
from accord.session.crew import Joint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.machine.clocks import Time
    from accord.monitor.step import Mode, Phase, Situation
    from accord.monitor.verdicts import Verdict
    from accord.session.crew import Deed, Links

__all__ = ["Apart", "Doing", "Place", "close", "joint_of", "judge", "options", "phase_of", "tick"]

HALTED = Blocked("session halted after a previous violation")
CLOSED = Blocked("the session is closed")


@dataclass(frozen=True, slots=True)
class Apart:
    """A place that is more than a joint; it has no links."""

    joint: Joint
    situation: Situation | None
    phase: Phase = "running"
    links: Links = field(default_factory=dict)


Place = Joint | Apart


class Doing(NamedTuple):
    """What is said to happen: an exchange that somebody observed, or the deed of one role."""

    role: str
    deed: Deed
    payload: Mapping[str, object]
    by: str | None = None
    at: Time | None = None
    observed: bool = False

    @property
    def message(self) -> tuple[str, str, str]:
        """Sender, receiver, label."""
        direction, partner, label = self.deed
        return (self.role, partner, label) if direction == "!" else (partner, self.role, label)

    @property
    def word(self) -> str:
        """As it stands in the trace."""
        if self.observed:
            return print_exchange(*self.message)
        direction, partner, label = self.deed
        return f"{self.role}: {print_word(direction, label, partner)}"


def joint_of(place: Place) -> Joint:
    """Where all roles are, whatever else is the matter."""
    return place if isinstance(place, Joint) else place.joint


def phase_of(place: Place) -> Phase:
    """`running`, or how the session is over."""
    return "running" if isinstance(place, Joint) else place.phase


def options(joint: Joint, role: str) -> list[str]:
    """What a role may do now, as exchanges: what it may send, and what it waits for."""
    words = []
    for direction, partner, label in joint.deeds(role):
        ends = (role, partner) if direction == "!" else (partner, role)
        words.append(print_exchange(*ends, label))
    return sorted(words)


def judge(place: Place, doing: Doing, mode: Mode) -> tuple[Place, Verdict]:
    """Where a session is after something is said to happen, and the verdict on it."""
    if phase_of(place) != "running":
        return place, HALTED if phase_of(place) == "violated" else CLOSED
    joint = joint_of(place)
    violation = _by_protocol(joint, doing) or _by_payload(joint, doing)
    situation = None if isinstance(place, Joint) else place.situation
    if violation is None and situation is not None:
        situation, violation = _by_rules(situation, doing, joint)
    if violation is not None:
        return (place if mode == "refuse" else Apart(joint, situation, "violated")), violation
    crew = joint.crew
    after = crew.do(joint, doing.role, doing.deed, played=not doing.observed)
    if doing.observed:
        after = crew.deliver(after)
    under_way = sum(len(labels) for _, labels in after.channels)
    if under_way > crew.limits.configurations:
        return place, Blocked(f"more than {crew.limits.configurations} messages would be under way")
    if situation is not None:
        return Apart(after, situation), OK
    if doing.observed:
        crew.remember(joint, *doing.message, after)
    return after, OK


def _by_protocol(joint: Joint, doing: Doing) -> Violation | None:
    role, deed = doing.role, doing.deed
    direction, partner, label = deed
    name = joint.crew.choreography.name
    sender, receiver, _ = doing.message
    waiting = joint.head(sender, receiver) if direction == "?" else None
    if direction == "?" and waiting != label:
        expected = [] if waiting is None else [print_exchange(sender, receiver, waiting)]
        there = "nothing is" if waiting is None else f"{quote_text(waiting)} is the first message"
        why = f"{quote_text(role)} received {quote_text(label)} from {quote_text(sender)}, but {there} under way there"
        told = f"{why}. Either {quote_text(sender)} has sent it past the session, or {quote_text(role)} is wrong."
        return Violation.blaming((sender, receiver), expected, doing.word, told, contract=name)
    if deed in joint.deeds(role):
        return None
    expected = options(joint, role)
    does = "send" if direction == "!" else "receive"
    towards = "to" if direction == "!" else "from"
    told = f"{quote_text(role)} may not {does} {quote_text(label)} {towards} {quote_text(partner)} now. "
    told += f"It could have done: {list_words(expected)}." if expected else "It has nothing more to do."
    return Violation.blaming((role,), expected, doing.word, told, contract=name, state=_state(joint, role))


def _state(joint: Joint, role: str) -> str:
    return f"{role} at {joint.states[joint.crew.index[role]]}"


def _by_payload(joint: Joint, doing: Doing) -> Violation | None:
    sender, _, label = doing.message
    check = joint.crew.checks.get(label)
    if check is None or (doing.deed[0] == "?" and not doing.payload):
        return None
    reason = check(doing.payload)
    if reason is None:
        return None
    told = f"{quote_text(sender)} may send {quote_text(label)}, but not with this payload: {reason}."
    return Violation.blaming(
        (sender,),
        options(joint, doing.role),
        doing.word,
        told,
        contract=joint.crew.choreography.name,
        clause=f"record {label}",
        state=_state(joint, doing.role),
        reasons=(reason,),
    )


def _by_rules(situation: Situation, doing: Doing, joint: Joint) -> tuple[Situation, Violation | None]:
    """The rules look at a message when it is sent, and once more when it is received."""
    directions = ("!", "?") if doing.observed else (doing.deed[0],)
    after = situation
    for direction in directions:
        event = Event(direction, doing.message[2], None, doing.payload, doing.by, doing.at)  # type: ignore[arg-type] # one of the two
        after, verdict = rules.step(after, event, "refuse", None)
        if isinstance(verdict, Violation):
            return situation, _blamed(verdict, (doing.role,), doing.word, joint, options(joint, doing.role))
    return after, None


def _blamed(verdict: Violation, suspects: tuple[str, ...], got: str, joint: Joint, expected: list[str]) -> Violation:
    name = joint.crew.choreography.name
    return Violation.blaming(suspects, expected, got, verdict.explain(), contract=name, clause=verdict.clause)


def tick(place: Place, at: Time | None, mode: Mode) -> tuple[Place, Verdict]:
    """A session in which time passes and nothing happens."""
    if phase_of(place) != "running":
        return place, HALTED if phase_of(place) == "violated" else CLOSED
    if isinstance(place, Joint) or place.situation is None:
        return place, OK
    after, verdict = rules.tick(place.situation, "refuse", None, at)
    if not isinstance(verdict, Violation):
        return Apart(place.joint, after), verdict
    late = _blamed(verdict, place.joint.crew.roles, TICKING, place.joint, [])
    return (Apart(place.joint, after) if mode == "refuse" else Apart(place.joint, after, "violated")), late


def close(place: Place, at: Time | None) -> tuple[Place, Verdict]:
    """A session that is told that nothing more will come; closing is final in both modes."""
    phase = phase_of(place)
    joint = joint_of(place)
    situation = None if isinstance(place, Joint) else place.situation
    if phase == "violated":
        return place, HALTED
    if phase == "complete":
        return place, OK
    if not joint.complete:
        return Apart(joint, situation, "incomplete"), _owing(joint)
    if situation is not None:
        closed, verdict = rules.close(situation, None, at)
        if isinstance(verdict, Violation):
            owed = _blamed(verdict, joint.crew.roles, CLOSING, joint, [])
            return Apart(joint, closed, "incomplete"), owed
        situation = closed
    return Apart(joint, situation, "complete"), OK


def _owing(joint: Joint) -> Violation:
    """Who could still send, or has not received what is under way, or, if nobody, who waits."""
    crew = joint.crew
    name = crew.choreography.name
    sending = {role: [d for d in joint.deeds(role) if d[0] == "!"] for role in crew.roles}
    owed = {
        role: [print_exchange(role, partner, label) for _, partner, label in deeds]
        for role, deeds in sending.items()
        if deeds and not _may_stop(joint, role)
    }
    for (sender, receiver), labels in joint.channels:
        owed.setdefault(receiver, []).append(print_exchange(sender, receiver, labels[0]))
    if not owed:
        owed = {role: options(joint, role) for role in crew.roles if not _may_stop(joint, role)}
    words = [word for found in owed.values() for word in found]
    who = " or ".join(quote_text(role) for role in sorted(owed))
    told = f"The session of {quote_text(name)} is not over: {who} still has to act: {list_words(sorted(words))}."
    return Violation.blaming(owed, words, CLOSING, told, contract=name)


def _may_stop(joint: Joint, role: str) -> bool:
    index = joint.crew.index[role]
    return joint.crew.stops[index][joint.states[index]]
