"""A session while calls are out, as one immutable value: where it is for certain, and what has happened since."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from accord.calls.entries import Firm, Out, Passing
from accord.calls.footprint import located, located_behind
from accord.calls.overtaking import overtake
from accord.calls.worlds import TOO_MANY, fold, has_happened, if_all_count, judge, take, worlds, worlds_about
from accord.errors import InternalError
from accord.monitor.verdicts import OK, Blocked, Ok, Violation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accord.calls.entries import Logged
    from accord.machine.clocks import Time
    from accord.machine.events import Event
    from accord.monitor import Verdict
    from accord.monitor.step import Situation

__all__ = ["Calls"]

_OTHER_END = Blocked("what was let happen since the call rests on another end of it")


class Calls(NamedTuple):
    """`settled` is where the session is if every call that is out fails, `log` what has happened since the first."""

    settled: Situation
    log: tuple[Logged, ...] = ()

    def out(self, ticket: str) -> Out | None:
        """The call with that ticket, if it is out."""
        for logged in self.log:
            if type(logged) is Out and logged.ticket == ticket:
                return logged
        return None

    def worlds(self, *, ends: bool = True) -> list[Situation] | None:
        """Where the session may be; `None` if that is too much to look at."""
        return worlds(self.settled, self.log, ends=ends)

    def worlds_about(self, events: Sequence[Event]) -> list[Situation] | None:
        """The worlds in which events must be legal, the last of which the others are made for; `None` as above."""
        return worlds_about(self.settled, self.log, events)

    @property
    def if_all_count(self) -> Situation:
        """Where the session is if every call that is out counts, and has not ended."""
        return if_all_count(self.settled, self.log)

    def judge(self, event: Event) -> tuple[Verdict, bool]:
        """Whether an event is legal whatever becomes of the calls that are out; and whether it may be, if it is not."""
        here = self.worlds_about([event])
        return (TOO_MANY, True) if here is None else judge(here, [event])

    def with_entry(self, logged: Logged) -> Calls:
        """The session after something more has happened."""
        if self.log or type(logged) is not Firm:
            logged = located_behind(self.settled, self.log, logged)
        return Calls(*overtake(*fold(self.settled, (*self.log, logged))))

    def with_instead(self, old: Out, *new: Logged) -> tuple[Logged, ...]:
        """The log with other entries in the place of a call."""
        log: list[Logged] = []
        for logged in self.log:
            log.extend(new if logged is old else (logged,))
        return tuple(log)

    def replaced(self, old: Out, *new: Logged) -> Calls:
        """The session with other entries in the place of a call."""
        return Calls(*overtake(*fold(self.settled, self.with_instead(old, *new))))

    def certain(self, out: Out) -> list[Logged]:
        """The entries of a call that has happened for certain."""
        return [located(self.settled.stage.stages, Firm(event)) for event in out.events]

    def counted(self, out: Out) -> Calls:
        """The session in which a call has happened for certain."""
        return self.replaced(out, *self.certain(out))

    def found(self, out: Out, end: Event | None) -> tuple[Calls, Verdict]:
        """The session in which a lost call has happened after all, and the verdict on its end."""
        log, verdict = self.with_found(out, end)
        return Calls(*overtake(*fold(self.settled, log))), verdict

    def with_found(self, out: Out, end: Event | None) -> tuple[tuple[Logged, ...], Verdict]:
        """The log in which a lost call has happened after all, and the verdict on its end.

        It has ended where it was made: that is how everything since then was judged. If what was let happen since rests
        on another end than the one it had, the call counts, and all the ends it may have had stay possible.
        """
        certain = self.certain(out)
        verdict: Verdict = OK
        if end is not None:
            before = self.log[: self.log.index(out)]
            verdict, _ = Calls(self.settled, (*before, *certain)).judge(end)
            if type(verdict) is Ok:
                certain.append(located(self.settled.stage.stages, Firm(end)))
        log = self.with_instead(out, *certain)
        try:
            Calls(self.settled, log).worlds()
        except InternalError:
            log = self.with_instead(out, out._replace(failure="done"))
            return log, (_OTHER_END if verdict is OK else verdict)
        return log, verdict

    def happened(self, event: Event) -> tuple[Calls, Verdict]:
        """The session after an event that is no call, and the verdict on it; if it is refused, nothing has changed."""
        if not self.log:
            after, verdict = take(self.settled, event)
            return (Calls(after) if has_happened(verdict) else self), verdict
        verdict, _ = self.judge(event)
        return (self.with_entry(Firm(event)) if has_happened(verdict) else self), verdict

    def in_words(self, event: Event, verdict: Verdict) -> Verdict:
        """A refusal as it is told: as if every call that is out counted, and had not ended.

        So it does not matter which of them the event has to do with. And this is the session before time passed until
        the event: only that knows what it came too late for, whether time passes in the same step or for itself.
        """
        is_timed = self.settled.stage.stages.is_timed
        if type(verdict) is not Violation or not (self.log or is_timed):
            return verdict
        told = take(self.if_all_count, event)[1]
        if type(told) is Violation and told.clause == verdict.clause:
            return told
        if not is_timed:
            return verdict
        here = self.worlds(ends=False)
        told = verdict if here is None else judge(here, [event])[0]
        return told if type(told) is Violation and told.clause == verdict.clause else verdict

    def later(self, at: Time) -> tuple[Calls, Verdict]:
        """The session after time has passed; the verdict says whether something was due and did not happen."""
        here = self.worlds(ends=False)
        if here is None:
            return self, TOO_MANY
        verdict = judge(here, [Passing(at)])[0]
        log = self.log
        if log and type(log[-1]) is Firm and type(log[-1].step) is Passing:  # the log is as long as what happens in it
            log = log[:-1]
        return Calls(self.settled, log).with_entry(Firm(Passing(at))), (OK if type(verdict) is Ok else verdict)
