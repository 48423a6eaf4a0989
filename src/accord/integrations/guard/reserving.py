"""Reserving calls, and what becomes of them, as pure functions from state to state.

Calls are looked at in order. One that is legal in every world goes out. One that is not is *held* if an earlier call of
its batch is out, because that call's return may make it legal; then all that stand behind it are held too, so that the
order in which a model asked is kept. Otherwise it is refused, or a person is asked. What was refused is counted when
all calls of the batch are decided (`patience`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from accord.calls.entries import Out
from accord.calls.worlds import TOO_MANY
from accord.diagnostics.visible import clip
from accord.errors import UsageError
from accord.integrations.guard import words
from accord.integrations.guard.decisions import Change, Decision, Noted, Remark
from accord.integrations.guard.patience import Refused, end_turn, stuck
from accord.integrations.guard.reviewing import (
    MOST_OPEN,
    NoWay,
    Way,
    digest_of,
    find_lapsed,
    find_way,
    open_reviews,
    use,
)
from accord.ledger.attempts import Given
from accord.ledger.represent import own_copy
from accord.machine.events import Event
from accord.monitor.refusals import unknown_call
from accord.monitor.verdicts import OK, TICKING, Blocked, Ok, Violation
from accord.projection.plain import is_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from accord.integrations.batch import Claim
    from accord.integrations.exchange import ToolCall
    from accord.integrations.guard.policy import Policy
    from accord.integrations.guard.state import Review, State
    from accord.machine.clocks import Time
    from accord.monitor import Verdict
    from accord.monitor.step import Situation

__all__ = [
    "Unfit",
    "admit_unjudged",
    "all_fit",
    "happen",
    "happen_then",
    "pass_time",
    "reserve",
    "start",
]

_LONGEST_SHOWN = 500

Unfit: TypeAlias = "Callable[[str, Mapping[str, object]], str | None]"


# -- reserving ---------------------------------------------------------------------------------------------------------


def all_fit(_name: str, _arguments: Mapping[str, object]) -> None:
    """Nothing is known of what tools can be called with."""


def reserve(  # noqa: PLR0913 - who asks, about what, and in which situation
    policy: Policy,
    state: State,
    claims: Sequence[Claim],
    at: Time | None,
    *,
    started: bool = False,
    can_wait: bool = False,
    ahead: Sequence[str] = (),
    before: Sequence[ToolCall] | None = None,
    unfit: Unfit = all_fit,
) -> Change[list[Decision]]:
    """Decide about the calls of a batch, in order.

    `started`: whoever asks runs at once what may run. `can_wait`: held calls will be asked for again when another one
    has returned. `ahead`: the tickets of calls of the same batch that are out already. `before`: others of the same
    batch were decided about before; these of them were refused, and counted, or have just gone out. `unfit` says why a
    tool would not be called with exactly these arguments, `None` if it would.
    """
    after = pass_time(policy, state, at)
    desk = _Deciding(policy, after.state, at, unfit, started=started)
    desk.early = state if policy.is_timed else None
    decisions: list[Decision] = []
    held = False
    may_hold = can_wait and any(desk.is_seen(ticket) for ticket in ahead)
    for claim in claims:
        if held and claim.fault is None:
            decision = Decision(claim.call, "held")
        elif after.answer is TOO_MANY:
            decision = Decision(claim.call, "held") if may_hold else desk.ask_again(claim)
        elif after.answer is not OK:
            decision = desk.refuse_late(claim, after.answer)
        else:
            decision = desk.decide(claim, may_hold=may_hold)
        held = held or (may_hold and decision.status == "held")
        may_hold = may_hold or (can_wait and decision.ticket is not None and desk.is_seen(decision.ticket))
        decisions.append(decision)
    desk.end_turn(decisions, before)
    return Change(desk.state, (*after.notes, *desk.notes), decisions)


def admit_unjudged(
    policy: Policy, state: State, claims: Sequence[Claim], at: Time | None, *, started: bool
) -> Change[list[Decision | None]]:
    """Let calls go out although the contract says no: somebody wants that. They are no events; `None` for no."""
    after = pass_time(policy, state, at)
    desk = _Deciding(policy, after.state, at, all_fit, started=started)
    decisions = [desk.admit_unjudged(claim) for claim in claims]
    desk.end_turn([decision for decision in decisions if decision is not None], None)
    return Change(desk.state, (*after.notes, *desk.notes), decisions)


class _Deciding:
    """Deciding about one batch: the state so far, and what is to be written down."""

    def __init__(self, policy: Policy, state: State, at: Time | None, unfit: Unfit, *, started: bool) -> None:
        self.policy = policy
        self.state = state
        self.at = at
        self.unfit = unfit
        self.started = started
        self.notes: list[Noted | Remark] = []
        # The session before time has passed, for what is to be said of a call that is late.
        self.early: State | None = None
        # What counts of this batch, by labels: see `patience`.
        self.refused: dict[str, tuple[Claim, Decision]] = {}
        self.went_on: set[str] = set()

    def is_seen(self, ticket: str) -> bool:
        """Whether a call is out that the contract looks at: nobody waits for any other."""
        out = self.state.out(ticket)
        return out is not None and out.is_seen

    def decide(self, claim: Claim, *, may_hold: bool) -> Decision:
        """One call."""
        desk, call = self.state.desk, claim.call
        if desk.stopped is not None:
            return self._turn_down(claim, words.stopped(desk.stopped))
        waiting = stuck(self.state, self.at)
        if waiting is not None:
            return Decision(call, "review", words.waiting_for_person(waiting), review=waiting)
        if claim.fault is not None or claim.arguments is None:
            return self._fault(claim)
        tools, name = self.policy.tools, call.name
        action = digest_of(tools.label(name), claim.arguments) if call.id else ""
        try:
            known = self._known(claim, action)
            if known is not None:
                return known
            projected = tools.call(name, claim.arguments, self.at)
            if projected.event is not None:
                return self._judge(claim, action, projected.event, may_hold=may_hold)
        except UsageError as error:  # a value the contract looks at is none it can compare
            return self.refuse(claim, Blocked(str(error)))
        if projected.outcome != "unknown call":
            return self._admit(claim, action, ())
        unknown = unknown_call(self.state.settled.stage, Event("!", tools.label(name)))
        return self.refuse(claim, Violation.of(unknown, None))

    def _judge(self, claim: Claim, action: str, event: Event, *, may_hold: bool) -> Decision:
        """A call that was not seen before."""
        desk, call = self.state.desk, claim.call
        verdict, somewhere = self.state.calls.judge(event)
        if type(verdict) is Ok:
            return self._admit(claim, action, (event,))
        if may_hold:
            return Decision(call, "held")
        verdict = (self.early or self.state).calls.in_words(event, verdict)
        if verdict is TOO_MANY:
            return self.ask_again(claim)
        way = find_way(self.policy, desk, self.state.calls.worlds_about, call.name, event, self.at)
        if isinstance(way, NoWay):
            return self._hopeless(claim, verdict, way, event, somewhere=somewhere)
        if way.approved or not self.policy.observes:
            return self._by_approval(claim, action, way)
        return self.refuse(claim, verdict)

    def _hopeless(self, claim: Claim, verdict: Verdict, way: NoWay, event: Event, *, somewhere: bool) -> Decision:
        """A call that nobody can allow as it is, or of which that is not known."""
        if way.flaw is not None:
            return self.refuse(claim, verdict, words.even_then(words.naming(way.flaw, self.policy.aliases)))
        if way.cut_short:
            return self.refuse(claim, verdict, f"{words.refused(verdict)} {words.cut_short(claim.call.name)}")
        if way.here is None:
            return self.ask_again(claim)
        if somewhere or any(isinstance(each, Way) for each in self._ways(way.here, event, claim.call.name)):
            return self._later(claim, verdict)
        return self.refuse(claim, verdict)

    def _ways(self, here: Sequence[Situation], event: Event, name: str) -> Iterator[Way | NoWay]:
        """Whether people could allow a call if it were known what becomes of others: one answer for each world."""
        for world in here if self.state.log else ():
            yield find_way(self.policy, self.state.desk, partial(_there, world), name, event, self.at)

    def _later(self, claim: Claim, verdict: Verdict) -> Decision:
        """A call of which it is not known whether it is legal before it is known what became of others."""
        name, lost = claim.call.name, self.state.lost()
        if lost:
            return self.refuse(claim, verdict, words.rests_on_lost(name, lost))
        running = [out.name for out in self.state.running() if out.is_seen]
        return self.refuse(claim, verdict, words.rests_on_others(name, running), counts=False)

    def _known(self, claim: Claim, action: str) -> Decision | None:
        """The answer to a call whose id was seen before."""
        call = claim.call
        if not call.id:
            return None
        out = self.state.out(call.id)
        if out is not None and out.lost is None:  # one that failed may be tried again under its id
            if out.digest != action:
                return self._turn_down(claim, words.other_call(call.id))
            if out.started:
                return self._turn_down(claim, words.already_out(call.id))
            if self.started:
                self._replace(out, out._replace(started=True))
                self.notes.append(Remark("call started", {"call": call.id}))
            return Decision(_with(call, out.arguments), "admitted", ticket=call.id)
        for done in self.state.desk.done:
            if done.ticket == call.id:
                same = action.startswith(done.digest)
                return self._turn_down(claim, words.already_run(call.id) if same else words.other_call(call.id))
        return None

    def _replace(self, old: Out, new: Out) -> None:
        log = tuple([new if logged is old else logged for logged in self.state.log])
        self.state = self.state._replace(log=log)

    def _admit(
        self,
        claim: Claim,
        action: str,
        events: tuple[Event, ...],
        reviews: tuple[int, ...] = (),
        *,
        unjudged: bool = False,
    ) -> Decision:
        """The call goes out, after the steps of people that it uses up; without events nobody looks at it."""
        call, tools = claim.call, self.policy.tools
        lost = self.state.out(call.id) if call.id else None
        if lost is not None:
            self._rename(lost)
        desk = self.state.desk
        arguments = events[-1].payload if events else claim.arguments or {}
        label = events[-1].label if events else None
        ticket = call.id
        while not ticket or self.state.out(ticket) is not None:  # a model may call its own like that
            desk = desk._replace(numbered=desk.numbered + 1)
            ticket = f"#{desk.numbered}"
        self.went_on.add(tools.label(call.name))
        failure = "undone" if unjudged else tools.failure(call.name, label)
        ends = () if unjudged else tools.ends(call.name, failure)
        out = Out(ticket, call.name, arguments, action, events, self.started, failure, reviews, ends=ends)
        self.state = self.state._replace(desk=use(desk, reviews)).at(self.state.calls.with_entry(out))
        for event in events:
            given = Given(event.direction, event.label, event.payload, None, event.by, self.at, {"call": ticket})
            self.notes.append(Noted(given, OK))
        if not events:
            what = "violation let run" if unjudged else "call passed"
            self.notes.append(Remark(what, {"call": ticket, "tool": call.name, "arguments": arguments}))
        return Decision(_with(call, arguments), "admitted", ticket=ticket)

    def admit_unjudged(self, claim: Claim) -> Decision | None:
        """One call that goes out whatever the contract says of it."""
        action = digest_of(self._label(claim), claim.arguments or {}) if claim.call.id else ""
        if self.state.desk.stopped is not None or stuck(self.state, self.at) or self._known(claim, action):
            return None
        return self._admit(claim, action, (), unjudged=True)

    def _rename(self, lost: Out) -> None:
        """Let a new attempt have the id of a call of which nobody knows what became of it."""
        desk, ticket = self.state.desk, lost.ticket
        while self.state.out(ticket) is not None:  # a model may call its own like that
            desk = desk._replace(numbered=desk.numbered + 1)
            ticket = f"{lost.ticket}#{desk.numbered}"
        reviews = [each._replace(call=ticket) if each.call == lost.ticket else each for each in desk.reviews]
        calls = self.state.calls.replaced(lost, lost._replace(ticket=ticket))
        self.state = self.state._replace(desk=desk._replace(reviews=tuple(reviews))).at(calls)
        self.notes.append(Remark("call renamed", {"call": lost.ticket, "now": ticket}))

    def _by_approval(self, claim: Claim, action: str, way: Way) -> Decision:
        """A call that people have allowed, denied, or must be asked about."""
        no = way.in_state("denied")
        if no:
            return self._deny(claim, words.denied(no[0]), no[0])
        if way.approved:
            unfit = self.unfit(claim.call.name, way.payload)
            if unfit is not None:
                return self._deny(claim, words.unfit(claim.call.name, unfit))
            granted = [review for review in way.reviews if review is not None]
            steps = [Event("?", r.gate or "", None, way.payload, r.by, self.at) for r in granted]
            return self._admit(claim, action, (*steps, way.call), way.used)
        name = claim.call.name
        lapsed = find_lapsed(self.state.desk, way, self.policy.label(name), self.at)
        opened = open_reviews(self.policy, self.state, way, name, self.at)
        self.state = opened.state
        self.notes += opened.notes
        if not opened.answer:
            needed = way.reviews.count(None)
            return self._deny(claim, words.too_many_reviews(name, needed, MOST_OPEN), counts=needed > MOST_OPEN)
        first = opened.answer[0]
        said = words.asked(first) if lapsed is None else words.lapsed(lapsed, first)
        return Decision(claim.call, "review", said, review=first, waiting=opened.answer)

    def _deny(self, claim: Claim, message: str, review: Review | None = None, *, counts: bool = True) -> Decision:
        """A call that people do not allow."""
        return self._count(claim, replace(self._turn_down(claim, message), review=review), counts=counts)

    # -- refusing ------------------------------------------------------------------------------------------------------

    def refuse_late(self, claim: Claim, late: Verdict) -> Decision:
        """Something was due before the call."""
        if claim.fault is None and claim.arguments is not None and self.early is not None:
            event = self.policy.tools.call(claim.call.name, claim.arguments, self.at).event
            late = late if event is None else self.early.calls.in_words(event, late)
        return self.refuse(claim, late)

    def refuse(self, claim: Claim, verdict: Verdict, message: str | None = None, *, counts: bool = True) -> Decision:
        """The contract says no; what is only observed runs all the same."""
        call, label, verdict = claim.call, self._label(claim), words.naming(verdict, self.policy.aliases)
        meta: dict[str, object] = {"call": call.id} if call.id else {}
        if self.policy.observes:
            meta["observed"] = True
        given = Given("!", label, claim.arguments, None, None, self.at, meta or None)
        self.notes.append(Noted(given, verdict))
        if self.policy.observes and claim.arguments is not None:
            return Decision(replace(call, arguments=claim.arguments), "admitted", verdict=verdict)
        said = words.refused(verdict) if message is None else message
        return self._count(claim, Decision(call, "refused", said, verdict=verdict), counts=counts)

    def ask_again(self, claim: Claim) -> Decision:
        """More calls are out than can be looked at: whether this one is legal is told when some have returned."""
        name, lost = self._name(claim.call), [] if self.state.running() else self.state.lost()
        if lost or self.policy.observes:  # there is nothing to wait for
            return self.refuse(claim, TOO_MANY, words.rests_on_lost(name, lost))
        noted = self._turn_down(claim, TOO_MANY.reason)
        return replace(noted, status="held", message=words.wait_for_room(name), verdict=TOO_MANY)

    def _turn_down(self, claim: Claim, message: str) -> Decision:
        """A call that the contract is not asked about."""
        meta = {"call": claim.call.id} if claim.call.id else None
        given = Given("!", self._label(claim), claim.arguments, None, None, self.at, meta)
        self.notes.append(Noted(given, Blocked(message)))
        return Decision(claim.call, "refused", message)

    def _fault(self, claim: Claim) -> Decision:
        """What is no call at all."""
        why = claim.fault or ""
        self.notes.append(Remark("no call", {"tool": self._label(claim), "call": claim.call.id or None, "why": why}))
        decision = Decision(claim.call, "refused", why)
        return decision if claim.call.cut_off else self._count(claim, decision)  # the model has done nothing wrong

    def _label(self, claim: Claim) -> str:
        return self._label_of(claim.call)

    def _label_of(self, call: ToolCall) -> str:
        return self.policy.tools.label(self._name(call))

    def _name(self, call: ToolCall) -> str:
        """The name of a call as it can be shown and kept, whatever stands in its place."""
        name = call.name
        if not isinstance(name, str) or not name:
            return "(no name)"
        return name if len(name) <= _LONGEST_SHOWN and is_text(name) else clip(name)

    def _count(self, claim: Claim, decision: Decision, *, counts: bool = True) -> Decision:
        """The decision, which counts against the patience of the guard if the model was told not to do this."""
        if counts:
            label = self._label(claim)
            self.refused.pop(label, None)  # the last one of a label says what is tried
            self.refused[label] = claim, decision
        return decision

    def end_turn(self, decisions: list[Decision], before: Sequence[ToolCall] | None) -> None:
        """All are decided. If patience is over, the last of the refusals says so.

        Of a label that was counted before in this batch, or of which another call is held, nothing is counted here.
        """
        if self.policy.raises and any(decision.status == "refused" for decision in decisions):
            self.went_on.clear()  # nothing of such a batch runs
        elsewhere = {self._label_of(call) for call in before or ()}
        elsewhere |= {self._label_of(each.call) for each in decisions if each.status == "held"}
        refused = {
            label: Refused(self._name(claim.call), claim.arguments, decision)
            for label, (claim, decision) in self.refused.items()
            if label not in elsewhere
        }
        ended = end_turn(self.policy, self.state, refused, self.went_on, self.at, goes_on=before is not None)
        self.state = ended.state
        self.notes += ended.notes
        if ended.answer is not None:
            place = next(n for n, each in enumerate(decisions) if each is ended.answer.before)
            decisions[place] = ended.answer.after


def _there(world: Situation, _events: object) -> list[Situation]:
    return [world]


def _with(call: ToolCall, payload: Mapping[str, object]) -> ToolCall:
    """The call with the arguments that were judged: copies, because a tool may do with its own what it likes."""
    return replace(call, arguments=own_copy(payload))


def start(state: State, ticket: str) -> Change[bool]:
    """Whether whoever asks is the one to run a reserved call: the first is, nobody after that."""
    out = state.out(ticket)
    if out is None or out.started:
        return Change(state, (), answer=False)
    log = tuple([out._replace(started=True) if logged is out else logged for logged in state.log])
    return Change(state._replace(log=log), (Remark("call started", {"call": ticket}),), answer=True)


# -- everything else ---------------------------------------------------------------------------------------------------


def happen(state: State, event: Event, meta: dict[str, object] | None) -> Change[Verdict]:
    """An event that is no call: a message, a result. It must be legal whatever becomes of the calls that are out."""
    given = Given(event.direction, event.label, event.payload, event.partner, event.by, event.at, meta)
    calls, verdict = state.calls.happened(event)
    return Change(state.at(calls), (Noted(given, verdict),), verdict)


def happen_then(policy: Policy, state: State, event: Event, meta: dict[str, object] | None = None) -> Change[Verdict]:
    """As `happen`, when time has passed until the event; if something was due by then, that is the answer."""
    passed = pass_time(policy, state, event.at)
    if passed.answer is not OK:
        return passed._replace(answer=state.calls.in_words(event, passed.answer))
    happened = happen(passed.state, event, meta)
    return Change(happened.state, (*passed.notes, *happened.notes), state.calls.in_words(event, happened.answer))


def pass_time(policy: Policy, state: State, at: Time | None) -> Change[Verdict]:
    """Time passes, if the contract looks at it; a verdict other than `Ok` if something was due and did not happen."""
    if at is None:
        return Change(state, (), OK)
    desk = state.desk if state.desk.now == at else state.desk._replace(now=at)
    state = state._replace(desk=desk)
    if not policy.is_timed:
        return Change(state, (), OK)
    calls, verdict = state.calls.later(at)
    notes = () if type(verdict) is Ok or verdict is TOO_MANY else (Noted(Given(TICKING, at=at), verdict),)
    return Change(state.at(calls), notes, verdict)
