"""`StoredSession`: one session in a store, used like a monitor, by any number of workers at the same time.

An attempt is one `exchange` of the store: it is judged against what is there and kept with its ledger entry, or judged
again.

INVARIANT: an answer is given after the store has kept it. If the store cannot, or nobody knows whether it has, the
answer is `Blocked`: whoever acts only on `Ok` has done nothing that is not kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.errors import StoreError, UsageError
from accord.ledger.attempts import Given, check, gather, own, seconds, why
from accord.machine.contract import Contract, compile_contract
from accord.machine.extent import Extent
from accord.monitor import snapshot as snapshots
from accord.monitor.events import make_event, make_time
from accord.monitor.step import close, is_over, status, step, tick
from accord.monitor.verdicts import CLOSING, TICKING, Blocked
from accord.stores.judging import EXPIRED_FOR_GOOD, Identity, judge, recognise
from accord.stores.record import EXPIRED, check_name
from accord.stores.store import Store

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from accord.canonical import Json
    from accord.language.tree import Direction
    from accord.ledger.attempts import Moment, Payload
    from accord.ledger.chain import Verification
    from accord.machine.clocks import Time
    from accord.machine.events import Event
    from accord.monitor import Verdict
    from accord.monitor.step import Mode, Situation
    from accord.stores.judging import Known, Move, Outcome
    from accord.stores.record import KeptStatus, Row
    from accord.stores.store import Change

__all__ = ["StoredSession"]


class StoredSession:
    """One session in a store, under a key; it begins with the first attempt.

    `contract` is a text, a `Path` or a compiled contract, which any number of sessions can share. A session remembers
    its contract, protocol and mode, and is refused under others with a `UsageError`.

    `at` is when the session begins, if the contract uses time and it has not begun. With `expires_after` the session
    expires that many seconds after its last attempt; then every attempt is told the time.

    Example:
        >>> from accord import MemoryStore, StoredSession
        >>> session = StoredSession(MemoryStore(), "!Ask.?Answer.end", "s1")
        >>> session.send("Ask"), session.allowed(), session.verify().entries
        (Ok(), ['?Answer'], 2)
    """

    __slots__ = ("_identity", "_known", "_store")

    def __init__(
        self,
        store: Store,
        contract: str | Path | Contract,
        key: str,
        *,
        protocol: str | None = None,
        mode: Mode = "refuse",
        at: Moment | None = None,
        expires_after: Time | None = None,
    ) -> None:
        if not isinstance(store, Store):
            raise UsageError("a session is kept in a `Store`, such as SQLiteStore(path)")
        if mode not in ("halt", "refuse"):
            raise UsageError(f"mode is `halt` or `refuse`, got {mode!r}")
        lasts = make_time(expires_after)
        if lasts is not None and not 0 < float(lasts) < float("inf"):
            raise UsageError(f"`expires_after` is a number of seconds, got {expires_after!r}")
        if not isinstance(contract, Contract):
            contract = compile_contract(contract)
        name = contract.stages(protocol).name
        began = make_time(seconds(at))
        self._store = store
        self._identity = Identity(check_name(key), contract, name, mode, store.secret, began, lasts, {})
        # INVARIANT: one value, replaced in one assignment. If it is out of date, the store says so.
        self._known: Known | None = None

    # -- attempts ------------------------------------------------------------------------------------------------------

    def send(
        self,
        label: str,
        payload: Payload = None,
        to: str | None = None,
        *,
        at: Moment | None = None,
        meta: Mapping[str, object] | None = None,
    ) -> Verdict:
        """The agent sends a message or calls a tool; `to` names the partner where the contract needs it."""
        given = gather("!", label, payload, to, None, at, meta)
        return self._attempt(given, self._event("!", given))

    def receive(
        self,
        label: str,
        payload: Payload = None,
        sender: str | None = None,
        by: str | None = None,
        *,
        at: Moment | None = None,
        meta: Mapping[str, object] | None = None,
    ) -> Verdict:
        """Something reaches the agent; `by` names the person whose step it is, `sender` the partner."""
        given = gather("?", label, payload, sender, by, at, meta)
        return self._attempt(given, self._event("?", given))

    def take(self, event: Event, *, meta: Mapping[str, object] | None = None) -> Verdict:
        """An event as a projection makes it: it may concern the rules alone, which `send` and `receive` never do."""
        direction, label, partner, payload, by, at, to_rules = event
        given = Given(direction, label, own(payload), partner, by, at, meta)
        return self._attempt(given, self._event(direction, given, to_rules=to_rules))

    def tick(self, at: Moment, *, meta: Mapping[str, object] | None = None) -> Verdict:
        """Time passes and nothing happens: deadlines that lie before `at` expire."""
        return self._attempt(Given(TICKING, at=at, meta=meta), self._passing(at))

    def close(self, *, at: Moment | None = None, meta: Mapping[str, object] | None = None) -> Verdict:
        """Nothing more will come: `Ok` if nothing is owed, else a violation that says what is. It is final."""
        return self._attempt(Given(CLOSING, at=at, meta=meta), self._closing(at))

    # -- questions: asking is no attempt -------------------------------------------------------------------------------

    def peek_send(
        self, label: str, payload: Payload = None, to: str | None = None, at: Moment | None = None
    ) -> Verdict:
        """What `send` would answer now; changes nothing and is not recorded."""
        given = gather("!", label, payload, to, None, at, None)
        return self._peek(given, self._event("!", given))

    def peek_receive(
        self,
        label: str,
        payload: Payload = None,
        sender: str | None = None,
        by: str | None = None,
        at: Moment | None = None,
    ) -> Verdict:
        """What `receive` would answer now; changes nothing and is not recorded."""
        given = gather("?", label, payload, sender, by, at, None)
        return self._peek(given, self._event("?", given))

    def peek_take(self, event: Event) -> Verdict:
        """What `take` would answer; changes nothing and is not recorded."""
        direction, label, partner, payload, by, at, to_rules = event
        given = Given(direction, label, payload, partner, by, at)
        return self._peek(given, self._event(direction, given, to_rules=to_rules))

    def peek_tick(self, at: Moment) -> Verdict:
        """What `tick` would answer now; changes nothing."""
        return self._peek(Given(TICKING, at=at), self._passing(at))

    def peek_close(self, at: Moment | None = None) -> Verdict:
        """What `close` would answer now; changes nothing."""
        return self._peek(Given(CLOSING, at=at), self._closing(at))

    def allowed(self) -> list[str]:
        """The words that are legal now, sorted; empty when halted, closed, expired or at the end.

        This and all that follows raises `StoreError` if the session cannot be read.
        """
        situation = self._look().situation
        return [] if situation is None or is_over(situation.place) else list(situation.allowed)

    def next_due(self) -> Time | None:
        """When the next deadline is due; `None` if nothing is."""
        situation = self._look().situation
        if situation is None or not isinstance(situation.holding, Extent):
            return None
        from accord.monitor import wide  # noqa: PLC0415 - loaded for contracts that need it

        return wide.next_due(situation)

    def snapshot(self, *, key: bytes | None = None) -> dict[str, Json]:
        """The session as it stands, for `Monitor.restore`."""
        known, identity = self._look(), self._identity
        events = 0 if known.record is None else known.record.events
        return snapshots.write(self._living(known), identity.contract, identity.protocol, identity.mode, events, key)

    def verify(self, *, head: str | None = None) -> Verification:
        """Verify the session's ledger; see `Store.verify`."""
        return self._store.verify(self._identity.key, head=head)

    @property
    def status(self) -> KeptStatus:
        """`running`, `complete`, `violated`, `incomplete`, `unrecognised` or `expired`."""
        situation = self._look().situation
        return EXPIRED if situation is None else status(situation)

    @property
    def situation(self) -> Situation:
        """Where the session stands and what it holds, as one immutable value."""
        return self._living(self._look())

    def look(self) -> tuple[int, Situation]:
        """`version` and `situation`, both of one moment."""
        known = self._look()
        return 0 if known.row is None else known.row.version, self._living(known)

    @property
    def version(self) -> int:
        """The number of the last entry of the session's ledger; 0 if it has not begun."""
        row = self._look().row
        return 0 if row is None else row.version

    @property
    def current_state(self) -> int | str:
        """The state the session is in, as `accord show` numbers it."""
        return self._living(self._look()).state

    @property
    def is_terminal(self) -> bool:
        """Whether the session may end here."""
        return self._living(self._look()).complete

    @property
    def is_halted(self) -> bool:
        """Whether a violation has halted the session."""
        return self.status == "violated"

    @property
    def expires(self) -> Time | None:
        """When the session expires; `None` if it does not."""
        record = self._look().record
        return None if record is None else record.expires

    @property
    def key(self) -> str:
        """The key of the session in its store, and its name in its ledger."""
        return self._identity.key

    @property
    def store(self) -> Store:
        """Where it is kept."""
        return self._store

    @property
    def contract(self) -> Contract:
        """The compiled contract."""
        return self._identity.contract

    @property
    def protocol(self) -> str | None:
        """The name of the protocol, `None` for a bare one."""
        return self._identity.protocol

    @property
    def mode(self) -> Mode:
        """`halt` or `refuse`."""
        return self._identity.mode

    def __repr__(self) -> str:
        return f"<StoredSession {self._identity.key} in {type(self._store).__name__}>"

    # -- one attempt ---------------------------------------------------------------------------------------------------

    def _event(self, direction: Direction, given: Given, *, to_rules: bool = False) -> Move:
        mode = self._identity.mode

        def move(situation: Situation, events: int) -> tuple[Situation, Verdict]:
            at = seconds(given.at)
            event = make_event(direction, given.label, given.payload, given.partner, given.by, at)
            return step(situation, event._replace(to_rules=True) if to_rules else event, mode, events)

        return move

    def _passing(self, at: Moment) -> Move:
        mode = self._identity.mode
        return lambda situation, events: tick(situation, mode, events, make_time(seconds(at)))

    def _closing(self, at: Moment | None) -> Move:
        return lambda situation, events: close(situation, events, make_time(seconds(at)))

    def _attempt(self, given: Given, move: Move) -> Verdict:
        outcome: Outcome | None = None

        def ask(row: Row | None) -> Change | None:
            nonlocal outcome
            outcome = judge(self._identity, self._recognise(row), given, move)
            return outcome.change

        known = self._known
        try:
            self._store.exchange(self._identity.key, None if known is None else known.row, ask)
        except UsageError:
            raise
        except StoreError as error:
            return Blocked(f"the session cannot be kept ({why(error)})")
        except Exception as error:  # noqa: BLE001 - what is not kept is not done, whatever the reason
            return Blocked(f"the session cannot be kept ({error!r})")
        if outcome is None:
            return Blocked("the session cannot be kept (the store has not looked at it)")
        self._known = outcome.known
        if isinstance(outcome.answer, UsageError):
            raise outcome.answer
        return outcome.answer

    def _peek(self, given: Given, move: Move) -> Verdict:
        try:
            known = self._look()
        except UsageError:
            raise
        except StoreError as error:
            return Blocked(f"the session cannot be read ({why(error)})")
        except Exception as error:  # noqa: BLE001 - what cannot be read is not allowed, whatever the reason
            return Blocked(f"the session cannot be read ({error!r})")
        check(given)
        if known.situation is None:
            return EXPIRED_FOR_GOOD
        answer = judge(self._identity, known, given, move).answer
        if isinstance(answer, UsageError):
            raise answer
        return answer

    def _look(self) -> Known:
        """The session as it is in the store now."""
        self._known = known = self._recognise(self._store.row(self._identity.key))
        return known

    def _recognise(self, row: Row | None) -> Known:
        known = self._known
        return known if known is not None and known.row == row else recognise(self._identity, row)

    def _living(self, known: Known) -> Situation:
        if known.situation is None:
            raise UsageError(f"session `{self._identity.key}` has expired")
        return known.situation
