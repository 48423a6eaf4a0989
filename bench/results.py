"""One run: everything that was measured, and on what machine."""

from __future__ import annotations

import gc
import os
import platform
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import accord
from bench.agents import measure_agents
from bench.audit import measure_audit
from bench.choreography import ChoreographyCosts, measure_choreographies
from bench.compiling import measure_compiling
from bench.contestants import ACEL, ACEL_VERSION, FLOOR, PEER, PEER_VERSION, load_acel, load_peer
from bench.data import measure_data
from bench.guard import measure_guard
from bench.importing import BARE, measure_importing
from bench.job import fastest_peer, measure_job
from bench.langchain import measure_langchain
from bench.ledger import measure_ledger
from bench.lint import measure_lint
from bench.memory import measure_memory
from bench.restoring import measure_restoring
from bench.rules import measure_rules
from bench.slices import measure_slices
from bench.steps import measure_steps
from bench.stores import measure_stores
from bench.studio import measure_studio
from bench.traces import measure_traces

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.agents import AgentCosts
    from bench.audit import AuditCosts
    from bench.compiling import Compiling
    from bench.guard import GuardCosts
    from bench.langchain import LangChainCosts
    from bench.ledger import LedgerCosts
    from bench.lint import LintCosts
    from bench.measure import Timing
    from bench.memory import Memory
    from bench.restoring import Restoring
    from bench.rules import RuleCosts
    from bench.slices import SliceCosts
    from bench.stores import StoreCosts
    from bench.studio import StudioCosts
    from bench.traces import TraceCosts

__all__ = ["Results", "measure_all"]


@dataclass(frozen=True, slots=True)
class Results:
    """Seconds and bytes, as measured."""

    machine: dict[str, object]
    peer_measured: bool
    acel_measured: bool
    importing: dict[str, Timing]
    compiling: Compiling
    steps: dict[str, dict[str, Timing]]
    rules: RuleCosts
    data: dict[str, dict[str, Timing]]
    slices: SliceCosts
    job: dict[str, dict[str, Timing]]
    memory: dict[str, Memory]
    restoring: dict[str, dict[int, Restoring]]
    ledger: LedgerCosts
    guard: GuardCosts
    langchain: LangChainCosts
    stores: StoreCosts
    traces: TraceCosts
    audit: AuditCosts
    studio: StudioCosts
    agents: AgentCosts
    choreographies: ChoreographyCosts
    lint: LintCosts

    @property
    def cases(self) -> dict[str, dict[str, Timing]]:
        """All cases of one event, with data and without."""
        return {**self.steps, **self.data}

    def times_floor(self, case: str, name: str) -> float:
        """How many empty method calls an event costs."""
        of = self.cases[case]
        return of[name].best / of[FLOOR].best

    def times_cheaper(self, case: str) -> float | None:
        """How many events accord takes in the time the peer takes one; `None` if the peer did not take part."""
        of = self.cases[case]
        return of[PEER].best / of["accord"].best if PEER in of else None

    def import_seconds(self, program: str) -> float:
        """What a program's imports add to the bare interpreter."""
        return self.importing[program].best - self.importing[BARE].best

    def to_json(self) -> dict[str, Any]:
        """All of it, with the ratios that the table shows."""
        ratios = {
            "times_empty_method": {case: {n: self.times_floor(case, n) for n in of} for case, of in self.cases.items()},
            "times_cheaper_than_peer": {case: self.times_cheaper(case) for case in self.cases},
            "import_seconds": {program: self.import_seconds(program) for program in self.importing if program != BARE},
        }
        rules = {
            "times_empty_method": {case: self.rules.times_floor(case) for case in self.rules.times},
            "added_by_each_rule": {f"{a} to {b}": self.rules.added(b, a) for a, b in ((0, 1), (0, 3), (1, 3))},
        }
        slices = {
            "growth": {case: self.slices.growth(case) for case in self.slices.sliced},
            "times_empty_method": {case: self.slices.times_floor(case) for case in self.slices.timed},
        }
        job = {workload: fastest_peer(times) for workload, times in self.job.items()}
        more = {"rules": rules, "slices": slices, "job_times_cheaper_than_fastest_peer": job}
        return {**asdict(self), "ratios": {**ratios, **more}}


def measure_all(say: Callable[[str], None]) -> Results:
    """Measure everything; `say` is told what is going on."""
    peer, acel = load_peer(), load_acel()
    load_before = os.getloadavg()[0]
    # INVARIANT: steps come after compiling, which wants an interpreter that has not yet kept much alive.
    say("importing")
    importing = measure_importing(peer)
    say("compiling")
    compiling = measure_compiling(peer)
    say("steps")
    steps = measure_steps(peer)
    say("rules")
    rules = measure_rules()
    say("data")
    data = measure_data(peer)
    say("slices")
    slices = measure_slices()
    say("job")
    job = measure_job(peer, acel)
    say("memory")
    memory = measure_memory(peer)
    say("restoring")
    restoring = measure_restoring(peer)
    say("ledger")
    ledger = measure_ledger()
    machine: dict[str, object] = {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "load_before": load_before,
        "load_after": os.getloadavg()[0],
        "gc_enabled": gc.isenabled(),
        "switch_interval": sys.getswitchinterval(),
        "accord": accord.__version__,
        PEER: PEER_VERSION if peer is not None else None,
        ACEL: ACEL_VERSION if acel is not None else None,
    }
    say("guard")
    guard = measure_guard()
    say("langchain")
    langchain = measure_langchain()
    say("stores")
    stores = measure_stores()
    say("traces")
    traces = measure_traces()
    say("audit")
    audit = measure_audit()
    say("studio")
    studio = measure_studio()
    say("agents")
    agents = measure_agents()
    say("choreographies")
    choreographies = measure_choreographies()
    say("lint")
    lint = measure_lint()
    return Results(
        machine=machine,
        peer_measured=peer is not None,
        acel_measured=acel is not None,
        importing=importing,
        compiling=compiling,
        steps=steps,
        rules=rules,
        data=data,
        slices=slices,
        job=job,
        memory=memory,
        restoring=restoring,
        ledger=ledger,
        guard=guard,
        langchain=langchain,
        stores=stores,
        traces=traces,
        audit=audit,
        studio=studio,
        agents=agents,
        choreographies=choreographies,
        lint=lint,
    )


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or "unknown")
