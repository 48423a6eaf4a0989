"""What the lives of one tree of supervisors share, and where they write down what has happened."""

from __future__ import annotations

import secrets
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from accord.agents.runtime.letters import MOST_REMEMBERED

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.agents.runtime.activity import Activity
    from accord.agents.runtime.letters import Begun, Key, Letter
    from accord.agents.runtime.transport import Transport
    from accord.ledger import Ledger
    from accord.stores.store import Store

__all__ = ["Hub", "Remembered"]


class Remembered:
    """What an agent knows of conversations it is not in, from life to life: of the last ones, so many.

    Those that are over for it, so that nothing late opens one of them again; and who has crashed in those that it has
    not heard of yet, so that it does not wait for them.
    """

    def __init__(self) -> None:
        self._keys: OrderedDict[Key, None] = OrderedDict()
        self._crashed: OrderedDict[Key, frozenset[str]] = OrderedDict()

    def add(self, key: Key) -> None:
        """Remember one more; the oldest is forgotten if there are too many."""
        self._keys[key] = None
        if len(self._keys) > MOST_REMEMBERED:
            self._keys.popitem(last=False)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def bury(self, key: Key, role: str) -> None:
        """A role has crashed in a conversation that the agent has not heard of."""
        self._crashed[key] = self.buried(key) | {role}
        if len(self._crashed) > MOST_REMEMBERED:
            self._crashed.popitem(last=False)

    def buried(self, key: Key) -> frozenset[str]:
        """The roles that have crashed in a conversation before the agent heard of it."""
        return self._crashed.get(key, frozenset())


def _random_id() -> str:
    return secrets.token_hex(8)


@dataclass(frozen=True)
class Hub:
    """Transport, store, ledger, clock and the count of what moves.

    `name_of` finds the only agent of a class, or of an instance.
    """

    transport: Transport
    store: Store
    activity: Activity
    ledger: Ledger | None
    clock: Callable[[], float]
    name_of: Callable[[object], str | None]
    new_id: Callable[[], str] = _random_id
    over: defaultdict[str, Remembered] = field(default_factory=lambda: defaultdict(Remembered))

    def note(self, about: Letter | Begun, agent: str, what: str, detail: dict[str, object]) -> None:
        """Write down what has happened to an agent in a conversation."""
        if self.ledger is not None:
            part = about.part
            session = f"{about.conversation}/{part.role}"
            self.ledger.note(session, part.contract, part.protocol, what, {"agent": agent, **detail})
