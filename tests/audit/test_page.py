"""The page in a real browser: it shows what was found, can be filtered, and does nothing that runs tell it to."""

from __future__ import annotations

import json
import shutil

import pytest

from accord.audit import make_report
from accord.audit.outputs.page import write_page
from accord.audit.report import summary_of
from tests.audit import hostile
from tests.audit.recorded import FINE, HASTY, TWICE, chat, write_tau
from tests.audit.test_page_counts import IN_A_ROW, RUNS

playwright = pytest.importorskip("playwright.sync_api", reason="NOT TESTED: the page of an audit, without playwright")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

PROTOCOL = """
events {
    Ask when agent says "sure?"
    Yes when user says matches "(?i)yes"
    Pay when call pay
    Paid when result of pay
}
protocol Payment = rec L.!Ask.?{Yes, No.L}.!Pay.?Paid.end
rule "confirm first" { before each Pay require Yes }
"""


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("NOT TESTED: the page of an audit, because there is no chromium here")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def open_page(browser, tmp_path):
    """Call it with a report for the page and what it complained about."""
    opened = []

    def made(report, **options):
        path = tmp_path / "page.html"
        with path.open("w", encoding="utf-8", errors="backslashreplace") as stream:
            write_page(report, stream)
        page = browser.new_page(viewport={"width": 1200, "height": 900}, **options)
        opened.append(page)
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: complaints.append(request.url) if request.url != path.as_uri() else None)
        page.goto(path.as_uri())
        return page, complaints

    yield made
    for page in opened:
        page.close()


@pytest.fixture
def report(audited, tmp_path):
    write_tau(tmp_path / "a.json", [FINE, HASTY, TWICE, FINE[:3]], [1.0, 1.0, 0.0, 0.0])
    return make_report(audited([tmp_path / "a.json"], PROTOCOL), by=["file"])


def test_it_shows_what_was_found(report, open_page):
    page, complaints = open_page(report)
    assert page.locator("#total .figure").all_text_contents()[:3] == ["4runs", "2violating", "1incomplete"]
    assert "passed but violated: 1 of 2 runs" in page.locator("#tables").text_content()
    assert page.locator(".finding").count() == 1 + 1
    assert page.locator(".finding .message.refused").count() == 1
    assert page.locator("#drawing svg circle").count() >= 5
    assert "?No" in page.locator("#vacuous").text_content()
    assert "!Pay" in page.locator("#drawing svg").text_content()
    assert complaints == []


def test_it_shows_the_numbers_of_the_report(audited, open_page, tmp_path):
    write_tau(tmp_path / "a.json", RUNS, [float(number % 2) for number in range(len(RUNS))])
    report = make_report(audited([tmp_path / "a.json"], IN_A_ROW), by=["file"])
    told = summary_of(report)
    total = told["total"]
    page, complaints = open_page(report)
    names = ("violating", "incomplete", "unrecognised", "conforming")
    figures = page.locator("#total .figure").all_text_contents()
    assert figures == [f"{total['runs']}runs", *[f"{total[name]}{name}" for name in names]]
    first = page.locator("#tables table").first.locator("tbody tr").first.locator("td.number").all_text_contents()
    (row,) = told["by"]["file"]
    assert first[:5] == [str(row["runs"]), *[str(row[name]) for name in names]]
    findings = page.locator(".finding p:first-child b").all_text_contents()
    groups = [*told["violations"], *told["owed"]]
    assert [int(text.split()[0]) for text in findings] == [group["runs"] for group in groups]
    badges = page.locator("#drawing .badge").all_text_contents()
    assert sum(int(text.split()[0]) for text in badges) == total["violating"]
    rules = page.locator("#rules tbody tr td.number").all_text_contents()
    clauses = [f'rule "{name}"' for name in page.locator("#rules tbody tr td:first-child").all_text_contents()]
    broken = [sum(group["runs"] for group in groups if group["clause"] == clause) for clause in clauses]
    assert [int(text) for text in rules] == broken
    actions = told["enforcing_would_have_blocked"]["actions"]
    assert f"{actions} actions would have been refused" in page.content()
    assert f"{total['first_causes']} first causes, one to a run; {total['followed']} refusal" in page.content()
    assert page.locator("#count").text_content() == f"{total['runs']} of {total['runs']} runs"
    assert complaints == []


def test_what_there_is_no_room_for_is_counted(audited, open_page, tmp_path):
    runs = [chat(*[f"call t{number}" for number in range(60)])]
    runs += [chat("call a", f"call t{number}") for number in range(20)]
    write_tau(tmp_path / "a.json", runs)
    page, complaints = open_page(make_report(audited([tmp_path / "a.json"], "protocol P = !a.!b.end")))
    text = page.locator("#violations").text_content()
    assert ", 12 more 12" in text  # of the twenty words that came where `!b` was due
    assert "80 actions would have been refused" in text
    assert "21 first causes, one to a run; 59 refusals after that may follow from it" in text
    assert ", 40 more " in text
    assert complaints == []


def test_runs_can_be_filtered_and_opened(report, open_page):
    page, complaints = open_page(report)
    rows = page.locator("#runs tbody tr.run")
    assert rows.count() == 4
    page.select_option("#status", "violating")
    assert rows.count() == 2
    rows.first.click()
    assert page.locator("#runs tr.details .message.refused .text").text_content().startswith("!Pay")
    rows.first.click()
    assert page.locator("#runs tr.details").count() == 0
    page.select_option("#status", "")
    page.fill("#text", 'task":3')
    assert (rows.count(), page.locator("#count").text_content()) == (1, "1 of 4 runs")
    assert complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_follows_the_scheme_of_the_reader(report, open_page, scheme):
    page, _ = open_page(report, color_scheme=scheme)
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colour == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}[scheme]


def test_what_runs_say_does_nothing(audited, open_page, tmp_path):
    run = [{"role": "user", "content": hostile.MARKUP}, *chat(f"agent: {hostile.MARKUP}", "call pay")]
    rows = [{"task_id": hostile.MARKUP, "trial": 0, "reward": hostile.MARKUP and 1.0, "traj": run, "info": {}}]
    path = tmp_path / "<img src=x onerror=alert(1)>.json"
    path.write_text(json.dumps(rows))
    contract = hostile.CONTRACT + 'protocol P = !"<script>alert(1)</script>".?"</svg><b>".end'
    page, complaints = open_page(make_report(audited([path], contract), by=["task"]))
    page.locator("#runs tbody tr.run").first.click()
    assert page.title() == "accord audit"
    assert page.locator("img, b.owned, script[src]").count() == 0
    assert hostile.MARKUP in page.locator("#runs tr.details").text_content()
    assert "<script>alert(1)</script>" in page.locator("#drawing").text_content()
    assert complaints == []


def test_nothing_else_may_run_or_be_fetched(report, open_page):
    """The policy holds: a script that somebody adds does not run, and nothing is fetched."""
    page, complaints = open_page(report)
    page.evaluate(
        "const s = document.createElement('script'); s.textContent = 'document.title = 1'; document.body.append(s)"
    )
    page.evaluate(
        "const i = document.createElement('img'); i.src = 'https://example.com/x.png'; document.body.append(i)"
    )
    page.wait_for_function("document.images.length === 1")
    assert page.title() == "accord audit"
    assert any("Content Security Policy" in complaint for complaint in complaints)
