"""`AccordMiddleware`: a contract in the middle of a LangChain agent."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.tools import BaseTool

from accord.choreography.compiling import compile_contract
from accord.errors import UsageError
from accord.integrations.guard.coverage import Survey
from accord.integrations.guard.observing import check_observers
from accord.integrations.guard.options import Options, duration, make_policy
from accord.langchain.hooks import GuardingMiddleware
from accord.langchain.law import Law
from accord.langchain.manner import Manner
from accord.langchain.schema import Keys, node_name
from accord.langchain.sessions import CheckpointKeeping, Settings
from accord.langchain.stored import StoreKeeping
from accord.ledger.entries import check_key
from accord.ledger.ledger import check_ledger
from accord.machine.contract import Contract
from accord.stores.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from langchain.agents.middleware.types import ModelRequest

    from accord.integrations.guard.coverage import Coverage
    from accord.integrations.guard.observing import Observer
    from accord.integrations.guard.policy import Escalation, WhenOver
    from accord.integrations.guard.session import OnViolation
    from accord.langchain.manner import EarlyEnd
    from accord.langchain.sessions import Keeping
    from accord.ledger.ledger import Ledger
    from accord.machine.clocks import Time

__all__ = ["AccordMiddleware"]


class AccordMiddleware(GuardingMiddleware):
    """Guards the tools of a LangChain agent: `create_agent(…, middleware=[AccordMiddleware(contract)])`.

    `contract` is a text, a `Path` or a compiled contract. The session of each thread lives in its checkpoint, so one
    middleware serves any number of threads; with a `store` it lives there instead, under the id of its thread, or what
    `key` makes of thread and agent. With a `secret` nobody else can write a session that is accepted. A `ledger` gets
    everything that is tried and decided, before it has any effect; a store has one of its own.

    `on_violation`, `labels`, `patience`, `escalate`, `review_lasts`, `clock`, `observers`, `when_over`, `events` and
    `strict` are as in `Guard`; what the user and the agent say is in the messages. `gates` says when people are asked:
    `call`, about the very call that needs them, or `session`, as soon as the session cannot go on without. `reviewer`
    is who they are, for questions, and for answers that do not say `by` whom they are; without it, each has to. With
    `by_id=True` every answer has to name its question too. What is shown to them beside a question is what tools have
    returned since they last answered; `redact` has JSON pointers to what they must not see of that, and of the call:
    `["/results/*/result/iban", "/action/arguments/iban"]`. `answers` has types for what they send along with steps.
    `early_end` says what happens when a turn ends and the session is not complete. With `hide=False` the model sees all
    tools. With `tool_errors="raise"` an error of a tool ends the run. With `durable=True` no tool runs unless every
    step of the graph is kept before the next one.

    Example:
        >>> from accord.langchain import AccordMiddleware
        >>> AccordMiddleware("rec L.{!search.?search.L, !book.?book.end}")
        <AccordMiddleware of (bare)>
    """

    def __init__(  # noqa: PLR0913 - what a middleware can be told, all by name
        self,
        contract: str | Path | Contract,
        *,
        protocol: str | None = None,
        labels: Mapping[str, str] | None = None,
        on_violation: OnViolation = "block",
        patience: int = 5,
        escalate: Escalation = "stop",
        review_lasts: Time | None = None,
        clock: Callable[[], Time] | None = None,
        observers: Sequence[Observer] = (),
        secret: bytes | None = None,
        ledger: Ledger | None = None,
        store: Store | None = None,
        key: Callable[[str, str], str] | None = None,
        expires_after: Time | None = None,
        gates: Literal["call", "session"] = "call",
        reviewer: str | None = None,
        early_end: EarlyEnd = "note",
        hide: bool = True,
        tool_errors: Literal["tell", "raise"] = "tell",
        durable: bool = False,
        by_id: bool = False,
        redact: Iterable[str] = (),
        answers: Mapping[str, Any] | None = None,
        name: str = "accord",
        when_over: WhenOver = "refuse",
        events: Iterable[str] = (),
        strict: bool = False,
    ) -> None:
        if not isinstance(contract, Contract):
            contract = compile_contract(contract)
        manner = Manner(
            reviewer=reviewer,
            hide=hide,
            early_end=early_end,
            tool_errors=tool_errors,
            durable=durable,
            by_id=by_id,
            redact=redact,
            answers=answers,
        )
        if gates not in {"call", "session"}:
            raise UsageError(f"`gates` is `call` or `session`, got {gates!r}")
        _check_keeping(secret, ledger, store, key, expires_after)
        options = Options(on_violation, labels or {}, patience, escalate, review_lasts, when_over, events)
        law = Law(make_policy(contract, protocol, options), lagging=gates == "session", unfit=self._unfit)
        told_time = law.policy.is_timed or review_lasts is not None or ledger is not None or store is not None
        if clock is None and told_time:
            clock = time.time
        settings = Settings(Keys.named(name), secret, ledger, clock, on_violation, tuple(check_observers(observers)))
        keeping: Keeping
        if store is None:
            keeping = CheckpointKeeping(law, settings)
        else:
            keeping = StoreKeeping(law, settings, store, key, duration("expires_after", expires_after))
        self._survey = Survey(law.policy, set(), strict=strict)
        self._known_tools: frozenset[str] = frozenset()
        self._met_tools: frozenset[str] = frozenset()
        super().__init__(node_name("AccordMiddleware", name, "accord"), law, keeping, settings, manner)

    @property
    def contract(self) -> Contract:
        """The compiled contract."""
        return self._law.policy.contract

    def coverage(self, tools: Iterable[str | BaseTool] | None = None) -> Coverage:
        """What the contract does not reach, of these tools or of those that models were offered so far."""
        if tools is None:
            return self._survey.coverage(self._known_tools)
        return self._survey.coverage([each if isinstance(each, str) else each.name for each in tools])

    def _look_over(self, request: ModelRequest[Any]) -> None:
        """Hold the labels of the contract against the tools of the agent; the schemas of its answers are tools too.

        Other middlewares may hide some for a while, so all that were ever seen count.
        """
        answers = getattr(request.response_format, "schema_specs", ())
        names = {*(tool.name for tool in request.tools if isinstance(tool, BaseTool)), *(each.name for each in answers)}
        if not names <= self._known_tools:
            known = self._known_tools | names | self._met_tools
            self._survey.check(known)
            self._known_tools = known

    def _meet(self, tools: Sequence[Any]) -> None:
        """An agent with these tools is made: what others hide of them is known all the same."""
        super()._meet(tools)
        names = [getattr(each, "name", None) or getattr(each, "__name__", None) for each in tools]
        self._met_tools |= {name for name in names if isinstance(name, str)}

    def _unfit(self, name: str, arguments: Mapping[str, object]) -> str | None:
        """Why a tool would not be called with exactly these arguments, as far as its tools are known here."""
        return self._toolbox.why_not(name, arguments)

    def __repr__(self) -> str:
        return f"<AccordMiddleware of {self._law.policy.protocol or '(bare)'}>"


def _check_keeping(secret: object, ledger: object, store: object, key: object, expires_after: object) -> None:
    check_key(secret)  # type: ignore[arg-type] # that is what is checked
    check_ledger(ledger)
    if store is not None and not isinstance(store, Store):
        raise UsageError("a session is kept in a `Store`, such as SQLiteStore(path)")
    if store is None and (key is not None or expires_after is not None):
        raise UsageError("`key` and `expires_after` are for sessions in a store")
    if store is not None and ledger is not None:
        raise UsageError("a store keeps the ledger of each of its sessions; give it one or the other")
