"""`accord review`: what agents have asked people, and how a person answers."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click
from click.exceptions import Exit

from accord.cli.exit_status import ExitStatus
from accord.cli.ledger_files import key_options
from accord.cli.sources import read_start
from accord.cli.store_access import check_contract, find_session, json_option, open_at
from accord.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.cli.answers import Answer
    from accord.cli.terminal import Screen
    from accord.integrations.guard.reading import GuardedSession
    from accord.integrations.guard.state import Review
    from accord.ledger.chain import Verification
    from accord.machine.clocks import Time
    from accord.stores import Store

__all__ = ["command"]

_ENTRIES_SHOWN = 10


@click.group("review")
def command() -> None:
    """Decide what agents have asked people.

    STORE is the path of a SQLite file, or an address: postgresql://…, redis://…, or env:NAME for one that stands in an
    environment variable, where nobody else can read its password.
    """


def _at_option(function: Callable[..., None]) -> Callable[..., None]:
    text = "what time it is on the clock of the guard, if that is not the time of day"
    return click.option("--at", metavar="SECONDS", callback=read_start, help=text)(function)


@command.command("list")
@click.argument("store")
@click.option("--session", "key", metavar="KEY", help="only those of this session")
@click.option("--all", "everything", is_flag=True, help="also those that are decided, used up or expired")
@_at_option
@key_options
@json_option
def list_reviews(
    store: str,
    key: str | None,
    at: Time | None,
    key_file: str | None,
    key_env: str | None,
    *,
    everything: bool,
    as_json: bool,
) -> None:
    """List the questions that are open, in all sessions of a store.

    Exit status: 0 listed · 1 some sessions are corrupted · 2 wrong usage, such as a store that cannot be reached.
    """
    from accord.cli.review_lines import review_line
    from accord.cli.terminal import open_screen
    from accord.integrations.guard.reading import review_object

    now = time.time() if at is None else at
    with open_at(store, key_file, key_env) as opened:
        sessions = _sessions(opened, key)
    screen = open_screen()
    count = 0
    bad = [session for session in sessions if session.fault is not None]
    for session in sessions:
        if session.fault is not None:
            screen.print(_fault(screen, session, as_json=as_json))
        for review in session.reviews if everything else session.open_reviews(now):
            count += 1
            shown = review_object(session, review, now) if as_json else None
            screen.print(review_line(screen, session, review, now) if shown is None else json.dumps(shown))
    if not as_json:
        total = "1 review" if count == 1 else f"{count:,} reviews"
        corrupted = "1 session is corrupted" if len(bad) == 1 else f"{len(bad):,} sessions are corrupted"
        screen.print(f"{total}{'' if everything else ' to be decided'}{f', {corrupted}' if bad else ''}")
    if bad:
        raise Exit(ExitStatus.FINDINGS)


@command.command("show")
@click.argument("store")
@click.argument("session")
@click.argument("review")
@_at_option
@key_options
@json_option
def show(
    store: str,
    session: str,
    review: str,
    at: Time | None,
    key_file: str | None,
    key_env: str | None,
    *,
    as_json: bool,
) -> None:
    """Show what is to be decided: the action, its payload, and what has happened in the session.

    REVIEW is the id that `accord review list` shows.

    Exit status: 0 shown · 1 the session or its ledger is corrupted · 2 wrong usage, such as a review that is not there.
    """
    from accord.cli.terminal import open_screen
    from accord.integrations.guard.reading import guarded_session

    now = time.time() if at is None else at
    screen = open_screen()
    with open_at(store, key_file, key_env) as opened:
        find_session(opened, session)
        looked = guarded_session(opened, session)
        if looked is not None and looked.fault is not None:
            screen.print(_fault(screen, looked, as_json=as_json))
            raise Exit(ExitStatus.FINDINGS)
        guarded, found = _find(opened, session, review)
        sound = _show(screen, opened, guarded, found, now, as_json=as_json)
    if not sound:
        raise Exit(ExitStatus.FINDINGS)


@command.command("decide")
@click.argument("store")
@click.argument("session")
@click.argument("review")
@click.argument("answer", nargs=-1, metavar="[allow|deny|modify]")
@click.argument("contract", type=click.Path(path_type=Path))
@click.option("--by", metavar="NAME", required=True, help="the person who decides")
@click.option("--reason", metavar="TEXT", help="why; the agent is told, and it stands in the ledger")
@click.option("--payload", metavar="JSON|@FILE", help="what to use instead, for modify; @- is standard input")
@_at_option
@key_options
@json_option
def decide(  # noqa: PLR0913 - what can be said on the command line
    *,
    store: str,
    session: str,
    review: str,
    answer: tuple[str, ...],
    contract: Path,
    by: str,
    reason: str | None,
    payload: str | None,
    at: Time | None,
    key_file: str | None,
    key_env: str | None,
    as_json: bool,
) -> None:
    """Decide: allow the action once, deny it, or modify its payload.

    REVIEW is the id that `accord review list` shows, CONTRACT the file of the contract that the session was begun
    under. Without an answer the review is shown, and on a terminal the answer is asked for.

    Exit status: 0 decided · 1 it was not: decided already, expired, the contract refuses the payload, nobody answered ·
    2 wrong usage. Unless it is 0, nothing was decided.
    """
    from accord.choreography.compiling import load_contract
    from accord.cli.answers import read_answer
    from accord.cli.terminal import complain, is_live, open_screen
    from accord.integrations.guard import Guard

    given = read_answer(answer, by, reason, payload, may_ask=is_live() and not as_json)
    compiled = load_contract(contract)
    screen = open_screen()
    with open_at(store, key_file, key_env) as opened:
        info = find_session(opened, session)
        check_contract(info, compiled)
        guarded, found = _find(opened, session, review)
        now = time.time() if at is None else at
        if guarded.is_over(now):
            complain(f"session `{session}` has expired; nothing can be decided in it")
            raise Exit(ExitStatus.FINDINGS)
        if given is None:
            _show(screen, opened, guarded, found, now, as_json=False)
            given = _ask(screen, guarded, found, now, reason)
        clock = time.time if at is None else lambda: at
        guard = Guard(compiled, store=opened, key=session, protocol=info.protocol, clock=clock)
        try:
            decided = guard.decide(found.id, given.word, by=by, reason=given.reason, payload=given.payload)
        except UsageError as error:
            complain(str(error))
            raise Exit(ExitStatus.FINDINGS) from None
    _print_decided(screen, guarded, decided, now, as_json=as_json)


def _ask(screen: Screen, session: GuardedSession, review: Review, at: Time, reason: str | None) -> Answer:
    """What the person at the terminal says about a review that was shown."""
    from accord.cli.answers import ask
    from accord.cli.terminal import complain
    from accord.integrations.guard.words import expired

    state = session.standing(review, at)
    answer = ask(screen, review, reason) if state == "open" else None
    if answer is None:
        over = expired(review) if state == "expired" else f"review `{review.id}` cannot be decided: it is {state}"
        complain("nothing was decided" if state == "open" else over)
        raise Exit(ExitStatus.FINDINGS)
    return answer


def _sessions(store: Store, key: str | None) -> list[GuardedSession]:
    """The sessions in which people were asked something, and those that cannot be read."""
    from accord.integrations.guard.reading import guarded_in, guarded_session

    if key is not None:
        find_session(store, key)
        session = guarded_session(store, key)
        return [] if session is None else [session]
    sessions = (session for session in guarded_in(store) if session.reviews or session.fault is not None)
    return sorted(sessions, key=lambda session: session.key)


def _find(store: Store, key: str, identity: str) -> tuple[GuardedSession, Review]:
    """A review of a session that was there a moment ago."""
    from accord.integrations.guard.reading import guarded_session

    session = guarded_session(store, key)
    if session is None:
        raise UsageError(f"session `{key}` is not under a guard, or has expired; there is nothing to decide in it")
    if session.fault is not None:
        raise UsageError(session.fault)
    for review in session.reviews:
        if review.id == identity:
            return session, review
    for review in session.reviews:
        if str(review.number) == identity.partition("-")[0]:
            raise UsageError(
                f"review {review.number} of this session is `{review.id}`, about another action or payload"
            )
    raise UsageError(f"there is no review `{identity}` in session `{key}`; `accord review list` shows which there are")


def _fault(screen: Screen, session: GuardedSession, *, as_json: bool) -> str:
    from accord.diagnostics.visible import visible

    if as_json:
        return json.dumps({"session": session.key, "fault": session.fault})
    return screen.paint("error", visible(session.fault or ""))


def _show(screen: Screen, store: Store, session: GuardedSession, review: Review, at: Time, *, as_json: bool) -> bool:
    """Show a review and the end of the session's ledger; whether the ledger is sound."""
    from accord.cli.ledger_files import finding_object
    from accord.cli.review_lines import guard_facts, review_facts
    from accord.integrations.guard.reading import guard_object, review_object

    result = store.verify(session.key)
    first = max(result.entries - _ENTRIES_SHOWN, 0)
    lines = store.lines(session.key, first, result.entries - first) if result.ok else []
    if as_json:
        finding = None if result.finding is None else finding_object(result.finding)
        shown = {
            **review_object(session, review, at),
            "status": session.status,
            "guard": guard_object(session, at),
            "ledger": {"ok": result.ok, "entries": result.entries, "finding": finding},
            "entries": [json.loads(line)["entry"] for line in lines],
        }
        screen.print(json.dumps(shown))
        return result.ok
    for line in [*review_facts(screen, session, review, at), *guard_facts(screen, session, at, leave_out=review)]:
        screen.print(line)
    _print_ledger(screen, result, lines, first)
    return result.ok


def _print_ledger(screen: Screen, result: Verification, lines: list[bytes], hidden: int) -> None:
    from accord.cli.ledger_lines import entry_text
    from accord.diagnostics.visible import visible
    from accord.ledger.entries import FRAMED, OPENING, show_entry

    if result.finding is not None:
        screen.print(f"{screen.paint('error', 'the ledger of the session is bad')}: {visible(str(result.finding))}")
        return
    screen.print(f"{screen.paint('good', 'the ledger of the session is whole')}: {result.entries:,} entries")
    if hidden:
        screen.print(screen.paint("faint", f"   … {hidden:,} before"))
    for line in lines:
        screen.print(entry_text(screen, show_entry(line[len(OPENING) : -FRAMED])))


def _print_decided(screen: Screen, session: GuardedSession, review: Review, at: Time, *, as_json: bool) -> None:
    from accord.cli.answers import outcome
    from accord.cli.review_lines import STYLES
    from accord.diagnostics.visible import clip
    from accord.integrations.guard.reading import review_object

    if as_json:
        screen.print(json.dumps(review_object(session, review, at)))
        return
    said = f"{screen.paint(STYLES[session.standing(review, at)], review.state)} by {clip(review.by or '', 200)}"
    screen.print(f"{said}: {outcome(review)}")
