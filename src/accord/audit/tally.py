"""What is known of many runs together, in a space that does not grow with their number.

Tallies of files are merged in any grouping; the result is that of one tally over all of them, as long as no bound is
passed. Where one is, what came first is kept by name and the rest is counted, so whoever merges does it in the order
of the plan, and reports do not depend on who finished first.
"""

from __future__ import annotations

import msgspec

from accord.audit.model import STATUSES, Breach
from accord.sources.model import Broken  # noqa: TC001 - msgspec looks at it

__all__ = ["MOST_BROKEN", "OTHERS", "Example", "Group", "Tally", "add_to", "count", "merge", "note", "of_file"]

OTHERS = "(others)"
"""Under which name is counted what there is no room for."""

_MOST_GROUPS = 1_000
_MOST_NAMES = 1_000
MOST_BROKEN = 100


class Example(msgspec.Struct, frozen=True):
    """A run that shows a violation, after as few events as possible."""

    file: str
    run: str
    breach: Breach

    @property
    def rank(self) -> tuple[int, int]:
        """Shorter is better."""
        return _rank(self.breach)


def _rank(breach: Breach) -> tuple[int, int]:
    return breach.position, breach.index or 0


class Group(msgspec.Struct):
    """The violations of one clause in one state."""

    clause: str
    state: str
    runs: int
    arrived: dict[str, int]
    """How often each word was the first that was refused."""
    example: Example
    followed: int = 0
    """How many more were refused in these runs, after the first."""


class Tally(msgspec.Struct, tag="tally"):
    """The sums of an audit, of one file or of all."""

    files: int = 0
    statuses: dict[str, int] = msgspec.field(default_factory=lambda: dict.fromkeys(STATUSES, 0))
    messages: int = 0
    calls: int = 0
    events: int = 0
    """Messages that the contract looked at."""
    refused: int = 0
    ignored: int = 0
    unmatched: dict[str, int] = {}
    """Messages that the contract's events say nothing about, by kind, and by name where they have one."""
    broken: int = 0
    first_broken: list[Broken] = []
    violations: list[Group] = []
    owed: list[Group] = []
    """The same for runs that ended too early."""
    waited: int = 0
    """Calls that a guard would have held until an earlier call of their message had ended, and then let run."""
    blocked: dict[str, int] = {}
    """How often each action would have been refused by a guard."""
    traffic: dict[str, int] = {}
    """How often each edge of the protocol was taken: `state/symbol`, by their numbers."""
    exercised: list[int] = []
    """The rules that had something to say, by their numbers, sorted."""

    @property
    def runs(self) -> int:
        """How many runs have a status."""
        return sum(self.statuses.values())

    @property
    def followed(self) -> int:
        """How many events were refused after the first of their run: what may follow from that."""
        return self.refused - self.statuses["violating"]


def count(counts: dict[str, int], name: str, number: int = 1, most: int = _MOST_NAMES) -> None:
    """Count something by name, while there is room for its name."""
    if name not in counts and len(counts) >= most:
        name = OTHERS
    counts[name] = counts.get(name, 0) + number


def note(
    groups: list[Group],
    known: dict[tuple[str, str], Group],
    run: str,
    breach: Breach,
    runs: int = 1,
    followed: int = 0,
) -> None:
    """Count what was refused first in a run, or in several alike; `known` finds the groups by clause and state."""
    what = breach.what
    group = known.get((what.clause, what.state))
    if group is not None and what.arrived in group.arrived and _rank(breach) >= group.example.rank:
        group.runs += runs
        group.followed += followed
        group.arrived[what.arrived] += runs
        return
    example = Example("", run, breach)
    _add_group(groups, known, Group(what.clause, what.state, runs, {what.arrived: runs}, example, followed))


def _add_group(groups: list[Group], known: dict[tuple[str, str], Group], new: Group) -> None:
    group = known.get((new.clause, new.state))
    if group is None and len(groups) >= _MOST_GROUPS:
        group = known.get((OTHERS, ""))
        if group is None:
            new = Group(OTHERS, "", new.runs, new.arrived, new.example, new.followed)
    if group is None:
        known[new.clause, new.state] = new
        groups.append(new)
        return
    group.runs += new.runs
    group.followed += new.followed
    for word, number in new.arrived.items():
        count(group.arrived, word, number)
    if new.example.rank < group.example.rank:
        group.example = new.example


def add_to(total: Tally, other: Tally) -> None:
    """Add a tally to another, which is changed."""
    total.files += other.files
    for name in ("messages", "calls", "events", "refused", "waited", "ignored", "broken"):
        setattr(total, name, getattr(total, name) + getattr(other, name))
    for into, out in (
        (total.statuses, other.statuses),
        (total.unmatched, other.unmatched),
        (total.blocked, other.blocked),
    ):
        for word, number in out.items():
            count(into, word, number)
    for edge, number in other.traffic.items():  # as many as the contract has, so there is room
        total.traffic[edge] = total.traffic.get(edge, 0) + number
    total.exercised = sorted({*total.exercised, *other.exercised})
    total.first_broken += other.first_broken[: MOST_BROKEN - len(total.first_broken)]
    for into_groups, out_groups in ((total.violations, other.violations), (total.owed, other.owed)):
        known = {(group.clause, group.state): group for group in into_groups}
        for group in out_groups:
            # A copy: the other tally is to stay as it is.
            copied = Group(group.clause, group.state, group.runs, dict(group.arrived), group.example, group.followed)
            _add_group(into_groups, known, copied)


def merge(*tallies: Tally) -> Tally:
    """The tally of all of them together."""
    total = Tally()
    for tally in tallies:
        add_to(total, tally)
    return total


def of_file(tally: Tally, file: str) -> Tally:
    """The tally of a file, which does not know its name, with the name in all places."""
    groups = [
        [msgspec.structs.replace(g, example=msgspec.structs.replace(g.example, file=file)) for g in of]
        for of in (tally.violations, tally.owed)
    ]
    broken = [msgspec.structs.replace(one, file=file) for one in tally.first_broken]
    return msgspec.structs.replace(tally, violations=groups[0], owed=groups[1], first_broken=broken)
