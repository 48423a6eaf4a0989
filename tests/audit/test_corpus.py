"""Runs that others have recorded: the known answers come out, from contract files alone."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from accord import load
from accord.audit import audit

ROOT = Path(__file__).parents[2]
CORPUS = Path(os.environ.get("ACCORD_CORPUS") or ROOT.parent / "shared" / "corpus")
EXAMPLES = ROOT / "examples"
FINDINGS = ROOT / "docs" / "explanation" / "findings.md"

pytestmark = pytest.mark.skipif(
    not CORPUS.is_dir(), reason=f"NOT TESTED: recorded runs of others, because there is no {CORPUS}"
)


def statuses(contract: Path, runs: Path, key) -> Counter:
    with audit(load(contract), [str(runs)], jobs=1) as found:
        return Counter((key(verdict), verdict.status) for verdict in found.verdicts())


@pytest.mark.parametrize(("strictness", "passing", "failing"), [("loose", 1, 3), ("strict", 8, 39)])
def test_confirm_before_mutate(strictness, passing, failing):
    contract = EXAMPLES / "confirm_before_mutate" / f"{strictness}.accord"
    found = statuses(contract, CORPUS / "tau1", lambda verdict: verdict.metadata["reward"] == 1)
    assert found[True, "violating"] == passing
    assert found[False, "violating"] == failing
    assert found.total() == 200


def test_the_runs_that_violate_loosely_are_the_known_ones():
    with audit(load(EXAMPLES / "confirm_before_mutate" / "loose.accord"), [str(CORPUS / "tau1")], jobs=1) as found:
        assert {v.run for v in found.verdicts() if v.status == "violating"} == {"2/2", "0/1", "28/0", "28/1"}


def test_present_before_booking():
    found = statuses(
        EXAMPLES / "present_before_booking" / "booking.accord", CORPUS / "booking", lambda v: v.metadata["model"]
    )
    violating = {model: found[model, "violating"] for model, _ in found}
    assert sorted(violating.values()) == [0, 2, 3]
    assert {model: found[model, "unrecognised"] for model in violating} == dict.fromkeys(violating, 8)
    assert all(found[model, "incomplete"] == 0 for model in violating)
    assert found.total() == 60


def by_file_and_outcome(contract: Path) -> Counter:
    with audit(load(contract), [str(CORPUS / "tau1"), str(CORPUS / "tau2")], jobs=1) as found:
        return Counter((Path(v.file).stem, v.metadata["reward"] == 1, v.status) for v in found.verdicts())


def test_the_findings_on_confirmations_are_true():
    pages = [page.read_text() for page in (EXAMPLES / "confirm_before_mutate" / "README.md", FINDINGS)]
    loose, strict = (
        by_file_and_outcome(EXAMPLES / "confirm_before_mutate" / f"{name}.accord") for name in ("loose", "strict")
    )
    for found in (loose, strict):
        found.update(Counter([("all", fine, status) for _, fine, status in found.elements()]))
    for file in {file for file, _, _ in strict}:
        cells = []
        for fine in (True, False):
            runs = sum(number for (of, how, _), number in strict.items() if (of, how) == (file, fine))
            cells.append(f"{runs}: {loose[file, fine, 'violating']} / {strict[file, fine, 'violating']}")
        for page in pages[file == "all" :]:
            assert f"| {file} | {cells[0]} | {cells[1]} |" in page


def test_the_findings_on_bookings_are_true():
    pages = [page.read_text() for page in (EXAMPLES / "present_before_booking" / "README.md", FINDINGS)]
    contract = EXAMPLES / "present_before_booking" / "booking.accord"
    found = statuses(contract, CORPUS / "booking", lambda v: v.metadata["model"])
    for model in {model for model, _ in found}:
        cells = " | ".join(str(found[model, status]) for status in ("conforming", "violating", "unrecognised"))
        assert all(f"| {model} | {cells} |" in page for page in pages)


def test_bookings_are_judged_as_they_were_when_they_were_recorded():
    recorded = {"conforming": "ok", "violating": "violated", "unrecognised": "unrecognized"}
    with audit(
        load(EXAMPLES / "present_before_booking" / "booking.accord"), [str(CORPUS / "booking")], jobs=1
    ) as found:
        verdicts = list(found.verdicts())
    assert len(verdicts) == 60
    assert all(recorded[verdict.status] == verdict.metadata["outcome"] for verdict in verdicts)


def test_the_findings_on_claims_are_true():
    page = (EXAMPLES / "claims_of_success" / "README.md").read_text()
    found = by_file_and_outcome(EXAMPLES / "claims_of_success" / "claims.accord")
    violating = {key: number for key, number in found.items() if key[2] == "violating"}
    assert violating == {("gpt-oss-120b-airline", False, "violating"): 1}
    assert f"On the {found.total()} recorded runs of tau-bench and tau2-bench one run violates it" in page


def test_every_file_is_read(health):
    contract = load(EXAMPLES / "claims_of_success" / "claims.accord")
    with audit(contract, [str(CORPUS)], jobs=1) as found:
        tally = found.tally
        folders = Counter(Path(verdict.file).relative_to(CORPUS).parts[0] for verdict in found.verdicts())
    assert dict(folders) == {
        "agentdojo": 300, "booking": 60, "langfuse": 10, "openinference": 5, "otel-genai": 40, "tau1": 200, "tau2": 254,
    }  # fmt: skip
    health(
        f"audit: {tally.files} files of others with {tally.runs} runs, {tally.messages:,} messages, {tally.calls:,} "
        f"calls and {tally.broken} records that cannot be read"
    )
