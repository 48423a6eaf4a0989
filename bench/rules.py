"""What rules cost an event.

One loop protocol without rules is the reference. Beside it stand contracts of three rules over the same protocol, which
differ in how many of the three name the event: none (`Other`), one, two or all of them (`Pay`). The rules that do not
name it name something else. All are plain rules about labels and all events are legal, 2,000 in a round, in one race
with the empty method, so that differences between the lines mean something. Before the clock starts, every contract has
to accept the whole session and to refuse what its rules forbid. Rules that name `Pay` come in the order of
`_ABOUT_PAY`; the second one counts, so it is in another state after every event. All of these states have been met
before the clock starts: what it costs to meet one for the first time is not in the figures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import accord
from bench.contestants import FLOOR
from bench.loops import empty_row, row
from bench.measure import race
from bench.scripts import EVENTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.measure import Entry, Timing

__all__ = ["LOOKING", "NO_RULES", "RuleCosts", "measure_rules"]

NO_RULES = "no rules"
LOOKING = ("3 rules, none looks", "3 rules, 1 looks", "3 rules, 2 look", "3 rules, 3 look")

_PROTOCOL = "rec L.{!Pay.L, !Other.L, ?Approval.L, !Close.L, end}"
_ABOUT_PAY = ("before Pay require Approval", "at most 1000000 Pay", "after Close forbid Pay")
_ABOUT_OTHERS = ("before Close require Approval", "at most 1000000 Close", "after Close forbid Approval")

_ROUNDS = 1_500
_WARM_UP = 20


@dataclass(frozen=True, slots=True)
class RuleCosts:
    """The time of an event by how many rules look at it, and of the empty method."""

    times: dict[str, Timing]

    def times_floor(self, case: str) -> float:
        """How many empty method calls an event costs."""
        return self.times[case].best / self.times[FLOOR].best

    def added(self, more: int, less: int) -> float:
        """How many empty method calls each rule adds, from so many that look to so many."""
        return (self.times_floor(LOOKING[more]) - self.times_floor(LOOKING[less])) / (more - less)


def measure_rules() -> RuleCosts:
    """The time of one event, for each number of rules that look at it."""
    entries = {NO_RULES: _entry(accord.compile(_PROTOCOL), "Pay")}
    for looking, case in enumerate(LOOKING):
        # Where none looks, the rules are those of which three look, and the event is another one.
        rules = (_ABOUT_PAY[:looking] + _ABOUT_OTHERS[looking:]) if looking else _ABOUT_PAY
        text = f"protocol Loop = {_PROTOCOL}\n" + "\n".join(f'rule "{rule}" {{ {rule} }}' for rule in rules)
        contract = accord.compile(text)
        _check_rules(contract, looking or len(_ABOUT_PAY))
        entries[case] = _entry(contract, "Pay" if looking else "Other")
    entries[FLOOR] = empty_row(["Pay"] * EVENTS)[FLOOR]
    return RuleCosts(race(entries, rounds=_ROUNDS, warm_up=_WARM_UP))


def _check_rules(contract: accord.Contract, about_pay: int) -> None:
    """The rules must be in force: `Pay` without approval is refused, and after closing if all three look."""
    monitor = accord.Monitor(contract)
    early = monitor.peek_send("Pay")
    monitor.receive("Approval")
    monitor.send("Close")
    late = monitor.peek_send("Pay")
    if early == accord.Ok() or (late == accord.Ok()) != (about_pay < len(_ABOUT_PAY)):
        raise RuntimeError(f"rules are not in force: {early!r}, {late!r}")


def _entry(contract: accord.Contract, label: str) -> Entry:
    def fresh() -> Callable[[str], object]:
        monitor = accord.Monitor(contract)
        monitor.receive("Approval")
        return monitor.send

    monitor = accord.Monitor(contract)
    verdicts = [monitor.receive("Approval"), *(monitor.send(label) for _ in range(EVENTS))]
    if set(verdicts) != {accord.Ok()} or monitor.trace != ["?Approval", *[f"!{label}"] * EVENTS]:
        raise RuntimeError(f"the session of {label} is not accepted")
    return row(fresh, [label] * EVENTS)
