"""Which tests execute which lines, how long they take, and so which of them are nearest to a mistake.

Measured once with coverage.py, one test file at a time in a process of its own, and kept by the digests of the source
and of the file. What did not pass, took too long or could not be measured is left out of the map, and listed.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import coverage

from tests.mutants.parts import KEPT, ROOT, SOURCE
from tests.mutants.text import Module, Mutant
from tests.mutants.trying import Copies, ended

LONGEST_FILE = 420  # seconds for measuring one file
LONGEST_TEST = 25  # a test that takes longer is too slow to be asked about every mistake
FEW = 30  # a line that fewer tests execute may have been executed for others too: their neighbours are asked as well
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def digest_of(paths: Iterable[Path]) -> str:
    """One digest of some files and their texts."""
    whole = hashlib.sha256()
    for path in sorted(paths):
        whole.update(f"{path}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return whole.hexdigest()[:16]


def source_digest() -> str:
    return digest_of(SOURCE.rglob("*.py"))


@dataclass
class Map:
    """What the tests of some files execute."""

    seconds: dict[str, float] = field(default_factory=dict)
    breadth: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    lines: dict[str, dict[int, set[str]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))
    left_out: dict[str, str] = field(default_factory=dict)

    def take(self, file: str, told: dict, data: coverage.CoverageData, source: Path) -> None:
        """What one test file has executed."""
        for test, why in told["not_passed"].items():
            self.left_out[test] = why
        for test, seconds in told["seconds"].items():
            if seconds > LONGEST_TEST:
                self.left_out[test] = f"takes {seconds:.0f} seconds"
            elif test not in self.left_out:
                self.seconds[test] = seconds
        for path in data.measured_files():
            inside = Path(path).relative_to(source).as_posix()
            for line, tests in data.contexts_by_lineno(path).items():
                for test in self.seconds.keys() & set(tests):
                    self.lines[inside][line].add(test)
                    self.breadth[test] += 1
        if not told["seconds"]:
            self.left_out[file] = "nothing ran"

    def nearest(self, module: Module, mutant: Mutant, seconds: float) -> dict[str, float]:
        """The tests to ask about a mistake, the quickest and most specific first, within so many seconds."""
        reached = self.reaching(module, mutant)
        order = sorted(reached, key=self._cost)
        if len(reached) < FEW:
            files = {test.partition("::")[0] for test in reached}
            order += sorted(
                (t for t in self.seconds if t.partition("::")[0] in files and t not in reached), key=self._cost
            )
        chosen: dict[str, float] = {}
        for test in order:
            if (seconds := seconds - self.seconds[test]) < 0:
                break
            chosen[test] = 10 + 20 * self.seconds[test]
        first = {file: number for number, file in reversed([(n, t.partition("::")[0]) for n, t in enumerate(chosen)])}
        return dict(sorted(chosen.items(), key=lambda pair: first[pair[0].partition("::")[0]]))

    def reaching(self, module: Module, mutant: Mutant) -> set[str]:
        """The tests that execute the changed lines, or what depends on them if they are executed by importing."""
        held = self.lines[module.path]
        found: set[str] = set()
        for edit in mutant.edits:
            lines = range(module.line_of(edit.start), module.line_of(edit.end) + 1)
            around = [node for node in module.nodes if _covers(node, lines[0])]
            function = next((node for node in reversed(around) if isinstance(node, FUNCTIONS)), None)
            if function is None:
                found |= self._dependents(module, around, lines)
                continue
            statement = next(node for node in reversed(around) if isinstance(node, ast.stmt))
            header = range(statement.lineno, _first_of_body(statement))
            for each in (
                lines,
                header,
                range(function.body[0].lineno, function.end_lineno + 1) if _thin(function) else (),
            ):
                tests = set().union(*(held[line] for line in each if line in held))
                if tests:
                    found |= tests
                    break
        return found

    def _dependents(self, module: Module, around: list[ast.AST], lines: range) -> set[str]:
        """Who uses what an import has executed: what names it, here or elsewhere; else its class, or its file."""
        held = self.lines[module.path]
        names = {
            target.id
            for node in around
            if isinstance(node, ast.Assign | ast.AnnAssign)
            for target in ([node.target] if isinstance(node, ast.AnnAssign) else node.targets)
            if isinstance(target, ast.Name)
        }
        using = {
            node.lineno
            for node in module.nodes
            if getattr(node, "id", getattr(node, "attr", None)) in names and node.lineno not in lines
        }
        owner = next((node for node in reversed(around) if isinstance(node, ast.ClassDef)), None)

        def executing(some: Iterable[int]) -> set[str]:
            return set().union(*(held[line] for line in some if line in held))

        return (
            executing(using)
            or (self._abroad(names) if owner is None else set())
            or executing(range(owner.lineno, owner.end_lineno + 1) if owner else ())
            or executing(held.keys())
        )

    def _abroad(self, names: set[str]) -> set[str]:
        """The tests that execute lines of other modules with these names in them."""
        if not names:
            return set()
        named = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b")
        return set().union(
            *(
                self.lines[path][line]
                for path in list(self.lines)
                for line, text in enumerate((SOURCE / path).read_text().splitlines(), 1)
                if line in self.lines[path] and named.search(text)
            )
        )

    def _cost(self, test: str) -> tuple[float, str]:
        return (self.seconds[test] + 0.002) * self.breadth[test], test


def _covers(node: ast.AST, line: int) -> bool:
    return hasattr(node, "lineno") and node.lineno <= line <= node.end_lineno


def _first_of_body(statement: ast.stmt) -> int:
    """The line after the head of a statement."""
    body = getattr(statement, "body", None)
    return body[0].lineno if body else statement.end_lineno + 1


def _thin(function: ast.AST) -> bool:
    """Whether it is one statement, whose lines coverage may put anywhere in it."""
    return isinstance(function.body, list) and len(function.body) <= 2


def map_of(files: list[str], jobs: int, say: Callable[[str], None]) -> Map:
    """The map of some test files; what is not yet measured is measured."""
    kept = KEPT / source_digest() / "map"
    kept.mkdir(parents=True, exist_ok=True)
    places = {file: kept / f"{file.replace('/', '.')}.{digest_of([ROOT / 'tests' / file])}.lines" for file in files}
    waiting = [file for file in files if not places[file].with_suffix(".json").exists()]
    whole = Map()
    with Copies(kept.parent / "clean", jobs) as copies, ThreadPoolExecutor(jobs) as pool:
        done = pool.map(lambda file: _measure(file, places[file], copies), waiting)
        for number, (file, _) in enumerate(zip(waiting, done, strict=True), 1):
            say(f"measured {number} of {len(waiting)}: {file}")
    for file in files:
        told = json.loads(places[file].with_suffix(".json").read_text())
        if why := told.get("why"):
            whole.left_out[file] = why
            continue
        data = coverage.CoverageData(str(places[file]))
        data.read()
        whole.take(file, told, data, Path(told["source"]))
    return whole


def _measure(file: str, place: Path, copies: Copies) -> None:
    told = place.with_suffix(".json")
    with copies.one() as copy:
        environment = {"ACCORD_MUTANTS_MAP": str(place), "ACCORD_MUTANTS_SOURCE": str(copy.source)}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.mutants.measuring", f"tests/{file}"]
        ran = subprocess.Popen(
            [*command, *copy.options], cwd=ROOT, env={**os.environ, **copy.environment, **environment},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        said = ended(ran, LONGEST_FILE)
        if said is None:
            told.write_text(json.dumps({"why": f"takes longer than {LONGEST_FILE} seconds"}))
        elif not told.exists():
            told.write_text(json.dumps({"why": f"could not be measured: {said[-200:].strip()}"}))
        else:
            told.write_text(json.dumps({**json.loads(told.read_text()), "source": str(copy.source)}))
