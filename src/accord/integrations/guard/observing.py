"""Who is told of everything a guard does: for traces, metrics and logs.

A guard without observers does nothing for them. INVARIANT: an observer only watches. Whatever it raises is dropped,
what it is shown is its own copy, and no answer waits for anything but its own code.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from accord.errors import UsageError
from accord.ledger.represent import own_copy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from accord.integrations.exchange import ToolCall
    from accord.integrations.guard.decisions import Decision
    from accord.integrations.guard.policy import Policy
    from accord.machine.events import Event
    from accord.monitor import Verdict

__all__ = ["Observer", "Observers", "Watched", "check_observers", "observers_of"]


class Watched(NamedTuple):
    """Which session something happened in."""

    key: str | None
    contract: str
    protocol: str | None


class Observer:
    """Told of what a guard does. Derive from it and override what you need."""

    def decided(self, watched: Watched, decisions: Sequence[Decision], seconds: float) -> None:
        """Calls were decided about, in one step that took so long."""

    def running(self, watched: Watched, decision: Decision) -> AbstractContextManager[None] | None:
        """A tool is about to run; what is returned is entered before and left after."""

    def returned(self, watched: Watched, call: ToolCall, verdict: Verdict, seconds: float) -> None:
        """A tool has returned, and the contract was asked about its result; that took so long."""

    def failed(self, watched: Watched, call: ToolCall, error: str) -> None:
        """A tool has failed, or nobody knows whether it has."""

    def happened(self, watched: Watched, event: Event, verdict: Verdict, seconds: float) -> None:
        """Something has happened that is no call of a tool: a person's step, a text, what a program told."""


class Observers:
    """All observers of one session."""

    __slots__ = ("_observers", "_watched")

    def __init__(self, observers: Sequence[Observer], watched: Watched) -> None:
        self._observers = tuple(observers)
        self._watched = watched

    def decided(self, decisions: Sequence[Decision], began: float) -> None:
        """Calls were decided about; `began` is a reading of `perf_counter`."""
        seconds = perf_counter() - began
        for observer in self._observers:
            with suppress(Exception):
                observer.decided(self._watched, [decision.copy() for decision in decisions], seconds)

    def returned(self, call: ToolCall, verdict: Verdict, began: float) -> None:
        """A tool has returned."""
        seconds = perf_counter() - began
        for observer in self._observers:
            with suppress(Exception):
                observer.returned(self._watched, call, verdict, seconds)

    def failed(self, call: ToolCall, error: str) -> None:
        """A tool has failed."""
        for observer in self._observers:
            with suppress(Exception):
                observer.failed(self._watched, call, error)

    def happened(self, event: Event, verdict: Verdict, began: float) -> None:
        """Something has happened that is no call."""
        seconds = perf_counter() - began
        for observer in self._observers:
            with suppress(Exception):
                own = event._replace(payload=own_copy(event.payload))  # type: ignore[arg-type] # a mapping stays one
                observer.happened(self._watched, own, verdict, seconds)

    @contextmanager
    def running(self, decision: Decision) -> Iterator[None]:
        """While a tool runs."""
        entered: list[AbstractContextManager[None]] = []

        def enter(observer: Observer) -> None:
            around = observer.running(self._watched, decision.copy())
            if around is not None:
                around.__enter__()
                entered.append(around)

        for observer in self._observers:
            with suppress(Exception):
                enter(observer)
        error: BaseException | None = None
        try:
            yield
        except BaseException as raised:
            error = raised
            raise
        finally:
            for around in reversed(entered):
                with suppress(Exception):
                    around.__exit__(None if error is None else type(error), error, None)


def observers_of(observers: Sequence[Observer], key: str | None, policy: Policy) -> Observers | None:
    """Those who are told of a session, if anybody is; `UsageError` if they are no observers."""
    if observers == () or not check_observers(observers):
        return None
    return Observers(observers, Watched(key, policy.contract.digest, policy.protocol))


def check_observers(observers: Sequence[Observer]) -> Sequence[Observer]:
    """The observers; `UsageError` if they are none."""
    if not isinstance(observers, (list, tuple)) or not all(isinstance(each, Observer) for each in observers):
        raise UsageError("`observers` is a list of observers, such as [LogObserver()]")
    return observers
