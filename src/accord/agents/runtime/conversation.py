"""A conversation, as one role sees it: its monitor, what has arrived, who plays whom and who is gone.

Nothing here waits or sends. The questions are asked by strands (what can I have?) and by the life (which handler is
next?); both get their answers from the role's own machine.

What arrives before its turn waits: roles of a protocol may be ahead of each other. Per sender, messages are taken in
the order in which they were sent.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from typing import TYPE_CHECKING, Any, NamedTuple

from accord.agents.runtime.letters import Begun
from accord.errors import StoreError
from accord.language.global_tree import CRASH
from accord.language.labels import print_word
from accord.ledger.attempts import Given, describe
from accord.ledger.recorded import RecordedMonitor
from accord.machine.tables import Symbol
from accord.monitor import Monitor, Ok, Violation

if TYPE_CHECKING:
    from collections.abc import Collection

    from accord.agents.following import Following
    from accord.agents.runtime.letters import Delivery, Letter
    from accord.agents.runtime.strand import Strand
    from accord.language.tree import Direction
    from accord.ledger import Ledger
    from accord.monitor import Verdict

__all__ = ["Arrival", "Conversation", "watch"]


class Arrival(NamedTuple):
    """What a role can have next: a message, or that a partner has crashed, which has no delivery."""

    order: int
    sender: str
    label: str
    delivery: Delivery | None


def watch(following: Following, name: str, ledger: Ledger | None) -> Monitor | RecordedMonitor:
    """A monitor of a role, recorded under that name if there is a ledger."""
    monitor = Monitor(following.own, mode="refuse")
    return monitor if ledger is None else RecordedMonitor(monitor, ledger, session=name)


_LAST = 1 << 62  # a crash is told after everything that has arrived


class Conversation:
    """One session of a protocol, for one of its roles."""

    def __init__(self, identity: str, following: Following, cast: dict[str, str], ledger: Ledger | None) -> None:
        self.id = identity
        self.following = following
        self.cast = cast
        self._ledger = ledger
        self.name = f"{identity}/{following.role}"
        self.session = watch(following, self.name, ledger)
        self.state = 0
        """Where the role is in its machine."""
        self.strand: Strand | None = None
        """Who works on it; what arrives is for this strand alone."""
        self.begun: Begun | None = None
        """What the transport knows of it, if it has begun."""
        self.over = False
        self.torn = False
        """Whether a message may be missing in it: then it is over, and whoever works on it has crashed."""
        self.crashed: set[str] = set()
        """The partners that have crashed; the role notices it where the protocol says so."""
        self.lost: str | None = None
        """The partner that has ended it for everybody, by its crash or by leaving it, if one has."""
        self.last_sender = ""
        self.unsettled: list[str] = []
        self.notices: list[str] = []
        """Letters about those that are gone; until it has begun, the next life must be told of them too."""
        self.sending = asyncio.Lock()
        self.sent: Counter[str] = Counter()
        """How many messages the role has sent, by receiver."""
        self._got: Counter[str] = Counter()
        self._arrived: dict[str, deque[tuple[int, Delivery]]] = {}

    # -- what happens --------------------------------------------------------------------------------------------------

    def arrive(self, delivery: Delivery, order: int) -> Verdict | None:
        """Something has come in, as the agent's letter of that number; a verdict if it can never be taken, recorded."""
        letter = delivery.letter
        for role, name in letter.cast.items():
            self.cast.setdefault(role, name)
        if letter.gone:
            self.notices.append(delivery.number)
            if letter.gone == "crashed":
                self.crashed.add(letter.sender)
            else:
                self.lost = self.lost or letter.sender
            return None
        problem = self.following.payload_problem(letter.label, letter.payload)
        self._got[letter.sender] += 1
        if letter.nth != self._got[letter.sender]:
            problem = f"it is message {letter.nth} of `{letter.sender}`, and {self._got[letter.sender]} was next"
        if problem is not None:
            return self.refuse("?", letter.label, letter.payload, letter.sender, problem)
        if Symbol("?", letter.label, letter.sender) not in self.following.ahead[self.state]:
            verdict = self.take(letter)
            if not isinstance(verdict, Ok):
                return verdict
        self._arrived.setdefault(letter.sender, deque()).append((order, delivery))
        return None

    def has_come(self, letter: Letter) -> bool:
        """Whether a message has come before: whoever did not know whether it was posted has posted it again."""
        return not letter.gone and letter.nth <= self._got[letter.sender]

    def refuse(
        self, direction: Direction, label: str, payload: dict[str, Any], partner: str, problem: str
    ) -> Violation:
        """A message is refused before the monitor is asked, for what it carries or because it is too late; recorded."""
        following = self.following
        sender = following.role if direction == "!" else partner
        verdict = Violation.blaming(
            (sender,),
            self.session.allowed(),
            print_word(direction, label, partner),
            f"`{label}` is refused: {problem}.",
            contract=following.protocol,
            clause=f"protocol {following.protocol}" if self.over else f"record {label}",
            reasons=(problem,),
        )
        if self._ledger is not None:
            given = Given(direction, label, payload, partner)
            self._ledger.append(describe(given, verdict, self.name, following.own, following.role))
        return verdict

    def take(self, letter: Letter) -> Verdict:
        """The role receives a message."""
        verdict = self.session.receive(letter.label, letter.payload, letter.sender)
        return self._moved(verdict, Symbol("?", letter.label, letter.sender))

    def take_crash(self, role: str) -> Verdict:
        """The role notices that a partner has crashed."""
        return self._moved(self.session.receive(CRASH, None, role), Symbol("?", CRASH, role))

    def send(self, label: str, payload: dict[str, Any], role: str) -> Verdict:
        """The role sends a message."""
        return self._moved(self.session.send(label, payload, role), Symbol("!", label, role))

    def _moved(self, verdict: Verdict, symbol: Symbol) -> Verdict:
        # INVARIANT: what the monitor accepts is a step of the machine: both are the role's projection.
        if isinstance(verdict, Ok):
            self.state = self.following.after(self.state, symbol)
        return verdict

    def tear(self) -> None:
        """Sending was interrupted, and nobody knows whether the message is there."""
        self.over = self.torn = True

    def check_whole(self) -> None:
        """`StoreError` if a message may be missing in it."""
        if self.torn:
            raise StoreError(
                f"sending in conversation {self.id} was interrupted, and nobody knows whether the message is there: "
                "it cannot go on"
            )

    @property
    def waiting(self) -> list[str]:
        """The numbers of the deliveries that nobody has taken."""
        return [delivery.number for queue in self._arrived.values() for _, delivery in queue]

    def pop(self, arrival: Arrival) -> None:
        """What has arrived is being taken."""
        if arrival.delivery is not None:
            self._arrived[arrival.sender].popleft()

    # -- what can happen -----------------------------------------------------------------------------------------------

    def next(self, labels: Collection[str] | None = None) -> Arrival | None:
        """What the role can have now, of these labels: what arrived first."""
        found: list[Arrival] = []
        for symbol in self.following.edges(self.state):
            sender = symbol.partner or ""
            if symbol.direction == "!" or (labels is not None and symbol.label not in labels):
                continue
            waiting = self._arrived.get(sender)
            if waiting:
                order, delivery = waiting[0]
                if delivery.letter.label == symbol.label:
                    found.append(Arrival(order, sender, symbol.label, delivery))
            elif symbol.label == CRASH and sender in self.crashed:
                found.append(Arrival(_LAST, sender, CRASH, None))
        return min(found, default=None, key=lambda arrival: arrival.order)

    def can_come(self, labels: Collection[str]) -> bool:
        """Whether a message of these labels can still come next for the role, given what has arrived.

        It cannot if the machine does not take one now, or if what has arrived shows that another branch was taken.
        """
        other = self.next()
        for symbol in self.following.edges(self.state):
            if symbol.direction == "!" or symbol.label not in labels:
                continue
            if other is None:
                return True
            after = self.following.after(self.state, symbol)
            later = Symbol("?", other.label, other.sender) in self.following.ahead[after]
            if symbol.partner != other.sender and later:
                return True
        return False

    @property
    def vain(self) -> str | None:
        """Who is gone, if the role waits in vain for what would come of it, and nothing is left to be taken.

        It does if it waits for the crashed alone, whose last words have come before the news of them, and if nothing
        can come any more because of their crashes.
        """
        edges = self.following.edges(self.state)
        if not edges or self.next() is not None:
            return None
        if self.lost is not None or not self.crashed:
            return self.lost
        if all(s.direction == "?" and s.partner in self.crashed for s in edges):
            return edges[0].partner
        return None if self.following.goes_on(self.state, frozenset(self.crashed)) else min(self.crashed)

    def misses(self, crashed: str) -> bool:
        """Whether the protocol is past the place where the role would notice that a partner has crashed."""
        return Symbol("?", CRASH, crashed) not in self.following.ahead[self.state]

    @property
    def is_new(self) -> bool:
        """Whether nothing has happened in it."""
        return self.begun is None and not self.last_sender

    @property
    def owes(self) -> list[str]:
        """What the role must send now, as words; empty if it can wait for others, or may stop."""
        edges = self.following.edges(self.state)
        if self.may_stop or any(symbol.direction == "?" for symbol in edges):
            return []
        return [symbol.word for symbol in edges if symbol.label != CRASH]

    @property
    def may_stop(self) -> bool:
        """Whether the protocol may be over for the role."""
        return self.following.may_stop(self.state)

    @property
    def finished(self) -> bool:
        """Whether nothing more can happen in it."""
        return not self.following.edges(self.state)

    @property
    def standing(self) -> dict[str, object]:
        """Where it stands, for the record: what could have come next, and what nobody has taken."""
        arrived = [d.letter.label for queue in self._arrived.values() for _, d in queue]
        detail: dict[str, object] = {"state": self.state, "next": self.session.allowed()}
        return {**detail, "not taken": arrived} if arrived else detail

    @property
    def as_begun(self) -> Begun:
        """What the next life has to know of it."""
        noticing = [s.partner or "" for s in self.following.edges(self.state) if (s.direction, s.label) == ("!", CRASH)]
        return Begun(
            conversation=self.id, part=self.following.part, cast=self.cast, noticed_by=tuple(dict.fromkeys(noticing))
        )
