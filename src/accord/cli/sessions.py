"""`accord sessions`: the sessions of a store: which there are, what has happened in one, closing and exporting one."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click
from click.exceptions import Exit

from accord.cli.exit_status import ExitStatus
from accord.cli.ledger_files import key_options
from accord.cli.store_access import check_contract, find_session, json_option, open_at
from accord.errors import UsageError

if TYPE_CHECKING:
    from accord.cli.terminal import Screen, Style
    from accord.integrations.guard.reading import GuardedSession
    from accord.ledger.chain import Verification
    from accord.stores import SessionInfo

__all__ = ["command"]

_STYLES: dict[str | None, Style] = {
    "running": "strong",
    "complete": "good",
    "violated": "error",
    "incomplete": "error",
    "stopped": "error",
}
_ENTRIES_SHOWN = 20
_LONGEST_KEY = 40


@click.group("sessions")
def command() -> None:
    """Look at the sessions in a store.

    STORE is the path of a SQLite file, or an address: postgresql://…, redis://…, or env:NAME for one that stands in an
    environment variable, where nobody else can read its password.
    """


@command.command("list")
@click.argument("store")
@click.option(
    "--status", metavar="STATUS", help="only these: running, complete, stopped, violated, incomplete, expired, …"
)
@click.option("--contract", metavar="FILE", type=click.Path(path_type=Path), help="only those of this contract")
@key_options
@json_option
def list_sessions(
    store: str,
    status: str | None,
    contract: Path | None,
    key_file: str | None,
    key_env: str | None,
    *,
    as_json: bool,
) -> None:
    """List the sessions of a store.

    Exit status: 0 all of them are sound · 1 some are corrupted · 2 wrong usage, such as a store that cannot be reached.
    """
    from typing import get_args

    from accord.choreography.compiling import load_contract
    from accord.cli.terminal import open_screen
    from accord.monitor.step import Status

    known = (*get_args(Status), "stopped", "expired")
    if status is not None and status not in known:
        raise UsageError(f"a status is one of {', '.join(known)}; got `{status}`")
    digest = None if contract is None else load_contract(contract).digest
    with open_at(store, key_file, key_env) as opened:
        infos = sorted(opened.sessions(contract=digest, status=status), key=lambda info: info.key)  # type: ignore[arg-type]
    screen = open_screen()
    bad = sum(info.fault is not None for info in infos)
    for info in infos:
        screen.print(json.dumps(_object(info)) if as_json else _line(screen, info))
    if not as_json:
        total = "1 session" if len(infos) == 1 else f"{len(infos):,} sessions"
        screen.print(f"{total}{f', {bad:,} of them corrupted' if bad else ''}")
    if bad:
        raise Exit(ExitStatus.FINDINGS)


@command.command("show")
@click.argument("store")
@click.argument("key")
@click.option("--all", "everything", is_flag=True, help=f"show all attempts, not the last {_ENTRIES_SHOWN} alone")
@key_options
@json_option
def show(store: str, key: str, key_file: str | None, key_env: str | None, *, everything: bool, as_json: bool) -> None:
    """Show a session, verify its ledger, and show what was tried in it.

    Of a session under a guard it also tells which calls have not returned, what people are asked, and why it is
    stopped if it is.

    Exit status: 0 all is sound · 1 the session or its ledger is corrupted · 2 wrong usage.
    """
    from accord.cli.terminal import open_screen
    from accord.integrations.guard.reading import guarded_session

    screen = open_screen()
    with open_at(store, key_file, key_env) as opened:
        info = find_session(opened, key)
        guarded = guarded_session(opened, key) if info.fault is None else None
        living = info.fault is None and info.status != "expired"
        result = opened.verify(key) if living else None
        lines = list(opened.ledger(key)) if living and result is not None and result.ok else []
    first = 0 if everything else max(len(lines) - _ENTRIES_SHOWN, 0)
    if as_json:
        _show_json(screen, info, guarded, result, lines[first:])
    else:
        _show_text(screen, info, guarded, result, lines[first:], hidden=first)
    if (
        info.fault is not None
        or (guarded is not None and guarded.fault is not None)
        or (result is not None and not result.ok)
    ):
        raise Exit(ExitStatus.FINDINGS)


@command.command("close")
@click.argument("store")
@click.argument("key")
@click.argument("contract", type=click.Path(path_type=Path))
@click.option("--at", metavar="SECONDS", type=float, help="what time it is, where the session needs it")
@key_options
@json_option
def close(
    store: str,
    key: str,
    contract: Path,
    at: float | None,
    key_file: str | None,
    key_env: str | None,
    *,
    as_json: bool,
) -> None:
    """Close a session: nothing more will come. It is final.

    CONTRACT is the file of the contract that the session was begun under. A session under a guard is closed by one;
    calls that have not returned keep it open.

    Exit status: 0 closed, and nothing was owed · 1 something was owed, or it could not be closed · 2 wrong usage.
    """
    from accord.choreography.compiling import load_contract
    from accord.cli.terminal import open_screen
    from accord.diagnostics.visible import visible
    from accord.integrations.guard import Guard
    from accord.integrations.guard.reading import guarded_session
    from accord.monitor.verdicts import Ok
    from accord.stores import StoredSession

    compiled = load_contract(contract)
    screen = open_screen()
    with open_at(store, key_file, key_env) as opened:
        info = find_session(opened, key)
        check_contract(info, compiled)
        session: StoredSession | Guard
        if guarded_session(opened, key) is None:
            session = StoredSession(opened, compiled, key, protocol=info.protocol, mode=info.mode or "refuse")
            verdict = session.close(at=at)
        else:
            clock = None if at is None else lambda: at
            session = Guard(compiled, store=opened, key=key, protocol=info.protocol, clock=clock)
            verdict = session.close()
        status = session.status
    fine = isinstance(verdict, Ok)
    said = "" if isinstance(verdict, Ok) else verdict.explain()
    if as_json:
        screen.print(json.dumps({"key": key, "ok": fine, "status": status, "explanation": said or None}))
    else:
        screen.print(f"{screen.paint('good' if fine else 'error', status)}{f': {visible(said)}' if said else ''}")
    if not fine:
        raise Exit(ExitStatus.FINDINGS)


@command.command("resume")
@click.argument("store")
@click.argument("key")
@click.argument("contract", type=click.Path(path_type=Path))
@click.option("--by", metavar="NAME", required=True, help="the person who lets it go on")
@click.option("--reason", metavar="TEXT", required=True, help="why; it stands in the ledger")
@click.option("--at", metavar="SECONDS", type=float, help="what time it is on the clock of the guard")
@key_options
@json_option
def resume(  # noqa: PLR0913 - what can be said on the command line
    *,
    store: str,
    key: str,
    contract: Path,
    by: str,
    reason: str,
    at: float | None,
    key_file: str | None,
    key_env: str | None,
    as_json: bool,
) -> None:
    """Let a session go on that its guard has stopped, or that waits to be told whether it may.

    CONTRACT is the file of the contract that the session was begun under.

    Exit status: 0 it goes on · 1 it was not stopped, or has expired · 2 wrong usage.
    """
    from accord.choreography.compiling import load_contract
    from accord.cli.terminal import complain, open_screen
    from accord.integrations.guard import Guard

    compiled = load_contract(contract)
    screen = open_screen()
    with open_at(store, key_file, key_env) as opened:
        info = find_session(opened, key)
        check_contract(info, compiled)
        clock = time.time if at is None else lambda: at
        guard = Guard(compiled, store=opened, key=key, protocol=info.protocol, clock=clock)
        try:
            guard.resume(by=by, reason=reason)
        except UsageError as error:
            complain(str(error))
            raise Exit(ExitStatus.FINDINGS) from None
        status = guard.status
    said = json.dumps({"key": key, "status": status}) if as_json else screen.paint("good", status)
    screen.print(said)


@command.command("export")
@click.argument("store")
@click.argument("key")
@click.argument("file", type=click.Path(path_type=Path))
@key_options
def export(store: str, key: str, file: Path, key_file: str | None, key_env: str | None) -> None:
    """Write the ledger of a session to a new file, for `accord verify` and `accord ledger show`.

    Exit status: 0 written · 2 wrong usage, or the ledger is bad.
    """
    from accord.cli.terminal import open_screen

    with open_at(store, key_file, key_env) as opened:
        find_session(opened, key)
        try:
            head = opened.export(key, file)
        except FileExistsError:
            raise UsageError(f"{file} is there already; it is not overwritten") from None
    open_screen().print(f"head {head}")


@command.command("move")
@click.argument("store")
@click.argument("key")
@click.argument("new")
@key_options
def move(store: str, key: str, new: str, key_file: str | None, key_env: str | None) -> None:
    """Give a session another key, with its ledger.

    For a session that an earlier version has kept under a key which more than one thread may have had. Nothing else
    should use the session meanwhile.

    Exit status: 0 moved · 2 wrong usage, such as a key that is taken, or the ledger is bad.
    """
    from accord.cli.terminal import open_screen
    from accord.diagnostics.visible import visible

    with open_at(store, key_file, key_env) as opened:
        find_session(opened, key)
        opened.move(key, new)
    open_screen().print(f"{visible(key)} is {visible(new)} now")


def _object(info: SessionInfo) -> dict[str, object]:
    from dataclasses import asdict

    return {name: value for name, value in asdict(info).items() if value is not None or name == "protocol"}


def _line(screen: Screen, info: SessionInfo) -> str:
    from accord.diagnostics.visible import clip, display_width

    name = clip(info.key, _LONGEST_KEY)
    name += " " * (_LONGEST_KEY - display_width(name))
    if info.fault is not None:
        return f"{name}  {screen.paint('error', 'CORRUPTED')}"
    status = info.status or ""
    painted = screen.paint(_STYLES.get(status, "warning"), status) + " " * (12 - len(status))
    events = "1 event" if info.events == 1 else f"{info.events:,} events"
    return f"{name}  {painted}  {events:>12}  {clip(info.protocol or '(bare)', 30)}"


def _show_text(
    screen: Screen,
    info: SessionInfo,
    guarded: GuardedSession | None,
    result: Verification | None,
    lines: list[bytes],
    *,
    hidden: int,
) -> None:
    from accord.cli.ledger_lines import entry_text
    from accord.diagnostics.visible import clip, visible
    from accord.ledger.entries import FRAMED, OPENING, show_entry

    if info.fault is not None:
        screen.print(screen.paint("error", visible(info.fault)))
        return
    status = info.status or ""
    facts = [
        ("session", clip(info.key, 200)),
        ("status", screen.paint(_STYLES.get(status, "warning"), status)),
        ("protocol", clip(info.protocol or "(bare)", 200)),
        ("contract", info.contract),
        ("mode", info.mode or ""),
        ("events", f"{info.events:,}"),
        ("expires", "" if info.expires is None else f"at {info.expires}"),
        ("head", info.head),
    ]
    for name, value in facts:
        if value:
            screen.print(f"{screen.paint('faint', f'{name:<9}')} {value}")
    if guarded is not None:
        _show_guard(screen, guarded)
    if result is None:
        screen.print("its ledger is gone; the head says which it was")
    elif result.finding is not None:
        screen.print(f"{screen.paint('error', 'its ledger is bad')}: {visible(str(result.finding))}")
    else:
        screen.print(f"{screen.paint('good', 'its ledger is whole')}: {result.entries:,} entries")
    if hidden:
        screen.print(screen.paint("faint", f"   … {hidden:,} before"))
    for line in lines:
        screen.print(entry_text(screen, show_entry(line[len(OPENING) : -FRAMED])))


def _show_guard(screen: Screen, guarded: GuardedSession) -> None:
    from accord.cli.review_lines import guard_facts
    from accord.diagnostics.visible import visible

    if guarded.fault is not None:
        screen.print(screen.paint("error", visible(guarded.fault)))
    for line in guard_facts(screen, guarded, time.time()):
        screen.print(line)


def _show_json(
    screen: Screen,
    info: SessionInfo,
    guarded: GuardedSession | None,
    result: Verification | None,
    lines: list[bytes],
) -> None:
    from accord.cli.ledger_files import finding_object
    from accord.integrations.guard.reading import guard_object

    shown = _object(info)
    if guarded is not None and guarded.fault is None:
        shown["guard"] = guard_object(guarded, time.time())
    elif guarded is not None:
        shown["fault"] = guarded.fault
    if result is not None:
        finding = None if result.finding is None else finding_object(result.finding)
        shown["ledger"] = {"ok": result.ok, "entries": result.entries, "finding": finding}
        shown["entries"] = [json.loads(line)["entry"] for line in lines]
    screen.print(json.dumps(shown))
