"""What accord promises about its costs. A run that misses one of these fails."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench import guard as guards
from bench.agents import GOING_ON, HERE, NEW, REDIS
from bench.choreography import OBSERVED, PROMISED, ROLES
from bench.data import BINDING
from bench.job import REFUSED, fastest_peer
from bench.langchain import CHECKPOINT, MODEL
from bench.lint import LINES
from bench.rules import LOOKING
from bench.slices import LIVE
from bench.traces import SIZES as TRACED

if TYPE_CHECKING:
    from bench.agents import AgentCosts
    from bench.audit import AuditCosts
    from bench.choreography import ChoreographyCosts
    from bench.guard import GuardCosts
    from bench.langchain import LangChainCosts
    from bench.lint import LintCosts
    from bench.results import Results
    from bench.stores import StoreCosts
    from bench.traces import TraceCosts

__all__ = ["Bar", "judge", "judge_agents", "judge_audit", "judge_guard", "judge_stores", "judge_traces"]


_GUARDED = (
    (guards.DECORATED, 15),
    (guards.DECORATED_DATA, 100),
    (guards.PLAIN, 150),
    (guards.RULES, 150),
    (guards.RESULTS, 150),
    (guards.DATA, 250),
    (guards.IN_LOOP, 300),
    (guards.NEW, 60),
)
_AGENTS = ((HERE, GOING_ON, 40), (HERE, NEW, 120), (REDIS, GOING_ON, 10), (REDIS, NEW, 28))


@dataclass(frozen=True, slots=True)
class Bar:
    """A promise, what was measured, and whether it holds."""

    promise: str
    figure: str
    passed: bool


def judge(results: Results) -> list[Bar]:
    """Every bar; one that could not be measured is missed."""
    bars = []
    for case in ("linear", "loop", "choice"):
        times = results.times_floor(case, "accord")
        bars.append(Bar(f"an event costs at most 5 x an empty method call: {case}", f"{times:.2f} x", times <= 5))
    for case in ("linear", "loop", "choice"):
        cheaper = results.times_cheaper(case)
        promise = f"an event is at least 5 x cheaper than with llmsessioncontract: {case}"
        if cheaper is None:
            bars.append(Bar(promise, "peer not measured", passed=False))
        else:
            bars.append(Bar(promise, f"{cheaper:.2f} x", cheaper >= 5))
    ten, forty = _compiled(results, 10_000), _compiled(results, 40_000)
    growth = forty / ten
    added = results.import_seconds("import accord")
    size = results.memory["accord"].fresh_monitor
    restoring = results.restoring["accord"]
    again = restoring[100_000].time.best / restoring[10].time.best
    verified = max(results.ledger.verifying.values())
    return [
        *bars,
        *_rules(results),
        _data(results),
        *_slices(results),
        *_choreographies(results.choreographies),
        *_job(results),
        Bar("10,000 actions compile in less than 0.5 s", f"{ten:.3f} s", ten < 0.5),
        Bar("40,000 actions take less than 5.5 x as long as 10,000", f"{growth:.2f} x", growth < 5.5),
        Bar("`import accord` adds less than 30 ms", f"{added * 1e3:.1f} ms", added < 0.030),
        Bar("a fresh monitor takes less than 1,024 bytes", f"{size:.0f} bytes", size < 1024),
        Bar("restoring after 100,000 events takes at most 1.5 x as long as after 10", f"{again:.2f} x", again <= 1.5),
        Bar("a ledger of 1,000,000 entries verifies in less than 60 s", f"{verified:.1f} s", verified < 60),
        *judge_guard(results.guard),
        *_langchain(results.langchain),
        *judge_stores(results.stores),
        *judge_traces(results.traces),
        *judge_audit(results.audit),
        _lint(results.lint),
        *judge_agents(results.agents),
        *(
            Bar(f"the studio answers a step in under 50 ms: {name}", f"{seconds * 1e3:.1f} ms", seconds < 0.05)
            for name, seconds in results.studio.median.items()
        ),
    ]


def judge_guard(costs: GuardCosts) -> list[Bar]:
    """The bars of guards; a peer that was not measured misses them."""
    bars = []
    for case, most in _GUARDED:
        added = costs.added(case)
        promise = f"a guard adds at most {most} x an empty method call: {case}"
        bars.append(Bar(promise, f"{added:.1f} x", added <= most))
    for case in (guards.BATCH, guards.BATCH_RULES):
        share = costs.of_one(case)
        promise = f"{guards.MANY} calls in one batch take at most 12 x one: {case}"
        bars.append(Bar(promise, f"{share:.1f} x", share <= 12))
    for ours, theirs in ((guards.JOB_DECORATED, guards.JOB_ACEL), (guards.JOB_IN_LOOP, guards.JOB_OPENAI)):
        promise = f"slower than `{ours}`: {theirs}"
        if theirs in costs.skipped:
            bars.append(Bar(promise, f"not measured: {costs.skipped[theirs]}", passed=False))
        else:
            slower = costs.times[theirs].best / costs.times[ours].best
            bars.append(Bar(promise, f"{slower:.2f} x", slower > 1))
    return bars


def _langchain(costs: LangChainCosts) -> list[Bar]:
    instant = "AccordMiddleware adds at most 12 % to an agent's step with an instant model"
    of_model = f"less than 1 % if the model answers in {MODEL * 1000:.0f} ms"
    if costs.skipped is not None:
        return [Bar(promise, f"not measured: {costs.skipped}", passed=False) for promise in (instant, of_model)]
    whole, real = costs.share(CHECKPOINT), costs.share(CHECKPOINT, MODEL)
    return [Bar(instant, f"{whole:.1%}", whole <= 0.12), Bar(of_model, f"{real:.2%}", real < 0.01)]


def judge_stores(costs: StoreCosts) -> list[Bar]:
    """The bars of stores; a store that was not measured misses them."""
    bars = []
    half = "steps per second are at least half of the bare statements'"
    equal = "a step after 100,000 events takes at most 1.25 x as long as after 10"
    for name in costs.times:
        share, growth = costs.share(name), costs.growth(name)
        if share is not None:
            bars.append(Bar(f"{half}: {name}", f"{1 / share:.2f}", share <= 2))
        bars.append(Bar(f"{equal}: {name}", f"{growth:.2f} x", growth <= 1.25))
        guarded = costs.guarded(name)
        if guarded is not None:
            promise = f"a tool under guard takes at most 1.3 x the statements it needs: {name}"
            bars.append(Bar(promise, f"{guarded:.2f} x", guarded <= 1.3))
    return [
        *bars,
        *(Bar(f"{half}: {name}", f"not measured: {why}", passed=False) for name, why in costs.skipped.items()),
    ]


def judge_traces(costs: TraceCosts) -> list[Bar]:
    """The bars of traces."""
    bars = []
    for size in TRACED:
        share = costs.share(size)
        promise = f"validating a trace takes at most 3 x as long as decoding it: {size:,} events"
        bars.append(Bar(promise, f"{share:.2f} x", share <= 3))
    rate = 1 / max(costs.validating.values())
    bars.append(Bar("at least 400,000 events are validated in a second", f"{rate:,.0f}", rate >= 400_000))
    for violated, what in ((False, ""), (True, ", order rules violated")):
        growth = costs.growth(violated=violated)
        promise = f"an event of {TRACED[-1]:,} takes at most 1.5 x as long as one of {TRACED[-2]:,}{what}"
        bars.append(Bar(promise, f"{growth:.2f} x", growth <= 1.5))
    for name, least in (("mixed payloads", 60), ("small chunks", 30)):
        speed = costs.fingerprints[name]
        bars.append(Bar(f"fingerprints of {name}: at least {least} MB/s", f"{speed:.0f} MB/s", speed >= least))
    peak = costs.peak_bytes
    shown = f"not measured: {peak}" if isinstance(peak, str) else f"{peak / 1e6:.0f} MB"
    promise = f"validating {TRACED[-1]:,} events takes less than 100 MB"
    return [*bars, Bar(promise, shown, not isinstance(peak, str) and peak < 100e6)]


def judge_audit(costs: AuditCosts) -> list[Bar]:
    """The bars of audits; what could not be measured misses them."""
    rate, cores, growth = costs.labelled_rate, costs.two_cores, costs.growth
    share = costs.chat_share
    return [
        Bar(
            "an audit of chats takes at most 1.3 x as long as `orjson.loads` of the bytes",
            f"{share:.2f} x",
            share <= 1.3,
        ),
        Bar(
            "labelled Parquet is audited at 20 million events a second or more",
            "not measured" if rate is None else f"{rate / 1e6:.1f} million",
            rate is not None and rate >= 20e6,
        ),
        Bar(
            "two cores are at least 1.7 x as fast as one",
            "not measured" if cores is None else f"{cores:.2f} x",
            cores is not None and cores >= 1.7,
        ),
        Bar(
            "ten times as many runs take at most 1.1 x the memory",
            "not measured" if growth is None else f"{growth:.2f} x",
            growth is not None and growth <= 1.1,
        ),
    ]


def judge_agents(costs: AgentCosts) -> list[Bar]:
    """The bars of agents; what could not be measured misses them."""
    bars = []
    for where, how, most in _AGENTS:
        floor = "two queues" if where == HERE else "bare streams"
        promise = f"agents ask and answer {how} in at most {most} x the time of {floor}: {where}"
        if where not in costs.times:
            bars.append(Bar(promise, f"not measured: {costs.skipped}", passed=False))
        else:
            times = costs.times_floor(where, how)
            bars.append(Bar(promise, f"{times:.1f} x", times <= most))
    return bars


def _rules(results: Results) -> list[Bar]:
    rules = results.rules
    unnamed = rules.times_floor(LOOKING[0])
    slope, share = rules.added(3, 1), rules.added(3, 0)
    each = "each rule that looks adds at most 4 x an empty method call"
    return [
        Bar("an event that no rule names costs at most 8 x an empty method call", f"{unnamed:.2f} x", unnamed <= 8),
        Bar(f"{each}: (3 look - 1 looks) / 2", f"{slope:.2f} x", slope <= 4),
        Bar(f"{each}: (3 look - none looks) / 3", f"{share:.2f} x", share <= 4),
    ]


def _lint(costs: LintCosts) -> Bar:
    promise = f"{LINES:,} lines of agents lint in less than 10 s"
    return Bar(promise, f"{costs.seconds:.1f} s", costs.lines >= LINES and costs.seconds < 10)


def _choreographies(costs: ChoreographyCosts) -> list[Bar]:
    seconds, observed = costs.projecting[PROMISED], costs.times_floor(OBSERVED)
    projected = f"a protocol of {PROMISED} steps between {ROLES} roles is projected within 1 s"
    return [
        Bar(projected, f"{seconds:.3f} s", seconds < 1),
        Bar("twice the steps take at most 4 x as long to project", f"{costs.growth:.2f} x", costs.growth <= 4),
        Bar("an observed message costs less than 10 x an empty method call", f"{observed:.2f} x", observed < 10),
    ]


def _data(results: Results) -> Bar:
    cheaper = results.times_cheaper(BINDING)
    promise = f"an event with data is at least 4 x cheaper than with llmsessioncontract: {BINDING}"
    if cheaper is None:
        return Bar(promise, "peer not measured", passed=False)
    return Bar(promise, f"{cheaper:.2f} x", cheaper >= 4)


def _slices(results: Results) -> list[Bar]:
    bars = []
    for case in results.slices.sliced:
        growth = results.slices.growth(case)
        promise = f"an event with {LIVE[-1]:,} live instances costs at most 3 x that with {LIVE[0]}: {case}"
        bars.append(Bar(promise, f"{growth:.2f} x", growth <= 3))
    return bars


def _job(results: Results) -> list[Bar]:
    bars = []
    for workload, times in results.job.items():
        if workload == REFUSED:
            continue  # nobody promises to be quick at refusing; the table has the figure
        promise = f"the job is at least 4 x cheaper than with the fastest peer: {workload}"
        fastest = fastest_peer(times)
        if fastest is None or not (results.peer_measured and results.acel_measured):
            bars.append(Bar(promise, "a peer was not measured", passed=False))
        else:
            name, cheaper = fastest
            bars.append(Bar(promise, f"{cheaper:.2f} x ({name})", cheaper >= 4))
    return bars


def _compiled(results: Results, size: int) -> float:
    """Seconds; without end if accord, like the peer, could not do it."""
    timing = results.compiling.rows["accord"][size]
    return math.inf if isinstance(timing, str) else timing.best
