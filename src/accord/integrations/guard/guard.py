"""`Guard`: the one thing between an agent and its tools.

A guard has a contract, a session, and a place where that session lives. Every call of a tool is reserved before it runs
and settled or taken back afterwards. The deciding is done by pure functions (`reserving`, `reviewing`); keeping what
they decide is the home's (`homes`). This file is what a program uses, and the order in which things happen.

INVARIANT: a tool runs only after a decision that admits it has been kept. Whatever goes wrong before that is a no.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from accord.calling import name_of
from accord.calls.entries import Out
from accord.calls.worlds import TOO_MANY
from accord.choreography.compiling import compile_contract
from accord.errors import UsageError
from accord.integrations.exchange import ToolCall, ToolResult
from accord.integrations.guard import ending, patience, reserving, words
from accord.integrations.guard.beginning import beginning_of
from accord.integrations.guard.coverage import Survey
from accord.integrations.guard.decisions import Change, Decision, Noted
from accord.integrations.guard.functions import guarded_like
from accord.integrations.guard.homes import MemoryHome, StoreHome
from accord.integrations.guard.looking import GuardedTool, as_calls, look_at
from accord.integrations.guard.observing import observers_of
from accord.integrations.guard.options import Options, duration
from accord.integrations.guard.restarting import begin_turn
from accord.integrations.guard.running import run
from accord.integrations.guard.session import LiveSession
from accord.integrations.guard.speaking import say
from accord.integrations.guard.status import status_of
from accord.ledger.attempts import Given
from accord.machine.contract import Contract
from accord.monitor.events import make_event, make_time
from accord.monitor.explain_now import tell_now
from accord.monitor.step import close, is_over
from accord.monitor.verdicts import CLOSING, OK, TICKING, Blocked, Ok
from accord.monitor.vocabulary import Vocabulary
from accord.monitor.wording import list_words, quote_value
from accord.projection.plain import is_text
from accord.stores.record import check_name
from accord.stores.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from accord.integrations.guard.coverage import Coverage
    from accord.integrations.guard.homes import Home
    from accord.integrations.guard.observing import Observer
    from accord.integrations.guard.policy import Escalation, WhenOver
    from accord.integrations.guard.session import OnViolation
    from accord.integrations.guard.state import Review, State
    from accord.integrations.guard.status import GuardStatus
    from accord.machine.clocks import Time
    from accord.monitor import Verdict

__all__ = ["Guard"]

T = TypeVar("T")
F = TypeVar("F", bound="Callable[..., Any]")

_DECIDE = "decide the review that the call has opened (`guard.decide`)"
_LONGEST_NAME = 200
_LONGEST_REASON = 2000


class Guard:
    """Guards the tools of one session of an agent.

    `contract` is a text, a `Path` or a compiled contract. Without a `store` the session lives as long as the guard;
    with one, under `key`, it outlives the process, any number of workers share it, and its ledger is kept with it.

    `on_violation` says what an illegal call does. `block`: it does not run, and the model is told why and how to do it
    right. `raise`: `ProtocolViolationError`, and nothing of its batch runs. `observe`: it runs, and stands in the
    ledger. A function is called with the `Decision`: a text that it returns is what the model is told, with `LET_RUN`
    the call runs, and whatever else it returns changes nothing.

    When a tool was refused in `patience` turns since it last went on, or in so many turns in a row something was
    refused and nothing went on, the model is told to stop asking, and the session is stopped (`escalate="stop"`) or
    waits for a person (`"review"`) until `resume`. What a failed call means stands in the contract (`tools`).
    `review_lasts` is how long a review can be decided and used, `expires_after` how
    long the session lives after its last step, both in seconds of `clock`. `observers` are told of everything.

    A session lives as long as its key. When its protocol is over, what follows is refused; with `when_over="restart"`
    the protocol begins again when the user speaks next (`user_says`), and everything else stays as it was.

    The labels of the contract are held against the tools and the `events` that the program reports: one that is nearly
    the name of either is a `UsageError`, any other that nobody gives a `LabelWarning`, or an error if `strict`. Steps
    of people (`by human`) are reported only by a program that names them among its `events`.

    Example:
        >>> from accord import Guard, ToolCall
        >>> guard = Guard("!search.!book.end", tools={"search": lambda city: [city], "book": lambda: None})
        >>> guard.run([ToolCall("book", {})])[0].error
        '`book` is not allowed yet: first call `search`, then `book`.'
    """

    def __init__(  # noqa: PLR0913 - what a guard can be told, all by name
        self,
        contract: str | Path | Contract,
        *,
        store: Store | None = None,
        key: str | None = None,
        protocol: str | None = None,
        tools: Mapping[str, Callable[..., Any]] | None = None,
        labels: Mapping[str, str] | None = None,
        on_violation: OnViolation = "block",
        patience: int = 5,
        escalate: Escalation = "stop",
        review_lasts: Time | None = None,
        expires_after: Time | None = None,
        clock: Callable[[], Time] | None = None,
        observers: Sequence[Observer] = (),
        when_over: WhenOver = "refuse",
        events: Iterable[str] = (),
        strict: bool = False,
    ) -> None:
        if not isinstance(contract, Contract):
            contract = compile_contract(contract)
        if store is not None or key is not None:
            _check_place(store, key)
        options = Options(on_violation, labels or {}, patience, escalate, review_lasts, when_over, events)
        beginning = beginning_of(contract, protocol, options)
        policy = beginning.policy
        lives = None if expires_after is None else duration("expires_after", expires_after)
        if clock is None and (policy.is_timed or store is not None or review_lasts is not None):
            clock = time.time
        began = None if clock is None else make_time(clock())
        if clock is not None and began is None:
            raise UsageError("the clock of the guard gives no time")
        home: Home
        if store is None:
            if lives is not None:
                raise UsageError("`expires_after` is for a session in a store; one in memory ends with its guard")
            watched = clock is not None or bool(observers)
            home = MemoryHome(beginning.at(began), None if watched else beginning.nodes)
        else:
            home = StoreHome(store, check_name(key), contract, policy.protocol, began, lives)
        self._key = key
        self._tools: dict[str, GuardedTool] = {}
        told = observers_of(observers, key, policy)
        self._session = LiveSession(policy, home, clock, on_violation, told, self._tools)
        self._survey = Survey(policy, beginning.clean, strict=strict)
        if tools:
            for name, tool in tools.items():
                self.register(name, tool)
            self._survey.check(self._tools)
        self._surveyed = True

    # -- tools ---------------------------------------------------------------------------------------------------------

    def register(self, name: str, tool: Callable[..., Any]) -> None:
        """Add a tool, or replace the one of that name."""
        if not isinstance(name, str) or not name or not callable(tool):
            raise UsageError(f"a tool is a function with a name, got {quote_value(name)} and `{type(tool).__name__}`")
        self._tools[name] = GuardedTool(tool, name, self._session.policy.tools.kind(name))
        self._surveyed = False

    @overload
    def tool(self, function: F, /) -> F: ...

    @overload
    def tool(self, /, *, name: str | None = None) -> Callable[[F], F]: ...

    def tool(self, function: Callable[..., Any] | None = None, /, *, name: str | None = None) -> Any:
        """Guard a function: `@guard.tool`, or `@guard.tool(name="other")` if the contract knows it by another name.

        A call that may not run raises `ProtocolViolationError`, whose text is what to tell the model. A coroutine
        function or a generator stays one: its call is made when it begins and counts when it has run to its end.

        Example:
            >>> guard = Guard("!pay(amount <= 10).end")
            >>> @guard.tool
            ... def pay(amount: int = 100) -> str:
            ...     return "paid"
            >>> pay(amount=3)
            'paid'
        """
        if function is None:
            return partial(self._guarded, name=name)
        return self._guarded(function, name=name)

    def _guarded(self, function: Callable[..., Any], *, name: str | None) -> Callable[..., Any]:
        if not callable(function):
            raise UsageError(f"a function is guarded, got `{type(function).__name__}`")
        known = name_of(function) if name is None else name
        self.register(known, function)
        return guarded_like(self._session, self._tools[known])

    def run(self, calls: Iterable[ToolCall]) -> list[ToolResult]:
        """Run the calls of a batch that may run, in order; what became of each, in order.

        All of them are reserved before any runs. A call that is not legal before an earlier one of the batch has
        returned waits for that.
        """
        self._check_labels()
        return run(self._session, self._tools, as_calls(calls))

    async def arun(self, calls: Iterable[ToolCall]) -> list[ToolResult]:
        """As `run`; calls that do not wait for each other run at the same time."""
        from accord.integrations.guard.running_async import arun  # noqa: PLC0415 - it loads asyncio

        self._check_labels()
        return await arun(self._session, self._tools, as_calls(calls))

    def _check_labels(self) -> None:
        """Hold the contract's labels against tools that were registered since that was done last."""
        if not self._surveyed:
            self._survey.check(self._tools)
            self._surveyed = True

    # -- reserving, for whoever runs tools in another way --------------------------------------------------------------

    def reserve(self, calls: Iterable[ToolCall]) -> list[Decision]:
        """Decide about the calls of a batch, all at once and in order, before any of them runs.

        Whoever runs an admitted call uses `decision.call`, begins with `start`, and tells `settle` or `fail` how it
        went. Asking again about the same call, by its id, gives the same answer and reserves nothing twice.
        """
        self._check_labels()
        claims = look_at(as_calls(calls), self._tools or None, strict=self._session.strict)
        return self._session.decide(claims, started=False, can_wait=False)

    def start(self, ticket: str) -> bool:
        """Whether a reserved call may be run now: the first to ask gets `True`, everybody after that `False`."""
        try:
            return self._session.change(lambda state, _: reserving.start(state, ticket))
        except UsageError:
            raise
        except Exception:  # noqa: BLE001 - whatever broke, nobody knows that it may
            return False

    def settle(self, ticket: str, result: object = None) -> Verdict:
        """A call has returned. `Ok` if the result may be passed on; it counts whatever the answer."""
        return self._session.settle(ticket, result)

    def fail(self, ticket: str, error: object) -> Verdict:
        """A call has failed; what that means stands in the contract.

        Said of a call of which nobody knew, this says that it has not happened, if it is `accord.NotDone` or in other
        words than those with which it was lost. Exceptions and the same words say nothing new: messages may come twice.
        """
        return self._session.fail(ticket, error, known=isinstance(error, str))

    def keep(self, ticket: str, error: str) -> Verdict:
        """A call has happened, and nobody knows what it returned: it counts, with this error."""
        return self._session.keep(ticket, error)

    # -- messages, time, the end ---------------------------------------------------------------------------------------

    def send(self, label: str, payload: Mapping[str, object] | None = None) -> Verdict:
        """The agent says something that is no tool call."""
        return self._happen("!", label, payload, None)

    def receive(self, label: str, payload: Mapping[str, object] | None = None, by: str | None = None) -> Verdict:
        """Something reaches the agent that is no result; `by` names the person whose step it is.

        A step that only people can make (`by human`) is made by answering a review, with `decide`. A program that asks
        people itself may report it if the guard was told so, `events=["Approval"]`; else it is a `UsageError`.

        Example:
            >>> Guard("?Approval by human.!Reply.end", events=["Approval"]).receive("Approval", by="ana")
            Ok()
        """
        return self._happen("?", label, payload, by)

    def user_says(self, text: str, *, by: str | None = None) -> Verdict:
        """The user says something, which is an event if the contract's `events` name it. A turn of the user begins.

        The user is a person without roles; `by` names one whom you know. What is not legal now is written down and
        changes nothing.

        Example:
            >>> guard = Guard('protocol P = !pay.?Yes.end events { Yes when user says "yes" pay when call pay }')
            >>> guard.user_says("Hello."), guard.user_says("Oh yes!")
            (Ok(), Violation(expected=['!pay'], got='?Yes by user'))
        """
        _check_text(text)

        def said(state: State, at: Time | None) -> Change[Verdict]:
            begun = begin_turn(self._session.policy, state, at)
            change = say(self._session.policy, begun.state, "user", text, by, at)
            return Change(change.state, (*begun.notes, *change.notes), change.answer)

        return self._session.tell(said)

    def agent_says(self, text: str) -> Verdict:
        """The agent says something, which is an event if the contract's `events` name it."""
        _check_text(text)
        policy = self._session.policy
        return self._session.tell(lambda state, at: say(policy, state, "agent", text, None, at))

    def tick(self) -> Verdict:
        """Time has passed: deadlines that are over expire."""

        def passed(state: State, at: Time | None) -> Change[Verdict]:
            change = reserving.pass_time(self._session.policy, state, at)
            if change.notes or at is None:
                return change
            return change._replace(notes=(Noted(Given(TICKING, at=at), change.answer),))

        return self._session.tell(passed)

    def close(self) -> Verdict:
        """Nothing more will come: `Ok` if nothing is owed. Calls that are out have to return first."""

        def end(state: State, at: Time | None) -> Change[Verdict]:
            given = Given(CLOSING, at=at)
            running = state.running()
            if running:
                verdict: Verdict = Blocked(f"calls are out: {list_words(out.name for out in running)}")
                return Change(state, (Noted(given, verdict),), verdict)
            here = state.worlds()
            verdict = TOO_MANY if here is None else OK
            for world in here or ():  # whatever became of calls that are lost, nothing may be owed
                closed, verdict = close(world, None, at)
                if type(verdict) is not Ok:
                    return Change(state._replace(settled=closed, log=()), (Noted(given, verdict),), verdict)
            if here is None:
                return Change(state, (Noted(given, verdict),), verdict)
            return Change(state._replace(settled=closed, log=()), (Noted(given, verdict),), verdict)

        return self._session.tell(end)

    # -- people --------------------------------------------------------------------------------------------------------

    def reviews(self) -> list[Review]:
        """The questions to people that are open."""
        state, at = self._session.on_time(self._session.state(), self._session.now())
        return [review.copy() for review in state.desk.reviews if review.state == "open" and not review.is_over(at)]

    def review(self, identity: str) -> Review:
        """One question, decided or not; `UsageError` if there is none of that id, or it is over and forgotten."""
        found = next((review for review in self._session.state().desk.reviews if review.id == identity), None)
        if found is None:
            raise UsageError(f"there is no review {quote_value(identity)} in this session")
        return found.copy()

    def decide(
        self,
        review: str,
        answer: str,
        *,
        by: str,
        reason: str | None = None,
        payload: Mapping[str, Any] | None = None,
    ) -> Review:
        """A person's answer to a question: `allow`, `deny`, or `modify` with the payload to use instead.

        An answer is good for one call of that action with that payload. `UsageError` if it cannot be taken, and then
        nothing has changed: no such review, decided already, expired, an unknown answer.
        """
        _check_person(by, reason)
        policy = self._session.policy

        def decided(state: State, at: Time | None) -> Change[Review]:
            other = None if payload is None else self._arguments(state, review, payload)
            return ending.decide(policy, state, review, answer, by=by, reason=reason, payload=other, at=at)

        return self._session.change(decided).copy()

    def _arguments(self, state: State, identity: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        """What a person puts in place of a call's arguments: a copy, with the defaults of the tool for the rest."""
        name = next((review.name for review in state.desk.reviews if review.id == identity), "payload")
        tools = {name: self._tools[name]} if name in self._tools else None
        (claim,) = look_at([ToolCall(name, payload)], tools, strict=True)
        if claim.fault is not None or claim.arguments is None:
            raise UsageError(f"{claim.fault}; nothing was decided")
        return claim.arguments

    def resume(self, *, by: str, reason: str) -> None:
        """A person lets a session go on that was stopped, or that waits to be told whether it may."""
        _check_person(by, reason)
        policy = self._session.policy
        self._session.change(lambda state, at: patience.resume(policy, state, at, by=by, reason=reason))

    # -- questions -----------------------------------------------------------------------------------------------------

    def visible(self, names: Iterable[str] | None = None) -> list[str]:
        """The tools a model should see now, of those named or of all that are registered."""
        state, policy = self._session.here(), self._session.policy
        if self._session.waits(state):
            return []
        here = state.worlds() or [state.settled]
        listed = list(self._tools) if names is None else list(names)
        return [name for name in listed if policy.may_be_visible(here, name)]

    def allowed(self) -> list[str]:
        """The words that are legal now whatever becomes of the calls that are out, sorted."""
        state = self._session.here()
        here = state.worlds()
        if here is None or self._session.waits(state) or any(is_over(world.place) for world in here):
            return []
        return sorted(set.intersection(*(set(world.allowed) for world in here)))

    def coverage(self, tools: Iterable[str] | None = None) -> Coverage:
        """What the contract does not reach, of the tools that are named or of all that are registered.

        Example:
            >>> guard = Guard("!search.?search.end", tools={"search": lambda: 1, "log": lambda: 2})
            >>> print(guard.coverage())
            No clause names `log`: these calls are refused.
        """
        return self._survey.coverage(self._tools if tools is None else tools)

    def explain(self) -> str:
        """What a model should be told about where it stands."""
        policy = self._session.policy
        state, at = self._session.on_time(self._session.state(), self._session.now())
        allowed = ""
        if policy.contract.machines:  # rules alone allow whatever they do not forbid
            vocabulary = Vocabulary(policy.contract.stages(policy.protocol), policy.aliases)
            allowed = tell_now(vocabulary, self.allowed(), complete=self._session.here().settled.complete)
        return words.situation(state, allowed, self.visible() if self._tools else None, at)

    def out(self) -> list[Out]:
        """The calls that may run, or are running, and have not returned."""
        return [logged.copy() for logged in self._session.state().log if isinstance(logged, Out)]

    @property
    def status(self) -> GuardStatus:
        """`running`, `complete`, `stopped`, `violated`, `incomplete` or `unrecognised`, as if what is out failed.

        It is not `complete` while something is owed in case a call has happened of which nobody knows.
        """
        return status_of(self._session.here())

    @property
    def stopped(self) -> str | None:
        """Why nothing runs any more; `None` if the session is not stopped."""
        return self._session.state().desk.stopped

    @property
    def contract(self) -> Contract:
        """The compiled contract."""
        return self._session.policy.contract

    @property
    def protocol(self) -> str | None:
        """The name of the protocol, `None` for a bare one."""
        return self._session.policy.protocol

    @property
    def key(self) -> str | None:
        """The key of the session in its store."""
        return self._key

    def __repr__(self) -> str:
        return f"<Guard {self._key or '(in memory)'} of {self._session.policy.protocol or '(bare)'}>"

    def _happen(
        self, direction: Literal["!", "?"], label: str, payload: Mapping[str, object] | None, by: str | None
    ) -> Verdict:
        (given,) = look_at([ToolCall(label, {} if payload is None else payload)], None, strict=True)
        if given.fault is not None:
            raise UsageError(given.fault)
        if not self._session.policy.may_report(label, by):
            self._session.remark("not the program's to report", {"label": label, "by": by})
            raise UsageError(words.not_reported(label, _DECIDE))

        def said(state: State, at: Time | None) -> Change[Verdict]:
            event = make_event(direction, label, given.arguments, None, by, at)
            return reserving.happen_then(self._session.policy, state, event)

        return self._session.tell(said)


def _check_place(store: Store | None, key: str | None) -> None:
    if store is not None and not isinstance(store, Store):
        raise UsageError("a session is kept in a `Store`, such as SQLiteStore(path)")
    if (store is None) != (key is None):
        raise UsageError("a session in a store has a `key`, and only such a one")


def _check_text(text: object) -> None:
    if not isinstance(text, str):
        raise UsageError(f"what is said is a text, got `{type(text).__name__}`")


def _check_person(by: object, reason: object) -> None:
    if type(by) is not str or not by.strip() or not is_text(by):
        raise UsageError(f"`by` names the person who decides, got {quote_value(by)}")
    if reason is not None and (type(reason) is not str or not is_text(reason)):
        raise UsageError(f"a reason is a text, got `{type(reason).__name__}`")
    if len(by) > _LONGEST_NAME or (reason is not None and len(reason) > _LONGEST_REASON):
        raise UsageError(f"`by` has {_LONGEST_NAME} characters at the most, and a reason {_LONGEST_REASON:,}")
