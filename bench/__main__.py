"""Measure, write `bench/results.json`, print; exit with 1 if a bar is missed."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from time import perf_counter

from bench.bars import judge
from bench.children import ROOT
from bench.contestants import ACEL, ACEL_VERSION, PEER, PEER_VERSION
from bench.printing import print_tables
from bench.results import measure_all
from bench.tables import tables


def main() -> int:
    """Run everything; the exit code."""
    start = perf_counter()
    results = measure_all(lambda what: print(f"measuring: {what} …", file=sys.stderr, flush=True))
    bars = judge(results)
    seconds = perf_counter() - start
    target = ROOT / "bench" / "results.json"
    written = {**results.to_json(), "bars": [asdict(bar) for bar in bars], "seconds_in_all": seconds}
    target.write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")
    machine = results.machine
    print(f"{machine['python']}, {machine['cpu']}, {machine['cores']} cores, accord {machine['accord']}, ", end="")
    print(f"load {machine['load_before']:.2f} before and {machine['load_after']:.2f} after; {seconds:.0f} s in all\n")
    print_tables(tables(results, bars))
    missed = sum(not bar.passed for bar in bars)
    peers = ((PEER, PEER_VERSION, results.peer_measured), (ACEL, ACEL_VERSION, results.acel_measured))
    for name, version, measured in peers:
        if not measured:
            print(f"!!! A PEER WAS NOT MEASURED: {name} {version} is not installed here. Its bars count as missed. !!!")
    if results.langchain.skipped is not None:
        print(f"!!! LANGCHAIN WAS NOT MEASURED: {results.langchain.skipped}. Its bars count as missed. !!!")
    print(f"{len(bars) - missed} of {len(bars)} bars pass; the figures are in {target.relative_to(ROOT)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
