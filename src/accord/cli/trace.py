"""`accord trace`: traces held to contracts and to what was accepted before."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click
from click.exceptions import Exit

from accord.cli.exit_status import ExitStatus
from accord.cli.trace_files import config_options, trace_inputs
from accord.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from accord.cli.trace_output import Judged

__all__ = ["command"]


@click.group("trace")
def command() -> None:
    """Hold recorded runs to contracts and to baselines."""


_format = click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "junit"]),
    default="text",
    show_default=True,
    help="text for people, json for programs, junit for CI",
)
_gate_violations = click.option(
    "--fail-on-trace-violations", is_flag=True, help="exit with 3 if there are violations that are not known"
)


def _traces(function: Callable[..., None]) -> Callable[..., None]:
    return click.argument("traces", metavar="TRACE…", nargs=-1, required=True, callback=trace_inputs)(function)


@command.command("validate")
@_traces
@config_options
@click.option("--baseline", metavar="FILE", help="a baseline; violations that stand in it are known and do not fail")
@_gate_violations
@_format
def validate(
    traces: tuple[str, ...],
    config: str | None,
    baseline: str | None,
    format_: str,
    *,
    allow_imports: bool,
    fail_on_trace_violations: bool,
) -> None:
    """Validate traces against a configuration.

    TRACE is a file of events or of records of probes, one JSON object in a line, or - for standard input.

    Exit status: 0 no violations, or known ones only · 1 violations, or the configuration has errors · 2 wrong usage,
    such as a file that cannot be read · 3 violations, with --fail-on-trace-violations.
    """
    from accord.cli.trace_files import load_baseline, load_plan, trace_input
    from accord.cli.trace_output import Judged
    from accord.trace.baselines import new_violations
    from accord.trace.summaries import summarise

    plan = load_plan(config, allow_imports=allow_imports)
    known = load_baseline(baseline)
    judged = []
    for path in traces:
        summary = summarise(trace_input(path), plan, again=config is not None, hashes=False)
        if summary.baseline is not None:
            raise UsageError(f"{path} is a baseline and no trace")
        judged += [Judged(path, run, *new_violations(run, known)) for run in summary.runs.values()]
    _print(judged, format_, "accord trace validate")
    if any(one.new_count for one in judged):
        raise Exit(ExitStatus.VIOLATIONS if fail_on_trace_violations else ExitStatus.FINDINGS)


@command.command("fingerprint")
@_traces
@config_options
@click.option("--events", is_flag=True, help="also the digest of each event")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object per run")
def fingerprint(
    traces: tuple[str, ...], config: str | None, *, allow_imports: bool, events: bool, as_json: bool
) -> None:
    """Print the fingerprint of each run.

    Exit status: 0 printed · 1 the configuration has errors · 2 wrong usage, such as a file that cannot be read.
    """
    from accord.cli.terminal import open_screen
    from accord.cli.trace_files import load_plan, trace_input
    from accord.diagnostics.visible import visible
    from accord.trace.summaries import summarise

    plan = load_plan(config, allow_imports=allow_imports)
    screen = open_screen()
    for path in traces:
        for run in summarise(trace_input(path), plan, validate=False, hashes=events).runs.values():
            if as_json:
                more = {"hashes": run.hashes} if events else {}
                facts = {"key": run.key, "file": path, "events": run.events, "fingerprint": run.fingerprint, **more}
                screen.print(json.dumps(facts))
                continue
            screen.print(f"{run.fingerprint or 'no fingerprint'}  {visible(run.key)}")
            for place, digest in enumerate(run.hashes if events else ()):
                screen.print(f"  {place:>6}  {digest}")


@command.command("diff")
@click.argument("base", metavar="BASE")
@click.argument("candidate", metavar="CANDIDATE")
@config_options
@click.option("--fail-on-trace-drift", is_flag=True, help="exit with 4 if a run drifted, is gone or has no fingerprint")
@_gate_violations
@_format
def diff(
    base: str,
    candidate: str,
    config: str | None,
    format_: str,
    *,
    allow_imports: bool,
    fail_on_trace_drift: bool,
    fail_on_trace_violations: bool,
) -> None:
    """Compare runs with those that were there before, and show the first event that differs.

    BASE and CANDIDATE are files of events or of records of probes; BASE may be a baseline, whose known violations do
    not fail. Runs are matched by their example_id, or else by their run_id.

    Exit status: 0 nothing drifted · 1 something did, there are new violations, or the configuration has errors · 2
    wrong usage · 3 new violations, with --fail-on-trace-violations · 4 drift, with --fail-on-trace-drift. 3 goes
    before 4.
    """
    from accord.cli.trace_files import load_plan, trace_input
    from accord.cli.trace_output import Judged
    from accord.trace.baselines import make_baseline, new_violations
    from accord.trace.drift import compare
    from accord.trace.run_summary import RunSummary
    from accord.trace.summaries import find_event, summarise

    if base == candidate == "-":
        raise UsageError("`-` stands for standard input, which is there once")
    plan = load_plan(config, allow_imports=allow_imports)
    files = trace_input(base), trace_input(candidate)
    old, new = (summarise(file, plan, again=config is not None) for file in files)
    known = old.baseline or make_baseline(old.runs.values())
    judged = []
    for found in compare(old, new):
        place = found.place
        events = (
            (None, None)
            if place is None or found.base is None or found.candidate is None
            else (
                find_event(files[0], old, found.base.key, place, plan),
                find_event(files[1], new, found.candidate.key, place, plan),
            )
        )
        run = found.candidate or RunSummary(found.key)
        digest = None
        if old.baseline is not None and place is not None and found.base is not None:
            digest = next(iter(found.base.hashes[place : place + 1]), None)
        judged.append(Judged(candidate, run, *new_violations(run, known, found.key), found, events, digest))
    _print(judged, format_, "accord trace diff")
    violated = any(one.new_count for one in judged)
    drifted = any(one.comparison is not None and one.comparison.is_drift for one in judged)
    if violated and fail_on_trace_violations:
        raise Exit(ExitStatus.VIOLATIONS)
    if drifted and fail_on_trace_drift:
        raise Exit(ExitStatus.DRIFT)
    if violated or drifted:
        raise Exit(ExitStatus.FINDINGS)


@command.command("accept")
@_traces
@config_options
@click.option("--baseline", metavar="FILE", required=True, help="the baseline to write")
@click.option("--replace", is_flag=True, help="forget the runs of the baseline that are not among the traces")
def accept(traces: tuple[str, ...], config: str | None, baseline: str, *, allow_imports: bool, replace: bool) -> None:
    """Take runs as they are now as the baseline: fingerprints, and known violations by code and place.

    Exit status: 0 the baseline is written · 1 the configuration has errors · 2 wrong usage, such as a file that cannot
    be read.
    """
    from accord.cli.terminal import open_screen
    from accord.cli.trace_files import load_baseline, load_plan, trace_input
    from accord.cli.trace_output import counted
    from accord.trace.baselines import make_baseline, write_baseline
    from accord.trace.summaries import summarise

    plan = load_plan(config, allow_imports=allow_imports)
    before = load_baseline(baseline) if Path(baseline).exists() and not replace else None
    found = {}
    for path in traces:
        summary = summarise(trace_input(path), plan, again=config is not None)
        if summary.baseline is not None:
            raise UsageError(f"{path} is a baseline and no trace")
        for key, run in summary.runs.items():
            if key in found:
                raise UsageError(f"the run `{key}` stands in several of the traces; give each an example_id of its own")
            found[key] = run
    _write(Path(baseline), write_baseline(make_baseline(found.values(), before)))
    violations = sum(run.violation_count for run in found.values())
    more = f", {counted(violations, 'known violation')}" if violations else ""
    open_screen().print(f"{baseline}: {counted(len(found), 'run')} accepted{more}")


def _write(path: Path, text: str) -> None:
    """The whole file or nothing of it."""
    folder = path.parent
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=f".{path.name}.")
    try:
        with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor
            file.write(text)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)  # noqa: PTH108 - as the line above left it
        raise


def _print(judged: list[Judged], format_: str, title: str) -> None:
    from accord.cli.terminal import open_screen
    from accord.cli.trace_output import comparison_lines, judged_object, junit, run_lines

    screen = open_screen()
    if format_ == "json":
        summary = {
            "runs": [judged_object(one) for one in judged],
            "violations": sum(one.run.violation_count for one in judged),
            "new_violations": sum(one.new_count for one in judged),
            "drift": sum(1 for one in judged if one.comparison is not None and one.comparison.is_drift),
        }
        screen.print(json.dumps(summary, indent=2))
        return
    if format_ == "junit":
        screen.print(junit(title, judged))
        return
    for one in judged:
        for line in (*comparison_lines(screen, one), *run_lines(screen, one)):
            screen.print(line)
    violated = any(one.new_count for one in judged)
    drifted = any(one.comparison is not None and one.comparison.is_drift for one in judged)
    screen.print(screen.paint("error" if violated or drifted else "good", _summary(judged)))


def _summary(judged: Iterable[Judged]) -> str:
    from accord.cli.trace_output import counted

    judged = list(judged)
    new, known = sum(one.new_count for one in judged), sum(one.known for one in judged)
    parts = []
    if any(one.comparison is not None for one in judged):
        of = [one.comparison for one in judged if one.comparison is not None]
        drifted, fresh = sum(1 for c in of if c.is_drift), sum(1 for c in of if c.status == "new")
        runs = counted(len(of) - fresh, "run")
        parts.append(f"{drifted} of {runs} drifted" if drifted else f"{runs} without drift")
        if fresh:
            parts.append(f"{counted(fresh, 'new run')}")
    if new:
        violated = sum(1 for one in judged if one.new_count)
        parts.append(f"{counted(new, 'violation')} in {violated} of {counted(len(judged), 'run')}")
    elif not parts:
        parts.append(f"{counted(len(judged), 'run')} without violations")
    if known:
        parts.append(f"{counted(known, 'known violation')}")
    return ", ".join(parts)
