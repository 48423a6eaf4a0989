"""A call of a program, from before it is asked for to its end, whatever interrupts the program on the way.

An interrupt (`KeyboardInterrupt`, an exception that another thread injects, a cancelled task) can come between any two
steps: when the call has been reserved and nobody has its ticket yet, when the tool has returned and nobody was told. A
call that is out for ever blocks what depends on it, so whoever runs one has a handle on it, and letting go of it tells
the session what is known: that it never began, that it has returned, or that it was interrupted.

INVARIANT: what is known about a call is noted here in assignments alone, between which no interrupt comes; see
`monitor.atomicity`. Of two interrupts the second one may hit what the first one has left to be done.
"""

from __future__ import annotations

from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from accord.calling import is_whole
from accord.errors import StoreError, UsageError
from accord.integrations.batch import in_words
from accord.ledger.represent import own_copy
from accord.monitor.verdicts import OK, Blocked

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from accord.calls.nodes import Kind
    from accord.integrations.guard.decisions import Decision
    from accord.integrations.guard.session import LiveSession
    from accord.monitor import Verdict
    from accord.monitor.step import Situation

__all__ = ["INTERRUPTED", "NOT_BEGUN", "Asked", "Handle", "handle_of"]

Asked: TypeAlias = "list[Any]"
"""A call of a function on the fast path, as `[session, tool, args, kwargs]`, and the handle on it once it has one."""

NOT_BEGUN = "not run, because the batch was interrupted"
INTERRUPTED = "it was interrupted"
_NOTHING = nullcontext()


class Handle(msgspec.Struct, eq=False):
    """A handle on a call. `begun`: its tool is called; `back`: that has returned `value`; `over`: that was told.

    `ticket` is what the session knows it by, once it does: what has gone out on the fast path has none until somebody
    asks (`Home.ticket_of`). `kind`, `number` and `after` are for that path: what calls of the tool are, its number if
    it has no id, and where the session is if it counts, if something looks into it.
    """

    # Made once a call, five times as fast as a class with an `__init__`.
    session: LiveSession
    ticket: str | None = None
    value: object = None
    verdict: Verdict | None = None
    decision: Decision | None = None
    after: Situation | None = None
    begun: bool = False
    back: bool = False
    over: bool = False
    is_observed: bool = False
    is_nested: bool = False
    identity: str = ""
    name: str = ""
    number: int = 0
    # These it has once it is known what is called.
    function: Callable[..., Any] = None  # type: ignore[assignment]
    arguments: dict[str, Any] = None  # type: ignore[assignment]
    kind: Kind = None  # type: ignore[assignment]

    def take(self, function: Callable[..., Any], decision: Decision) -> None:
        """The call was decided about: it is in our hands, if it may run."""
        call = decision.call
        self.function, self.decision, self.verdict = function, decision, decision.verdict
        self.identity, self.name, self.arguments = call.id, call.name, call.arguments
        self.is_nested = False
        self.is_observed = decision.admitted and decision.ticket is None
        self.ticket = decision.ticket

    def around(self) -> AbstractContextManager[None]:
        """What goes on around the tool while it runs, for those who watch; nothing if nobody does."""
        observers = self.session.observers
        return _NOTHING if self.decision is None or observers is None else observers.running(self.decision)

    def given(self) -> dict[str, Any]:
        """What the tool is called with: it may do with it what it likes, and what was judged stays as it was."""
        return own_copy(self.arguments) if self.is_nested else self.arguments  # type: ignore[return-value] # a dictionary stays one

    def run_watched(self) -> None:
        """Call the tool, with what goes on around it."""
        with self.around():
            self.run()

    def run(self) -> None:
        """Call the tool."""
        given = self.given() if self.is_nested else self.arguments
        self.begun = True
        self.value = self.function(**given)
        self.back = True

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
        if self.ticket is None and self.session.home.fast is not None and self.session.home.fast.end(self, value):
            self.over = True
            return OK
        return self._end(self.session.settle, value)

    def _end(self, tell: Callable[[str, Any], Verdict], what: object) -> Verdict:
        ticket = self.session.home.ticket_of(self)
        verdict = Blocked("no such call is out") if ticket is None else _told(tell, ticket, what)
        self.over = True
        return verdict

    def let_go(self) -> None:
        """Tell what is known of it, if nobody has."""
        if self.over or self.session.home.ticket_of(self) is None:
            return
        if not self.begun:
            self._end(self.session.take_back, NOT_BEGUN)
        elif self.has_run:
            self._end(self.session.settle, self.value)
        else:
            self._end(self.session.fail, INTERRUPTED)


def handle_of(call: Handle | Asked) -> Handle:
    """The handle on a call; the same for everyone who asks."""
    if isinstance(call, Handle):
        return call
    if len(call) < 5:
        session, tool, given, named = call[:4]
        handle = Handle(session)
        handle.name, handle.kind, handle.arguments, handle.begun = tool.name, tool.calls, named, True
        with suppress(TypeError):  # it does not fit, and is about to be taken back
            handle.arguments = tool.gather(given, named)
        call.append(handle)
    return call[4]  # type: ignore[no-any-return] # the first one that was made


def _told(tell: Callable[[str, Any], Verdict], ticket: str, what: object) -> Verdict:
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
