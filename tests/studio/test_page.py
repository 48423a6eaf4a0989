"""The page that ships is what its source says, and asks nobody for anything."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"
PAGE = ROOT / "src" / "accord" / "studio" / "page"
SOURCES = ("index.html", "package-lock.json", "package.json", "tsconfig.json", "vite.config.js")


def digest_of_sources() -> str:
    """As `vite.config.js` computes it while it builds."""
    digest = hashlib.sha256()
    for name in sorted([*SOURCES, *(f"src/{path.name}" for path in (WEB / "src").iterdir())]):
        content = (WEB / name).read_bytes()
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def test_the_page_was_built_from_the_source_that_is_here():
    built = (PAGE / "source.sha256").read_text().strip()
    assert built == digest_of_sources(), "the page is out of date: `make page`"


def test_building_gives_the_files_that_ship(tmp_path):
    npm = shutil.which("npm")
    if npm is None or not (WEB / "node_modules" / "vite").exists():
        pytest.skip(
            "NOT TESTED: that the studio's page matches its source, because node or `npm ci` in `web` is missing"
        )
    run = subprocess.run(
        [npm, "run", "build"],
        check=False,
        cwd=WEB,
        env={**os.environ, "ACCORD_PAGE": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    built = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert built.keys() == {path.name for path in PAGE.iterdir()}
    assert [name for name, content in built.items() if (PAGE / name).read_bytes() != content] == []


def test_nothing_is_fetched_from_elsewhere_and_no_markup_is_read():
    for path in PAGE.iterdir():
        text = path.read_text()
        assert not re.search(r"""(src|href|import|url)\s*[=(]\s*["']?(https?:)?//""", text), path.name
    for path in (WEB / "src").iterdir():
        text = path.read_text()
        for way in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            "DOMParser",
        ):
            assert way not in text, f"{path.name} uses {way}"
