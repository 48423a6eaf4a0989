"""A session under a law, and how a hook gets hold of it.

A hook *sits* with the session of its thread: it may rehearse what it is about to do, in order to find out whom to ask,
then does it, and leaves an update for the graph's state. A `Keeping` says where sessions are: in the checkpoint (here),
in a store, or with a monitor of one's own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple

from accord.errors import NotDone
from accord.langchain.homes import Opened, ThreadHome, begin_opened, pack, unpack
from accord.langchain.law_session import LawSession
from accord.langchain.naming import session_name
from accord.langchain.schema import TAKEN
from accord.langchain.sealing import Returned, corrupt, open_kept, open_returned, seal_kept, seal_returned
from accord.langchain.shortcut import reserve_one, settle_one
from accord.monitor.verdicts import Ok

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from accord.integrations.batch import Claim
    from accord.integrations.guard.observing import Observer
    from accord.integrations.guard.session import OnViolation
    from accord.langchain.law import Law
    from accord.langchain.schema import Keys
    from accord.langchain.sealing import Where
    from accord.ledger.ledger import Ledger
    from accord.machine.clocks import Time
    from accord.monitor import Verdict

__all__ = ["CheckpointKeeping", "Keeping", "Settings", "Sitting"]

_REMEMBERED = 256
_MISSING = object()


class Settings(NamedTuple):
    """What does not change while a middleware lives, beside its law."""

    keys: Keys
    secret: bytes | None
    ledger: Ledger | None
    clock: Callable[[], Time] | None
    on_violation: OnViolation
    observers: Sequence[Observer]


class Sitting(ABC):
    """One hook with the session of its thread."""

    session: LawSession
    name: str
    number: int
    returns: list[Returned]

    @abstractmethod
    def rehearse(self) -> LawSession:
        """The session as it was when the hook first began, in which nothing counts that is done.

        INVARIANT: it is the same however often the hook is run again, and whatever others do meanwhile.
        """

    @property
    def opened(self) -> Opened:
        """The session as it stands now."""
        return Opened(self.number, self.session.state())

    @abstractmethod
    def update(self) -> dict[str, Any]:
        """What the state of the graph has to know."""

    @property
    def can_wait(self) -> bool:
        """Whether what was folded need not be kept before the next step of the session."""
        return False

    @property
    def is_still(self) -> bool:
        """Whether nothing has come back that is not in the session, and nothing is out; `False` if it is not known."""
        return False

    def note_asked(self, task: str) -> None:  # noqa: B027 - only a session in this process has to remember it
        """People are asked about the session as it stands, in this run of a node."""

    def has_moved_since(self, task: str) -> bool:  # noqa: ARG002 - what moves a session in a checkpoint is found there
        """Whether it stands elsewhere than when people were first asked, if that can only be known here."""
        return False

    def take_shortcut(self, claim: Claim) -> bool:  # noqa: ARG002 - where there is one
        """Reserve the one call of a batch on the short way; whether that could be done."""
        return False

    def fold(self, session: LawSession) -> list[tuple[Returned, Verdict]]:
        """Take what became of calls into a session; each with the answer of the contract."""
        folded = []
        for returned in self.returns:
            if session.state().out(returned.ticket) is None:
                continue  # it was taken in before
            if returned.error is None:
                settled = session.settle_fields(returned.ticket, returned.result, returned.at)
                folded.append((returned, settled))
            else:
                error = NotDone(returned.error) if returned.undone else returned.error
                folded.append((returned, session.fail(returned.ticket, error)))
        return folded


class Keeping(ABC):
    """Where sessions are."""

    @abstractmethod
    def sit(self, state: Mapping[str, Any], where: Where, *, beginning: bool = False) -> Sitting:
        """Get hold of the session of a thread; `StoreError` if it cannot be had, and then nothing must run."""

    @property
    def later(self) -> CheckpointKeeping | None:
        """Who keeps what became of a call until the next hook begins; `None` if the session knows it at once."""
        return None

    @property
    def direct(self) -> bool:
        """Whether a tool's return is known to the session at once."""
        return self.later is None


class Memo:
    """Sessions that were opened or sealed lately, by their texts, so that no text is read twice.

    The first text is that of the session, the others of what became of calls that was folded into it.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[Where, tuple[str, ...]], Opened] = OrderedDict()
        self._lock = RLock()

    def get(self, where: Where, *texts: str) -> Opened | None:
        """The session in texts that were right."""
        return self._known.get((where, texts))

    def put(self, where: Where, opened: Opened, *texts: str) -> None:
        """Remember it."""
        with self._lock:
            self._known[where, texts] = opened
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)


class CheckpointKeeping(Keeping):
    """Sessions in the checkpoints of their threads: the keeping itself knows nothing, so it serves any number."""

    def __init__(self, law: Law, settings: Settings) -> None:
        self.law = law
        self.settings = settings
        self._memo = Memo()
        # Nobody notices when what became of calls is folded, so it can be done in passing and kept with the next step.
        self.quiet = not (settings.ledger or settings.observers or settings.clock or law.acts)
        self.has_shortcut = self.quiet and law.is_plain

    def sit(self, state: Mapping[str, Any], where: Where, *, beginning: bool = False) -> CheckpointSitting:
        """Open what the checkpoint holds."""
        text = state.get(self.settings.keys.session, _MISSING)
        if text is _MISSING:
            if not beginning:
                raise corrupt(where, "the checkpoint holds no session, although the agent has begun")
            return CheckpointSitting(self, where, None, [])
        opened = self.open(text, where)
        given = state.get(self.settings.keys.returns)
        if given is not None and not isinstance(given, list):
            raise corrupt(where, "what became of its calls is no list")
        if not given:
            return CheckpointSitting(self, where, opened, [])
        if self.quiet and all(type(each) is str for each in given):
            folded = self._memo.get(where, str(text), *given)
            if folded is not None:
                return CheckpointSitting(self, where, opened, [], folded=folded)
        returns = [self._open_returned(each, where, opened.number) for each in given]
        texts = (str(text), *given)
        if self.has_shortcut and len(returns) == 1 and returns[0].error is None:
            settled = settle_one(self.law.policy, opened.state, returns[0].ticket, returns[0].result)
            if settled is not None:
                folded = Opened(opened.number, settled, opened.trace)
                self._memo.put(where, folded, *texts)
                return CheckpointSitting(self, where, opened, [], folded=folded)
        return CheckpointSitting(self, where, opened, returns, texts=texts)

    def remember(self, opened: Opened, where: Where, texts: tuple[str, ...]) -> None:
        """Remember a session with what was folded into it."""
        self._memo.put(where, opened, *texts)

    def open(self, text: object, where: Where) -> Opened:
        """The session in a text."""
        known = self._memo.get(where, text) if type(text) is str else None
        if known is not None:
            return known
        kept = open_kept(text, where, self.law.policy.contract.digest, self.settings.secret)
        opened = unpack(kept, where, self.law)
        self._memo.put(where, opened, str(text))
        return opened

    def seal(self, opened: Opened, where: Where) -> str:
        """The text that holds a session."""
        text = seal_kept(pack(opened, where, self.law), self.settings.secret)
        self._memo.put(where, opened, text)
        return text

    @property
    def later(self) -> CheckpointKeeping:
        """A session in a checkpoint is written by hooks alone."""
        return self

    def returned(
        self, sitting: Sitting, where: Where, ticket: str, result: dict[str, Any], error: str | NotDone | None
    ) -> str:
        """What became of a call, sealed; the next hook folds it into the session."""
        kept = Returned(
            thread=where.thread,
            agent=where.agent,
            contract=self.law.policy.contract.digest,
            number=sitting.number,
            ticket=ticket,
            result=result,
            error=None if error is None else str(error),
            at=None if self.settings.clock is None else sitting.session.now(),
            undone=isinstance(error, NotDone),
        )
        return seal_returned(kept, self.settings.secret)

    def _open_returned(self, text: object, where: Where, number: int) -> Returned:
        returned = open_returned(text, where, self.law.policy.contract.digest, self.settings.secret)
        if returned.number != number:
            raise corrupt(where, "what became of a call belongs to another session of the thread")
        return returned


class CheckpointSitting(Sitting):
    """With a session that stands in the checkpoint. It is brought to life when somebody needs more than its state."""

    def __init__(
        self,
        keeping: CheckpointKeeping,
        where: Where,
        opened: Opened | None,
        returns: list[Returned],
        *,
        texts: tuple[str, ...] = (),
        folded: Opened | None = None,
    ) -> None:
        self._keeping = keeping
        self._where = where
        self.returns = returns
        self._texts = texts
        self._taken = bool(returns) or folded is not None
        self._was = opened
        self._begin(folded or opened or begin_opened(keeping.law, 1, self._now()))

    def _begin(self, opened: Opened) -> None:
        self._here = opened
        self._home: ThreadHome | None = None
        self.number = opened.number

    @property
    def opened(self) -> Opened:
        """The session as it stands now."""
        return self._here if self._home is None else self._home.opened

    @property
    def name(self) -> str:  # type: ignore[override] # it is made of the number
        """What the session is called."""
        return session_name(self._where, self.number)

    @property
    def session(self) -> LawSession:  # type: ignore[override] # it is made when it is needed
        """The session, alive."""
        if self._home is None:
            law, settings = self._keeping.law, self._keeping.settings
            self._home = ThreadHome(self._here, law, self.name, settings.ledger)
            self._alive = LawSession(
                law, self._home, self.name, settings.clock, settings.on_violation, settings.observers
            )
        return self._alive

    @property
    def is_still(self) -> bool:
        """Whether there is nothing to fold and nobody to be told of anything."""
        return self._keeping.quiet and not self.returns and not self.opened.state.log

    def take_shortcut(self, claim: Claim) -> bool:
        """Reserve the one call of a batch on the short way; whether that could be done."""
        if not self._keeping.has_shortcut or self.returns:
            return False
        number, state, trace = self.opened
        reserved = reserve_one(self._keeping.law.policy, state, claim)
        if reserved is None:
            return False
        self._begin(Opened(number, reserved, trace))
        return True

    def rehearse(self) -> LawSession:
        """On a copy, at the time that the checkpoint knows of."""
        law, opened = self._keeping.law, self.opened
        at = opened.state.desk.now
        home = ThreadHome(opened, law, self.name, rehearsal=True)
        return LawSession(law, home, self.name, None if at is None else lambda: at)

    def update(self) -> dict[str, Any]:
        """The session as it is now, and that what became of calls was taken in."""
        keys = self._keeping.settings.keys
        update: dict[str, Any] = {}
        if self.opened is not self._was:
            update[keys.session] = self._keeping.seal(self.opened, self._where)
        if self._taken:
            update[keys.returns] = TAKEN
        return update

    def fold(self, session: LawSession) -> list[tuple[Returned, Verdict]]:
        """As everywhere; what went well is remembered, for the next hook that sees the same state."""
        folded = super().fold(session)
        worth_it = session is self.session and self._texts and self._keeping.quiet
        if worth_it and all(type(verdict) is Ok for _, verdict in folded):
            self._keeping.remember(self.opened, self._where, self._texts)
        return folded

    @property
    def can_wait(self) -> bool:
        """Whether nobody was told of it, so that it can be folded again."""
        return self._keeping.quiet

    def _now(self) -> Time | None:
        clock = self._keeping.settings.clock
        return None if clock is None else clock()
