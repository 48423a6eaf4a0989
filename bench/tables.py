"""The results as tables of text: what stands in which cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.choreography import ROLES
from bench.compiling import SIZES as COMPILED
from bench.contestants import ACEL, FLOOR, ONE_ARGUMENT, PEER
from bench.importing import BARE
from bench.job import BY_HAND, GATED, OBSERVED, SESSION_EVENTS, SESSIONS, fastest_peer
from bench.langchain import BARE as NO_MIDDLEWARE
from bench.langchain import MODEL, NOTHING
from bench.ledger import ENTRIES
from bench.restoring import SIZES as RESTORED
from bench.rules import LOOKING, NO_RULES
from bench.slices import LIVE
from bench.steps import LOCK
from bench.stores import BARE as STATEMENTS
from bench.stores import GUARDED as UNDER_GUARD
from bench.stores import LONG, SHORT
from bench.traces import SIZES as TRACED

if TYPE_CHECKING:
    from bench.agents import AgentCosts
    from bench.audit import AuditCosts
    from bench.bars import Bar
    from bench.choreography import ChoreographyCosts
    from bench.compiling import Compiling
    from bench.guard import GuardCosts
    from bench.langchain import LangChainCosts
    from bench.ledger import LedgerCosts
    from bench.lint import LintCosts
    from bench.measure import Timing
    from bench.results import Results
    from bench.rules import RuleCosts
    from bench.slices import SliceCosts
    from bench.stores import StoreCosts
    from bench.studio import StudioCosts
    from bench.traces import TraceCosts

__all__ = [
    "Table",
    "agents_table",
    "audit_table",
    "bars_table",
    "guard_table",
    "stores_table",
    "tables",
    "traces_table",
]

_ABSENT = "-"


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first column is a heading for each row."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def tables(results: Results, bars: list[Bar]) -> list[Table]:
    """All tables in reading order, what was promised last."""
    return [
        _steps(results),
        _rules(results.rules),
        *_choreographies(results.choreographies),
        _data(results),
        _slices(results.slices),
        _timed(results.slices),
        _job(results.job),
        _compiling(results.compiling),
        _choices(results.compiling),
        _memory(results),
        _restoring(results),
        _ledger(results.ledger),
        guard_table(results.guard),
        langchain_table(results.langchain),
        stores_table(results.stores),
        traces_table(results.traces),
        audit_table(results.audit),
        _lint(results.lint),
        _studio_table(results.studio),
        agents_table(results.agents),
        _importing(results),
        bars_table(bars),
    ]


def bars_table(bars: list[Bar]) -> Table:
    """What was promised, and whether it holds."""
    rows = tuple(("PASS" if bar.passed else "MISS", bar.promise, bar.figure) for bar in bars)
    return Table("Bars", ("", "promise", "measured"), rows)


def stores_table(costs: StoreCosts) -> Table:
    """What a step of a stored session costs."""
    rows = []
    for name, of in costs.times.items():
        share = costs.share(name)
        bare = f"{costs.seconds(name, STATEMENTS) * 1e6:.1f}" if STATEMENTS in of else _ABSENT
        steps = (f"{costs.seconds(name, str(length)) * 1e6:.1f}" for length in (SHORT, LONG))
        ratios = _ABSENT if share is None else f"{share:.2f} x", f"{costs.growth(name):.2f} x"
        guarded = costs.guarded(name)
        guard = f"{costs.seconds(name, UNDER_GUARD) * 1e6:.1f}", _ABSENT if guarded is None else f"{guarded:.2f} x"
        rows.append((name, bare, *steps, *ratios, *guard))
    rows += [(name, f"NOT MEASURED: {why}", *[_ABSENT] * 6) for name, why in costs.skipped.items()]
    columns = (
        *("store", "bare, us", f"step at {SHORT}, us", f"step at {LONG:,}, us", "step / bare", "long / short"),
        *("tool under guard, us", "that / 2 bare"),
    )
    note = (
        "bare: the same statements with bytes made before; steps judge, seal, chain and keep. "
        "Best rounds; medians where each answer is flushed to a device."
    )
    return Table("One step of a stored session, state and ledger together", columns, tuple(rows), note)


def langchain_table(costs: LangChainCosts) -> Table:
    """What a step of a LangChain agent costs."""
    title = "One step of a LangChain agent: model, tool, and back"
    columns = "", "us, best (median)", "added, us", "of the step", "of one with a model of 250 ms"
    if costs.skipped is not None:
        return Table(title, columns, ((f"NOT MEASURED: {costs.skipped}", *[_ABSENT] * 4),))
    rows = []
    for case, timing in costs.times.items():
        added = (f"{costs.added(case) * 1e6:.0f}", f"{costs.share(case):.1%}", f"{costs.share(case, MODEL):.2%}")
        shown = added if case not in {NO_MIDDLEWARE, NOTHING} else (_ABSENT,) * 3
        rows.append((case, f"{timing.best * 1e6:.0f} ({timing.median * 1e6:.0f})", *shown))
    note = (
        "Model and tool are instant, checkpoints are in memory. Added to a middleware with the same hooks that does "
        f"nothing; {costs.own * 1e6:.0f} us of processor time are spent inside our hooks. What the one takes that only "
        "writes keys, LangGraph takes for any session that is kept in a checkpoint."
    )
    return Table(title, columns, tuple(rows), note)


def _steps(results: Results) -> Table:
    names = ("accord", PEER, "dict machine", FLOOR, ONE_ARGUMENT, LOCK)

    return Table(
        "One event: ns, best (median), and how many empty method calls that is",
        ("", *names, "peer / accord"),
        tuple(
            (case, *(_event(results, case, name) for name in names), _times(results.times_cheaper(case)))
            for case in results.steps
        ),
        f"The floor is an `{FLOOR}` called without arguments; the cost of the loop is in every figure. The peer "
        "compiles `linear` only with the recursion limit raised for it. `refused`: an illegal event that is recorded "
        "and changes nothing; the peer has no such mode. `blocked`: every event after a violation that halts.",
    )


def _event(results: Results, case: str, name: str) -> str:
    timing = results.cases[case].get(name)
    if timing is None:
        return _ABSENT
    return f"{_nanoseconds(timing)} {results.times_floor(case, name):.1f}x"


def _nanoseconds(timing: Timing) -> str:
    return f"{timing.best * 1e9:.0f} ({timing.median * 1e9:.0f})"


def _rules(rules: RuleCosts) -> Table:
    def row(case: str) -> tuple[str, ...]:
        added = f"{rules.times_floor(case) - rules.times_floor(LOOKING[0]):.1f}x" if case in LOOKING[1:] else _ABSENT
        return (case, f"{_nanoseconds(rules.times[case])} {rules.times_floor(case):.1f}x", added)

    return Table(
        "One event under rules: ns, best (median), and how many empty method calls that is",
        ("", "accord", "more than where none looks"),
        tuple(row(case) for case in (NO_RULES, *LOOKING, FLOOR)),
        f"Empty method calls for each rule that looks: the first adds {rules.added(1, 0):.2f}; from one to three it is "
        f"{rules.added(3, 1):.2f} each, (3 look - 1 looks) / 2; in all {rules.added(3, 0):.2f} each, "
        "(3 look - none looks) / 3.",
    )


def _choreographies(costs: ChoreographyCosts) -> tuple[Table, Table]:
    return (
        Table(
            f"Projecting a protocol between {ROLES} roles, from text to all local protocols: ms, best",
            tuple(f"{steps} steps" for steps in costs.projecting),
            (tuple(f"{seconds * 1e3:.0f}" for seconds in costs.projecting.values()),),
            "Each run reads a fresh text. The proof that the roles can follow it is included.",
        ),
        Table(
            "A message observed in a session of three roles: ns, best (median), and how many empty method calls",
            ("", "accord"),
            tuple((case, f"{_nanoseconds(time)} {costs.times_floor(case):.1f}x") for case, time in costs.times.items()),
            "With a record, every field of the payload is checked.",
        ),
    )


def _data(results: Results) -> Table:
    names = ("accord", PEER, FLOOR)
    return Table(
        "One event with a payload: ns, best (median), and how many empty method calls that is",
        ("", *names, "peer / accord"),
        tuple(
            (case, *(_event(results, case, name) for name in names), _times(results.times_cheaper(case)))
            for case in results.data
        ),
        "`five clauses`: in each step, with nested fields, orderings and a list. The contracts of 30 rules have no "
        "protocol.",
    )


def _slices(slices: SliceCosts) -> Table:
    return Table(
        "One event of a sliced contract, by how many instances are live: ns, best (median)",
        ("", *(f"{live:,}" for live in LIVE), "growth"),
        tuple(
            (case, *(_nanoseconds(times[live]) for live in LIVE), _times(slices.growth(case)))
            for case, times in slices.sliced.items()
        ),
        "Every event belongs to an instance drawn at random. `owing` and `deadlines`: two rules look at each event.",
    )


def _timed(slices: SliceCosts) -> Table:
    return Table(
        "One event under deadlines: ns, best (median), and how many empty method calls that is",
        ("", "accord"),
        tuple((case, f"{_nanoseconds(time)} {slices.times_floor(case):.1f}x") for case, time in slices.timed.items()),
    )


def _job(job: dict[str, dict[str, Timing]]) -> Table:
    names = ("accord", OBSERVED, GATED, ACEL, BY_HAND)
    calls = SESSIONS * SESSION_EVENTS

    def cell(timing: Timing | None) -> str:
        return _ABSENT if timing is None else f"{timing.best * 1e3 * calls:,.1f} ({timing.median * 1e3 * calls:,.1f})"

    def row(workload: str, times: dict[str, Timing]) -> tuple[str, ...]:
        fastest = fastest_peer(times)
        return (workload, *(cell(times.get(name)) for name in names), _times(fastest[1] if fastest else None))

    return Table(
        f"Deploy only after tests and approval, at most 10 times; {SESSIONS:,} sessions of {SESSION_EVENTS} calls: ms, "
        "best (median)",
        ("", *names, "fastest peer / accord"),
        tuple(row(workload, times) for workload, times in job.items()),
        f"Sessions are made on the clock, contracts and requirements are not. After a refusal {ACEL} refuses all "
        "that follows, so it takes no part where the session goes on; its refusals write a record of evidence.",
    )


def _times(ratio: float | None) -> str:
    return _ABSENT if ratio is None else f"{ratio:.1f}x"


def _compiling(compiling: Compiling) -> Table:
    names = tuple(compiling.rows)

    def cell(timing: Timing | str) -> str:
        return timing if isinstance(timing, str) else f"{timing.best * 1e3:,.1f} ({timing.median * 1e3:,.1f})"

    most = compiling.largest_peer_contract
    return Table(
        "Compiling distinct actions in a row: ms, best (median)",
        ("actions", *names),
        (
            *((f"{size:,}", *(cell(compiling.rows[name][size]) for name in names)) for size in COMPILED),
            ("growth: size to the power of", *(f"{compiling.exponents[name]:.2f}" for name in names)),
        ),
        f"The most actions in a row that {PEER} compiles before it raises RecursionError: {most}." if most else "",
    )


def _choices(compiling: Compiling) -> Table:
    def row(name: str, found: dict[str, float] | str) -> tuple[str, ...]:
        if isinstance(found, str):
            return (name, found, _ABSENT, _ABSENT)
        return (name, f"{found['states']:,.0f}", f"{found['seconds'] * 1e3:,.1f}", f"{found['bytes'] / 1e6:,.2f}")

    return Table(
        "Compiling 18 two-way choices in a row, once, in a process of its own",
        ("", "states", "ms", "MB at the peak"),
        tuple(row(name, found) for name, found in compiling.choices.items()),
    )


def _memory(results: Results) -> Table:
    return Table(
        "Memory: bytes, on the loop protocol",
        ("", "fresh monitor", "each event kept"),
        tuple((name, f"{of.fresh_monitor:,.0f}", f"{of.kept_event:.1f}") for name, of in results.memory.items()),
        "accord and the dict machine share one contract between monitors; the peer compiles one for each.",
    )


def _restoring(results: Results) -> Table:
    columns = [f"{name}, {what}" for name in results.restoring for what in ("us", "bytes")]
    rows = []
    for size in RESTORED:
        row = [f"{size:,}"]
        for of in results.restoring.values():
            row += [
                f"{of[size].time.best * 1e6:,.1f} ({of[size].time.median * 1e6:,.1f})",
                f"{of[size].snapshot_bytes:,}",
            ]
        rows.append(tuple(row))
    return Table(
        "Restoring a session: us, best (median), and the size of what is stored", ("events", *columns), tuple(rows)
    )


def _ledger(ledger: LedgerCosts) -> Table:
    verifying = [
        (f"verify {ENTRIES:,} entries, {kind}", f"{seconds:.1f} s", f"{ledger.per_second(kind):,.0f}")
        for kind, seconds in ledger.verifying.items()
    ]
    recording = [
        (f"record an attempt: {name}", f"{seconds * 1e6:,.0f} us", f"{1 / seconds:,.0f}")
        for name, seconds in ledger.recording.items()
    ]
    return Table(
        "The ledger",
        ("", "time", "entries per second"),
        (*verifying, *recording),
        f"An entry takes {ledger.entry_bytes:,.0f} bytes here. How long flushing takes is up to the device.",
    )


def guard_table(guard: GuardCosts) -> Table:
    """What guards cost, and others on the same job."""
    rows = [(name, _nanoseconds(timing), _times(guard.added(name))) for name, timing in guard.times.items()]
    rows += [(name, why, _ABSENT) for name, why in guard.skipped.items()]
    return Table(
        "Calling a tool under guard: ns, best (median), and how many empty method calls the guard adds",
        ("", "ns", "added"),
        tuple(rows),
        "The tool does nothing. The job: `book` only after `search`.",
    )


def traces_table(traces: TraceCosts) -> Table:
    """What traces cost."""
    prints = "; ".join(f"{name} {rate:.0f} MB/s" for name, rate in traces.fingerprints.items())
    peak = traces.peak_bytes if isinstance(traces.peak_bytes, str) else f"{traces.peak_bytes / 1e6:.0f} MB"
    return Table(
        "Validating a trace with every validator: us for an event, best",
        ("events", "msgspec decodes", "accord validates", "ratio", "events per second", "order rules violated"),
        tuple(
            (
                f"{size:,}",
                f"{traces.decoding[size] * 1e6:.2f}",
                f"{traces.validating[size] * 1e6:.2f}",
                _times(traces.share(size)),
                f"{1 / traces.validating[size]:,.0f}",
                f"{traces.violated[size] * 1e6:.2f}",
            )
            for size in TRACED
        ),
        f"{traces.event_bytes:.0f} bytes an event. Fingerprints: {prints}. Peak memory: {peak}.",
    )


def _studio_table(studio: StudioCosts) -> Table:
    """What a step on the studio's page costs."""
    rows = tuple(
        (name, f"{studio.median[name] * 1e3:.1f} ms", f"slowest {studio.slowest[name] * 1e3:.1f} ms")
        for name in studio.median
    )
    return Table("The studio: a step, from the request to the answer", ("step", "median", ""), rows)


def agents_table(costs: AgentCosts) -> Table:
    """What messages between agents cost."""
    rows = [
        (f"{where}: {how}", f"{timing.best * 1e6:.0f} µs", _times(costs.times_floor(where, how)))
        for where, contestants in costs.times.items()
        for how, timing in contestants.items()
    ]
    return Table("Agents: a question and its answer", ("", "best", "of the floor"), tuple(rows))


def audit_table(audit: AuditCosts) -> Table:
    """What audits cost."""
    rate, cores = audit.labelled_rate, audit.two_cores
    peaks = "; ".join(f"{runs:,} runs {peak / 1e6:.0f} MB" for runs, peak in sorted(audit.peaks.items()))
    speed = audit.chat_megabytes / audit.chat_seconds
    return Table(
        "Audits, on one core unless it says otherwise",
        ("", "", ""),
        (
            ("chats, against orjson.loads", _times(audit.chat_share), f"{speed:.0f} MB/s"),
            ("the same, and results are kept", _times(audit.kept_share), ""),
            (
                "labelled Parquet",
                _ABSENT if rate is None else f"{rate / 1e6:.1f} M events/s",
                f"{audit.labelled_events:,} events",
            ),
            ("two cores", _ABSENT if cores is None else _times(cores), "as fast as one"),
        ),
        f"Peak memory: {peaks or 'not measured'}.",
    )


def _lint(costs: LintCosts) -> Table:
    row = ("accord lint", f"{costs.seconds:.2f} s", f"{costs.lines / costs.seconds:,.0f} lines/s")
    title = f"linting {costs.agents:,} agents in {costs.files:,} files, {costs.lines:,} lines"
    return Table(title, ("", "whole command", "rate"), (row,))


def _importing(results: Results) -> Table:
    return Table(
        "Starting: ms, best (median), in a fresh process",
        ("", "in all", "added by the import"),
        tuple(
            (
                program,
                f"{timing.best * 1e3:.1f} ({timing.median * 1e3:.1f})",
                _ABSENT if program == BARE else f"{results.import_seconds(program) * 1e3:.1f}",
            )
            for program, timing in results.importing.items()
        ),
    )
