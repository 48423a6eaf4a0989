"""Running one tool: only a call that was reserved, under its id and with its arguments, and only once.

The hook around a tool sees the state of the graph as it was when the batch was sent off, whatever the other calls of
the batch do. With a session in the checkpoint it can only look there for its reservation and leave a note of what
became of the call. With a session that is kept elsewhere it begins and ends the call there.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

from langchain_core.messages import ToolMessage

from accord.calls.entries import Out
from accord.errors import NotDone, StoreError
from accord.integrations.batch import in_words, withheld
from accord.integrations.exchange import ToolCall
from accord.integrations.guard import reserving, words
from accord.integrations.guard.decisions import Change, Decision, Remark
from accord.integrations.guard.handles import INTERRUPTED
from accord.integrations.guard.reacting import LET_RUN
from accord.integrations.guard.reviewing import digest_of
from accord.langchain.arguments import complete, differs
from accord.langchain.edits import call_it, edited, holding
from accord.langchain.entering import Entry
from accord.langchain.messages import add_update, answer_to, outcome_of, refusal, replaced, strip, tell_changed, told
from accord.ledger.attempts import why
from accord.monitor.verdicts import Ok
from accord.monitor.wording import quote_text
from accord.projection.payloads import of_result
from accord.turns import check_turn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from langchain_core.messages import AnyMessage
    from langgraph.prebuilt.tool_node import ToolCallRequest
    from langgraph.runtime import ExecutionInfo

    from accord.integrations.guard.state import State
    from accord.langchain.law import Law
    from accord.langchain.sealing import Where
    from accord.langchain.sessions import CheckpointKeeping, Keeping, Settings, Sitting
    from accord.machine.clocks import Time

__all__ = ["Run", "Runner", "was_kept_out"]

_REMEMBERED = 4096


class Run(NamedTuple):
    """A call that runs. `out` is its reservation; it has none if it is only observed or no business of the law."""

    request: ToolCallRequest
    sitting: Sitting
    place: _Place
    decision: Decision
    out: Out | None
    entry: Entry | None = None
    """What may enter the tool; without one, anything may."""


class _Place(NamedTuple):
    """A call, by its thread, the graph that runs the agent, the number of its session there, and its id.

    One agent may be run several times at once inside of another: each of these runs is a graph of its own.
    """

    where: Where
    graph: str
    number: int
    call: str


def _graph_of(info: ExecutionInfo | None) -> str:
    """The graph that a node belongs to, by the tasks that lead to it."""
    return "" if info is None else info.checkpoint_ns.rpartition("|")[0]


class Sent:
    """The calls that were begun in this process, for what the state of the graph cannot tell.

    A middleware around ours may call us several times for one call that LangGraph has sent off once, and each time we
    see the same state; that is told by the very object that LangGraph has made for it. And it may throw away what we
    say about a call; then it is still known here that its tool has run, or why it failed.
    """

    def __init__(self) -> None:
        self._begun: dict[int, Any] = {}
        self._ran: OrderedDict[_Place, str | None] = OrderedDict()
        self._lock = RLock()

    def begin(self, runtime: object, place: _Place) -> bool:
        """Whether this is the first to run it, or the first after it was taken back."""
        held = id(runtime)
        check_turn(self._lock)
        with self._lock:
            if held in self._begun:
                return False
            self._begun[held] = ref(runtime, lambda _: self._begun.pop(held, None))
            self._ran[place] = None
            if len(self._ran) > _REMEMBERED:
                self._ran.popitem(last=False)
            return True

    def end(self, runtime: object, place: _Place) -> None:
        """It has not happened, so it may be tried again."""
        with self._lock:
            self._begun.pop(id(runtime), None)
            self._ran.pop(place, None)

    def fail(self, place: _Place, why_not: str) -> None:
        """It has failed, and that does not mean that it has not happened: nobody may try it again."""
        with self._lock:
            if place in self._ran:
                self._ran[place] = why_not

    def has_begun(self, place: _Place) -> bool:
        """Whether a call was begun here and was not taken back."""
        return place in self._ran

    def why_failed(self, place: _Place) -> str | None:
        """Why a call that was begun here has failed; `None` if it has not."""
        return self._ran.get(place)


class Runner:
    """Begins and ends calls, for the hooks around tools."""

    def __init__(self, law: Law, keeping: Keeping, settings: Settings) -> None:
        self._law = law
        self._keeping = keeping
        self._settings = settings
        self._sent = Sent()
        self.ours = frozenset((*settings.keys, *law.more_keys()))
        """The keys of the graph's state that no tool may write to."""

    def begin(self, request: ToolCallRequest, where: Where) -> Run | ToolMessage:
        """A call that may run now, or what the model is told instead."""
        call = request.tool_call
        sitting = self._keeping.sit(request.state, where)
        asked = ToolCall(call["name"], call["args"], call["id"] or "")
        place = _Place(where, _graph_of(request.runtime.execution_info), sitting.number, asked.id)
        out = sitting.opened.state.out(asked.id) if asked.id else None
        if out is None or out.name != asked.name or not self._same(out, asked.arguments):
            if self._law.policy.observes:
                return Run(request, sitting, place, Decision(asked, "admitted"), None)
            return (
                _unreserved(asked, request) if out is None else _no(asked, _instead(words.other_call(asked.id), asked))
            )
        why_not = _why_not_again(sitting, out) or self._otherwise(request, out)
        if why_not is not None:
            return _no(asked, why_not)
        if not self._sent.begin(request.runtime, place):
            return _no(asked, words.already_out(asked.id))
        judged = out.arguments
        request = holding(request, judged)
        if judged != asked.arguments:
            asked = replace(asked, arguments=dict(judged))
        entry = None if self._law.policy.observes else Entry(out.name, judged, request.tool)
        run = Run(request, sitting, place, Decision(asked, "admitted", ticket=asked.id), out, entry)
        # INVARIANT: this is the last thing that is done, so that nothing interrupts whoever has begun the call.
        if self._keeping.direct and not self._start(sitting, out):
            self._sent.end(request.runtime, place)
            return _no(asked, words.already_out(asked.id))
        return run

    def _start(self, sitting: Sitting, out: Out) -> bool:
        """Whether we are the one to run a call. One that has not begun because we were interrupted may still begin."""
        mine = False

        def start(state: State, _: Time | None) -> Change[bool]:
            nonlocal mine
            change = reserving.start(state, out.ticket)
            mine = change.answer
            return change

        try:
            return sitting.session.change(start)
        except BaseException:
            if mine:
                with suppress(Exception):  # what was raised says more
                    sitting.session.change(lambda state, _: _suspend(state, out))
            raise

    def let_go(self, run: Run | ToolMessage, *, back: bool) -> None:
        """Something was interrupted on its way: if nobody was told what became of a call, the session is told now."""
        if isinstance(run, ToolMessage) or run.out is None or not self._keeping.direct:
            return
        with suppress(Exception):  # what has interrupted it says more
            session, ticket = run.sitting.session, run.out.ticket
            out = session.state().out(ticket)
            if out is not None and out.started and out.lost is None:
                (session.keep if back else session.fail)(ticket, INTERRUPTED)

    def _otherwise(self, request: ToolCallRequest, out: Out) -> str | None:
        """What is said if a tool would run with other arguments than were judged; `None` if it would not."""
        if request.tool is None or not self._law.weighs(out.name):
            return None
        judged = out.arguments
        full = complete(request.tool, judged)
        wrong = None if full is None else differs(full, judged)
        if wrong is None:
            return None
        return f"{quote_text(out.name)} would run with other arguments than were judged, so it does not run: {wrong}"

    def returned(self, run: Run, result: Any) -> Any:  # noqa: ANN401 - what a tool gives back
        """A tool has returned, or has said by its message that it failed."""
        result = strip(result, self.ours)
        if was_kept_out(run):
            return self._kept_out(run, result)
        if run.out is None:
            return result
        outcome = outcome_of(result, run.out.ticket)
        if outcome.error is None:
            if run.out.reviews and not self._same(run.out, run.out.arguments):
                by = next((event.by for event in run.out.events if event.by), None) or "a person"
                result = tell_changed(result, run.out.arguments, by)
            later = self._keeping.later
            if later is None:
                return self._settle(run, result, outcome.result)
            return add_update(result, self._note(later, run, self._worth_keeping(outcome.result), None))
        return add_update(result, self._fail(run, outcome.error))

    def failed(self, run: Run, error: Exception) -> Any:  # noqa: ANN401 - the same
        """A tool has raised, and the model is told; what that means for the call stands in the contract."""
        if was_kept_out(run):
            return self._kept_out(run, None)
        call = run.decision.call
        message = refusal(call.id, call.name, in_words(error))
        reason = error if isinstance(error, NotDone) else in_words(error)
        return message if run.out is None else add_update(message, self._fail(run, reason))

    def _kept_out(self, run: Run, result: Any) -> Any:  # noqa: ANN401 - the same
        """A tool was not entered: a middleware behind us has changed the call, or another of ours has refused it."""
        call = run.decision.call
        said = f"{quote_text(call.name)} was changed after it was decided about, so it was not run."
        instead = None if run.entry is None else run.entry.instead
        if instead is not None or not isinstance(result, ToolMessage):
            result = refusal(call.id, call.name, f"{said} {call_it(*(instead or (call.name, call.arguments)))}")
        return add_update(result, self._fail(run, NotDone(str(result.text))))

    def take_back(self, run: Run, error: Exception) -> None:
        """A tool has raised, and the run of the graph is to fail with it.

        With a session in the checkpoint nothing can be kept then: if the run is resumed, the call is made again.
        """
        self._failed(run, error)
        if run.out is not None and self._keeping.direct:
            run.sitting.session.fail(run.out.ticket, error)

    def suspend(self, run: Run) -> None:
        """A tool waits for a person by itself. It will be run again from its beginning."""
        self._forget(run)
        if run.out is not None and self._keeping.direct:
            run.sitting.session.change(lambda state, _: _suspend(state, run.out))

    def interrupted(self, run: Run, error: BaseException) -> None:
        """A tool was cancelled: it has failed, where that can be kept."""
        said = f"{INTERRUPTED} ({in_words(error)})"
        self._failed(run, said)
        if run.out is not None and self._keeping.direct:
            run.sitting.session.fail(run.out.ticket, said)

    def _settle(self, run: Run, result: Any, fields: dict[str, Any]) -> Any:  # noqa: ANN401 - as above
        session, call = run.sitting.session, run.decision.call
        try:
            verdict = session.settle_fields(call.id, fields)
        except StoreError as error:
            said = f"the tool has run, but the session cannot be kept ({why(error)})"
            return refusal(call.id, call.name, said)
        if type(verdict) is Ok or session.policy.observes:
            return result
        said = withheld(verdict)
        with self._law.seeing(run.sitting.opened.trace):
            refused = self._law.refusal(call, said, verdict, session.state(), "recv")
        refused = session.react_to_result(refused, result)
        if refused.reply is LET_RUN:
            return result
        return replaced(result, told(refused)) if isinstance(result, ToolMessage) else told(refused)

    def _fail(self, run: Run, error: str | NotDone) -> dict[str, Any]:
        """A call has failed; what is left for the state of the graph."""
        self._failed(run, error)
        later = self._keeping.later
        if later is not None:
            return self._note(later, run, {}, error)
        run.sitting.session.fail(run.decision.call.id, error)
        return {}

    def _same(self, out: Out, arguments: Mapping[str, Any]) -> bool:
        """Whether a call was asked for with these arguments, by the label of its tool or of its own transition."""
        labels = {self._law.policy.label(out.name), *(event.label for event in out.events[-1:])}
        try:
            return any(out.digest == digest_of(label, arguments) for label in labels)
        except (TypeError, ValueError, AttributeError, RecursionError):
            return False

    def doubt(self, sitting: Sitting) -> None:
        """A turn begins while calls are out: the last one broke off, and nobody knows whether they have happened.

        They stay out, whatever messages say about them, until somebody who knows has told the session.
        """
        if not self._keeping.direct and any(
            isinstance(each, Out) and not each.started for each in sitting.opened.state.log
        ):
            sitting.session.change(lambda state, _: _doubt(state))

    def answered_by_others(
        self, sitting: Sitting, where: Where, info: ExecutionInfo | None, messages: Sequence[AnyMessage]
    ) -> None:
        """Settle what is out although it has been answered: somebody has answered in our place.

        A call that was never begun is taken back: another middleware has refused it before it came to us. One that has
        run counts; what it means that one has failed stands in the contract. With a session that is kept elsewhere,
        what has begun there and not returned stays out.
        """
        session = sitting.session
        outs = [logged for logged in session.state().log if isinstance(logged, Out)]
        if not outs:
            return
        answered = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
        for out in outs:
            if out.ticket not in answered or out.started:
                continue
            place = _Place(where, _graph_of(info), sitting.number, out.ticket)
            failed = self._sent.why_failed(place)
            if failed is not None:
                session.fail(out.ticket, failed)
            elif self._sent.has_begun(place):
                session.keep(out.ticket, "it has run, and what it returned was thrown away by another middleware")
            else:
                session.take_back(out.ticket, "it was answered by somebody else before it could run")

    def _failed(self, run: Run, error: BaseException | str) -> None:
        """A call that is taken back may be tried again, no other."""
        if run.out is None or run.out.failure == "undone" or isinstance(error, NotDone):
            self._forget(run)
        else:
            said = error if isinstance(error, str) else in_words(error)
            self._sent.fail(run.place, said)

    def _forget(self, run: Run) -> None:
        self._sent.end(run.request.runtime, run.place)

    def _note(
        self, later: CheckpointKeeping, run: Run, result: dict[str, Any], error: str | NotDone | None
    ) -> dict[str, Any]:
        kept = later.returned(run.sitting, run.place.where, run.decision.call.id, result, error)
        return {self._settings.keys.returns: [kept]}

    def _worth_keeping(self, result: dict[str, Any]) -> dict[str, Any]:
        """A result is kept until it is folded if the contract or the ledger looks at it."""
        return result if self._law.looks_at_results or self._settings.ledger is not None else of_result({}, None, None)


def was_kept_out(run: Run) -> bool:
    """Whether nothing has entered the tool, because it was not what was judged."""
    return run.entry is not None and run.entry.kept_out


def _why_not_again(sitting: Sitting, out: Out) -> str | None:
    """What is said of a call that was sent off before; `None` if it was not. Other middlewares may do it once more."""
    if out.started:
        return words.already_out(out.ticket) if out.lost is None else _lost(out)
    # What it has returned is folded into the session by the next hook; until then it is out, as far as that knows.
    return words.already_run(out.ticket) if any(each.ticket == out.ticket for each in sitting.returns) else None


def _unreserved(asked: ToolCall, request: ToolCallRequest) -> ToolMessage:
    """What is said of a call that nobody has reserved; if it was answered, that answer is left as it is."""
    there = answer_to(asked.id, request.state)
    if there is not None:
        return there
    said = f"{quote_text(asked.name)} was not admitted under this id, so it does not run"
    changed = edited(request.tool_call, request.state) is not request.tool_call
    return _no(asked, _instead(f"{said}.", asked) if changed else said)


def _instead(said: str, asked: ToolCall) -> str:
    return f"{said} {call_it(asked.name, asked.arguments)}"


def _lost(out: Out) -> str:
    why_not = "and nobody knows whether it has happened, so it is not run again"
    return f"{quote_text(out.name)} has failed ({quote_text(out.lost or '', 300)}), {why_not}"


def _no(asked: ToolCall, why_not: str) -> ToolMessage:
    return refusal(asked.id, asked.name, why_not)


def _doubt(state: State) -> Change[None]:
    outs = [each for each in state.log if isinstance(each, Out) and not each.started]
    log = tuple([each._replace(started=True) if isinstance(each, Out) else each for each in state.log])
    notes = tuple([Remark("call in doubt", {"call": out.ticket}) for out in outs])
    return Change(state._replace(log=log), notes, None)


def _suspend(state: State, out: Out | None) -> Change[None]:
    there = None if out is None else state.out(out.ticket)
    if there is None:
        return Change(state, (), None)
    log = tuple([there._replace(started=False) if logged is there else logged for logged in state.log])
    return Change(state._replace(log=log), (Remark("call suspended", {"call": there.ticket}),), None)
