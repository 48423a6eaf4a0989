"""One session under guard: its contract, its home, its clock. Every step goes through here.

INVARIANT: what a step answers has been kept. Whatever goes wrong before that is a no.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from accord.errors import NotDone, StoreError, UsageError, ViolationError
from accord.integrations.batch import in_words
from accord.integrations.exchange import ToolCall
from accord.integrations.guard import ending, reserving, words
from accord.integrations.guard.decisions import Change, Decision, Noted, Remark
from accord.integrations.guard.patience import is_waiting
from accord.integrations.guard.reacting import LET_RUN, let_run, may_be_let_run
from accord.integrations.guard.timing import on_time
from accord.ledger.attempts import event_of, why
from accord.monitor.events import make_time
from accord.monitor.verdicts import OK, Blocked, Ok
from accord.monitor.wording import quote_value
from accord.projection.payloads import of_error, of_result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from accord.calls.entries import Out
    from accord.integrations.batch import Claim
    from accord.integrations.guard.homes import Home
    from accord.integrations.guard.looking import GuardedTool
    from accord.integrations.guard.observing import Observers
    from accord.integrations.guard.policy import Policy
    from accord.integrations.guard.state import State
    from accord.machine.clocks import Time
    from accord.monitor import Verdict

__all__ = ["LiveSession", "OnViolation"]

T = TypeVar("T")
_Step: TypeAlias = "Callable[[State, Time | None], Change[T]]"
OnViolation: TypeAlias = "Literal['block', 'raise', 'observe'] | Callable[[Decision], object]"


class LiveSession:
    """A session, and what is to be done when its contract is broken."""

    __slots__ = ("_clock", "_on_violation", "_tools", "home", "observers", "policy")

    def __init__(
        self,
        policy: Policy,
        home: Home,
        clock: Callable[[], Time] | None,
        on_violation: OnViolation,
        observers: Observers | None,
        tools: Mapping[str, GuardedTool],
    ) -> None:
        self.policy = policy
        self.home = home
        self.observers = observers
        self._clock = clock
        self._on_violation = on_violation
        self._tools = tools

    @property
    def strict(self) -> bool:
        """Whether arguments are written down or shown to people, so that they must be JSON."""
        return self.home.waits or bool(self.policy.gates)

    @property
    def has_clock(self) -> bool:
        """Whether steps are told the time."""
        return self._clock is not None

    def now(self) -> Time | None:
        """What time it is; `None` if nobody cares."""
        if self._clock is None:
            return None
        at = make_time(self._clock())
        if at is None:  # nothing would expire any more
            raise UsageError("the clock of the guard gives no time")
        return at

    def state(self) -> State:
        """What is known of the session now."""
        return self.home.state()

    def here(self) -> State:
        """What is known of the session now that time has passed; nobody is told of it."""
        return reserving.pass_time(self.policy, *self.on_time(self.state(), self.now())).state

    def on_time(self, state: State, clock: Time | None) -> tuple[State, Time | None]:
        """The state when the clock says that, and the time that it is for the session then."""
        desk = state.desk
        if clock is None or desk.now is None or (clock >= desk.now and not desk.ahead):
            return state, clock
        desk = on_time(desk, clock)
        return state._replace(desk=desk), desk.now

    def waits(self, state: State) -> bool:
        """Whether no tool runs until a person has said so."""
        return is_waiting(state, state.desk.now)

    def change(self, judge: Callable[[State, Time | None], Change[T]], *, deciding: bool = False) -> T:
        """One step of the session, at the time that it is for the session.

        Who watches is told of all events, or, if calls are decided about, of the steps of people that go with them.
        """
        at = self.now()
        if self.observers is None:
            return self.home.change(lambda state: judge(*self.on_time(state, at)), at)
        began = perf_counter()
        seen: list[Change[T]] = []

        def judged(state: State) -> Change[T]:
            seen[:] = [judge(*self.on_time(state, at))]
            return seen[0]

        answer = self.home.change(judged, at)
        if seen:  # it was shown the session as it is
            notes = seen[0].notes
            self.tell_of([note for note in notes if not deciding or _is_persons(note)], began)
        return answer

    def tell_of(self, notes: Sequence[Noted | Remark], began: float) -> None:
        """Tell those who watch of events that are no calls; `began` is a reading of `perf_counter`."""
        for note in notes:
            event = event_of(note.given) if isinstance(note, Noted) else None
            if event is not None and isinstance(note, Noted) and self.observers is not None:
                self.observers.happened(event, note.answer, began)

    def tell(self, judge: Callable[[State, Time | None], Change[Verdict]]) -> Verdict:
        """One step whose answer is a verdict; if it cannot be kept, that is no."""
        try:
            return self.change(judge)
        except Exception as error:  # noqa: BLE001 - whatever it is, there is an answer to it
            return self.broken(error)

    def broken(self, error: Exception) -> Verdict:
        """The answer of a step that could not be taken; a mistake of the caller's is raised."""
        if isinstance(error, UsageError):
            raise error
        if isinstance(error, StoreError):
            return Blocked(f"the session cannot be kept ({why(error)})")
        return Blocked(f"accord failed inside ({quote_value(error)})")

    def remark(self, what: str, detail: dict[str, object]) -> None:
        """Write something down."""
        self.change(lambda state, _: Change(state, (Remark(what, detail),), None))

    def _unfit(self, name: str, arguments: Mapping[str, object]) -> str | None:
        """Why a tool would not be called with exactly these arguments."""
        tool = self._tools.get(name)
        return None if tool is None else tool.why_not_exactly(arguments)

    def decide(
        self,
        claims: Sequence[Claim],
        *,
        started: bool,
        can_wait: bool,
        ahead: Sequence[str] = (),
        take: Callable[[Sequence[Decision]], None] | None = None,
        before: Sequence[ToolCall] | None = None,
    ) -> list[Decision]:
        """Reserve what may run, and do with the rest what the guard was told to; see `reserving.reserve`.

        Whoever interrupts us, what is reserved is taken back, or `take` was given it.
        """
        manner: Any = {
            "started": started, "can_wait": can_wait, "ahead": ahead, "before": before, "unfit": self._unfit
        }  # fmt: skip

        def reserve(state: State, at: Time | None) -> Change[list[Decision]]:
            return reserving.reserve(self.policy, state, claims, at, **manner)

        return self.decide_by(claims, reserve, take, started=started)

    def decide_by(
        self,
        claims: Sequence[Claim],
        reserve: _Step[list[Decision]],
        take: Callable[[Sequence[Decision]], None] | None = None,
        *,
        started: bool = False,
    ) -> list[Decision]:
        """As `decide`, for whoever reserves in a way of their own."""
        raises = self._on_violation == "raise"
        tried: dict[str, tuple[State, State]] = {}

        def judged(state: State, at: Time | None) -> Change[list[Decision]]:
            change = reserve(state, at)
            if raises and any(decision.status == "refused" for decision in change.answer):
                change = ending.withdraw(self.policy, change, at)
            tried["reserved"] = (state, change.state)
            return change

        def undo(*steps: str) -> None:
            reserved = [out for step in steps if step in tried for out in ending.newly_out(*tried[step])]
            if reserved:
                with suppress(Exception):  # what was raised says more
                    self.change(lambda state, at: ending.forget(self.policy, state, reserved, at))

        def let(refused: Sequence[tuple[Claim, Decision]]) -> _Step[list[Decision]]:
            def judged(state: State, at: Time | None) -> Change[list[Decision]]:
                change = let_run(self.policy, state, refused, at, started=started)
                tried["let run"] = (state, change.state)
                return change

            return judged

        began = 0.0 if self.observers is None else perf_counter()
        try:
            decisions, kept = self._kept(judged, claims, lambda: undo("reserved"))
            decisions = [d if d.review is None else replace(d, review=d.review.copy()) for d in decisions]
            try:
                decisions = self.react(decisions)
                if kept:
                    decisions = self._let_run(claims, decisions, let, lambda: undo("let run"))
            finally:
                if self.observers is not None:
                    self.observers.decided(decisions, began)
            if take is not None:
                take(decisions)
        except BaseException:
            undo("reserved", "let run")
            raise
        return decisions

    def _kept(
        self, judge: _Step[list[Decision]], claims: Sequence[Claim], undo: Callable[[], None]
    ) -> tuple[list[Decision], bool]:
        """What was decided about calls, and whether that is kept; if it is not, nothing runs."""
        try:
            return self.change(judge, deciding=True), True
        except UsageError:
            raise
        except StoreError as error:
            message = f"the session cannot be kept ({why(error)}), so nothing runs"
        except Exception as error:  # noqa: BLE001 - whatever broke inside, the answer is no
            undo()
            message = f"accord failed inside ({quote_value(error)}), so nothing runs"
        return [Decision(claim.call, "refused", message, verdict=Blocked(message)) for claim in claims], False

    def _let_run(
        self,
        claims: Sequence[Claim],
        decisions: list[Decision],
        let: Callable[[Sequence[tuple[Claim, Decision]]], _Step[list[Decision]]],
        undo: Callable[[], None],
    ) -> list[Decision]:
        """The decisions, with calls admitted that whoever is told of violations lets run."""
        wanted = [place for place, decision in enumerate(decisions) if decision.reply is LET_RUN]
        after = [replace(each, reply=None) if each.reply is LET_RUN else each for each in decisions]
        going = [place for place in wanted if may_be_let_run(claims[place], decisions[place])]
        if going:
            refused = [(claims[place], after[place]) for place in going]
            answers, _ = self._kept(let(refused), [claim for claim, _ in refused], undo)
            for place, answer in zip(going, answers, strict=True):
                after[place] = answer
        return after

    def react(self, decisions: list[Decision], returned: object = None) -> list[Decision]:
        """Do what the guard was told to do about what is refused; the decisions with what is to be replied.

        `returned` is what a tool has returned, if that is refused.
        """
        refused = [decision for decision in decisions if decision.status == "refused"]
        if not refused or self._on_violation in ("block", "observe"):
            return decisions
        if self._on_violation == "raise":
            cause = next((decision for decision in refused if decision.message != words.NOT_ALONE), refused[0])
            raise ViolationError(cause.message, cause.verdict, response=returned, results=decisions)
        return [self._replied(decision) if decision.status == "refused" else decision for decision in decisions]

    def react_to_result(self, decision: Decision, returned: object, *, kept: bool = True) -> Decision:
        """The same for what a tool has returned. `kept`: it is the contract alone that does not let it through."""
        (decision,) = self.react([decision], returned)
        if decision.reply is LET_RUN:
            try:
                if not kept:
                    return replace(decision, reply=None)
                self.remark("violation let run", {"call": decision.call.id, "tool": decision.call.name})
            except StoreError:
                return replace(decision, reply=None)
        return decision

    def _replied(self, decision: Decision) -> Decision:
        """What whoever is told of a violation says to it."""
        said = self._on_violation(decision)  # type: ignore[operator] # what is left is a function
        return replace(decision, message=said if isinstance(said, str) else decision.message, reply=said)

    # -- what becomes of a call ---------------------------------------------------------------------------------------

    def settle(self, ticket: str, result: object = None) -> Verdict:
        """A call has returned. `Ok` if the result may be passed on; it counts whatever the answer."""
        fields = of_result(result, None, None)
        return self._end(ticket, lambda state, at: ending.settle(self.policy, state, ticket, fields, at))

    def fail(self, ticket: str, error: object, *, known: bool = False) -> Verdict:
        """A call has failed; what that means stands in the contract.

        Of a call of which nobody knows that says nothing new, unless it is said by somebody who is `known` to know.
        """
        said = error if isinstance(error, str) else str(error) if isinstance(error, NotDone) else in_words(error)
        begun = not isinstance(error, NotDone)

        def release(state: State, at: Time | None) -> Change[Verdict]:
            return ending.release(self.policy, state, ticket, said, at, begun=begun, known=known)

        return self._end(ticket, release, said)

    def keep(self, ticket: str, error: str) -> Verdict:
        """A call has happened, and nobody knows what it returned."""
        fields = of_error(error, None, None)

        def keep(state: State, at: Time | None) -> Change[Verdict]:
            return ending.settle(self.policy, state, ticket, fields, at, failed=True)

        return self._end(ticket, keep, error)

    def take_back(self, ticket: str, why_not: str) -> Verdict:
        """A call was never begun, so it does not count, whatever its failure would mean."""
        return self.fail(ticket, NotDone(why_not))

    def _end(
        self, ticket: str, judge: Callable[[State, Time | None], Change[Verdict]], error: str | None = None
    ) -> Verdict:
        """The end of a call, and who is told of it."""
        if self.observers is None:
            return self._surely(ticket, judge)
        call = self._call(ticket)
        began = perf_counter()
        verdict = self._surely(ticket, judge)
        if error is None:
            self.observers.returned(call, verdict, began)
        else:
            self.observers.failed(call, error)
            if type(verdict) is not Ok:
                self.observers.returned(call, verdict, began)
        return verdict

    def _surely(self, ticket: str, judge: Callable[[State, Time | None], Change[Verdict]]) -> Verdict:
        """The end of a call. If it is interrupted on its way, it is told once more, unless it has been kept."""
        seen: list[Out | None] = []

        def judged(state: State, at: Time | None) -> Change[Verdict]:
            seen[:] = [state.out(ticket)]
            return judge(state, at)

        def again(state: State, at: Time | None) -> Change[Verdict]:
            kept = bool(seen) and not ending.is_same(state.out(ticket), seen[0])
            return Change(state, (), OK) if kept else judge(state, at)

        try:
            return self.change(judged)
        except (StoreError, UsageError) as error:
            return self.broken(error)
        except BaseException as error:
            try:
                self.change(again)
            except Exception:  # noqa: BLE001 - it is really broken
                if isinstance(error, Exception):
                    return self.broken(error)
            raise

    def _call(self, ticket: str) -> ToolCall:
        try:
            out = self.state().out(ticket)
        except Exception:  # noqa: BLE001 - the step itself will say so, and must be tried
            out = None
        return ToolCall("", {}, ticket) if out is None else ToolCall(out.name, out.copy().arguments, ticket)


def _is_persons(note: Noted | Remark) -> bool:
    return isinstance(note, Noted) and note.given.by is not None
