"""Asking people, as pure functions: which approval a call lacks, and what becomes of a decision.

A call that is refused, and would be legal after a step that a person makes, is a question to that person. The step is
not made when the person decides but together with the call it was decided for: that is what binds it to this call with
this payload, and lets no other use it up. If the call then fails, both are taken back, and it may be tried again.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from accord.calls.entries import Out
from accord.calls.ways import shortest_way
from accord.calls.worlds import judge
from accord.canonical import encode, encode_plain
from accord.errors import UsageError
from accord.integrations.guard import words
from accord.integrations.guard.decisions import Change, Remark
from accord.integrations.guard.state import Review
from accord.ledger.represent import plain_copy
from accord.machine.events import Event
from accord.monitor.step import is_over
from accord.monitor.verdicts import Ok
from accord.monitor.wording import list_words, quote_text, quote_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from accord.canonical import Json
    from accord.integrations.guard.policy import Policy
    from accord.integrations.guard.state import Desk, State
    from accord.machine.clocks import Time
    from accord.monitor.step import Situation
    from accord.monitor.verdicts import Violation

__all__ = [
    "ANSWERS",
    "MOST_OPEN",
    "Answer",
    "NoWay",
    "Way",
    "answered",
    "decide",
    "digest_of",
    "find_lapsed",
    "find_way",
    "late_approval",
    "open_lost",
    "open_reviews",
    "open_stuck",
    "put_on_desk",
    "unuse",
    "use",
]

Answer = Literal["allow", "deny", "modify"]
Look: TypeAlias = "Callable[[Sequence[Event]], Sequence[Situation] | None]"
ANSWERS: tuple[Answer, ...] = ("allow", "deny", "modify")
OUTCOMES = ("done", "undone")
"""The answers to the question what became of a call."""

MOST_OPEN = 32
"""So many questions to people are open at a time."""
_MOST_UNUSED = 64
"""So many answers wait to be used; of more the oldest are forgotten, and their calls are asked about again."""
_REMEMBERED = 32
"""So many reviews that are over are still known to the session; its ledger knows all."""
_SOMEBODY = "somebody"


def digest_of(label: str, payload: Mapping[str, Json]) -> str:
    """The identity of an action: what is called, and with what."""
    plain = plain_copy(payload)
    encoded = encode([label, dict(payload)]) if plain is None else encode_plain([label, plain])
    return hashlib.sha256(encoded).hexdigest()


class Way(NamedTuple):
    """How approvals make a call legal: through these gates, each with the review for it if there is one.

    `call` is what is made: what was asked for, or what a person has put in its place by the review `modifier`.
    """

    call: Event
    gates: tuple[str, ...]
    reviews: tuple[Review | None, ...]
    modifier: Review | None = None

    @property
    def payload(self) -> Mapping[str, Json]:
        """What the call is made with."""
        return self.call.payload  # type: ignore[return-value] # JSON, where people are asked

    @property
    def used(self) -> tuple[int, ...]:
        """The numbers of the reviews that the call uses up."""
        granted = [*self.reviews, self.modifier]
        return tuple(dict.fromkeys(review.number for review in granted if review is not None))

    def in_state(self, state: str) -> list[Review]:
        """The reviews on this way that are in this state."""
        return [review for review in self.reviews if review is not None and review.state == state]

    @property
    def approved(self) -> bool:
        """Whether everybody has said yes."""
        return all(review is not None and review.state == "allowed" for review in self.reviews)


class NoWay(NamedTuple):
    """No approvals make a call legal, so nobody is asked.

    `flaw` is what is wrong with its data whoever agrees. `cut_short` says that there may be a way all the same: more
    possibilities would have to be looked at than `Limits.search` allows. `here` is where the session may be, as far as
    it matters; `None` if that is too much to look at.
    """

    flaw: Violation | None = None
    cut_short: bool = False
    here: Sequence[Situation] | None = ()


def find_way(policy: Policy, desk: Desk, look: Look, name: str, event: Event, at: Time | None) -> Way | NoWay:
    """The approvals that make a call of a tool legal: as few as possible, and of those that people were asked for.

    `look` says where the session may be, as far as some events can tell.
    """
    if not policy.gates:
        return NoWay()
    living = [review for review in desk.reviews if review.gate is not None and not review.is_over(at)]
    asked = digest_of(policy.label(name), event.payload)  # type: ignore[arg-type] # JSON, where people are asked
    modifier = _modifier(living, asked)
    call: Event | None = event
    if modifier is not None:
        call = policy.tools.call(name, modifier.modified or {}, at).event
    if call is None:
        return NoWay()
    meant = digest_of(policy.label(name), call.payload)  # type: ignore[arg-type] # the same
    gates = sorted(policy.gates, key=lambda gate: (_review_of(living, gate, meant) is None, gate))
    steps = [Event("?", gate, None, call.payload, _SOMEBODY, at) for gate in gates]
    here = look([*steps, call])
    if here is None:
        return NoWay(here=None)
    # INVARIANT: no step is made that the call does not use up; it would allow another one.
    if modifier is not None and type(judge(here, [call])[0]) is Ok:
        return Way(call, (), (), modifier)
    found = shortest_way(here, steps, call)
    if found.way is None:
        return NoWay(found.flaw, found.cut_short, here)
    through = tuple([gates[number] for number in found.way])
    return Way(call, through, _reviews_of(living, through, meant, modifier), modifier)


def _modifier(living: list[Review], asked: str) -> Review | None:
    """The last review by which a person has put something else in the place of an action."""
    modified = [review for review in living if review.digest == asked and review.modified is not None]
    return next((review for review in reversed(modified) if review.state == "allowed"), None)


def _reviews_of(
    living: list[Review], gates: tuple[str, ...], meant: str, modifier: Review | None
) -> tuple[Review | None, ...]:
    """The review for each gate of a way; whoever has put something else in its place has answered for that.

    INVARIANT: one for each; who is asked twice has to say yes twice.
    """
    left, found = list(living), []
    for gate in gates:
        own = modifier if modifier in left and modifier.gate == gate else None
        review = own or _review_of(left, gate, meant)
        found.append(review)
        if review is not None:
            left.remove(review)
    return tuple(found)


def _review_of(living: list[Review], gate: str, meant: str) -> Review | None:
    """The last review of a gate for an action that has not been used up."""
    for review in reversed(living):
        # INVARIANT: it is for its own action, whatever a person has put in place of the payload.
        if review.gate == gate and review.state != "used" and _bound(review) == meant:
            return review
    return None


def _bound(review: Review) -> str:
    """The identity of the action that a review is good for."""
    return review.digest if review.modified is None else digest_of(review.label, review.modified)


# -- opening and using -------------------------------------------------------------------------------------------------


def open_reviews(policy: Policy, state: State, way: Way, name: str, at: Time | None) -> Change[tuple[Review, ...]]:
    """Ask for every approval on a way that nobody was asked for; all that are open, none if too many are."""
    before, waiting = state, way.in_state("open")
    notes = []
    for gate, known in zip(way.gates, way.reviews, strict=True):
        if known is not None:
            continue
        opened = _open(policy, state, name, way.payload, gate, at)
        if opened is None:
            return Change(before, (), ())
        state, review = opened
        waiting.append(review)
        over = _lapsed(before.desk, gate, review.digest, at)
        if over is not None:
            notes.append(late_approval(over, over.by or "", over.expires, at))
        notes.append(_remark("review opened", review))
    return Change(state, tuple(notes), tuple(waiting))


def find_lapsed(desk: Desk, way: Way, label: str, at: Time | None) -> Review | None:
    """The last approval on a way that was given and not used in time, if nobody has been asked anew since."""
    meant = digest_of(label, way.payload)
    anew = [gate for gate, known in zip(way.gates, way.reviews, strict=True) if known is None]
    found = [_lapsed(desk, gate, meant, at) for gate in anew]
    return next((review for review in found if review is not None), None)


def _lapsed(desk: Desk, gate: str, digest: str, at: Time | None) -> Review | None:
    for review in reversed(desk.reviews):
        if review.gate == gate and digest in (review.digest, _bound(review)):
            return review if review.state == "allowed" and review.is_over(at) else None
    return None


def late_approval(review: Review, by: str, expired: Time | None, at: Time | None) -> Remark:
    """What the ledger keeps of an approval that came, or was used, too late."""
    which: dict[str, object] = {"review": review.id, "action": review.name, "gate": review.gate}
    return Remark("approval expired", {**which, "by": by, "expires": expired, "at": at})


def open_stuck(
    policy: Policy, state: State, name: str, payload: Mapping[str, Json], at: Time | None
) -> Change[Review | None]:
    """Ask a person whether an agent that cannot get on may go on; until somebody has answered, it may not."""
    opened = _open(policy, state, name, payload, None, at)
    if opened is None:
        return Change(state, (), None)
    return Change(opened[0], (_remark("review opened", opened[1]),), opened[1])


def open_lost(policy: Policy, state: State, out: Out, at: Time | None) -> Change[Review | None]:
    """Ask a person what became of a call that failed, of which nobody knows whether it has happened."""
    opened = _open(policy, state, out.name, out.arguments, None, at, call=out.ticket)
    if opened is None:
        return Change(state, (), None)
    return Change(opened[0], (_remark("review opened", opened[1]),), opened[1])


def _open(
    policy: Policy,
    state: State,
    name: str,
    payload: Mapping[str, Json],
    gate: str | None,
    at: Time | None,
    call: str | None = None,
) -> tuple[State, Review] | None:
    desk, label = state.desk, policy.label(name)
    if sum(review.state == "open" and not review.is_over(at) for review in desk.reviews) >= MOST_OPEN:
        return None
    lasts = None if gate is None else policy.review_lasts
    expires = None if lasts is None or at is None else at + lasts
    review = Review(
        desk.numbered + 1, name, label, dict(payload), digest_of(label, payload), gate, at, expires, call=call
    )
    return put_on_desk(state, [review], at), review


def put_on_desk(state: State, opened: Sequence[Review], at: Time | None) -> State:
    """The state with reviews that were opened. What matters no longer is forgotten, so that a desk has its bounds.

    INVARIANT: reviews come to a desk in no other way.
    """
    desk, using = state.desk, {number for logged in state.log if isinstance(logged, Out) for number in logged.reviews}
    over, unused = [], []
    for review in desk.reviews:
        if review.number in using:
            continue  # if its call fails, it is good for another try
        if review.is_over(at) or review.state in {"denied", "used"} or (review.gate is None and review.state != "open"):
            over.append(review.number)
        elif review.state == "allowed":
            unused.append(review.number)
    forgotten = {*over[:-_REMEMBERED], *unused[:-_MOST_UNUSED]}
    kept = [review for review in desk.reviews if review.number not in forgotten]
    numbered = max([desk.numbered, *(review.number for review in opened)])
    return state._replace(desk=desk._replace(reviews=(*kept, *opened), numbered=numbered))


def use(desk: Desk, numbers: tuple[int, ...]) -> Desk:
    """The desk after these reviews have been used up."""
    return _marked(desk, numbers, "used") if numbers else desk


def unuse(desk: Desk, numbers: tuple[int, ...]) -> Desk:
    """The desk after a call that had used these reviews was taken back."""
    return _marked(desk, numbers, "allowed") if numbers else desk


def answered(desk: Desk, ticket: str) -> Desk:
    """The desk after it became known what has become of a lost call: nobody needs to be asked about it any more."""
    numbers = [review.number for review in desk.reviews if review.call == ticket and review.state == "open"]
    return _marked(desk, tuple(numbers), "used") if numbers else desk


def _marked(desk: Desk, numbers: tuple[int, ...], state: Literal["used", "allowed"]) -> Desk:
    reviews = [review._replace(state=state) if review.number in numbers else review for review in desk.reviews]
    return desk._replace(reviews=tuple(reviews))


# -- deciding ----------------------------------------------------------------------------------------------------------


def decide(
    policy: Policy,
    state: State,
    identity: str,
    answer: str,
    *,
    by: str,
    reason: str | None,
    payload: Mapping[str, Json] | None,
    at: Time | None,
) -> Change[Review]:
    """The decision of a person. `UsageError` if it cannot be taken; then nothing has changed."""
    review = _to_be_decided(state.desk, identity, at)
    if is_over(state.settled.place):
        raise UsageError("the session is closed, so there is nothing to decide any more")
    if review.call is not None:
        if answer not in OUTCOMES or payload is not None:
            asked = f"this review asks whether {quote_text(review.name)} has happened"
            raise UsageError(f"{asked}: `done` or `undone`, got {quote_value(answer)}")
    elif answer not in ANSWERS:
        raise UsageError(
            f"a review is decided by `allow`, `deny` or `modify`, got {quote_value(answer)}; nothing was decided"
        )
    if (payload is not None) != (answer == "modify"):
        raise UsageError("`modify` comes with the payload to use instead, and nothing else does; nothing was decided")
    if answer == "modify":
        _check_modified(policy, state, review, payload or {}, at)
    decided = review._replace(
        state="denied" if answer == "deny" else "allowed" if review.call is None else "used",
        by=by,
        reason=reason,
        decided=at,
        modified=None if payload is None else dict(payload),
    )
    desk = state.desk
    desk = desk._replace(reviews=tuple([decided if each is review else each for each in desk.reviews]))
    if review.gate is None and review.call is None:
        if answer == "deny":
            desk = desk._replace(stopped=words.stopped_by(decided))
        else:
            refusals = tuple([pair for pair in desk.refusals if pair[0] != review.label])
            desk = desk._replace(refusals=refusals, idle=0)
    return Change(state._replace(desk=desk), (_remark("review decided", decided, answer),), decided)


def _to_be_decided(desk: Desk, identity: str, at: Time | None) -> Review:
    review = next((review for review in desk.reviews if review.id == identity), None)
    if review is None:
        waiting = ", ".join(review.id for review in desk.reviews if review.state == "open" and not review.is_over(at))
        raise UsageError(f"there is no review {quote_value(identity)} in this session; open: {waiting or 'none'}")
    if review.state != "open":
        raise UsageError(f"review {quote_value(identity)} {words.decided(review)}; that cannot be changed")
    if review.is_over(at):
        raise UsageError(words.expired(review))
    return review


def _check_modified(policy: Policy, state: State, review: Review, payload: Mapping[str, Json], at: Time | None) -> None:
    if review.gate is None:
        raise UsageError("this review asks whether the agent may go on; there is nothing to modify")
    calls = state.calls.later(at)[0] if policy.is_timed and at is not None else state.calls
    call, look = policy.tools.call(review.name, payload, at).event, calls.worlds_about
    if call is not None and type(calls.judge(call)[0]) is Ok:
        return  # nobody needs to allow it
    way = NoWay() if call is None else find_way(policy, state.desk, look, review.name, call, at)
    if isinstance(way, NoWay):
        if way.cut_short:
            raise UsageError(f"{words.cut_short(review.name)} Nothing was decided")
        out = [logged.name for logged in state.log if isinstance(logged, Out)]
        until = f" as long as {list_words(out)} has not returned" if out else ", whoever allows it"
        raise UsageError(
            f"the contract refuses {quote_text(f'!{review.label}')} with this payload{until}; nothing was decided"
        )


def _remark(what: str, review: Review, answer: str | None = None) -> Remark:
    """What the ledger keeps of a review."""
    kept: dict[str, object] = {
        "review": review.id,
        "action": review.name,
        "payload": dict(review.payload),
        "gate": review.gate,
        "call": review.call,
        "answer": answer,
        "by": review.by,
        "reason": review.reason,
        "at": review.decided if answer else review.opened,
        "expires": review.expires,
        "modified": None if review.modified is None else dict(review.modified),
    }
    return Remark(what, {name: value for name, value in kept.items() if value is not None})
