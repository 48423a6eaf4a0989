"""Try a contract: runs that must be possible, and runs that must not be.

A good run is accepted event by event and may end after its last one. A bad run is accepted up to its last event, and
that one is refused; the explanation is printed as the agent would get it. Exit status 0 if all of that holds, 1 if not.
"""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path

from accord import AccordError, Ok, Session, Violation, load
from accord.diagnostics.visible import visible
from accord.language.global_printer import print_exchange
from accord.monitor.step import begin, close
from accord.stepping.events import events_in_stream
from accord.stepping.exchanges import exchanges_in
from accord.stepping.happenings import happen
from accord.stepping.wording import event_text


def main() -> int:
    """Try every run that was named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("contract", type=Path)
    parser.add_argument("--good", type=Path, action="append", default=[], help="a run that must be possible")
    parser.add_argument("--bad", type=Path, action="append", default=[], help="a run whose last event must be refused")
    parser.add_argument("--protocol", help="which one, where the contract has several")
    given = parser.parse_args()
    if not given.good or not given.bad:
        parser.error("give at least one --good and one --bad run: a contract that was not tried is not finished")
    try:
        contract = load(given.contract)
        problems = [(path, try_good(contract, given.protocol, path)) for path in given.good]
        problems += [(path, try_bad(contract, given.protocol, path)) for path in given.bad]
    except (AccordError, OSError, UnicodeError) as error:
        for line in str(error).strip().splitlines():
            print(visible(line), file=sys.stderr)
        return 1
    wrong = [(path, problem) for path, problem in problems if problem]
    for path, problem in wrong:
        print(f"{path}: {visible(problem)}", file=sys.stderr)
    if not wrong:
        print(f"{len(given.good)} good and {len(given.bad)} bad runs do what they should")
    return 1 if wrong else 0


def verdicts(contract, protocol: str | None, run: Path):
    """Each event of a run in words with its verdict, and what closing would answer after it."""
    text = run.read_text(encoding="utf-8")
    if contract.document.globals and protocol not in contract.machines:
        session = Session(contract, protocol=protocol, mode="refuse")
        for said in exchanges_in(text):
            verdict = session.observe(said.sender, said.receiver, said.label, said.payload)
            yield print_exchange(said.sender, said.receiver, said.label), verdict, session.close
        return
    situation = begin(contract, protocol)
    for position, told in enumerate(events_in_stream(io.StringIO(text))):
        situation, verdict = happen(situation, told.event, "refuse", position)
        yield event_text(told.event), verdict, lambda here=situation, at=told.event.at: close(here, None, at)[1]


def try_good(contract, protocol: str | None, run: Path) -> str:
    """What is wrong with a run that must be possible; nothing if it is."""
    every = list(verdicts(contract, protocol, run))
    for event, verdict, _ in every:
        if not isinstance(verdict, Ok):
            return f"{event} is refused: {verdict.explain()}"
    if not every:
        return "the run holds no events"
    ending = every[-1][2]()
    return "" if isinstance(ending, Ok) else f"the session may not end after it: {ending.explain()}"


def try_bad(contract, protocol: str | None, run: Path) -> str:
    """What is wrong with a run that must not be possible; nothing if its last event is refused."""
    every = list(verdicts(contract, protocol, run))
    if not every:
        return "the run holds no events"
    for event, verdict, _ in every[:-1]:
        if not isinstance(verdict, Ok):
            return f"{event} is refused, and it is not the last event: {verdict.explain()}"
    event, verdict, _ = every[-1]
    if not isinstance(verdict, Violation):
        return f"{event} is not refused: the contract does not stop this run"
    print(f"{run}: {event} is refused; the agent is told:")
    print(f"    {visible(verdict.explain())}")
    return ""


if __name__ == "__main__":
    sys.exit(main())
