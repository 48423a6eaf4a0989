"""`accord events`: a recorded run message by message, with the label that each has and why."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click
from click.exceptions import Exit

from accord.cli.exit_status import ExitStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.cli.event_lines import Seen
    from accord.machine.contract import Contract
    from accord.sources.model import Run
    from accord.sources.reader import Reader

__all__ = ["command"]


@click.command("events")
@click.argument("contract", type=click.Path(path_type=Path))
@click.argument("runs", metavar="RUN")
@click.option("--protocol", metavar="NAME", help="which protocol, if the contract has several")
@click.option("--run", "key", metavar="KEY", help="which run of the file; else the first")
@click.option("--source", metavar="FORMAT", help="the format, or a YAML file that maps it; else the content tells")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object per message and one for the whole run")
def command(
    contract: Path, runs: str, protocol: str | None, key: str | None, source: str | None, *, as_json: bool
) -> None:
    """Show which label each message of a recorded run has, and which line of the events says so.

    RUN is a file of recorded runs in any format that accord reads, compressed or not, or - for standard input. Without
    an events block a call of tool t is !t and its result ?t.

    Messages that no line takes are unmatched, and so are results and texts that neither the protocol nor a rule looks
    at: they are skipped and counted. A call that no line takes is refused under a protocol, and passes a contract of
    rules alone.

    A call that a guard would have held until an earlier call of its message had ended would have waited, and the end of
    a call that it would have refused follows a refusal: it is not judged. What the contract refuses is marked too.

    Exit status: 0 a run was shown · 1 no run can be read, or the contract has errors · 2 wrong usage.
    """
    from accord.choreography.compiling import load_contract
    from accord.cli.event_lines import ending_lines, heading, message_line, seen_objects
    from accord.cli.terminal import open_screen
    from accord.sources.registry import reader_named

    compiled = load_contract(contract)
    screen = open_screen()
    run, others = _find(runs, key, None if source is None else reader_named(source))
    if run is None:
        raise Exit(ExitStatus.FINDINGS)
    counts = Counter[str]()
    seen = list(_look(compiled, protocol, run, counts))
    if as_json:
        for line in seen_objects(run, seen, counts):
            screen.print(line)
        return
    screen.print(heading(screen, run))
    for one in seen:
        screen.print(message_line(screen, compiled, one))
    for line in ending_lines(screen, counts, others):
        screen.print(line)


def _look(contract: Contract, protocol: str | None, run: Run, counts: Counter[str]) -> Iterator[Seen]:
    from accord.calls.replay import Replay
    from accord.cli.event_lines import Seen
    from accord.errors import UsageError
    from accord.monitor.verdicts import Violation
    from accord.projection.projection import projection_of

    projection = projection_of(contract, protocol)
    notes: dict[int, tuple[bool, bool, bool]] = {}
    with suppress(UsageError):  # a run that cannot be judged has events all the same
        for judged in Replay(contract, protocol).follow(run.messages):
            notes[id(judged.happened)] = judged.waited, judged.follows, isinstance(judged.verdict, Violation)
    for message in run.messages:
        seen = Seen(message, projection.event(message, skim=True), *notes.get(id(message), ()))
        counts[seen.outcome] += 1
        yield seen


def _find(runs: str, key: str | None, reader: Reader | None) -> tuple[Run | None, int]:
    """The run that is meant and how many others there are; what cannot be read is told on standard error."""
    from accord.cli.terminal import open_screen
    from accord.diagnostics import did_you_mean
    from accord.diagnostics.visible import visible
    from accord.errors import UsageError
    from accord.sources import Broken, files_of, read_runs

    (file,) = files_of([runs]) if len(files_of([runs])) == 1 else (None,)
    if file is None:
        raise UsageError(f"{runs} is several files; one is looked at at a time")
    err = open_screen(err=True)
    found: Run | None = None
    keys: list[str] = []
    for run in read_runs(file, reader):
        if isinstance(run, Broken):
            where = run.file if run.line is None else f"{run.file}:{run.line}"
            err.print(f"{err.paint('warning', 'broken')}: {visible(where)}: {visible(run.reason)}")
        elif found is None and key in {None, run.key}:
            found = run
        else:
            keys.append(run.key)
    if found is None and key is not None and keys:
        meant = did_you_mean(key, keys[:10_000])
        hint = f"did you mean `{meant}`?" if meant else f"there are {len(keys)}, such as `{keys[0]}`"
        raise UsageError(f"{file} holds no run `{key}`; {hint}")
    if found is None:
        err.print(f"{err.paint('error', 'error')}: {visible(file)}: no run can be read")
    return found, len(keys)
