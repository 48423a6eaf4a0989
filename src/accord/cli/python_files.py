"""Python files and the contracts they load, from disk: what `accord lint` looks at.

A file may use what lies beside it. So the modules that it imports and that lie under the same folders are read too;
they say what names mean and are not checked themselves.
"""

from __future__ import annotations

import io
import os
import re
import tokenize
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from accord.cli.sources import STDIN
from accord.diagnostics import Source
from accord.errors import ContractError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accord.agents.check import Report
    from accord.agents.check.contracts import InFile

__all__ = ["Found", "find_files", "lint_files"]

_HIGHEST = 8  # folders above a file in which a module that it imports is looked for
_MOST_AROUND = 5_000
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([^\n]+))", re.MULTILINE
)

_CLASS = re.compile(r"^[ \t]*class[ \t]+\w+[ \t]*\(", re.MULTILINE)


@dataclass(frozen=True)
class Found:
    """The files that are meant."""

    python: tuple[Path, ...]
    contracts: tuple[Path, ...]


def find_files(paths: Iterable[Path]) -> Found:
    """The files meant by paths: each file itself, and in a folder every `*.py` and `*.accord`; none of them twice."""
    found: dict[Path, Path] = {}
    for path in paths:
        if path == STDIN:
            found[STDIN] = STDIN
        elif path.is_dir():
            inside = sorted(_inside(path))
            if not any(file.suffix == ".py" for file in inside):
                raise UsageError(f"no .py file in the folder {path}")
            for file in inside:
                found.setdefault(file.resolve(), file)
        elif path.exists():
            found.setdefault(path.resolve(), path)
        else:
            raise UsageError(f"no such file or folder: {path}")
    files = list(found.values())
    contracts = tuple(file for file in files if file.suffix == ".accord")
    return Found(tuple(file for file in files if file.suffix != ".accord"), contracts)


def _inside(folder: Path) -> Iterator[Path]:
    def fail(error: OSError) -> None:
        raise UsageError(f"cannot read {error.filename}: {error.strerror}")

    for here, folders, names in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "__pycache__"]
        yield from (Path(here, name) for name in names if name.endswith((".py", ".accord")))


def lint_files(found: Found) -> Report:
    """Read and judge them."""
    from accord.agents.check import lint, read
    from accord.machine.contract import read_source

    sources = [_read(path) for path in found.python]
    files = read(sources, _around(found.python, sources), str(Path.cwd()))
    contracts = {wanted: _contract(wanted) for wanted in files.wanted}
    return lint(files, contracts, [read_source(path) for path in found.contracts])


def _read(path: Path) -> Source:
    """A Python file, in the encoding it declares."""
    from accord.cli.terminal import open_input

    name = "<stdin>" if path == STDIN else str(path)
    try:
        data = bytes(open_input().buffer.read()) if path == STDIN else path.read_bytes()
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return Source(data.decode(encoding), name)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise UsageError(f"cannot read {path}: its text cannot be decoded: {error}") from None


def _contract(wanted: InFile) -> Source | str:
    """The text of a contract that the code names; if it cannot be read, why."""
    from accord.machine.contract import read_source

    beside = Path(wanted.module).parent / wanted.path
    tried = [beside] if wanted.beside else [Path(wanted.path), beside]
    reason = "no such file"
    for path in tried:
        try:
            if path.is_file():
                return read_source(path)
        except (UsageError, ValueError) as error:
            reason = str(error)
        except ContractError as error:
            reason = error.diagnostics[0].message
    return reason


def _around(paths: Iterable[Path], sources: list[Source]) -> list[Source]:
    """The modules that files import, as far as they lie near them, and what those import in turn.

    They are named as the files are that import them, so that imports can be followed by their names.
    """
    known = {path.resolve() for path in paths if path != STDIN}
    todo = [
        (path, source)
        for path, source in zip(paths, sources, strict=True)
        if path != STDIN and _CLASS.search(source.text)  # else there are no agents, and what names mean is never asked
    ]
    found: list[Source] = []
    while todo and len(found) < _MOST_AROUND:
        path, source = todo.pop()
        here = path.resolve()
        for wanted in _imported(here, source):
            if wanted not in known:
                known.add(wanted)
                named = Path(os.path.normpath(path.parent / os.path.relpath(wanted, here.parent)))
                try:
                    read = _read(named)
                except UsageError:
                    continue
                found.append(read)
                todo.append((named, read))
    return found


def _imported(path: Path, source: Source) -> Iterator[Path]:
    """The files of what looks like an import; one too many, from a text in quotes, does no harm."""
    for match in _IMPORT.finditer(source.text):
        dots, module, names, plain = match.groups()
        if plain is not None:
            yield from _modules([_parts(name) for name in plain.split(",")], _bases(path, 0))
            continue
        parts = _parts(module)
        wanted = [[*parts, *_parts(name)] for name in names.strip("()").split(",")] + [parts]
        level = len(dots)
        bases = [path.parents[level - 1]] if 0 < level <= len(path.parents) else _bases(path, level)
        yield from _modules(wanted, bases)


def _parts(name: str) -> list[str]:
    """`a.b as c` as a path."""
    words = name.split("#", maxsplit=1)[0].split()
    return words[0].split(".") if words and all(part.isidentifier() for part in words[0].split(".")) else []


def _bases(path: Path, level: int) -> list[Path]:
    return [] if level else list(path.parents)[:_HIGHEST]


def _modules(names: Iterable[list[str]], bases: list[Path]) -> Iterator[Path]:
    for parts in names:
        for base in bases:
            at = base.joinpath(*parts)
            for file in (at.with_suffix(".py"), at / "__init__.py") if parts else (at / "__init__.py",):
                if file.is_file():
                    yield file.resolve()
                    break
            else:
                continue
            break
