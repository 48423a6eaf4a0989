"""Ledgers as a command line names them: a file or `-`, and the key they were written with.

A key never stands on the command line itself, where every user of the machine can read it.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import rich_click as click

from accord.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from accord.ledger.chain import Finding

__all__ = ["finding_object", "key_options", "open_ledger", "read_key", "with_progress"]

_LONGEST_KEY = 1 << 16
_WORTH_A_BAR = 1 << 24
_STEP = 1 << 22


def key_options(function: Callable[..., None]) -> Callable[..., None]:
    """The two options that say where the key is."""
    for name, metavar, text in (
        ("--key-env", "NAME", "the environment variable that holds the ledger's key"),
        ("--key-file", "FILE", "the file whose bytes are the ledger's key, a line break at its end included"),
    ):
        function = click.option(name, metavar=metavar, help=text)(function)
    return function


def read_key(key_file: str | None, key_env: str | None) -> bytes | None:
    """The key, or `None` if there is none."""
    if key_file is not None and key_env is not None:
        raise UsageError("the key is in a file or in an environment variable, not in both")
    if key_env is not None:
        value = os.environ.get(key_env)
        if not value:
            raise UsageError(f"the environment variable `{key_env}` is not set or empty")
        return os.fsencode(value)
    if key_file is None:
        return None
    try:
        with Path(key_file).open("rb") as file:
            key = file.read(_LONGEST_KEY + 1)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read the key {key_file}: {getattr(error, 'strerror', None) or error}") from None
    if not key or len(key) > _LONGEST_KEY:
        raise UsageError(f"the key {key_file} is {'longer than 65,536 bytes' if key else 'empty'}")
    return key


@contextmanager
def open_ledger(path: str) -> Iterator[tuple[BinaryIO, int]]:
    """The bytes of a ledger and how many there are, 0 if that is not known; `UsageError` if they cannot be read."""
    if path == "-":
        stream = getattr(sys.stdin, "buffer", None)
        if stream is None:
            raise UsageError("standard input cannot be read here")
        yield stream, 0
        return
    if not path:
        raise UsageError("an empty argument is no path; was a variable not set?")
    try:
        file = Path(path).open("rb")  # noqa: SIM115 - closed below; errors while reading are told elsewhere
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    with file:
        yield file, os.fstat(file.fileno()).st_size


@contextmanager
def with_progress(lines: Iterable[bytes], size: int) -> Iterator[Iterable[bytes]]:
    """The same lines, with a bar on the terminal if there are many."""
    if size < _WORTH_A_BAR or not sys.stderr.isatty():
        yield lines
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = TextColumn("verifying"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("verifying", total=size)
        yield _counted(lines, lambda read: progress.update(task, advance=read))


def _counted(lines: Iterable[bytes], tell: Callable[[int], None]) -> Iterator[bytes]:
    read = 0
    for line in lines:
        read += len(line)
        if read >= _STEP:
            tell(read)
            read = 0
        yield line


def finding_object(finding: Finding) -> dict[str, object]:
    """The first bad entry, for programs."""
    return {"entry": finding.entry, "line": finding.line, "fault": finding.fault, "reason": finding.reason}
