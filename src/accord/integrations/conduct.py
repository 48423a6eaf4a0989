"""A session in the agent's view, and beside it the calls that are out.

The session holds what is certain. A call that is out is kept here until it has ended, because what its failure means
stands in the contract: it is taken back, it has happened, or nobody knows. Then the session is told of the call and of
its end, in the order in which they were judged. A session that is recorded is told at once, in notes, that a call
begins, failed or is lost, so that no tool runs without a trace.

INVARIANT: a call runs only if it is legal whatever becomes of those that are out, and after its note is written.
INVARIANT: the session belongs to its conduct. A step that others take while calls are out comes before these calls.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, cast

from accord.calls.entries import Firm, Out, Passing
from accord.calls.footprint import located_behind
from accord.calls.going import out_of
from accord.calls.state import Calls
from accord.calls.worlds import TOO_MANY, fold, has_happened, take
from accord.errors import NotDone, UsageError
from accord.integrations.batch import in_words
from accord.integrations.guard import words
from accord.integrations.session import tell
from accord.machine.events import Event
from accord.monitor.events import make_time
from accord.monitor.refusals import unknown_call
from accord.monitor.step import CLOSED, HALTED, close
from accord.monitor.verdicts import OK, Blocked, Ok, Violation
from accord.projection.happenings import Happening

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from accord.calls.entries import Logged
    from accord.integrations.batch import Claim
    from accord.integrations.session import AgentSession, Session
    from accord.machine.clocks import Time
    from accord.machine.contract import Contract
    from accord.monitor import Verdict
    from accord.projection.projection import Projection

__all__ = ["Conduct", "Ended"]

_NOT_LOST = Blocked("no such call is lost")
_NO_END = "it has no end"


class Ended(NamedTuple):
    """How a call has ended: what its tool returned, or what it raised; or it was never begun."""

    value: object = None
    error: BaseException | None = None

    @property
    def said(self) -> str:
        """Why it failed."""
        error = self.error
        if isinstance(error, NotDone):
            return str(error)
        return in_words(error) if isinstance(error, Exception) else f"it was interrupted ({in_words(error)})"


class Conduct:
    """A session and the calls that are out; whoever uses it holds a lock."""

    __slots__ = ("_clock", "_contract", "_log", "_made", "_over", "_projection", "_session")

    def __init__(self, session: Session, projection: Projection, clock: Callable[[], Time] | None) -> None:
        if projection.is_timed and clock is None:
            raise UsageError("the contract uses time, so the agent's view needs a clock: `clock=time.time`")
        self._session = cast("AgentSession", session)
        self._projection = projection
        self._contract: Contract = projection.contract
        self._clock = clock
        self._log: tuple[Logged, ...] = ()
        self._made = 0
        self._over: Verdict | None = None

    # -- calls ---------------------------------------------------------------------------------------------------------

    def reserve(self, claims: Sequence[Claim], *, ahead: Sequence[str]) -> list[Claim]:
        """Decide about the calls of a response, in order. One that waits for an earlier one comes back `held`.

        `ahead` are the tickets of earlier calls of the same response that are out. Nobody waits for one that the
        contract does not look at.
        """
        at, early = self._now(), self._calls
        late = self._pass_time(at)
        decided: list[Claim] = []
        held, may_hold = False, any(self._calls.out(ticket) is not None for ticket in ahead)
        for claim in claims:
            if claim.fault is not None:
                said = claim
            elif self._over is not None:
                said = replace(claim, verdict=self._over)
            elif held:
                said = replace(claim, held=True)
            else:
                said = self._decide(claim, at, early, late, may_hold=may_hold)
            held = held or said.held
            may_hold = may_hold or (said.ticket is not None and self._calls.out(said.ticket) is not None)
            decided.append(said)
        return decided

    def _decide(self, claim: Claim, at: Time | None, early: Calls, late: Verdict, *, may_hold: bool) -> Claim:
        call = claim.happening(at)
        try:
            projected = self._projection.event(call)
            event = projected.event
            if late is not OK:
                return replace(claim, verdict=late if event is None else early.in_words(event, late))
            if event is None:
                if projected.outcome != "unknown call":
                    return self._go_out(claim, call, None)  # the contract does not look at it
                unknown = unknown_call(self._session.situation.stage, Event("!", call.name or ""))
                return self._refuse(claim, None, Violation.of(unknown, None), None)
            verdict, somewhere = self._calls.judge(event)
            if type(verdict) is Ok:
                return self._go_out(claim, call, event)
        except UsageError as error:  # a value that cannot be compared
            return replace(claim, verdict=Blocked(str(error)))
        except Exception as error:  # noqa: BLE001 - whatever broke inside, the answer is no
            return replace(claim, verdict=Blocked(f"accord failed inside ({error!r})"))
        if may_hold:
            return replace(claim, held=True)
        verdict = early.in_words(event, verdict)
        return self._refuse(claim, event, verdict, self._why_not_yet(call.name or "") if somewhere else None)

    def _why_not_yet(self, name: str) -> str:
        """What to say of a call that would be legal in another world."""
        out = [logged for logged in self._log if type(logged) is Out]
        lost = [one for one in out if one.lost is not None]
        return words.rests_on_lost(name, lost) if lost else words.rests_on_others(name, [one.name for one in out])

    def _refuse(self, claim: Claim, event: Event | None, verdict: Verdict, said: str | None) -> Claim:
        """A call that is refused. The session is told if it refuses it as well, so that its record holds that."""
        self._told_no(event, verdict)
        return replace(claim, verdict=verdict, fault=said)

    def _told_no(self, event: Event | None, verdict: Verdict) -> None:
        if self._session.mode == "halt":
            self._over = HALTED
        if event is not None and not has_happened(take(self._session.situation, event)[1]):
            tell(self._session, event)
        else:
            self._note("call refused" if event is None or event.direction == "!" else "end refused", verdict.explain())  # type: ignore[union-attr] # it is no `Ok`

    def _go_out(self, claim: Claim, call: Happening, event: Event | None) -> Claim:
        ticket = self._ticket(claim.call.id)
        refused = self._note("call started", None, ticket, call)
        if refused is not None:
            return replace(claim, verdict=refused)
        out = out_of(self._projection, call, event, ticket=ticket)
        if out is not None:
            self._log = self._calls.with_entry(out).log
        return replace(claim, verdict=OK, ticket=ticket)

    def _ticket(self, identity: str) -> str:
        """The id of a call; one that failed gives it up to the next attempt."""
        self._made += 1
        log = [
            logged._replace(ticket=f"{identity}#{self._made}")
            if type(logged) is Out and logged.ticket == identity
            else logged
            for logged in self._log
        ]
        self._log = tuple(log)
        return identity or f"#{self._made}"

    # -- ends ----------------------------------------------------------------------------------------------------------

    def end(self, claim: Claim, ended: Ended) -> Verdict:
        """A call has ended; the answer says whether its result may be passed on."""
        out = self._calls.out(claim.ticket or "")
        try:
            return self._ends(claim.happening(self._now()), out, ended)
        except Exception as error:  # noqa: BLE001 - the tool has run; what cannot be said is not passed on
            return Blocked(f"the answer could not be sent ({in_words(error)})")

    def _ends(self, call: Happening, out: Out | None, ended: Ended) -> Verdict:
        failure = self._contract.failure_of(call.name or "", None) if out is None else out.failure
        failed = ended.error is not None
        if failed and (failure != "done" or isinstance(ended.error, NotDone)):
            is_lost = failure == "unknown" and not isinstance(ended.error, NotDone)
            refused = self._note("call lost" if is_lost else "call failed", ended.said, call.id, call)
            if out is not None:
                kept = [out._replace(lost=ended.said)] if is_lost else []
                refused = self._become(self._calls.with_instead(out, *kept)) or refused
            return refused or OK
        if out is not None:
            counted = self._calls.with_instead(out, *self._calls.certain(out))
            refused = self._become(counted)
            if refused is not None:
                return refused
        early = self._calls
        late = self._pass_time(call.at)  # not before: a call made in time is not late because its tool takes long
        event = self._end_of(call, ended)
        if event is None:
            return OK
        return early.in_words(event, self._happen(event) if late is OK else late)

    def _end_of(self, call: Happening, ended: Ended) -> Event | None:
        value = ended.value if ended.error is None else ended.said
        kind = "result" if ended.error is None else "error"
        return self._projection.event(Happening(kind, call.name, value, call=call, at=call.at)).event  # type: ignore[arg-type] # a kind of end

    def _happen(self, event: Event) -> Verdict:
        """Something that is no call."""
        if not self._log:
            return tell(self._session, event)
        verdict, _ = self._calls.judge(event)
        if not has_happened(verdict):
            self._told_no(event, verdict)
            return verdict
        return self._become((*self._log, located_behind(self._session.situation, self._log, Firm(event)))) or verdict

    # -- lost calls ----------------------------------------------------------------------------------------------------

    @property
    def lost(self) -> dict[str, str]:
        """The calls of which nobody knows whether they have happened, each with why."""
        return {one.ticket: one.lost for one in self._log if type(one) is Out and one.lost is not None}

    def settle(self, ticket: str, value: object) -> Verdict:
        """A lost call has happened, and has returned that."""
        out = self._calls.out(ticket)
        if out is None or out.lost is None:
            return _NOT_LOST
        call = Happening("call", out.name, out.arguments, ticket, at=out.events[-1].at if out.events else None)
        log, verdict = self._calls.with_found(out, self._end_of(call, Ended(value)))
        return self._become(log) or verdict

    def fail(self, ticket: str, why: str) -> Verdict:
        """A lost call has not happened."""
        out = self._calls.out(ticket)
        if out is None or out.lost is None:
            return _NOT_LOST
        refused = self._note("call failed", why, ticket)
        return refused or self._become(self._calls.with_instead(out)) or OK

    def close(self) -> Verdict:
        """Nothing more will come: whether anything is owed, whatever became of the calls that have no end."""
        at = self._now()
        late = self._pass_time(at)
        if self._log:
            lost = [one._replace(lost=one.lost or _NO_END) if type(one) is Out else one for one in self._log]
            worlds = Calls(self._session.situation, tuple(lost)).worlds()
            closed = [TOO_MANY] if worlds is None else [close(world, None, at)[1] for world in worlds]
            self._over = CLOSED
            return next((verdict for verdict in (late, *closed) if type(verdict) is not Ok), OK)
        verdict = self._session.close() if at is None else self._session.close(at=at)
        return verdict if late is OK else late

    # -- how -----------------------------------------------------------------------------------------------------------

    @property
    def _calls(self) -> Calls:
        return Calls(self._session.situation, self._log)

    def _become(self, log: Sequence[Logged]) -> Verdict | None:
        """Tell the session what is certain in a log, in order, and keep the rest; a verdict if it was not kept."""
        left = list(fold(self._session.situation, tuple(log))[1])
        certain = [logged for logged in log if not any(logged is one for one in left)]
        for place, logged in enumerate(certain):
            assert type(logged) is Firm  # noqa: S101 - calls that are out are never certain
            verdict = self._tell(logged.step)
            if type(verdict) is Blocked:  # it is told again with whatever becomes certain next
                self._log = (*certain[place:], *left)
                return verdict
        self._log = tuple(left)
        return None

    def _tell(self, step: object) -> Verdict:
        if isinstance(step, Passing):
            return self._session.tick(step.at)
        assert isinstance(step, Event)  # noqa: S101 - no protocol begins again here
        return tell(self._session, step)

    def _now(self) -> Time | None:
        return None if self._clock is None or not self._projection.is_timed else make_time(self._clock())

    def _pass_time(self, at: Time | None) -> Verdict:
        """Time passes; the answer says whether something was due and did not happen."""
        if at is None:
            return OK
        if not self._log:
            verdict = self._session.tick(at)
            return OK if type(verdict) is Ok else verdict
        calls, verdict = self._calls.later(at)
        return self._become(calls.log) or verdict

    def _note(
        self, what: str, why: str | None, ticket: str | None = None, call: Happening | None = None
    ) -> Verdict | None:
        """Write down what is no attempt, where the session is recorded; a verdict if that cannot be done."""
        write = getattr(self._session, "note", None)
        if write is None:
            return None
        told: dict[str, object] = {"call": ticket, "tool": None if call is None else call.name, "why": why}
        if call is not None and what == "call started":
            told["arguments"] = call.payload
        verdict = write(what, {key: value for key, value in told.items() if value is not None})
        return None if type(verdict) is Ok else verdict
