"""A whole job: deploy only after tests and an approval, at most ten times; 2,000 sessions of 50 tool calls each.

- accord: a contract of two rules and no protocol, compiled once, and for each session a `Monitor` that refuses and goes
  on. The attempt is the gate: what is refused has changed nothing.
- `PolicyMonitor` of llmsessioncontract: `All` and `Count` in `Requirement`s that are made once, and a monitor for each
  session. Its `observe` is such a gate too. Its documents ask with `peek` first and then call `observe`, which asks
  again; both ways are measured and the faster one counts.
- acel-core: `Session.call` in its embedded form (no proxy, no files), with two `must_precede` and one
  `at_most_n_times`, which hold the state of a session and so are made for each. One thing it cannot do: a template
  that was violated stays so and refuses every later call. So it takes part where a refused call is the last of its
  session, and sits out where the session goes on after a refusal. It does more than the others: it holds a lock for
  each call, and writes a chained record of evidence at each refusal.
- by hand: what a careful engineer writes inline.

Everyone gets the same calls, keeps a trace, and has to give the same verdict as the one by hand on each of the 100,000,
which is checked before the clock starts. Making the session is on the clock. The sessions are a hundred equal batches
of twenty, and a round is a batch, so that rounds stay short; the figures are for all hundred.
"""

from __future__ import annotations

import random
import sys
from importlib import import_module
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, TypeAlias

import accord
from bench.contestants import ACEL
from bench.measure import Entry, own_copy, race

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.measure import Timing

__all__ = [
    "BY_HAND",
    "GATED",
    "OBSERVED",
    "REFUSED",
    "SESSIONS",
    "SESSION_EVENTS",
    "WORKLOADS",
    "fastest_peer",
    "measure_job",
]

SESSIONS = 2_000
SESSION_EVENTS = 50
BY_HAND = "by hand"
REFUSED = "three refused, going on"
OBSERVED = "PolicyMonitor: observe"
GATED = "PolicyMonitor: peek, observe"

_BATCH = 20
_ROUNDS = 400
_WARM_UP = 3
_MOST = 10
_OTHERS = ("read_file", "edit_file", "search", "run_linter")
_TEXT = f"""
rule "tested and approved" {{ before deploy require run_tests and approve }}
rule "not too often" {{ at most {_MOST} deploy }}
"""

_Calls = list[str]
_Gate: TypeAlias = "Callable[[str], object]"


class _ByHand:
    __slots__ = ("approved", "deployed", "tested", "trace")

    def __init__(self) -> None:
        self.tested = self.approved = False
        self.deployed = 0
        self.trace: list[str] = []

    def gate(self, tool: str) -> bool:
        self.trace.append(tool)
        if tool == "deploy":
            if not (self.tested and self.approved) or self.deployed >= _MOST:
                return False
            self.deployed += 1
        elif tool == "run_tests":
            self.tested = True
        elif tool == "approve":
            self.approved = True
        return True


# -- the calls ---------------------------------------------------------------------------------------------------------


def _session(dice: random.Random, *, approved: bool = True, deploys: int = 8, too_early: int = 0) -> _Calls:
    """Calls in an order of their own: what a deployment needs in the first third, deployments in the rest."""
    needed = ["run_tests", "approve"] if approved else ["run_tests"]
    third = SESSION_EVENTS // 3
    first = [*needed, *dice.choices(_OTHERS, k=third - len(needed))]
    dice.shuffle(first)
    rest = [*["deploy"] * deploys, *dice.choices(_OTHERS, k=SESSION_EVENTS - third - deploys - too_early)]
    dice.shuffle(rest)
    return [sys.intern(tool) for tool in (*["deploy"] * too_early, *first, *rest)]


def _ending_in_refusal(dice: random.Random, *, approved: bool) -> _Calls:
    calls = _session(dice, approved=approved, deploys=_MOST if approved else 0)
    spare = max(place for place, tool in enumerate(calls) if tool in _OTHERS)
    del calls[spare]
    return [*calls, "deploy"]


def _batch(workload: str) -> list[_Calls]:
    dice = random.Random(workload)
    if workload == "one in five ends refused":
        refused = [_ending_in_refusal(dice, approved=number % 2 == 0) for number in range(_BATCH // 5)]
        sessions = refused + [_session(dice) for _ in range(_BATCH - len(refused))]
        dice.shuffle(sessions)
        return sessions
    too_early, deploys = (2, _MOST + 1) if workload == REFUSED else (0, 8)
    return [_session(dice, deploys=deploys, too_early=too_early) for _ in range(_BATCH)]


WORKLOADS = {"all legal": 0, "one in five ends refused": 4, REFUSED: 3 * _BATCH}
"""What the calls are like, and how many of the thousand in a batch have to be refused."""


# -- the loops ---------------------------------------------------------------------------------------------------------


def _through(fresh: Callable[[], _Gate], sessions: list[_Calls]) -> int:
    start = perf_counter_ns()
    for calls in sessions:
        gate = fresh()
        for tool in calls:
            gate(tool)
    return perf_counter_ns() - start


def _through_both(fresh: Callable[[], tuple[_Gate, _Gate]], fine: type, sessions: list[_Calls]) -> int:
    start = perf_counter_ns()
    for calls in sessions:
        peek, observe = fresh()
        for tool in calls:
            if isinstance(peek(tool), fine):
                observe(tool)
    return perf_counter_ns() - start


# -- the contestants ---------------------------------------------------------------------------------------------------


def _accord() -> Callable[[], _Gate]:
    contract = accord.compile(_TEXT)
    return lambda: accord.Monitor(contract, mode="refuse").send


def _policies(peer: Any) -> Callable[[], Any]:  # noqa: ANN401 - it has no types
    policy = import_module(f"{peer.__name__}.policy")
    requirements = [
        policy.Requirement("deploy", policy.All("run_tests", "approve")),
        policy.Requirement("deploy", policy.Count("deploy", "<", _MOST)),
    ]
    return lambda: policy.PolicyMonitor(requirements)


def _observing(peer: Any) -> Callable[[], _Gate]:  # noqa: ANN401
    make = _policies(peer)

    def fresh() -> _Gate:
        gate: _Gate = make().observe
        return gate

    return fresh


def _acel(acel: Any) -> Callable[[], _Gate]:  # noqa: ANN401
    def fresh() -> _Gate:
        session = acel.Session(halt_on_violation=False)
        session.add_contract(acel.must_precede("run_tests", "deploy"))
        session.add_contract(acel.must_precede("approve", "deploy"))
        session.add_contract(acel.at_most_n_times("deploy", _MOST))
        gate: _Gate = session.call
        return gate

    return fresh


def _entry(fresh: Callable[[], _Gate], sessions: list[_Calls]) -> Entry:
    """What `fresh` makes is called in every session; first all verdicts of all sessions are checked."""
    _check(fresh, sessions)
    loop = own_copy(_through)
    return Entry(lambda: loop(fresh, sessions) / 1e9 / _BATCH / SESSION_EVENTS)


def _gated_entry(peer: Any, sessions: list[_Calls]) -> Entry:  # noqa: ANN401
    make, fine, loop = _policies(peer), peer.Ok, own_copy(_through_both)

    def both() -> tuple[_Gate, _Gate]:
        monitor = make()
        return monitor.peek, monitor.observe

    def one_gate() -> _Gate:
        peek, observe = both()
        return lambda tool: observe(tool) if isinstance(asked := peek(tool), fine) else asked

    _check(one_gate, sessions)
    return Entry(lambda: loop(both, fine, sessions) / 1e9 / _BATCH / SESSION_EVENTS)


def _check(fresh: Callable[[], _Gate], sessions: list[_Calls]) -> None:
    for calls in sessions * (SESSIONS // _BATCH):
        gate, by_hand = fresh(), _ByHand()
        for tool in calls:
            verdict = gate(tool)
            # acel-core gives the tool's result, which is `None` here, or a violation.
            accepted = verdict is None or verdict is True or type(verdict).__name__ == "Ok"
            if accepted != by_hand.gate(tool):
                raise RuntimeError(f"{gate} answers {verdict!r} to {tool} after {by_hand.trace}")


def measure_job(peer: Any, acel: Any) -> dict[str, dict[str, Timing]]:  # noqa: ANN401
    """For each workload and contestant, the time for one call, its share in making the session included."""
    results = {}
    for workload, refused in WORKLOADS.items():
        sessions = _batch(workload)
        _check_calls(sessions, refused)
        entries = {"accord": _entry(_accord(), sessions)}
        if peer is not None:
            entries[OBSERVED] = _entry(_observing(peer), sessions)
            entries[GATED] = _gated_entry(peer, sessions)
        if acel is not None and workload != REFUSED:
            entries[ACEL] = _entry(_acel(acel), sessions)
        entries[BY_HAND] = _entry(lambda: _ByHand().gate, sessions)
        results[workload] = race(entries, rounds=_ROUNDS, warm_up=_WARM_UP)
    return results


def _check_calls(sessions: list[_Calls], refused: int) -> None:
    gates = [(_ByHand(), calls) for calls in sessions]
    found = sum(not by_hand.gate(tool) for by_hand, calls in gates for tool in calls)
    if found != refused or {len(calls) for calls in sessions} != {SESSION_EVENTS}:
        raise RuntimeError(f"the calls are not what they should be: {found} refused")


def fastest_peer(times: dict[str, Timing]) -> tuple[str, float] | None:
    """The peer that did a workload in the least time, and how many times as long as accord it took."""
    peers = [name for name in (OBSERVED, GATED, ACEL) if name in times]
    if not peers:
        return None
    fastest = min(peers, key=lambda name: times[name].best)
    return fastest, times[fastest].best / times["accord"].best
