"""The corpus: every finding at its line, nothing else, and never "fine" where something is wrong."""

from __future__ import annotations

from functools import cache

import pytest
from tests.spec.agents.corpus import CASES

from accord.agents.check import lint, read


def found_in(case) -> list[tuple[str, int]]:
    files = read([case.source])
    report = lint(files, dict.fromkeys(files.wanted, "no such file"))
    return sorted((d.code, d.source.line_and_column(d.span.start)[0]) for d in report.findings)


found_once = cache(found_in)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_is_found(case):
    assert found_once(case) == list(case.expected)


def test_precision_and_recall(health):
    right = found = expected = silent = 0
    for case in CASES:
        here, wanted = list(found_once(case)), list(case.expected)
        found, expected = found + len(here), expected + len(wanted)
        for finding in wanted:
            if finding in here:
                here.remove(finding)
                right += 1
        silent += bool(case.expected) and not found_once(case)
    wrong = sum(bool(case.expected) for case in CASES)
    health(
        f"{len(CASES)} small agents ({wrong} wrong, {len(CASES) - wrong} right): precision {right / found:.3f}, "
        f"recall {right / expected:.3f}, false `fine` {silent}"
    )
    assert len(CASES) >= 120
    assert wrong >= 60
    assert len({case.id for case in CASES}) == len(CASES)
    assert silent == 0
