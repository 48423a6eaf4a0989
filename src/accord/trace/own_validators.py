"""Validators of the user's own: what they are given, what they may give back, and what becomes of their errors.

A validator is made for each run by what the configuration names as `package.module:attribute`. It is given every event
of the run as it happened, whatever its kind, and may say something about that event; when the run is over, about any of
its events. So a validator without an `end` never keeps `fail_fast` waiting, and one with an `end` does until the trace
ends.

# INVARIANT: code that fails decides nothing. It raises, gives something else than violations, or is not what it should
be: all of that is a `ValidatorError` that says whose code it was, never a trace without violations.
"""

from __future__ import annotations

import inspect
import re
from abc import abstractmethod
from array import array
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from accord.diagnostics.visible import clip
from accord.errors import UsageError
from accord.trace.config import TraceContractsConfig
from accord.trace.events import TraceEvent
from accord.trace.importing import imported, where_it_failed
from accord.trace.sealed import unseal
from accord.trace.values import NotJsonError, check_json
from accord.trace.violations import Violation, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from accord.trace.boundaries import Handler, Payload
    from accord.trace.config import ValidatorConfig
    from accord.trace.reading import Line
    from accord.trace.redaction import Cover
    from accord.trace.runs import Report, Run

__all__ = ["OwnPlan", "OwnValidators", "TraceValidator", "ValidatorError", "own_plans"]

MOST_AT_ONCE = 10_000
"""Violations that one call may give; more are a generator that does not end."""

_NO_LISTS = (str, bytes, Mapping, AbstractSet)
"""What can be gone through and is no list of violations; a set has no order, and a trace is judged in one."""

_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,99}")


class TraceValidator(Protocol):
    """A validator of your own, made anew for each run. `end` may be left out.

    Example:
        >>> from accord.trace import Violation
        >>> class NoShouting(TraceValidator):
        ...     def event(self, event):
        ...         text = event.payload.get("prompt", "")
        ...         if text and text == text.upper():
        ...             yield Violation("SHOUTING", event.seq, "the prompt is in capitals")
        >>> list(NoShouting().event(TraceEvent(3, "generate_start", {"prompt": "NOW"})))[0].code
        'SHOUTING'
    """

    @abstractmethod
    def event(self, event: TraceEvent) -> Iterable[Violation] | None:
        """The next event of the run, which cannot be changed: violations of this very event, or nothing."""

    def end(self) -> Iterable[Violation] | None:
        """The run is over: violations of any of its events, or nothing."""


class ValidatorError(UsageError):
    """The code of a validator failed, so the trace was not judged. `validator` is its name in the configuration."""

    def __init__(self, message: str, validator: str) -> None:
        super().__init__(message)
        self.validator = validator

    def covered(self, cover: Cover) -> ValidatorError:
        """The same without what must not be seen."""
        return ValidatorError(cover.text(str(self)), self.validator)


@dataclass(frozen=True, slots=True)
class OwnPlan:
    """A validator as the configuration names it: how one is made."""

    name: str
    address: str
    make: Callable[[], Any]
    tried: Any
    """The one that was made to see that it can be; it is never used."""
    has_end: bool

    def error(self, what: str) -> ValidatorError:
        """Something is wrong with the code of this validator."""
        return ValidatorError(f"the validator {shown(self.name)} ({shown(self.address)}) {what}", self.name)

    def new(self) -> Any:  # noqa: ANN401 - the user's own
        """A validator for one run."""
        try:
            return self.make()
        except (Exception, SystemExit) as error:
            raise self.error(f"cannot be made: {where_it_failed(error)}") from error


def own_plans(configs: Mapping[str, ValidatorConfig]) -> list[OwnPlan]:
    """The validators that are enabled, each made once to see that it can be.

    Raises `UsageError` if one may not be imported or cannot, and `ValidatorError` if it is no validator.
    """
    taken = {field.name for field in fields(TraceContractsConfig)}
    found = []
    for name, config in configs.items():
        if config.enabled:
            if name in taken:
                raise UsageError(f"`{name}` means something else in `contracts`; give the validator another name")
            make = imported(config.import_, "validator", config.config, allowed=config.allow_imports)
            plan = OwnPlan(name, config.import_ or "", make, None, has_end=False)
            tried = plan.new()
            _check_method(plan, tried, "event", 1)
            has_end = getattr(tried, "end", None) is not None and getattr(type(tried), "end", None) is not _NO_END
            if has_end:
                _check_method(plan, tried, "end", 0)
            found.append(replace(plan, tried=tried, has_end=has_end))
    return found


_NO_END = TraceValidator.end


def _check_method(plan: OwnPlan, validator: Any, name: str, given: int) -> None:  # noqa: ANN401 - the user's own
    method = getattr(validator, name, None)
    expected = f"`{name}(event)`" if given else f"`{name}()`"
    if not callable(method):
        raise plan.error(f"gives a `{type(validator).__name__}`, which has no {expected}")
    if inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method):
        raise plan.error(f"is asynchronous: {expected} is called by what is not, so it cannot be a coroutine")
    try:
        inspect.signature(method).bind(*([None] * given))
    except TypeError as error:
        raise plan.error(f"cannot be called as {expected}: {error}") from None
    except ValueError:  # a function of C without a signature
        return


class _Steps:
    """Where the events of a run stand in the trace, for what is said about them when it is over."""

    __slots__ = ("_kinds", "_names", "_places", "_positions", "_seqs")

    def __init__(self) -> None:
        self._seqs: list[int] = []
        self._positions = array("q")
        self._kinds: list[str] = []
        self._names: dict[str, str] = {}
        self._places: dict[int, int] | None = None

    def add(self, seq: int, position: int, kind: str) -> None:
        self._seqs.append(seq)
        self._positions.append(position)
        self._kinds.append(self._names.setdefault(kind, kind))

    def find(self, seq: int) -> tuple[int, str] | None:
        """Position and kind of the first event of that number."""
        if self._places is None:
            self._places = dict(zip(reversed(self._seqs), range(len(self._seqs) - 1, -1, -1), strict=True))
        place = self._places.get(seq)
        return None if place is None else (self._positions[place], self._kinds[place])


class _OwnRun:
    """What is there for one run: its validators, and its events if one of them may speak of them at the end."""

    __slots__ = ("made", "steps")

    def __init__(self, made: list[tuple[OwnPlan, Any]]) -> None:
        self.made = made
        self.steps = _Steps() if any(plan.has_end for plan, _ in made) else None


class OwnValidators:
    """All validators of the user's own over one trace."""

    def __init__(self, plans: list[OwnPlan], report: Report) -> None:
        self.report = report
        self.failure: ValidatorError | None = None
        """What the first that failed is told with. Nothing of the trace is judged after that."""
        self._plans = plans
        self._waits = any(plan.has_end for plan in plans)
        self._ids = {id(plan.tried) for plan in plans}

    def handlers(self) -> dict[str, list[Handler]]:
        """None: they are given every event, whatever its kind."""
        return {}

    def open(self, run: Run) -> Iterator[int]:
        """Whatever has begun may still become a violation, if one of them has an `end`."""
        if self._waits:
            yield run.begun[0]

    def event(self, run: Run, position: int, event: TraceEvent | Line, payload: Payload) -> None:
        """The next event of a run."""
        if not isinstance(event, TraceEvent):
            try:
                event = TraceEvent(event.seq, event.kind, payload, event.run_id, event.example_id)
            except UsageError as error:
                raise UsageError(f"event {event.seq} cannot be given to validators of your own: {error}") from None
        try:
            own = self._of(run)
            if own.steps is not None:
                own.steps.add(event.seq, position, event.kind)
            for plan, validator in own.made:
                where = f"event {event.seq}"
                for violation in _asked(plan, where, run, validator.event, event):
                    if violation.event_seq != event.seq:
                        raise plan.error(
                            f"was given event {event.seq} and speaks of event {violation.event_seq}; "
                            "what is about another event of the run is for `end`"
                        )
                    self._add(run, position, violation, event.kind)
        except ValidatorError as error:
            self._fail(run, position, event.seq, event.kind, error)

    def finish(self, run: Run) -> None:
        """The run is over."""
        if self.failure is not None:
            return
        try:
            own = self._of(run)
            for plan, validator in own.made:
                if plan.has_end:
                    for violation in _asked(plan, "the end of the run", run, validator.end):
                        self._add_at_the_end(plan, run, own.steps, violation)
        except ValidatorError as error:
            self._fail(run, *run.begun, error)

    def _of(self, run: Run) -> _OwnRun:
        if run.own is None:
            made = [(plan, plan.new()) for plan in self._plans]
            for plan, validator in made:
                if id(validator) in self._ids:
                    raise plan.error("gives the same object again; every run needs one of its own")
                self._ids.add(id(validator))
            run.own = _OwnRun(made)
        found: _OwnRun = run.own
        return found

    def _add_at_the_end(self, plan: OwnPlan, run: Run, steps: _Steps | None, violation: Violation) -> None:
        if run.begun[2] is None:  # an empty trace: there is no event to speak of
            self._add(run, 0, replace(violation, event_seq=0), None)
            return
        found = None if steps is None else steps.find(violation.event_seq)
        if found is None:
            raise plan.error(f"speaks of event {violation.event_seq} at the end of the run, which has no such event")
        self._add(run, found[0], violation, found[1])

    def _add(self, run: Run, position: int, violation: Violation, kind: str | None) -> None:
        context: Any = unseal(dict(violation.context))
        whole = replace(violation, event_kind=violation.event_kind or kind, context=context)
        self.report.put(position, replace(whole, run_id=run.run_id, example_id=run.example_id))

    def _fail(self, run: Run, position: int, seq: int, kind: str | None, error: ValidatorError) -> None:
        self.failure = error
        self.report.add(run, position, "VALIDATOR_FAILED", seq, kind, str(error), validator=error.validator)


def _asked(plan: OwnPlan, where: str, run: Run, method: Callable[..., Any], *given: TraceEvent) -> list[Violation]:
    """What a validator says; what it raises, and what is no list of violations, is a `ValidatorError`."""
    try:
        found = _answer(method(*given), run)
    except (Exception, SystemExit) as error:
        raise plan.error(f"failed at {where}: {where_it_failed(error)}") from error
    if isinstance(found, str):
        raise plan.error(f"gave at {where} {found}")
    return found


def _answer(answer: Any, run: Run) -> list[Violation] | str:  # noqa: ANN401 - whatever the user's code gives
    """The violations in an answer, or what is wrong with it."""
    if answer is None:
        return []
    if inspect.iscoroutine(answer):
        answer.close()
    if not isinstance(answer, Iterable) or isinstance(answer, _NO_LISTS):
        return f"a `{type(answer).__name__}`; expected a list of violations, or nothing"
    found = list(islice(answer, MOST_AT_ONCE + 1))
    if len(found) > MOST_AT_ONCE:
        return f"more than {MOST_AT_ONCE:,} violations"
    wrong = next(filter(None, (_wrong(violation, run) for violation in found)), "")
    return f"a violation {wrong}" if wrong else found


def _wrong(violation: object, run: Run) -> str:
    """What is wrong with a violation, if anything is."""
    if not isinstance(violation, Violation):
        return f"that is a `{type(violation).__name__}`; expected a `Violation`"
    if not isinstance(violation.code, str) or not _CODE.fullmatch(violation.code):
        return f"whose code is {clip(repr(violation.code), 80)}; expected a word such as `NO_RECEIPT`"
    if type(violation.event_seq) is not int:
        return f"whose event is {clip(repr(violation.event_seq), 80)}; expected the `seq` of one"
    if not isinstance(violation.detail, str) or not violation.detail:
        return f"whose detail is {clip(repr(violation.detail), 80)}; expected a sentence"
    if not isinstance(violation.event_kind, str | None):
        return f"whose kind of event is {clip(repr(violation.event_kind), 80)}; expected a text"
    return _wrong_facts(violation, run)


def _wrong_facts(violation: Violation, run: Run) -> str:
    if (violation.run_id, violation.example_id) not in {(None, None), (run.run_id, run.example_id)}:
        return "that is about another run"
    if not isinstance(violation.context, Mapping):
        return f"whose context is a `{type(violation.context).__name__}`; expected a mapping"
    try:
        check_json(dict(violation.context))
    except NotJsonError as error:
        return f"whose context is no JSON: {error}"
    return ""
