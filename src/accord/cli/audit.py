"""`accord audit`: many recorded runs against a contract, and what there is to say about them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click
from click.exceptions import Exit

from accord.cli.exit_status import ExitStatus
from accord.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from accord.audit.auditing import Engine
    from accord.audit.report import Report

__all__ = ["command"]


def _outputs(function: Callable[..., None]) -> Callable[..., None]:
    """The options that name files to be written."""
    for name, what in (
        ("--html", "one page to be opened in a browser, with charts and the messages of runs"),
        ("--parquet", "one row for each run, in columns"),
        ("--csv", "one line for each run, for spreadsheets"),
        ("--sarif", "what was found, for services that show findings in files"),
        ("--junit", "one test case for each run, for CI"),
    ):
        function = click.option(name, metavar="FILE", type=click.Path(path_type=Path), help=f"write {what}")(function)
    return function


@click.command("audit")
@click.argument("contract", type=click.Path(path_type=Path))
@click.argument("runs", metavar="RUNS…|-", nargs=-1, required=True)
@click.option("--protocol", metavar="NAME", help="the protocol, where the contract has several")
@click.option("--source", metavar="FORMAT", help="the format of the runs, if their content does not tell it")
@click.option("--by", metavar="KEY", multiple=True, help="count runs by this key of their metadata, or by file")
@click.option("--outcome", metavar="KEY", help="the key that says how a run turned out  [default: reward, utility, …]")
@click.option("--strict", is_flag=True, help="fail if anything cannot be read")
@click.option("--jobs", metavar="N", type=click.IntRange(1), help="processes  [default: one for each core]")
@click.option(
    "--engine",
    type=click.Choice(["local", "ray", "spark"]),
    default="local",
    show_default=True,
    help="who does the work",
)
@click.option(
    "--address", metavar="ADDRESS", help="the cluster of ray or spark  [default: one started for the purpose]"
)
@click.option(
    "--cache",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="where results of files are kept for the next time",
)
@click.option("--no-cache", is_flag=True, help="judge everything anew and keep nothing")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object with all runs")
@_outputs
def command(  # noqa: PLR0913 - each is an option
    contract: Path,
    runs: tuple[str, ...],
    *,
    protocol: str | None,
    source: str | None,
    by: tuple[str, ...],
    outcome: str | None,
    strict: bool,
    jobs: int | None,
    engine: Engine,
    address: str | None,
    cache: Path | None,
    no_cache: bool,
    as_json: bool,
    **outputs: Path | None,
) -> None:
    """Judge recorded runs against a contract: how many violate it, which, and why.

    RUNS are files, folders, patterns in quotes, or - for standard input. What format they have is told by their
    content; .gz and .zst are unfolded. What cannot be read is counted and told, and does not stop the rest.

    Results are kept for each file. An audit that is stopped by Ctrl-C tells what it has, and goes on from there when it
    is started again; files that have not changed are not judged again.

    Exit status: 0 every run conforms or ends unrecognised · 1 a run violates the contract or ends too early, or the
    contract has errors · 2 wrong usage, no run was judged, or with --strict something cannot be read · 130 stopped,
    with a partial result.
    """
    from accord.audit.auditing import audit
    from accord.audit.cache import default_folder
    from accord.audit.report import make_report
    from accord.choreography.compiling import load_contract
    from accord.cli.audit_lines import print_report
    from accord.cli.audit_progress import Progress
    from accord.cli.terminal import open_screen

    if no_cache and cache is not None:
        raise UsageError("`--no-cache` keeps nothing, so there is no folder to keep it in")
    _check_outputs(outputs)
    compiled = load_contract(contract)
    with Progress() as progress:
        found = audit(
            compiled,
            runs,
            protocol=protocol,
            source=source,
            cache=None if no_cache else cache or default_folder(),
            engine=engine,
            address=address,
            jobs=jobs,
            watch=progress.watch,
        )
    with found:
        report = make_report(found, by, outcome)
        _write_files(report, outputs)
        if as_json:
            _print_json(report)
        else:
            print_report(open_screen(), report)
    if strict and found.tally.broken:
        raise UsageError(f"{found.tally.broken} records cannot be read, and --strict makes that an error")
    if found.unfinished:
        raise Exit(ExitStatus.INTERRUPTED)
    if not found.tally.runs:
        raise UsageError("no run was judged, so nothing is known to be fine")
    if found.tally.statuses["violating"] or found.tally.statuses["incomplete"]:
        raise Exit(ExitStatus.FINDINGS)


def _print_json(report: Report) -> None:
    import sys

    from accord.audit.outputs.as_json import write_json

    write_json(report, sys.stdout)


def _check_outputs(outputs: dict[str, Path | None]) -> None:
    """Say before the work what cannot be written behind it."""
    for path in outputs.values():
        if path is not None and path.is_dir():
            raise UsageError(f"cannot write {path}: it is a folder")
        if path is not None and not path.parent.is_dir():
            raise UsageError(f"cannot write {path}: there is no folder {path.parent}")


def _write_files(report: Report, outputs: dict[str, Path | None]) -> None:
    for name, path in outputs.items():
        if path is None:
            continue
        try:
            if name == "parquet":
                from accord.audit.outputs.tabular import write_parquet

                write_parquet(report, path)
                continue
            with path.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
                _writer(name)(report, stream)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror or error}") from None


def _writer(name: str) -> Callable[[Report, TextIO], None]:
    if name == "junit":
        from accord.audit.outputs.junit import write_junit

        return write_junit
    if name == "sarif":
        from accord.audit.outputs.sarif import write_sarif

        return write_sarif
    if name == "csv":
        from accord.audit.outputs.tabular import write_csv

        return write_csv
    from accord.audit.outputs.page import write_page

    return write_page
