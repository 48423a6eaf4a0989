"""What audits cost: reading and judging chats, labelled columns, a second core, and memory.

The yardstick for chats is `orjson.loads` on the same bytes, which is what any program has to do first that wants to see
them. An audit is a whole one: files are found, read, judged, and their results written and summed up. Time is processor
time of this process and the best of several rounds that take turns; for two cores it is the time on the wall.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import orjson

import accord
from accord.audit import audit
from bench.children import ChildError, in_child

__all__ = ["AuditCosts", "measure_audit", "peak_of_audit", "seconds_of_audit"]

CONTRACT = """
events {
    Yes    when user says matches "(?i)\\\\b(yes|sure|okay|confirm|go ahead|please proceed)\\\\b"
    Mutate when call in [book_reservation, cancel_reservation, update_reservation]
}
rule "confirm before changing anything" { before each Mutate require Yes }
"""

LABELLED = """
protocol Shop = rec L.{!Search.?Results.L, !Present.?{Approval, Refusal.L}.!Book.?Confirm.L, !Other.L, ?Misc.L, end}
rule "one presentation per booking" { before each Book require Present }
rule "a search is not for nothing" { after Search require Book }
"""

_ROUNDS = 7
_CHATS = 200
_LABELLED_RUNS = 250_000
_MANY = 400
"""Files for two cores: so many that starting a process does not matter."""


@dataclass(frozen=True, slots=True)
class AuditCosts:
    """Times an audit takes as long as decoding; events a second; times as fast on two cores; bytes at the peak."""

    chat_megabytes: float
    chat_seconds: float
    chat_share: float
    kept_share: float
    """The same if results are kept for the next time, for which files are hashed."""
    labelled_events: int
    labelled_rate: float | None
    two_cores: float | None
    peaks: dict[int, float]

    @property
    def growth(self) -> float | None:
        """How much more memory ten times as many runs take."""
        return self.peaks[max(self.peaks)] / self.peaks[min(self.peaks)] if len(self.peaks) == 2 else None


def measure_audit() -> AuditCosts:
    """Everything."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        share, kept, seconds, size = _chats(folder)
        rate, events = _labelled(folder)
        return AuditCosts(size / 1e6, seconds, share, kept, events, rate, _two_cores(folder), _peaks(folder))


# -- chats -------------------------------------------------------------------------------------------------------------

_PLAIN = "I would like to change my flight from Lisbon to Rome on the 20th of May please and add one checked bag to it"
_MARKED = '**Reservation:** - total\n - fee\n "refund"'
_WORDS = [*_PLAIN.split(" "), *_MARKED.split(" ")]
_TOOLS = ("get_user_details", "search_direct_flight", "get_reservation_details", "book_reservation", "calculate")


def _text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(_WORDS, k=words))


def _flights(rng: random.Random, count: int) -> list[dict[str, Any]]:
    return [
        {"flight_number": f"HAT{n:03d}", "status": "available", "price": rng.randint(50, 400), "seats": {"economy": n}}
        for n in range(count)
    ]


def _chat(rng: random.Random) -> list[dict[str, Any]]:
    """A run of about 26 messages with 750 bytes each: those of a customer service, as tau-bench records them."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": _text(rng, 1_050)}]
    for turn in range(7):
        confirmed = rng.random() < 0.4
        messages.append({"role": "user", "content": ("Yes, " if confirmed else "") + _text(rng, 18)})
        for step in range(rng.choice((0, 1, 1, 1))):
            tool, call = rng.choice(_TOOLS), f"call_{turn}_{step}"
            arguments = json.dumps({"user_id": f"mia_{turn}", "date": "2024-05-20", "note": _text(rng, 8)})
            function = {"name": tool, "arguments": arguments}
            calls = [{"id": call, "type": "function", "function": function}]
            messages.append({"role": "assistant", "content": None, "tool_calls": calls, "function_call": None})
            result = json.dumps({"flights": _flights(rng, 9)})
            messages.append({"role": "tool", "tool_call_id": call, "name": tool, "content": result})
        said = {"role": "assistant", "content": _text(rng, 55), "tool_calls": None, "function_call": None}
        messages.append(said)
    return messages


def write_chats(path: Path, runs: int, seed: int) -> None:
    """A file of tau-bench: runs with their messages, how they turned out, and what they were to do."""
    rng = random.Random(seed)
    recorded = []
    for number in range(runs):
        actions = [{"name": tool, "kwargs": {"user_id": "mia", "flights": _flights(rng, 4)}} for tool in _TOOLS[:3]]
        task = {"user_id": "mia", "instruction": _text(rng, 60), "actions": actions}
        run = {"task_id": number // 4, "trial": number % 4, "reward": float(rng.random() < 0.5)}
        recorded.append({**run, "info": {"task": task}, "traj": _chat(rng)})
    path.write_text(json.dumps(recorded))


def _chats(folder: Path) -> tuple[float, float, float, int]:
    chats = folder / "chats"
    chats.mkdir()
    for number in range(4):
        write_chats(chats / f"{number}.json", _CHATS, number)
    contract = accord.compile(CONTRACT)
    files = [path.read_bytes() for path in sorted(chats.iterdir())]
    decoding, auditing, keeping = [], [], []
    for number in range(3 * _ROUNDS):
        start = process_time()
        for data in files:
            orjson.loads(data)
        decoding.append(process_time() - start)
        start = process_time()
        with audit(contract, [str(chats)], jobs=1) as found:
            auditing.append(process_time() - start)
            if not found.tally.statuses["violating"]:
                raise AssertionError("nothing was judged")
        start = process_time()
        with audit(contract, [str(chats)], jobs=1, cache=folder / f"cache-{number}"):
            keeping.append(process_time() - start)
    least = min(decoding)
    return min(auditing) / least, min(keeping) / least, min(auditing), sum(map(len, files))


# -- labelled columns --------------------------------------------------------------------------------------------------


def write_labelled(path: Path, runs: int, seed: int) -> None:
    """Parquet with runs of about 21 events, of which one in twenty lacks one."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(seed)
    labels = ["!Search", "?Results", "!Present", "?Approval", "!Book", "?Confirm", "!Other", "?Misc"]
    rounds = [(0, 1), (2, 3, 4, 5), (6,), (7,), (0, 1, 2, 3, 4, 5), (2, 3, 4, 5)]
    order = np.concatenate([rng.integers(0, 5, (runs, 6)), np.full((runs, 1), 5)], axis=1)
    lengths = np.array([len(one) for one in rounds])[order].sum(axis=1)
    pieces = [np.array(one, np.int8) for one in rounds]
    codes = np.concatenate([pieces[number] for number in order.reshape(-1).tolist()])
    kept = rng.random(len(codes)) >= 0.05 / 21
    names = [f"{seed:03d}-{number:07d}" for number in range(runs)]
    run = pa.array(np.repeat(np.arange(runs), lengths)[kept].astype(np.int32))
    columns = {
        "run": pa.DictionaryArray.from_arrays(run, names).cast(pa.string()),
        "label": pa.DictionaryArray.from_arrays(pa.array(codes[kept]), labels).cast(pa.string()),
    }
    parquet.write_table(pa.table(columns), path)


def _labelled(folder: Path) -> tuple[float | None, int]:
    try:
        import pyarrow as pa
    except ImportError:
        return None, 0
    pa.set_cpu_count(1)  # one core
    pa.set_io_thread_count(1)
    path = folder / "labelled.parquet"
    write_labelled(path, _LABELLED_RUNS, 0)
    contract = accord.compile(LABELLED)
    best, events = float("inf"), 0
    for number in range(_ROUNDS):
        start = process_time()
        with audit(contract, [str(path)], jobs=1, cache=folder / f"labelled-{number}") as found:
            best, events = min(best, process_time() - start), found.tally.events
    return events / best, events


# -- cores and memory --------------------------------------------------------------------------------------------------


def seconds_of_audit(folder: str, jobs: int) -> float:
    """Seconds on the wall that an audit takes with so many processes, their start included."""
    start = perf_counter()
    with audit(accord.compile(CONTRACT), [folder], jobs=jobs):
        return perf_counter() - start


def _two_cores(folder: Path) -> float | None:
    if len(os.sched_getaffinity(0)) < 2:
        return None
    many = folder / "many"
    many.mkdir()
    for number in range(_MANY):
        os.link(folder / "chats" / "0.json", many / f"{number}.json")
    try:
        taken = {
            jobs: [in_child("bench.audit:seconds_of_audit", str(many), jobs, timeout=600) for _ in range(3)]
            for jobs in (1, 2)
        }
    except ChildError:
        return None
    return float(min(taken[1]) / min(taken[2]))


def peak_of_audit(folder: str) -> float:
    """Bytes of memory that this process has held at most."""
    with audit(accord.compile(CONTRACT), [folder], jobs=1):
        # Not `getrusage`, which still knows what the process was forked from.
        status = Path("/proc/self/status").read_text(encoding="ascii")
    kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))
    return float(kilobytes) * 1024


def _peaks(folder: Path) -> dict[int, float]:
    """By the number of runs, in files of the same size."""
    peaks: dict[int, float] = {}
    for files in (10, 100):
        here = folder / f"memory-{files}"
        here.mkdir()
        for number in range(files):
            os.link(folder / "chats" / "0.json", here / f"{number}.json")
        try:
            peaks[files * _CHATS] = in_child("bench.audit:peak_of_audit", str(here), timeout=600)
        except ChildError:
            return {}
    return peaks
