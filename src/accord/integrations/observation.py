"""One attempt as one guardrail observation of Langfuse: what is told of it, and telling it.

What may hold data (payloads, explanations, names of people) stands in `input` and `output` and nowhere else, because
these are what the `mask` of a Langfuse client is applied to; names, levels, messages and scores are not masked.

INVARIANT: nothing that the SDK raises passes, and whatever it does to the current observation of its caller is undone.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager, suppress
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from accord.errors import UsageError
from accord.integrations.batch import in_words
from accord.integrations.excerpt import cut, excerpt
from accord.monitor import Blocked, Ok, Unrecognized, Violation
from accord.monitor.step import Situation, status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from langfuse import Langfuse

    from accord.canonical import Json

__all__ = [
    "FAILED",
    "LONGEST_NAME",
    "SCORE",
    "Look",
    "Losses",
    "Observation",
    "Report",
    "States",
    "client_of",
    "report",
    "states_between",
]

SCORE = "protocol_compliance"
"""The name of the score."""

LONGEST_NAME = 100
"""Characters of the name of an observation."""

_LOG = logging.getLogger("accord.langfuse")
_LONGEST_EXPLANATION = 2000
_MOST_EXPECTED = 50


class Look(NamedTuple):
    """Where a session stood at one moment, and a number that every attempt raises by one."""

    version: int
    situation: object


class States(NamedTuple):
    """Where a session stood right before an attempt and right after it; `None` is not known, and `why` says why."""

    before: object = None
    after: object = None
    why: str | None = None


FAILED = States(why="not known: the session failed")
_UNREAD = States(why="not known: the session could not be read")
_MOVED = States(why="not known: others moved the session at the same time")


class Report(NamedTuple):
    """What is told of an answer; `score` is `None` if it was neither yes nor no."""

    output: dict[str, Json]
    metadata: dict[str, Json]
    level: Literal["DEFAULT", "WARNING", "ERROR"]
    message: str | None
    score: bool | None


def states_between(before: Look | None, after: Look | None, answer: object) -> States:
    """The states before and after an attempt, if nobody else can have moved the session between the two looks."""
    if before is None or after is None:
        return _UNREAD
    attempts = after.version - before.version
    same = before.situation == after.situation
    # What is blocked moves nothing, and may not even have been kept: then the one attempt was somebody else's.
    if attempts not in {0, 1} or (not same and (attempts == 0 or isinstance(answer, Blocked))):
        return _MOVED
    return States(before.situation, after.situation)


# -- what is told -----------------------------------------------------------------------------------------------------


def report(answer: object, states: States | None, about: Mapping[str, Json]) -> Report:
    """What is told of the answer to an attempt: a verdict, the exception that came instead, or neither."""
    metadata = {**about, **({} if states is None else _told_states(states))}
    if isinstance(answer, Ok):
        return Report({"passed": True, "verdict": "ok"}, metadata, "DEFAULT", None, score=True)
    if isinstance(answer, Unrecognized):
        output = {**_refused("unrecognized", answer, passed=None), "expected": _words(answer.expected)}
        return Report(output, metadata, "WARNING", "unrecognized: neither passed nor failed", score=None)
    if isinstance(answer, Violation):
        output = {
            **_refused("violation", answer),
            "expected": _words(answer.expected),
            "got": cut(answer.got),
            "clause": cut(answer.clause) or None,
            "role": answer.role,
            "position": answer.position,
        }
        return Report(output, metadata, "ERROR", "violation", score=False)
    if isinstance(answer, Blocked):
        return Report(_refused("blocked", answer), metadata, "ERROR", "blocked", score=False)
    if isinstance(answer, UsageError):
        return Report(_refused("misuse", answer), metadata, "ERROR", "misuse: nothing was judged", score=None)
    if isinstance(answer, BaseException):
        return Report(_refused("error", answer), metadata, "ERROR", "the session failed", score=False)
    output = {"passed": False, "verdict": "none", "explanation": f"the session gave no verdict but {excerpt(answer)}"}
    return Report(output, metadata, "ERROR", "the session gave no verdict", score=False)


def _refused(kind: str, answer: object, *, passed: Literal[False] | None = False) -> dict[str, Json]:
    return {"passed": passed, "verdict": kind, "explanation": cut(in_words(answer), _LONGEST_EXPLANATION)}


def _words(expected: list[str]) -> list[Json]:
    shown: list[Json] = [cut(word) for word in expected[:_MOST_EXPECTED]]
    return shown if len(expected) <= _MOST_EXPECTED else [*shown, f"… ({len(expected) - _MOST_EXPECTED:,} more)"]


def _told_states(states: States) -> dict[str, Json]:
    if states.why is not None:
        return {"states": states.why}
    told: dict[str, Json] = {}
    for when, situation in (("before", states.before), ("after", states.after)):
        if isinstance(situation, Situation):
            told[f"state_{when}"] = situation.state
            told[f"status_{when}"] = status(situation)
        else:
            told[f"state_{when}"] = excerpt(getattr(situation, "state", None))
    return told


# -- telling it -------------------------------------------------------------------------------------------------------


class Observation:
    """A guardrail observation, current from when it is made until `finish`.

    `fault` is the first thing that went wrong in telling it.
    """

    __slots__ = ("_manager", "_observation", "_token", "fault")

    def __init__(self, client: Langfuse, name: str, given: Callable[[], dict[str, Json]]) -> None:
        self.fault: Exception | None = None
        self._manager: Any = None
        self._observation: Any = None
        self._token: Any = None
        with self._tolerant():
            from opentelemetry import context  # noqa: PLC0415 - an extra

            # Whatever is left behind in the caller's context, taking this back takes it away.
            self._token = context.attach(context.get_current())
            manager = client.start_as_current_observation(as_type="guardrail", name=name, input=given())
            self._observation = manager.__enter__()
            self._manager = manager

    def finish(self, make_report: Callable[[], Report]) -> None:
        """Tell what came of the attempt; the observation is over."""
        try:
            if self._manager is not None:
                with self._tolerant():
                    self._tell(make_report())
                with self._tolerant():
                    # An exception of the session is told by the report; here it would be told without a mask.
                    self._manager.__exit__(None, None, None)
        finally:
            if self._token is not None:
                with self._tolerant():
                    from opentelemetry import context  # noqa: PLC0415 - an extra

                    context.detach(self._token)

    def _tell(self, told: Report) -> None:
        with self._tolerant():
            self._observation.update(
                output=told.output, metadata=told.metadata, level=told.level, status_message=told.message
            )
        if told.score is not None:
            self._observation.score(name=SCORE, value=float(told.score), data_type="BOOLEAN")

    @contextmanager
    def _tolerant(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001 - the invariant above
            self.fault = self.fault or error


def client_of(langfuse: Langfuse | None, whose: str) -> Langfuse:
    """The SDK's client; `UsageError` if there is no SDK, or if that is no client."""
    try:
        from langfuse import get_client  # noqa: PLC0415 - an extra
    except ImportError:
        raise UsageError(f"a {whose} needs langfuse: pip install 'accord-contracts[langfuse]'") from None
    if langfuse is None:
        return get_client()
    if not hasattr(langfuse, "start_as_current_observation"):
        raise UsageError(f"`langfuse` is a client of Langfuse, such as `get_client()`, got `{type(langfuse).__name__}`")
    return langfuse


class Losses:
    """How much could not be told; the log says so once."""

    __slots__ = ("_lock", "count")

    def __init__(self) -> None:
        self.count = 0
        self._lock = RLock()

    def note(self, fault: Exception | None) -> None:
        """Something went wrong in telling an attempt, if there is a fault."""
        if fault is None:
            return
        with self._lock:
            self.count += 1
            first = self.count == 1
        if first:
            with suppress(Exception):  # an error, or whoever writes the log, may do anything
                _LOG.warning("an attempt could not be recorded in Langfuse; `lost` counts them from now on: %r", fault)
