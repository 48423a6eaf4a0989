"""What the lives of one supervisor share, and where they write down what has happened."""

from __future__ import annotations

import secrets
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.agents.following import Part
    from accord.agents.runtime.activity import Activity
    from accord.agents.runtime.letters import Begun, Letter
    from accord.agents.runtime.transport import Transport
    from accord.ledger import Ledger

__all__ = ["Hub", "Key", "Remembered"]

Key = tuple[str, "Part"]
"""A conversation, and the role that an agent has in it."""
_MOST_REMEMBERED = 10_000


class Remembered:
    """The last conversations that are over for an agent, from life to life: nothing late opens one of them again."""

    def __init__(self) -> None:
        self._keys: OrderedDict[Key, None] = OrderedDict()

    def add(self, key: Key) -> None:
        """Remember one more; the oldest is forgotten if there are too many."""
        self._keys[key] = None
        if len(self._keys) > _MOST_REMEMBERED:
            self._keys.popitem(last=False)

    def __contains__(self, key: object) -> bool:
        return key in self._keys


def _random_id() -> str:
    return secrets.token_hex(8)


@dataclass(frozen=True)
class Hub:
    """Transport, ledger and the count of what moves. `name_of` finds the only agent of a class, or of an instance."""

    transport: Transport
    activity: Activity
    ledger: Ledger | None
    name_of: Callable[[object], str | None]
    new_id: Callable[[], str] = _random_id
    over: defaultdict[str, Remembered] = field(default_factory=lambda: defaultdict(Remembered))

    def note(self, about: Letter | Begun, agent: str, what: str, detail: dict[str, object]) -> None:
        """Write down what has happened to an agent in a conversation."""
        if self.ledger is not None:
            part = about.part
            session = f"{about.conversation}/{part.role}"
            self.ledger.note(session, part.contract, part.protocol, what, {"agent": agent, **detail})
