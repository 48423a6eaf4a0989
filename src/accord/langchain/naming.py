"""What sessions of threads are called in ledgers and stores. INVARIANT: no two sessions have one name.

A thread's session has the id of the thread, `t`; that of an agent inside of another `t/agent`. Ids and names of agents
may hold anything, so what would look like such a joint is escaped as in an address: thread `t/agent` is `t%2Fagent`.

Up to version 0.1 nothing was escaped, and a thread that had closed its session began another one, `t#2`. What such a
version has kept under a name that more than one session may have had is in `rivals`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from accord.langchain.sealing import Where

__all__ = ["Named", "is_plain", "old_name", "owner_of", "place_name", "rivals", "session_name"]

_NO_THREAD = "(no thread)"
_SPECIAL = str.maketrans({"%": "%25", "/": "%2F", "#": "%23"})
_LETTERS = {escaped: chr(letter) for letter, escaped in _SPECIAL.items()}
_PLAIN = re.compile("|".join(_LETTERS))
_COUNT = re.compile(r"[2-9]|[1-9][0-9]{1,8}")


def place_name(thread: str, agent: str) -> str:
    """What the session of a thread, and of an agent in it, is called."""
    name = thread.translate(_SPECIAL) if thread != _NO_THREAD else "%" + thread[1:]
    return f"{name}/{agent.translate(_SPECIAL)}" if agent else name or _NO_THREAD


def session_name(where: Where, number: int) -> str:
    """The same for the sessions that a thread of version 0.1 has begun after its first one."""
    return str(where) if number == 1 else f"{where}#{number}"


def is_plain(where: Where) -> bool:
    """Whether its first session is called as every version calls it, and nothing else ever was."""
    return not where.agent and str(where) == where.thread


class Named(NamedTuple):
    """A session that was called by some name."""

    thread: str
    agent: str
    number: int

    def __str__(self) -> str:
        which = "" if self.number == 1 else f"session {self.number} of "
        return (
            f"{which}the agent `{self.agent}` in thread `{self.thread}`"
            if self.agent
            else f"{which}thread `{self.thread}`"
        )


def owner_of(name: str) -> Named | None:
    """Whose session is called so today; `None` if nobody's is."""
    rest, joint, number = name.rpartition("#")
    base, count = (rest, int(number)) if joint and _COUNT.fullmatch(number) else (name, 1)
    parts = [_PLAIN.sub(lambda found: _LETTERS[found[0]], part) for part in base.partition("/")[::2]]
    thread = _NO_THREAD if parts[0] == "%" + _NO_THREAD[1:] else "" if parts[0] == _NO_THREAD else parts[0]
    owner = Named(thread, parts[1], count)
    called = place_name(owner.thread, owner.agent)
    return owner if name == (called if count == 1 else f"{called}#{count}") else None


def old_name(named: Named) -> str:
    """What version 0.1 called it."""
    name = "/".join(part for part in named[:2] if part)
    return name if named.number == 1 else f"{name}#{named.number}"


def rivals(named: Named) -> list[Named]:
    """The other sessions that version 0.1 would have called so."""
    name = old_name(named)
    bases = [(name, 1)]
    base, joint, number = name.rpartition("#")
    if joint and base and _COUNT.fullmatch(number):
        bases.append((base, int(number)))
    found = []
    for whole, count in bases:
        found.append(Named(whole, "", count))
        cuts = [place for place, letter in enumerate(whole) if letter == "/"]
        found += [Named(whole[:cut], whole[cut + 1 :], count) for cut in cuts if 0 < cut < len(whole) - 1]
    return [each for each in found if each != named]
