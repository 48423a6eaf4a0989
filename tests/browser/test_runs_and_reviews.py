"""Recorded runs, reviews and sessions on the page."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from accord import Guard, ToolCall
from tests.browser.conftest import ROOT
from tests.browser.resting import rest
from tests.browser.test_step import write

RUNS = ROOT / "examples" / "recorded_payments" / "runs.jsonl"


@pytest.fixture
def bench(page, served):
    number = next(n for n, path in enumerate(served.studio.files.paths) if path.name == "payments.accord")
    page.get_by_label("Contract", exact=True).select_option(f"file {number}")
    expect(page.get_by_label("Contract", exact=True)).to_have_value(f"file {number}")
    page.locator("text=look before you pay").first.wait_for()
    page.get_by_role("link", name="Runs").click()
    page.get_by_label("Recorded runs").wait_for()
    rest(page)
    return page


def test_runs_are_counted_listed_filtered_and_looked_at(bench):
    bench.get_by_label("Recorded runs").set_input_files(RUNS)
    bench.locator("h2", has_text="8 runs").wait_for()
    assert "violating 3" in bench.locator(".legend").inner_text()
    assert bench.locator(".bars tr").count() == 3
    bench.get_by_label("Counted by").select_option("reward")
    expect(bench.locator(".bars tr").nth(1)).to_contain_text("conforming")
    bench.get_by_label("Status").select_option("violating")
    expect(bench.locator("table.runs tbody tr")).to_have_count(3)
    bench.get_by_label("Search").fill("look before")
    bench.get_by_label("Search").press("Enter")
    expect(bench.locator("table.runs tbody tr")).to_have_count(1)
    bench.locator("table.runs button").click()
    bench.locator(".one li.violation").first.wait_for()
    assert "First call get_invoice" in bench.locator(".one li.violation .why").first.inner_text()
    expect(bench.locator(".one li.violation")).to_have_count(2)  # what the agent then claims has not happened
    assert bench.locator(".one li").count() == 4


def test_the_path_of_a_run_is_drawn_with_heat(page, served):
    """On a contract with a protocol, edges carry how often they were taken."""
    write(page, served, "protocol P = rec L.{!get_invoice.?get_invoice.L, !pay_invoice.?pay_invoice.L, end}")
    page.get_by_role("link", name="Runs").click()
    page.get_by_label("Recorded runs").set_input_files(RUNS)
    page.locator("h2", has_text="8 runs").wait_for()
    page.locator(".machine canvas").first.wait_for()
    page.locator("table.runs button").first.click()
    expect(page.locator("#said")).to_contain_text("its path is drawn")
    assert page.locator(".one li.ok").count()


def test_the_result_of_an_audit_is_opened(bench, tmp_path):
    command = [
        Path(sys.executable).parent / "accord",
        "audit",
        RUNS.with_name("payments.accord"),
        RUNS,
        "--no-cache",
        "--json",
    ]
    output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    assert json.loads(output)["total"]["runs"] == 8
    (tmp_path / "result.json").write_text(output)
    bench.get_by_label("Recorded runs").set_input_files(tmp_path / "result.json")
    bench.locator("h2", has_text="8 runs").wait_for()
    bench.locator("text=These are the verdicts of an audit").wait_for()
    bench.locator("table.runs button", has_text="a-1").click()
    bench.locator("text=The messages are not in the result of the audit").wait_for()
    bench.locator("table.runs button", has_text="a-2").click()
    expect(bench.locator(".one li.violation")).to_contain_text("First call get_invoice")
    bench.locator("text=Those around the violation").wait_for()


def test_the_result_of_an_audit_marks_what_was_never_taken(page, served, tmp_path):
    contract = tmp_path / "p.accord"
    contract.write_text(
        "protocol P = rec L.{!get_invoice.?get_invoice.L, !pay_invoice.?pay_invoice.L, !never.end, end}\n"
    )
    command = [Path(sys.executable).parent / "accord", "audit", contract, RUNS, "--no-cache", "--json"]
    output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    (tmp_path / "result.json").write_text(output)
    write(page, served, contract.read_text())
    page.get_by_role("link", name="Runs").click()
    page.get_by_label("Recorded runs").set_input_files(tmp_path / "result.json")
    page.locator("text=those that were never taken are dashed").wait_for()
    page.locator("text=Dashed words were never reached").wait_for()
    page.get_by_label("Contract", exact=True).select_option("template booking")
    page.locator("text=under another contract than the one that is open").wait_for()


def test_a_large_file_is_streamed_and_sent_again_if_it_is_gone(bench, served, tmp_path):
    runs = RUNS.read_bytes()
    (tmp_path / "large.jsonl").write_bytes(runs * (12_000_000 // len(runs)))
    bench.get_by_label("Recorded runs").set_input_files(tmp_path / "large.jsonl")
    bench.locator("h2", has_text="14944 runs").wait_for()
    expect(bench.locator("text=1 to 200 of 14944")).to_be_visible()
    for path in served.workers.uploads.glob("?" * 64):
        path.unlink()
    bench.locator("table.runs button", has_text="a-2").first.click()
    bench.locator(".one li.violation").first.wait_for()


def test_a_file_that_is_too_large_is_refused_with_what_to_do(bench, tmp_path):
    with (tmp_path / "huge.jsonl").open("wb") as file:
        file.truncate(64_000_001)
    bench.get_by_label("Recorded runs").set_input_files(tmp_path / "huge.jsonl")
    expect(bench.get_by_role("alert")).to_contain_text("huge.jsonl is larger than 64 MB")
    expect(bench.get_by_role("alert")).to_contain_text("accord audit payments.accord huge.jsonl --json")


def test_what_cannot_be_read_is_told(bench, tmp_path):
    (tmp_path / "x.txt").write_text("no runs {")
    bench.get_by_label("Recorded runs").set_input_files(tmp_path / "x.txt")
    expect(bench.get_by_role("alert")).to_contain_text("1 could not be read")
    expect(bench.get_by_role("alert")).to_contain_text("no format is recognised")


@pytest.fixture
def asked(served):
    """A payment that waits for a person."""
    path = next(path for path in served.studio.files.paths if path.name == "approval.accord")
    tools = {"read_invoice": lambda **_: {"total": 250}, "pay": lambda **_: "paid", "report": lambda **_: None}
    keys = iter(f"invoice-{number}" for number in range(100))
    store = served.studio.desk.store
    key = next(key for key in keys if store.session(key) is None)
    guard = Guard(path, store=store, key=key, tools=tools)
    guard.run([ToolCall("read_invoice", {}, "c1")])
    guard.run([ToolCall("pay", {"amount": 250, "to": "<img src=x>\u202eACME"}, "c2")])
    return guard, key


def test_a_review_is_decided_with_a_reason(page, served, asked):
    guard, key = asked
    page.get_by_role("link", name="Reviews").click()
    card = page.locator("article.review", has_text=key)
    card.wait_for()
    assert "<img src=x>\\u202eACME" in card.locator("pre").inner_text()
    assert page.locator("main img").count() == 0
    card.get_by_role("button", name="allow", exact=True).click()
    assert "say who decides" in page.get_by_role("alert").inner_text()
    card.get_by_label("Who decides").fill("ana")
    card.get_by_label("Why").fill("it was ordered")
    card.get_by_role("button", name="allow", exact=True).click()
    expect(card).to_have_count(0)
    expect(page.get_by_role("heading", name="Decided", exact=True)).to_be_visible()
    assert guard.reviews() == [] or guard.reviews()[0].state == "allowed"
    page.locator("table button", has_text=key).click()
    expect(page.locator(".verdict.ok").first).to_contain_text("its ledger is whole")
    page.locator(".entries li").last.locator("summary").click()
    assert "it was ordered" in page.locator(".entries li").last.inner_text()


def test_ledgers_in_files_are_verified_and_shown(page):
    page.get_by_role("link", name="Reviews").click()
    page.locator("tr", has_text="payment.ledger").locator(".badge", has_text="whole").wait_for()
    row = page.locator("tr", has_text="tampered.ledger")
    expect(row.locator(".badge")).to_have_text("bad")
    row.locator("button").click()
    expect(page.locator(".verdict.violation")).to_contain_text("it is bad: entry")
    page.locator("text=what stands behind it proves nothing").wait_for()
    page.locator("table button", has_text="payment.ledger").first.click()
    expect(page.locator(".verdict.ok")).to_contain_text("it is whole")
