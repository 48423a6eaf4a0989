"""State machines in the middle of a LangChain agent.

`CheckpointedProtocolMiddleware` keeps the session of each thread in its checkpoint. `ProtocolEnforcerMiddleware` is for
a monitor of one's own, whose one session is in the process.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from accord.errors import UsageError
from accord.integrations.guard.observing import check_observers
from accord.integrations.guard.options import check_when_over
from accord.langchain.fsm import ProtocolFSM, ToolRef
from accord.langchain.homes import ThreadHome
from accord.langchain.hooks import GuardingMiddleware
from accord.langchain.law_session import LawSession
from accord.langchain.manner import Manner
from accord.langchain.monitor import ProtocolMonitor, on_decision
from accord.langchain.protocol_law import ProtocolLaw
from accord.langchain.schema import Keys, node_name
from accord.langchain.sessions import CheckpointKeeping, Keeping, Settings, Sitting
from accord.ledger.entries import check_key
from accord.ledger.ledger import check_ledger

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from accord.integrations.guard.observing import Observer
    from accord.integrations.guard.policy import WhenOver
    from accord.langchain.homes import Opened
    from accord.langchain.manner import EarlyEnd
    from accord.langchain.sealing import Returned, Where
    from accord.langchain.violations import OnProtocolViolation
    from accord.ledger.ledger import Ledger

__all__ = ["CheckpointedProtocolMiddleware", "ProtocolEnforcerMiddleware"]

_REMEMBERED = 256


class CheckpointedProtocolMiddleware:
    """A state machine for the threads of an agent: `create_agent(…, middleware=[this.middleware])`.

    `tool_refs` are the tools that it watches; calls of others pass. `on_violation` is a function that gets the
    `ViolationEvent`, and returns what the model is told, `accord.LET_RUN`, or nothing that matters. It may also be
    `block`, `raise` or `observe`.
    `secret`, `ledger`, `reviewer`, `by_id`, `redact`, `answers`, `early_end`, `observers` and `when_over` are as in
    `AccordMiddleware`. A person's step may be taken without a name; the ledger then says that nobody was named.
    `events` names the steps of people (`interrupt=True`) that the program may report all the same, by
    `session(…).receive`. Each of several on one agent has a `name`: what it shows of its session stands under that, as
    in `billing`, `billing_state` and `billing_trace`.
    """

    def __init__(  # noqa: PLR0913 - what a middleware can be told, all by name
        self,
        fsm: ProtocolFSM,
        on_violation: OnProtocolViolation = "block",
        tool_refs: Sequence[ToolRef] = (),
        *,
        secret: bytes | None = None,
        ledger: Ledger | None = None,
        reviewer: str | None = None,
        by_id: bool = False,
        early_end: EarlyEnd = "note",
        observers: Sequence[Observer] = (),
        when_over: WhenOver = "refuse",
        events: Iterable[str] = (),
        redact: Iterable[str] = (),
        answers: Mapping[str, Any] | None = None,
        name: str = "fsm",
    ) -> None:
        if not isinstance(fsm, ProtocolFSM):
            raise UsageError(f"a `ProtocolFSM` was expected, got {fsm!r}")
        check_key(secret)
        check_ledger(ledger)
        check_when_over(when_over)
        observes = on_violation == "observe"
        law = ProtocolLaw(fsm, _tools(tool_refs), observes=observes, when_over=when_over, events=events, name=name)
        clock = None if ledger is None else time.time
        told = tuple(check_observers(observers))
        settings = Settings(Keys.named(name), secret, ledger, clock, on_decision(on_violation), told)
        manner = Manner(reviewer=reviewer, early_end=early_end, by_id=by_id, redact=redact, answers=answers)
        keeping = CheckpointKeeping(law, settings)
        called = node_name("CheckpointedProtocolMiddleware", name, "fsm")
        self._middleware = GuardingMiddleware(called, law, keeping, settings, manner)

    @property
    def middleware(self) -> GuardingMiddleware:
        """What `create_agent` takes."""
        return self._middleware


class ProtocolEnforcerMiddleware:
    """A monitor of one's own for an agent: `create_agent(…, middleware=[this.middleware])`.

    All threads of the agent share the one session of the monitor, with its ledger and observers; `monitor.reset()`
    begins it anew. `reviewer`, `by_id`, `redact`, `answers`, `early_end`, `observers` and `when_over` are as in
    `AccordMiddleware`, `events` and `name` as above.
    """

    def __init__(  # noqa: PLR0913 - as above
        self,
        monitor: ProtocolMonitor,
        tool_refs: Sequence[ToolRef] = (),
        *,
        reviewer: str | None = None,
        by_id: bool = False,
        early_end: EarlyEnd = "note",
        observers: Sequence[Observer] = (),
        when_over: WhenOver = "refuse",
        events: Iterable[str] = (),
        redact: Iterable[str] = (),
        answers: Mapping[str, Any] | None = None,
        name: str = "fsm",
    ) -> None:
        if not isinstance(monitor, ProtocolMonitor):
            raise UsageError(f"a `ProtocolMonitor` was expected, got {monitor!r}")
        check_when_over(when_over)
        observes = monitor.law.policy.observes
        law = ProtocolLaw(
            monitor.fsm, _tools(tool_refs), observes=observes, when_over=when_over, events=events, name=name
        )
        told = tuple(check_observers(observers))
        settings = Settings(Keys.named(name), None, monitor.ledger, monitor.clock, "block", told)
        manner = Manner(reviewer=reviewer, early_end=early_end, by_id=by_id, redact=redact, answers=answers)
        keeping = MonitorKeeping(law, monitor, told)
        called = node_name("ProtocolEnforcerMiddleware", name, "fsm")
        self._middleware = GuardingMiddleware(called, law, keeping, settings, manner)

    @property
    def middleware(self) -> GuardingMiddleware:
        """What `create_agent` takes."""
        return self._middleware


class MonitorKeeping(Keeping):
    """The one session of a monitor, whatever the thread."""

    def __init__(self, law: ProtocolLaw, monitor: ProtocolMonitor, observers: Sequence[Observer]) -> None:
        self.law = law
        self.monitor = monitor
        self.session = monitor.session_told_to(observers)
        self.asked: OrderedDict[str, Opened] = OrderedDict()
        """Where the session stood when people were first asked, by the run of a node that waits for them."""

    def sit(self, state: Mapping[str, Any], where: Where, *, beginning: bool = False) -> MonitorSitting:  # noqa: ARG002 - there is one
        """The session of the monitor."""
        return MonitorSitting(self)


class MonitorSitting(Sitting):
    """With the session of a monitor."""

    def __init__(self, keeping: MonitorKeeping) -> None:
        self._keeping = keeping
        self.session = keeping.session
        self.name = keeping.monitor.name
        self.returns: list[Returned] = []

    @property
    def number(self) -> int:  # type: ignore[override] # the monitor counts
        """How often the session was begun."""
        return self.opened.number

    @property
    def opened(self) -> Opened:
        """The session as it stands now."""
        return self._keeping.monitor.home.opened

    def rehearse(self) -> LawSession:
        """On a copy."""
        law = self._keeping.law
        return LawSession(law, ThreadHome(self.opened, law, self.name, rehearsal=True), self.name, None)

    def note_asked(self, task: str) -> None:
        """The session is in this process, and so is what is known of who was asked about it."""
        asked = self._keeping.asked
        asked.setdefault(task, self.opened)
        if len(asked) > _REMEMBERED:
            asked.popitem(last=False)

    def has_moved_since(self, task: str) -> bool:
        """Whether the program, or another thread, has made a step meanwhile."""
        asked = self._keeping.asked.get(task)
        return asked is not None and asked != self.opened

    def update(self) -> dict[str, Any]:
        """The state and the trace, for the result."""
        return self._keeping.law.public(self.opened)


def _tools(tool_refs: Sequence[ToolRef]) -> list[ToolRef]:
    tools = list(tool_refs)
    wrong = [tool for tool in tools if not isinstance(tool, ToolRef)]
    if wrong:
        raise UsageError(f"`tool_refs` are references to tools, as [ref(f)], got {wrong[0]!r}")
    return tools
