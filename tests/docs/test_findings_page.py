"""The page of findings: its sums add up, and it says on whose work it stands. `tests/audit` holds its figures."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "findings.md").read_text()
ROWS = re.findall(r"^\| ([\w.-]+) \| (\d+): (\d+) / (\d+) \| (\d+): (\d+) / (\d+) \|$", PAGE, re.MULTILINE)


def test_the_sums_are_those_of_the_rows():
    *rows, total = [[int(cell) for cell in row[1:]] for row in ROWS]
    assert len(rows) == 5 and ROWS[-1][0] == "all"
    assert [sum(column) for column in zip(*rows, strict=True)] == total


def test_the_shares_are_those_of_the_sums():
    passed, loose, strict, failed, loose_failed, strict_failed = (int(cell) for cell in ROWS[-1][1:])
    assert f"other runs: {loose} of {passed} ({loose / passed:.1%})".replace("%", " %") in PAGE
    assert f"for *each* change {strict} of {passed} ({strict / passed:.1%})".replace("%", " %") in PAGE
    loosely = f"Loosely that is {loose / passed:.1%} of what passed and {loose_failed / failed:.1%} of what failed"
    strictly = f"strictly {strict / passed:.1%} and {strict_failed / failed:.1%}"
    assert f"{loosely}; {strictly}".replace("%", " %") in PAGE
    (telecom,) = (int(row[1]) for row in ROWS if row[0].endswith("telecom"))
    assert f"Without telecom, where no clause was exercised, it is {loose} and {strict} of {passed - telecom}" in PAGE


def test_the_readme_leads_there_with_the_same_figures():
    readme = (ROOT / "README.md").read_text()
    _, passed, loose, strict, *_ = ROWS[-1]
    assert f"Of {passed} recorded runs that two benchmarks scored as right, {loose} changed something" in readme
    assert f"and {strict} without one for each change" in readme
    assert "(docs/explanation/findings.md)" in readme


def test_the_theory_is_cited():
    cited = PAGE.partition("## The theory")[2]
    for work in (
        "Burlò, Adrian Francalanza, Alceste Scalas: *On the Monitorability of Session Types, in Theory and Practice*",
        "ECOOP 2021",
        "doi:10.4230/LIPIcs.ECOOP.2021.20",
        "Multiparty Asynchronous Session Types",
        "Monitoring Networks through Multiparty Session Types",
    ):
        assert work in cited
