"""`accord studio`: a local page to look at contracts, step through them and build them."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from accord.cli.ledger_files import key_options
from accord.cli.store_access import open_at
from accord.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["command"]


@click.command("studio")
@click.argument("path", metavar="[CONTRACT|FOLDER]", required=False, type=click.Path(path_type=Path))
@click.option("--write", is_flag=True, help="allow the page to save contracts and decide reviews; else it only reads")
@click.option("--store", metavar="STORE", help="a store of sessions: a file, postgresql://…, redis://… or env:NAME")
@click.option(
    "--ledger", "ledgers", metavar="FILE", multiple=True, type=click.Path(path_type=Path),
    help="a ledger to be verified and shown, besides every *.ledger in the folder",
)  # fmt: skip
@key_options
@click.option("--port", type=click.IntRange(1, 65535), help="where to listen; 8722, or any free one if that is taken")
@click.option("--no-browser", is_flag=True, help="print the address and open nothing")
def command(
    path: Path | None,
    store: str | None,
    ledgers: tuple[Path, ...],
    key_file: str | None,
    key_env: str | None,
    port: int | None,
    *,
    write: bool,
    no_browser: bool,
) -> None:
    """Open a page in the browser: step through a contract, build one, hold recorded runs against it, decide reviews.

    It is served on this machine for this machine, under an address that only you are told. With a contract, or a
    folder of them, those are listed on the page, and ledgers that lie there; with a store, its sessions and what
    people are asked in them. Ctrl-C ends it.

    Exit status: 0 ended · 2 wrong usage, such as a port that is taken or a package that is not installed.
    """
    from accord.cli.ledger_files import read_key
    from accord.cli.sources import LEDGER_SUFFIX, STDIN, SUFFIX, find_contracts, look_around
    from accord.cli.terminal import open_screen

    try:
        from accord.studio.serving import serve
    except ImportError as error:
        raise UsageError(f"the studio needs `pip install 'accord-contracts[studio]'` ({error})") from None
    from accord.studio.bounds import DEFAULT_BOUNDS
    from accord.studio.files import Files
    from accord.studio.ledgers import Ledgers
    from accord.studio.opened import Studio

    if path == STDIN:
        raise UsageError("the studio opens a file or a folder, not standard input")
    screen, complaints = open_screen(), open_screen(err=True)
    folder = path if path is not None and path.is_dir() else None
    beside: list[Path] = []
    if folder is not None:
        paths = look_around(folder, SUFFIX, complaints.print)
        beside = look_around(folder, LEDGER_SUFFIX, lambda _: None)  # who cannot be looked into was told
        if not paths:
            raise UsageError(f"no {SUFFIX} file in the folder {folder}")
    else:
        paths = [] if path is None else find_contracts([path])
    for ledger in ledgers:
        if not ledger.is_file():
            raise UsageError(f"there is no ledger {ledger}")
    found = Ledgers((*ledgers, *beside), read_key(key_file, key_env))
    files = Files(tuple(paths), DEFAULT_BOUNDS.limits, folder, writable=write)

    with ExitStack() as stack:

        def tell(address: str) -> None:
            screen.print(f"the studio is at {screen.paint('strong', address)}")
            screen.print(screen.paint("faint", "only this machine can reach it; Ctrl-C ends it"))
            if not no_browser:
                click.launch(str(stack.enter_context(_leading_to(address))))

        opened = None if store is None else stack.enter_context(open_at(store, key_file, key_env))
        serve(Studio(files, opened, found), DEFAULT_BOUNDS, port, tell)


@contextmanager
def _leading_to(address: str) -> Iterator[Path]:
    """A page that only this user can read and that leads to the studio.

    The browser is started with it instead of the address, because what stands on a command line can be read by all
    users of the machine, and the token is in the address.
    """
    with tempfile.TemporaryDirectory(prefix="accord-studio-") as folder:
        page = Path(folder, "studio.html")
        page.touch(mode=0o600)
        page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={address}">\n', encoding="utf-8")
        yield page
