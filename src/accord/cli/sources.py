"""What a command line names: contract texts (files, folders, `-` for standard input) and the time to begin at."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from accord.errors import ContractError, UsageError
from accord.limits import DEFAULT_LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from accord.diagnostics import Diagnostic, Source
    from accord.language.tree import Document
    from accord.machine.clocks import Time

__all__ = [
    "LEDGER_SUFFIX",
    "STDIN",
    "SUFFIX",
    "existing_path",
    "find_contracts",
    "findings_in",
    "has_errors",
    "look_around",
    "read",
    "read_start",
]

STDIN = Path("-")
SUFFIX = ".accord"
LEDGER_SUFFIX = ".ledger"


def find_contracts(paths: Iterable[Path]) -> list[Path]:
    """The files meant by paths: each file itself, and in a folder every `*.accord`, sorted; none of them twice.

    Hidden folders are passed over: what lies in `.git` or `.venv` is not the user's to be checked or rewritten.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        if path == STDIN:
            found[STDIN] = STDIN
        elif path.is_dir():
            inside = list(_inside(path))
            if not inside:
                raise UsageError(f"no {SUFFIX} file in the folder {path}")
            for file in inside:
                found.setdefault(_resolved(file), file)
        elif path.exists():
            found.setdefault(_resolved(path), path)
        else:
            raise UsageError(f"no such file or folder: {path}")
    return list(found.values())


def look_around(folder: Path, suffix: str, trouble: Callable[[str], None]) -> list[Path]:
    """Every file of that suffix in a folder, sorted, for somebody who wants to choose one.

    Nothing that lies there stops them: a link that leads nowhere is listed, and says so when it is opened; `trouble` is
    told of folders that cannot be looked into.
    """
    found: dict[Path, Path] = {}
    for path in _inside(folder, suffix, lambda error: trouble(f"cannot look into {error.filename}: {error.strerror}")):
        with suppress(OSError, RuntimeError):
            found.setdefault(path.resolve(), path)
            continue
        found[path] = path  # links that lead in a circle
    return list(found.values())


def existing_path(_context: object, _parameter: object, values: tuple[str, ...]) -> tuple[Path, ...]:
    """Command-line arguments as paths. An empty one is no path: it would mean the folder one is in."""
    if "" in values:
        raise UsageError("an empty argument is no path; was a variable not set?")
    return tuple(Path(value) for value in values)


def read_start(_context: object, _parameter: object, value: str | None) -> Time | None:
    """The time at which a session begins, as a command line gives it."""
    from accord.stepping.happenings import read_time

    if value is None:
        return None
    try:
        return read_time(value)
    except ValueError as error:
        raise UsageError(f"--at: {error}") from None


def _resolved(path: Path) -> Path:
    try:
        return path.resolve(strict=True)
    except (OSError, RuntimeError):
        raise UsageError(f"cannot follow the link {path}") from None


def _fail(error: OSError) -> None:
    raise UsageError(f"cannot read {error.filename}: {error.strerror}")


def _inside(folder: Path, suffix: str = SUFFIX, fail: Callable[[OSError], None] = _fail) -> Iterator[Path]:
    files = []
    for here, folders, names in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [Path(here, name) for name in names if name.endswith(suffix)]
    # A pipe or a device is read if somebody names it, but not because it lies somewhere; a broken link is told.
    return iter(sorted(file for file in files if not _would_wait(file)))


def _would_wait(file: Path) -> bool:
    try:
        return not stat.S_ISREG(file.stat().st_mode)
    except OSError:
        return False


def read(path: Path) -> Source:
    """The text of a file or of standard input.

    Raises `UsageError` if it cannot be read and `ContractError` (E017) if it is not UTF-8.
    """
    from accord.cli.terminal import open_input
    from accord.machine.contract import decode_source, read_source

    if path != STDIN:
        return read_source(path)
    # As for files: four bytes a character are enough to see that the limit on characters is passed.
    return decode_source(bytes(open_input().buffer.read(DEFAULT_LIMITS.source_characters * 4 + 4)), "<stdin>")


def findings_in(path: Path) -> tuple[Document | None, tuple[Diagnostic, ...]]:
    """What a file declares, as far as it can be read, and every finding: in its text, and in compiling it."""
    from accord.choreography.compiling import examine_contract

    try:
        document, _, findings = examine_contract(read(path))
    except ContractError as error:
        return None, error.diagnostics
    return document, findings


def has_errors(findings: Iterable[Diagnostic]) -> bool:
    """Whether any finding is more than a warning."""
    return any(finding.severity == "error" for finding in findings)
