"""A recorded run, judged as a guard would have decided about it.

A guard looks at the calls of one message together: a call that is not legal whatever becomes of the earlier ones is
held until they have ended. So a recorded call that would have waited is judged when the earlier calls of its message
have ended, and its own end after it. The end of a call that was refused would not have come: it is no event.

A recording in which no call has an end does not speak of ends; its calls count when they are made.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, Protocol

from accord.calls.entries import Out
from accord.calls.going import out_of
from accord.calls.state import Calls
from accord.errors import UsageError
from accord.machine.events import Event
from accord.monitor.refusals import unknown_call
from accord.monitor.step import begin, close
from accord.monitor.verdicts import Ok, Violation
from accord.projection.happenings import ENDS, Happened
from accord.projection.projection import projection_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accord.machine.clocks import Time
    from accord.machine.contract import Contract
    from accord.monitor import Verdict
    from accord.monitor.step import Situation
    from accord.projection.happenings import Kind
    from accord.projection.projection import Projected

__all__ = ["Judged", "Recorded", "Replay", "is_alone", "speaks_of_ends"]


class Recorded(Happened, Protocol):
    """A happening of a recorded run: it knows which message it came from."""

    @property
    def index(self) -> int:
        """The number of the message."""

    @property
    def answers(self) -> Recorded | None:
        """The call that a result or an error ends, if it is known."""


class Judged(NamedTuple):
    """What became of one happening: what it is to the contract, and the verdict if it is an event.

    `before` is where the session was, as if every call that is out counted. `waited` says that a guard would have held
    the call for a while. `follows` says that it was not judged because the call that it ends was refused.
    """

    happened: Recorded
    projected: Projected
    verdict: Verdict | None = None
    before: Situation | None = None
    waited: bool = False
    follows: bool = False
    place: int = 0
    """How many things had happened in the run before it; what waits is judged after what comes later."""


class _Held(NamedTuple):
    """A call that waits, and its end if that has come already."""

    call: Recorded
    projected: Projected
    alone: bool
    place: int
    end: Recorded | None = None
    ended: int = 0


def is_alone(run: Sequence[Recorded], place: int) -> bool:
    """Whether nothing happens between a call and its result, so that it can be judged as if it took no time.

    What was recorded as an event takes none.
    """
    call = run[place]
    if place + 1 < len(run):
        following = run[place + 1]
        if following.answers is call and following.kind == "result":
            return True
    return call.labelled


def speaks_of_ends(run: Sequence[Recorded]) -> bool:
    """Whether any call of a run has an end; if none has, the recording does not tell."""
    return any(happened.kind in ENDS for happened in run)


class Replay:
    """Follows one run, happening by happening."""

    def __init__(
        self, contract: Contract, protocol: str | None, begun: Situation | None = None, place: int = 0
    ) -> None:
        """`begun` is where the session is, if not at its beginning; `place`, how much had happened before."""
        self.contract = contract
        self.projection = projection_of(contract, protocol)
        self.calls = Calls(begin(contract, protocol) if begun is None else begun)
        self._tickets: dict[int, str] = {}
        self._refused: dict[int, Recorded] = {}  # they are kept, so that no other has their number
        self._held: list[_Held] = []
        self._message = -1
        self._made = 0
        self.place = place
        """How much has happened so far. Whoever passes something over counts it here."""
        self.now: Time | None = None
        """The latest time that was told."""
        self._overdue: Verdict | None = None

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is out and nothing waits: where the session is, is all there is to know."""
        return not self.calls.log and not self._held and not self._refused

    def follow(self, run: Sequence[Recorded]) -> Iterator[Judged]:
        """All of a run."""
        untold = not speaks_of_ends(run)
        for place, happened in enumerate(run):
            yield from self.happen(happened, alone=happened.kind == "call" and (untold or is_alone(run, place)))
        yield from self.finish()

    def happen(self, happened: Recorded, *, alone: bool = False) -> Sequence[Judged]:
        """What a happening is, and whatever was judged because of it, in the order in which it was.

        `alone` says of a call that nothing happens before it has returned.
        """
        kind, place = happened.kind, self.place
        self.place = place + 1
        if kind == "call":
            alone = alone or happened.labelled  # what was recorded as an event takes no time
        if self.takes_at_once(kind, alone=alone):
            self.place = place
            return (self.at_once(happened, self.projection.event(happened, skim=True)),)
        return tuple(self._beside_calls(happened, place, alone=alone))

    def takes_at_once(self, kind: Kind, *, alone: bool) -> bool:
        """Whether a happening of a kind needs nothing but `at_once`: nothing is out, and nothing goes out."""
        if not self.is_quiet:
            return False
        return alone if kind == "call" else kind != "error"

    def at_once(self, happened: Recorded, projected: Projected) -> Judged:
        """A happening while nothing is out, and whose end, if it has one, comes next."""
        place = self.place
        self.place = place + 1
        if projected.event is not None:
            if self.projection.is_timed:
                judged = self._take(happened, projected, projected.event, place)
            else:
                before = self.calls.settled
                self.calls, verdict = self.calls.happened(projected.event)
                judged = Judged(happened, projected, verdict, before, place=place)
        elif projected.outcome == "unknown call":
            judged = self._unknown(happened, projected, place)
        else:
            return Judged(happened, projected, place=place)
        if happened.kind == "call" and type(judged.verdict) is not Ok:
            self._refused[id(happened)] = happened
        return judged

    def _beside_calls(self, happened: Recorded, place: int, *, alone: bool) -> Iterator[Judged]:
        kind = happened.kind
        if kind in ENDS and happened.answers is not None and not happened.labelled:
            yield from self._end(happened, happened.answers, place)
            return
        if self._held and kind == "call" and happened.index != self._message:  # a guard waits for nobody who only talks
            yield from self._judge_held(finally_=True)
        projected = self.projection.event(happened, skim=True)
        if kind == "call":
            self._message = happened.index
            held = _Held(happened, projected, alone, place)
            if self._held:
                self._held.append(held)
            else:
                yield from self._judge_call(held, finally_=False)
        elif projected.event is None:
            yield Judged(happened, projected, place=place)
        else:
            yield self._take(happened, projected, projected.event, place)

    def finish(self) -> Iterator[Judged]:
        """What is judged because nothing more will come."""
        yield from self._judge_held(finally_=True)

    def close(self, at: Time | None) -> tuple[Situation, Verdict]:
        """Whether something is owed, whatever became of the calls that have no end; they are lost.

        Where nothing has happened that the contract looks at, no clock runs, and any time will do.
        """
        calls = self.calls
        if at is None and self.projection.is_timed and self.now is None:
            at = 0
        for logged in calls.log:
            if type(logged) is Out:
                calls = calls.replaced(logged, logged._replace(lost="it has no end"))
        here = calls.worlds() or [calls.settled]
        closed = [close(world, None, at) for world in here]
        return next(((place, verdict) for place, verdict in closed if type(verdict) is not Ok), closed[0])

    # -- calls ---------------------------------------------------------------------------------------------------------

    def _judge_call(self, held: _Held, *, finally_: bool, waited: bool = False) -> Iterator[Judged]:
        """One call; if it has to wait, it is held."""
        call, projected, alone, place = held[:4]
        event = projected.event
        if event is None:
            if projected.outcome == "unknown call":
                self._refused[id(call)] = call
                yield self._unknown(call, projected, place)
                return
            if not alone:
                self._go_out(call, None)
            yield Judged(call, projected, waited=waited, place=place)
            return
        early = self.calls
        event = self._in_time(call, event, late=waited)
        before = self.reached
        if alone and self._overdue is None:
            self.calls, verdict = self.calls.happened(event)
        else:
            verdict = self._overdue or self.calls.judge(event)[0]
        if type(verdict) is Ok:
            if not alone:
                self._go_out(call, event)
        elif not finally_ and self._is_awaited(call):
            self._held.append(held)
            return
        else:
            self._refused[id(call)] = call
        yield Judged(call, projected, early.in_words(event, verdict), before, waited, place=place)

    def _unknown(self, call: Recorded, projected: Projected, place: int) -> Judged:
        refusal = unknown_call(self.calls.settled.stage, Event("!", call.name or ""))
        return Judged(call, projected, Violation.of(refusal, None), self.calls.settled, place=place)

    def _go_out(self, call: Recorded, event: Event | None) -> None:
        ticket = str(self._made + 1)
        out = out_of(self.projection, call, event, ticket=ticket, group=str(call.index))
        if out is None:
            return
        self._made += 1
        self._tickets[id(call)] = ticket
        self.calls = self.calls.with_entry(out)

    def _is_awaited(self, call: Recorded) -> bool:
        """Whether an earlier call of the same message is out."""
        index = str(call.index)
        return any(type(logged) is Out and logged.digest == index and logged.lost is None for logged in self.calls.log)

    def _judge_held(self, *, finally_: bool) -> Iterator[Judged]:
        """Judge what waits, if anything does, in order, until something has to wait on; what has gone out then ends."""
        gone: list[tuple[int, Recorded, _Held]] = []
        while self._held:
            waiting, self._held = self._held, []
            yield from self._judge_call(waiting[0], finally_=finally_, waited=True)
            if self._held:  # it waits on, and so does everything behind it
                self._held = waiting
                break
            first, *self._held = waiting
            if first.end is not None:
                gone.append((first.ended, first.end, first))
        for place, end, held in sorted(gone, key=itemgetter(0)):
            yield from self._settle(end, held.call, place, late=True)
            yield from self._judge_held(finally_=finally_)

    # -- ends ----------------------------------------------------------------------------------------------------------

    def _end(self, happened: Recorded, call: Recorded, place: int) -> Iterator[Judged]:
        for number, held in enumerate(self._held):
            if held.call is call:
                self._held[number] = held._replace(end=happened, ended=place)
                return
        yield from self._settle(happened, call, place)
        if self._held and self._held[0].call.index == call.index:  # a guard waits for calls of the same message alone
            yield from self._judge_held(finally_=False)

    def _settle(self, happened: Recorded, call: Happened, place: int, *, late: bool = False) -> Iterator[Judged]:
        projected = self.projection.event(happened, skim=True)
        if id(call) in self._refused:
            del self._refused[id(call)]
            yield Judged(happened, projected, follows=True, place=place)
            return
        out = self.calls.out(self._tickets.pop(id(call), ""))
        # Nobody looks at a call that is not out; what its failure means stands in the contract all the same.
        failure = self.contract.failure_of(call.name or "", None) if out is None else out.failure
        if happened.kind == "error" and failure != "done":
            if out is None or failure == "undone":
                self.calls = self.calls if out is None else self.calls.replaced(out)
            else:
                self.calls = self.calls.replaced(out, out._replace(lost="it failed"))
            yield Judged(happened, projected, place=place)
            return
        if out is not None:
            self.calls = self.calls.counted(out)
        if projected.event is None:
            yield Judged(happened, projected, place=place)
            return
        yield self._take(happened, projected, projected.event, place, late=late)

    # -- everything else -----------------------------------------------------------------------------------------------

    def _take(
        self, happened: Recorded, projected: Projected, event: Event, place: int, *, late: bool = False
    ) -> Judged:
        early = self.calls
        event = self._in_time(happened, event, late=late)
        before = self.reached
        verdict = self._overdue
        if verdict is None:
            self.calls, verdict = self.calls.happened(event)
        return Judged(happened, projected, early.in_words(event, verdict), before, place=place)

    def _in_time(self, happened: Recorded, event: Event, *, late: bool) -> Event:
        """The event when it happens, after time has passed until then; if it had to wait, that is now."""
        self._overdue = None
        if not self.projection.is_timed:
            return event
        at = event.at
        if at is None:
            raise UsageError(f"the contract uses time, and message {happened.index} was recorded without one")
        if late and self.now is not None and at < self.now:
            at = self.now
        self.now = at
        self.calls, verdict = self.calls.later(at)
        self._overdue = None if type(verdict) is Ok else verdict
        return event._replace(at=at)

    @property
    def reached(self) -> Situation:
        """Where the session is if every call that is out counts."""
        return self.calls.if_all_count
