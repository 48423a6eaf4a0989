"""Plant mistakes, ask the tests, say what they did not find: `python -m tests.mutants --count 40 --part trace`.

It exits with 1 if a mistake survived that `survivors.md` does not list. The same command goes on after Ctrl-C: verdicts
and maps are kept in `.mutants`, by the digests of what they depend on.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from tests.mutants import kept
from tests.mutants.drawing import drawn, modules_of, named
from tests.mutants.nearest import digest_of, map_of, source_digest
from tests.mutants.parts import KEPT, PARTS, ROOT, files_for
from tests.mutants.report import Tried, as_json, told
from tests.mutants.text import difference
from tests.mutants.trying import STOPPED, Copies, tried

ESTIMATE = 60  # seconds of tests that are asked about one mistake, as they were measured


def say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - the command's output


def stop(*_: object) -> None:
    """Ctrl-C: what is running is ended, and what is known by now is kept."""
    STOPPED.set()
    raise KeyboardInterrupt


def main(arguments: list[str]) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=160, help="how many mistakes are planted")
    parser.add_argument("--part", action="append", choices=list(PARTS), help="where; may be repeated, all parts if not")
    parser.add_argument("--only", action="append", metavar="ID", help="these mistakes alone, drawn or not")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes at a time")
    parser.add_argument("--json", type=Path, help="write the report to this file as JSON too")
    parser.add_argument("--list", action="store_true", help="show what would be planted, and run nothing")
    wanted = parser.parse_args(arguments)
    names = wanted.part or list(PARTS)
    listed = kept.reasons(kept.LIST.read_text())
    modules = modules_of(names)
    draw = named(modules, wanted.only) if wanted.only else drawn(modules, wanted.seed, wanted.count)
    if wanted.list:
        for _, module, mutant in draw:
            say(f"{difference(module, mutant)}\n")
        return 0
    os.nice(5)
    say(f"seed {wanted.seed}, source {source_digest()}: {len(draw)} mistakes in {', '.join(names)}")
    outcome: list[Tried] = []
    left_out: dict[str, str] = {}
    for name in names:
        some, out = _part(name, [each for each in draw if each[0] == name], wanted.jobs, listed)
        outcome += some
        left_out |= out
    gone = kept.gone(list(listed.values()))
    for piece in told(outcome, gone, left_out):
        say(piece)
    if wanted.json:
        wanted.json.write_text(as_json(outcome, gone, left_out, wanted.seed, source_digest()))
    return int(any(each.is_new for each in outcome))


def _part(name: str, draw: list, jobs: int, listed: dict) -> tuple[list[Tried], dict[str, str]]:
    """The mistakes of one part: tried, or known from a run before."""
    files = files_for([name])
    last = [f"tests/{test}" for test in PARTS[name].last]
    asked_in = {*files, *(test.partition("::")[0] for test in PARTS[name].last)}
    digests = {file: digest_of([ROOT / "tests" / file]) for file in asked_in}
    tests = digest_of([ROOT / "tests" / file for file in asked_in])
    verdicts = kept.Verdicts(KEPT / source_digest() / "verdicts" / name)
    known = {mutant.id: verdicts.known(mutant.id, tests, digests) for _, _, mutant in draw}
    waiting = [each for each in draw if known[each[2].id] is None]
    left_out: dict[str, str] = {}
    if waiting:
        whole = map_of(files, jobs, lambda line: say(f"{name}: {line}"))
        left_out = whole.left_out
        begun = time.monotonic()
        with Copies(KEPT / "planted", jobs) as copies, ThreadPoolExecutor(jobs) as pool:
            asked = {
                pool.submit(tried, copies, module, mutant.edits, whole.nearest(module, mutant, ESTIMATE), last): mutant
                for _, module, mutant in waiting
            }
            for number, done in enumerate(as_completed(asked), 1):
                mutant, verdict = asked[done], done.result()
                verdicts.keep(mutant.id, verdict, tests, digests)
                known[mutant.id] = verdict
                seconds = time.monotonic() - begun
                say(
                    f"{name}: {number} of {len(waiting)} after {seconds:.0f} s: {mutant.place} {mutant.operator} "
                    f"{mutant.id} {verdict.verdict} {verdict.by or f'({verdict.ran} tests)'}"
                )
    return [
        Tried(part, module, mutant, known[mutant.id], listed.get(mutant.id)) for part, module, mutant in draw
    ], left_out


if __name__ == "__main__":
    signal.signal(signal.SIGINT, stop)
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        say("stopped; the same command goes on from here")
        sys.exit(130)
