"""A session under guard whose steps are those of a law."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.integrations.guard import reserving
from accord.integrations.guard.observing import observers_of
from accord.integrations.guard.session import LiveSession

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from accord.integrations.guard.decisions import Change
    from accord.integrations.guard.homes import Home
    from accord.integrations.guard.observing import Observer
    from accord.integrations.guard.session import OnViolation
    from accord.integrations.guard.state import State
    from accord.langchain.law import Law
    from accord.machine.clocks import Time
    from accord.monitor import Verdict

__all__ = ["LawSession"]


class LawSession(LiveSession):
    """A session under guard whose steps are those of a law."""

    __slots__ = ("law",)

    def __init__(
        self,
        law: Law,
        home: Home,
        name: str,
        clock: Callable[[], Time] | None,
        on_violation: OnViolation = "block",
        observers: Sequence[Observer] = (),
    ) -> None:
        super().__init__(law.policy, home, clock, on_violation, observers_of(observers, name, law.policy), {})
        self.law = law

    def broken(self, error: Exception) -> Verdict:
        """What cannot be kept is an error: the run of a graph can be resumed."""
        raise error

    def settle_fields(self, ticket: str, fields: Mapping[str, object], then: Time | None = None) -> Verdict:
        """A call has returned, with these fields, now or at an earlier time."""

        def settle(state: State, at: Time | None) -> Change[Verdict]:
            if then is not None and at is not None:
                at = then if state.desk.now is None else max(then, state.desk.now)
            return self.law.settle(state, ticket, fields, at)

        return self._end(ticket, settle)

    def pass_time(self) -> None:
        """Let the session know what time it is."""
        if self.has_clock:
            self.change(lambda state, at: reserving.pass_time(self.policy, state, at))
