"""`survivors.md`, where every mistake that no test finds has its reason; and the verdicts of runs, kept to go on with.

A line of it is `` - `id` `path` in `function`, the change: the reason``. Only the id and the path are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.operators import mutants_of
from tests.mutants.parts import SOURCE
from tests.mutants.text import Module
from tests.mutants.trying import Verdict

LIST = Path(__file__).with_name("survivors.md")
LINE = re.compile(r"^- `(?P<id>[0-9a-f]{10})` `(?P<path>[^`]+)`.*?: (?P<why>.+)$")


@dataclass(frozen=True)
class Reason:
    """Why a mistake may survive."""

    id: str
    path: str
    why: str


def reasons(text: str) -> dict[str, Reason]:
    """The list as it was written; a line that cannot be read is an error and not a survivor without a reason."""
    found: dict[str, Reason] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("- "):
            read = LINE.match(line)
            if read is None or read["id"] in found:
                raise SystemExit(
                    f"survivors.md:{number}: not `- \\`id\\` \\`path\\` …: reason`, or listed twice: {line}"
                )
            found[read["id"]] = Reason(**read.groupdict())
    return found


def gone(listed: Iterable[Reason], source: Path = SOURCE) -> list[Reason]:
    """Those that stand for no mistake any more, because the code has changed."""
    there: dict[str, set[str]] = {}
    for reason in listed:
        path = source / reason.path
        if reason.path not in there:
            made = mutants_of(Module(reason.path, path.read_bytes())) if path.exists() else ()
            there[reason.path] = {mutant.id for mutant in made}
    return [reason for reason in listed if reason.id not in there[reason.path]]


class Verdicts:
    """Verdicts about one source. Found stays found while the test that found it stays; survived while all tests do."""

    def __init__(self, place: Path) -> None:
        self._place = place
        place.mkdir(parents=True, exist_ok=True)

    def known(self, id: str, tests: str, digests: dict[str, str]) -> Verdict | None:  # noqa: A002 - it is one
        try:
            told = json.loads((self._place / f"{id}.json").read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        verdict = Verdict(**told["verdict"])
        file = verdict.by.partition("::")[0].removeprefix("tests/")
        same = file in digests and told["file"] == digests[file] if verdict.is_found else told["tests"] == tests
        return verdict if same else None

    def keep(self, id: str, verdict: Verdict, tests: str, digests: dict[str, str]) -> None:  # noqa: A002
        file = digests.get(verdict.by.partition("::")[0].removeprefix("tests/"), "")
        text = json.dumps({"verdict": verdict.written(), "tests": tests, "file": file})
        (self._place / f"{id}.json").write_text(text)
