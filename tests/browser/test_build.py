"""Building contracts on the page: text, picture, forms, tools, and what is taken away."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import TOKEN, serious
from tests.browser.test_step import open_template


@pytest.fixture
def builder(page, served):
    page.goto(f"{served.base}/#build")
    page.get_by_role("button", name="new", exact=True).click()
    expect(page.locator("textarea.code")).to_have_value("")
    return page


def add(page, change, label, *, sign="!", details="", step=None):
    page.get_by_label("Add or change").select_option(change)
    if step is not None:
        page.get_by_label("Step of the text").select_option(label=step)
    if change not in {"remove", "loop", "rename"}:
        page.get_by_label("Direction").select_option(sign)
        page.get_by_label("Conditions").fill(details)
    if change != "remove":
        page.get_by_label("Label").fill(label)
    page.get_by_role("button", name="change the contract").click()


def text_is(page, text):
    expect(page.locator("textarea.code")).to_have_value(text)


def test_a_contract_is_built_by_forms(builder):
    add(builder, "after", "search")
    text_is(builder, "protocol Main = !search.end\n")
    add(builder, "after", "results", sign="?")
    add(builder, "after", "book", details="(price <= 500)")
    text_is(builder, "protocol Main = !search.?results.!book(price <= 500).end\n")
    add(builder, "beside", "give up", step="!book(price <= 500) (line 1)")
    text_is(builder, 'protocol Main = !search.?results.!{book(price <= 500), "give up"}.end\n')
    add(builder, "loop", "Again", step="!search (line 1)")
    expect(builder.locator("textarea.code")).to_have_value(re.compile(r"rec Again"))
    add(builder, "remove", "", step=builder.get_by_label("Step of the text").locator("option").nth(1).inner_text())
    expect(builder.locator("textarea.code")).not_to_have_value(re.compile("results"))
    builder.locator("summary", has_text="Rules").click()
    builder.get_by_label("Kind").select_option("at most")
    builder.get_by_label("First").fill("3")
    builder.get_by_label("Second").fill("book")
    builder.get_by_label("Name").fill("thrice")
    builder.get_by_role("button", name="add the rule").click()
    expect(builder.locator(".machine .rules strong")).to_have_text("thrice")
    assert builder.locator("text=The contract is fine").count() == 1


def test_what_cannot_be_changed_is_told(builder):
    builder.locator("textarea.code").fill("!a.?{b, c}.end")
    expect(builder.get_by_label("Step of the text").locator("option")).to_have_count(3)
    add(builder, "beside", "d", step="?b (line 1)")
    assert "all branches of this choice are `?`" in builder.get_by_role("alert").inner_text()


def test_findings_while_typing_and_completion(builder):
    area = builder.locator("textarea.code")
    area.fill("protocol P = !search.rec Loop.?results.Lop")
    expect(builder.locator(".findings li.error pre")).to_contain_text("did you mean `Loop`?")
    assert "^" in builder.locator(".findings pre").inner_text()
    assert builder.locator(".marks mark.error").inner_text() == "Lop"
    builder.get_by_role("button", name="go to 1:").click()
    assert area.evaluate("area => area.value.slice(area.selectionStart, area.selectionEnd)") == "Lop"
    area.fill("protocol P = !search.?results.")
    area.press("End")
    area.type("!se")
    builder.locator(".completions li", has_text="search").wait_for()
    area.press("Enter")
    expect(area).to_have_value("protocol P = !search.?results.!search")
    assert builder.locator(".completions").is_hidden()


def test_the_picture_chooses_a_step(page, served):
    open_template(page, served, "booking", "build")
    page.locator(".canvas canvas").first.wait_for()
    box = page.locator(".canvas").bounding_box()
    area = page.locator("textarea.code")
    for share in range(5, 96, 3):
        page.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * share / 100)
        if area.evaluate("area => area.selectionEnd > area.selectionStart"):
            break
    chosen = area.evaluate("area => area.value.slice(area.selectionStart, area.selectionEnd)")
    assert chosen and chosen.lstrip("!?") in page.locator("#said").inner_text()


TOOLS = {"tools": [{"name": "search_flights", "inputSchema": {"properties": {"city": {}}}}, {"name": "book flight"}]}


def test_tools_become_a_palette(builder):
    builder.locator("summary", has_text="Tools").click()
    builder.get_by_label("Or paste it").fill(json.dumps(TOOLS))
    builder.get_by_role("button", name="bring them in").click()
    builder.locator(".palette button", has_text="search_flights").click()
    text_is(builder, "protocol Main = !search_flights.end\n")
    builder.locator(".palette button", has_text="book flight").click()
    text_is(builder, 'protocol Main = !search_flights.!"book flight".end\n')
    builder.get_by_label("Or paste it").fill("nothing")
    builder.get_by_role("button", name="bring them in").click()
    assert "an MCP manifest" in builder.get_by_role("alert").inner_text()


def test_taking_it_with_you(page, served, tmp_path):
    open_template(page, served, "booking", "build")
    text = page.locator("textarea.code").input_value()
    page.locator(".canvas canvas").first.wait_for()
    page.locator("summary", has_text="Take it with you").click()
    for name, suffix in (("contract file", ".accord"), ("SVG", ".svg"), ("PNG", ".png")):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=name).click()
        waiting.value.save_as(tmp_path / f"booking{suffix}")
        assert waiting.value.suggested_filename == f"booking{suffix}"
    assert (tmp_path / "booking.accord").read_text() == text
    svg = (tmp_path / "booking.svg").read_text()
    assert svg.startswith("<svg") and "!search" in svg and svg.count("<circle") >= 6
    assert (tmp_path / "booking.png").read_bytes().startswith(b"\x89PNG")
    page.get_by_role("button", name="mermaid").click()
    page.locator("pre", has_text="stateDiagram").wait_for()
    page.get_by_label("Python").select_option("monitor")
    page.get_by_role("button", name="show the code").click()
    code = page.locator("pre", has_text="from accord import Monitor")
    code.wait_for()
    run = subprocess.run(
        [sys.executable, "-c", code.inner_text() + "\nprint(may('book'))"], capture_output=True, text=True, check=True
    )
    assert "`!book` is not allowed yet" in run.stdout


def test_a_link_restores_the_contract(page, served, chromium):
    page.goto(f"{served.base}/#build")
    text = 'protocol Linked = !"grüße 😀".?b.end\n// a comment\n'
    page.locator("textarea.code").fill(text)
    page.locator("text=The contract is fine").wait_for()
    page.locator("summary", has_text="Take it with you").click()
    page.get_by_role("button", name="link", exact=True).click()
    address = page.get_by_role("textbox", name="Link").input_value()
    other = page.context.new_page()
    other.goto(address)
    expect(other.locator("textarea.code")).to_have_value(text)
    assert "c=" not in other.url
    other.goto(address[:-9])
    assert "the link is damaged" in other.get_by_role("alert").inner_text()


def test_a_file_is_saved_unless_somebody_else_changed_it(page, served):
    number = next(n for n, path in enumerate(served.studio.files.paths) if path.name == "approval.accord")
    path = served.studio.files.paths[number]
    before = path.read_text()
    page.get_by_label("Contract", exact=True).select_option(f"file {number}")
    expect(page.get_by_label("Contract", exact=True)).to_have_value(f"file {number}")
    page.get_by_role("link", name="Build").click()
    expect(page.locator("textarea.code")).to_have_value(before)
    page.locator("textarea.code").fill(before + "// saved here\n")
    page.locator("summary", has_text="Take it with you").click()
    page.get_by_role("button", name="save the file").click()
    expect(page.locator("#said")).to_have_text("the file is saved")
    assert path.read_text() == before + "// saved here\n"
    path.write_text(before)
    page.locator("textarea.code").fill(before + "// again\n")
    page.get_by_role("button", name="save the file").click()
    assert "was changed by somebody else" in page.get_by_role("alert").inner_text()
    assert path.read_text() == before


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious_is_inaccessible(page, served, axe, theme):
    page.get_by_label("Theme").select_option(theme)
    open_template(page, served, "payment", "build")
    for part in ("Rules", "Tools", "Take it with you"):
        page.locator("summary", has_text=part).click()
    page.locator("textarea.code").fill("protocol P = !a.Nowhere")
    page.locator(".findings li.error").wait_for()
    assert serious(page, axe) == []


def test_the_token_is_not_left_in_the_address(page):
    assert TOKEN not in page.url
