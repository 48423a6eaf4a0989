"""What the page works out by itself, without a browser: what was before, and where arrow keys lead."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.browser.conftest import ROOT

WEB = ROOT / "web"


def test_the_tests_in_typescript(tmp_path):
    node, tsc = shutil.which("node"), WEB / "node_modules" / ".bin" / "tsc"
    if node is None or not tsc.exists():
        pytest.skip("NOT TESTED: the logic of the studio's page, because node or `npm ci` in `web` is missing")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    compiled = subprocess.run(
        [tsc, "-p", WEB / "tests", "--outDir", tmp_path], check=False, capture_output=True, text=True
    )
    assert compiled.returncode == 0, compiled.stdout
    files = sorted((tmp_path / "tests").glob("*.test.js"))
    assert len(files) == len(list((WEB / "tests").glob("*.test.ts"))) > 0
    run = subprocess.run([node, "--test", *files], check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
