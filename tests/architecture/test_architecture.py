"""The shape of the code base, held by tests."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import accord

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "accord").rglob("*.py"))


def test_layers_are_kept():
    run = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout


def test_importing_accord_loads_nothing_heavy():
    code = "import sys; before = set(sys.modules); import accord; print(*sorted(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert [name for name in loaded if not name.startswith(("accord", "__future__", "typing"))] == []
    code = code.replace("import accord;", "from accord import Monitor;")
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"click", "rich", "rich_click", "asyncio", "difflib", "threading"} & set(loaded)


def test_every_public_name_is_there():
    for name in accord.__all__:
        assert getattr(accord, name) is not None
    assert set(accord.__all__) == set(accord._HOME)
    with pytest.raises(AttributeError, match="no attribute 'Moniter'"):
        _ = accord.Moniter


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT / "src")))
def test_a_file_has_one_idea(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 500
    assert path.stem not in {"utils", "util", "helpers", "common", "misc"}
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "a module opens with what it owns"
    if path.stem != "__main__":
        module = importlib.import_module(
            ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
        )
        for name in getattr(module, "__all__", ()):
            assert hasattr(module, name)


PURE = ("agents/check", "language", "semantics", "machine", "choreography", "monitor", "session", "diagnostics")
IMPURE = {"time", "random", "threading", "asyncio", "socket", "subprocess", "os", "datetime", "secrets", "logging"}
ALLOWED = {("monitor/atomicity.py", "threading")}


def test_the_core_has_no_clock_no_chance_and_no_threads():
    for path in SOURCES:
        inside = path.relative_to(ROOT / "src" / "accord").as_posix()
        if not inside.startswith(PURE):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                top = name.split(".")[0]
                assert top not in IMPURE or (inside, top) in ALLOWED, f"{inside} imports {name}"


def test_no_registry_address_is_tracked():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    assert "uv.lock" not in tracked
    assert "index-url" not in (ROOT / "constraints.txt").read_text()
    for folder in ("web", "tests/coding_agents"):
        lock = (ROOT / folder / "package-lock.json").read_text()
        assert "resolved" not in lock and "registry" not in lock
        assert lock.count('"integrity"') == lock.count('"version"') >= 8
