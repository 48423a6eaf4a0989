from __future__ import annotations

import pytest

from accord.diagnostics.codes import CODES


def test_without_a_code_lists_all(accord):
    result = accord("explain")
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()] == list(CODES)


@pytest.mark.parametrize("code", CODES)
def test_every_code(accord, code):
    result = accord("explain", code.lower())
    entry = CODES[code]
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{code}: {entry.title}\n")
    assert entry.explanation in result.stdout
    assert "right:" in result.stdout
    assert ("wrong:" in result.stdout) == bool(entry.wrong)
    if entry.wrong:
        assert f"[{code}]" in result.stdout  # the real diagnostic of the wrong example


def test_an_unknown_code(accord):
    result = accord("explain", "e23")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "did you mean `E023`?" in result.stderr
    assert "lists all codes" in accord("explain", "banana").stderr
