"""One call of a program from its reservation to its end, whatever interrupts the program on the way.

An interrupt (`KeyboardInterrupt`, an exception that another thread injects, a cancelled task) can come between any two
steps: when the call has been reserved and nobody has its ticket yet, when the tool has returned and nobody was told. A
call that is out for ever blocks what depends on it, so whoever runs one holds it, and letting go of it tells the
session what is known: that it never began, that it has returned, or that it was interrupted.

INVARIANT: what is known about a call is noted here in assignments alone, between which no interrupt comes; see
`monitor.atomicity`. Of two interrupts the second one may hit what the first one has left to be done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from accord.calling import is_whole
from accord.errors import StoreError, UsageError
from accord.integrations.batch import in_words
from accord.monitor.verdicts import Blocked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from accord.integrations.guard.decisions import Decision
    from accord.integrations.guard.session import LiveSession
    from accord.monitor import Verdict

__all__ = ["INTERRUPTED", "NOT_BEGUN", "Held", "told"]

NOT_BEGUN = "not run, because the batch was interrupted"
INTERRUPTED = "it was interrupted"


class Held:
    """A call that is held. `begun`: its tool is called; `back`: that has returned `value`; `over`: that was told."""

    __slots__ = ("back", "begun", "over", "session", "ticket", "value")

    def __init__(self, session: LiveSession, ticket: str | None = None) -> None:
        self.session = session
        self.ticket = ticket
        self.begun = self.back = self.over = False
        self.value: object = None

    def take(self, decisions: Sequence[Decision]) -> None:
        """The call was decided about: it is in our hands, if it may run."""
        self.ticket = decisions[0].ticket

    @property
    def has_run(self) -> bool:
        """Whether its tool has returned, and nothing of that has yet to run: what interrupts us now came afterwards."""
        return self.back and is_whole(self.value)

    def failed(self, error: BaseException) -> Verdict:
        """The tool has raised; what was no ordinary error has interrupted it."""
        what = error if isinstance(error, Exception) else f"{INTERRUPTED} ({in_words(error)})"
        return self._end(self.session.fail, what)

    def returned(self, value: object) -> Verdict:
        """The tool has returned."""
        return self._end(self.session.settle, value)

    def _end(self, tell: Callable[[str, Any], Verdict], what: object) -> Verdict:
        ticket = self.ticket
        verdict = Blocked("no such call is out") if ticket is None else told(tell, ticket, what)
        self.over = True
        return verdict

    def let_go(self) -> None:
        """Tell what is known of it, if nobody has."""
        if self.over or self.ticket is None:
            return
        if not self.begun:
            self._end(self.session.take_back, NOT_BEGUN)
        elif self.has_run:
            self._end(self.session.settle, self.value)
        else:
            self._end(self.session.fail, INTERRUPTED)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.over:
            self.let_go()


def told(tell: Callable[[str, Any], Verdict], ticket: str, what: object) -> Verdict:
    """What a session answers when it is told what became of a call; if it cannot be told, that is an answer as well.

    The tool has run, and that must not be lost: what breaks once is tried again. If it is well then, what broke it was
    thrown in from outside, and goes on from here.
    """
    try:
        return tell(ticket, what)
    except (StoreError, UsageError) as error:
        return Blocked(in_words(error))
    except Exception:
        try:
            tell(ticket, what)
        except Exception as error:  # noqa: BLE001 - it is really broken
            return Blocked(in_words(error))
        raise
