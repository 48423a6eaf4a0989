"""What sessions of threads are called in ledgers and stores. INVARIANT: no two sessions have one name.

A thread's session has the id of the thread, `t`; that of an agent inside of another `t/agent`. Ids and names of agents
may hold anything, so what would look like such a joint is escaped as in an address: thread `t/agent` is `t%2Fagent`.

Up to version 0.1 nothing was escaped, and a thread that had closed its session began another one, `t#2`. What such a
version has kept under a name that more than one session may have had is in `rivals`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from accord.langchain.sealing import Where

__all__ = ["Named", "is_plain", "old_name", "place_name", "rivals", "session_name"]

_NO_THREAD = "(no thread)"
_SPECIAL = str.maketrans({"%": "%25", "/": "%2F", "#": "%23"})


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


def old_name(named: Named) -> str:
    """What version 0.1 called it."""
    name = "/".join(part for part in named[:2] if part)
    return name if named.number == 1 else f"{name}#{named.number}"


def rivals(named: Named) -> list[Named]:
    """The other sessions that version 0.1 would have called so."""
    name = old_name(named)
    bases = [(name, 1)]
    base, joint, number = name.rpartition("#")
    if joint and base and number.isdecimal() and number.isascii() and number[0] != "0" and int(number) > 1:
        bases.append((base, int(number)))
    found = []
    for whole, count in bases:
        found.append(Named(whole, "", count))
        cuts = [place for place, letter in enumerate(whole) if letter == "/"]
        found += [Named(whole[:cut], whole[cut + 1 :], count) for cut in cuts if 0 < cut < len(whole) - 1]
    return [each for each in found if each != named]
