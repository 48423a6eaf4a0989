"""Building contracts on the page: text, picture, forms, tools, and what is taken away."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import TOKEN, serious
from tests.browser.resting import rest
from tests.browser.test_step import open_template, write


@pytest.fixture
def builder(page, served):
    page.goto(f"{served.base}/#build")
    page.get_by_role("button", name="new", exact=True).click()
    expect(page.locator("textarea.code")).to_have_value("")
    rest(page)
    return page


def word(page, name):
    """The button over a word of the picture, which has been drawn of the text as it is now."""
    rest(page)
    return page.locator(".handle.word").and_(page.get_by_role("button", name=re.compile(rf"^{re.escape(name)}, from")))


def state(page, number):
    rest(page)
    return page.get_by_role("button", name=re.compile(rf"^state {number}(,|$)"))


def choose(page, item):
    page.get_by_role("menuitem", name=item).click()


def put(page, label, *, sign="!", conditions=""):
    """Fill the form that puts a step in."""
    form = page.get_by_role("dialog")
    form.get_by_label("Label").fill(label)
    form.get_by_label("Direction").select_option(sign)
    form.get_by_label("Conditions").fill(conditions)
    form.get_by_role("button", name="put it in").click()


def text_is(page, text):
    expect(page.locator("textarea.code")).to_have_value(text)
    rest(page)


def test_a_contract_is_built_in_the_picture(builder):
    builder.get_by_role("button", name="add a first step…").click()
    put(builder, "search")
    text_is(builder, "protocol Main = !search.end\n")
    word(builder, "!search").click()
    choose(builder, "Insert a step after…")
    put(builder, "results", sign="?")
    state(builder, 2).click()
    choose(builder, "Insert a step here…")
    put(builder, "book", conditions="price <= 500")
    text_is(builder, "protocol Main = !search.?results.!book(price <= 500).end\n")
    word(builder, "!book(price <= 500)").click()
    choose(builder, "Add an alternative…")
    put(builder, "give up")
    text_is(builder, 'protocol Main = !search.?results.!{book(price <= 500), "give up"}.end\n')
    word(builder, "?results").click()
    choose(builder, "Delete it")
    text_is(builder, 'protocol Main = !search.!{book(price <= 500), "give up"}.end\n')
    word(builder, '!"give up"').click()
    choose(builder, "After it, go back to…")
    builder.get_by_role("dialog").get_by_role("button", name="go back there").click()
    text_is(builder, 'protocol Main = rec Again.!search.!{book(price <= 500), "give up".Again}.end\n')
    word(builder, "!book(price <= 500)").click()
    choose(builder, "Add a rule about it…")
    form = builder.get_by_role("dialog")
    form.get_by_label("Kind").select_option("at most")
    form.get_by_label("How many").fill("3")
    form.get_by_label("Name").fill("thrice")
    form.get_by_role("button", name="add the rule").click()
    expect(builder.locator(".machine .rules strong")).to_have_text("thrice")
    expect(builder.locator("text=The contract is fine")).to_have_count(1)


def test_undo_and_redo_take_back_what_was_typed_and_what_was_changed(builder):
    area = builder.locator("textarea.code")
    area.press_sequentially("!a.?b")
    text_is(builder, "!a.?b")
    word(builder, "!a").click()
    choose(builder, "Make it optional")
    text_is(builder, "{!a.?b, ?b}")
    word(builder, "!a").press("Control+z")
    text_is(builder, "!a.?b")
    word(builder, "!a").press("Control+Shift+z")
    text_is(builder, "{!a.?b, ?b}")
    area.press("Control+End")
    area.press_sequentially(".!c")
    area.press("Control+z")
    text_is(builder, "{!a.?b, ?b}")
    area.press("Control+z")
    area.press("Control+z")
    text_is(builder, "")
    expect(builder.get_by_role("button", name="undo")).to_be_disabled()
    for _ in range(3):
        builder.get_by_role("button", name="redo").click()
    text_is(builder, "{!a.?b, ?b}.!c")


def test_what_cannot_be_said_is_refused_and_nothing_typed_is_lost(builder):
    text = "// kept\n!a.?b.end"
    builder.locator("textarea.code").fill(text)
    word(builder, "?b").click()
    choose(builder, "Conditions, person, deadline…")
    form = builder.get_by_role("dialog")
    form.get_by_label("Conditions on what it carries").fill("price <= limit")
    form.get_by_role("button", name="change it").click()
    expect(form.get_by_role("alert")).to_contain_text("register `limit` is never bound")
    text_is(builder, text)
    form.get_by_label("Conditions on what it carries").fill("price as limit")
    form.get_by_label("only a person").check()
    form.get_by_label("It must happen within").fill("24h")
    form.get_by_role("button", name="change it").click()
    text_is(builder, "// kept\n!a.?b(price as limit) by human within 24h else end.end")
    word(builder, "!a").click()
    choose(builder, "After it, go back to…")
    form.get_by_role("button", name="go back there").click()
    expect(form.get_by_role("alert")).to_contain_text("could never happen any more")
    form.press("Escape")
    expect(word(builder, "!a")).to_be_focused()


def test_the_picture_is_edited_by_keyboard_alone(page, served):
    open_template(page, served, "booking", "build")
    page.locator("textarea.code").focus()
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement.classList.contains('handle')"):
            break
    name = "() => document.activeElement.getAttribute('aria-label')"
    assert page.evaluate(name) == "state 0"
    seen = []
    for key in ("ArrowDown", "ArrowRight"):
        page.keyboard.press("Home")
        for _ in range(4):
            page.keyboard.press(key)
            seen.append(page.evaluate(name))
    assert "!search, from state 0 to 1" in seen and "?results, from state 1 to 2" in seen
    word(page, "!search").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem", name="Insert a step after…")).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("menuitem", name="Delete it")).to_be_focused()
    page.keyboard.press("r")
    page.keyboard.press("r")
    expect(page.get_by_role("menuitem", name="Rename…")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Control+a")
    page.keyboard.type("look_up")
    page.keyboard.press("Enter")
    expect(page.locator("textarea.code")).to_have_value(re.compile("!look_up"))
    expect(page.get_by_role("dialog")).to_have_count(0)  # it closes when the picture is drawn anew
    page.keyboard.press("Control+z")
    expect(page.locator("textarea.code")).to_have_value(re.compile("!search"))


def test_an_arrow_that_stands_for_several_steps_asks_which(builder):
    builder.locator("textarea.code").fill("?{a.!x, b.!x}.end")
    word(builder, "!x").click()
    builder.get_by_role("menuitem", name="line 1, column 11").click()
    choose(builder, "Delete it")
    text_is(builder, "?{a.!x, b}.end")


def test_messages_between_roles_are_edited_in_the_diagram(builder):
    builder.get_by_role("button", name="begin between roles…").click()
    form = builder.get_by_role("dialog")
    fields = {"Name of the protocol": "Trip", "From": "Client", "To": "Desk", "Label": "Ask", "Payload": "city: String"}
    for field, value in fields.items():
        form.get_by_label(field, exact=True).fill(value)
    form.get_by_role("button", name="put it in").click()
    text_is(builder, "record Ask { city: String }\n\nprotocol Trip {\n    Client -> Desk: Ask\n}\n")
    message = builder.get_by_role("button", name="Client sends Ask to Desk")
    message.focus()
    message.press("Enter")
    choose(builder, "Insert a message after…")
    for field, value in (("From", "Desk"), ("To", "Client"), ("Label", "Offer")):
        form.get_by_label(field, exact=True).fill(value)
    form.get_by_role("button", name="put it in").click()
    expect(builder.locator("textarea.code")).to_have_value(re.compile("Desk -> Client: Offer"))
    builder.get_by_role("button", name="Desk sends Offer to Client").click()
    choose(builder, "Add an alternative…")
    form.get_by_label("To", exact=True).fill("Client")
    form.get_by_label("Label").fill("Sorry")
    form.get_by_role("button", name="put it in").click()
    expect(builder.locator("textarea.code")).to_have_value(re.compile("choice at Desk"))
    builder.get_by_role("button", name="Desk sends Sorry to Client").click()
    choose(builder, "Delete it")
    expect(builder.locator("textarea.code")).not_to_have_value(re.compile("choice"))
    builder.get_by_role("button", name="undo").click()
    expect(builder.locator("textarea.code")).to_have_value(re.compile("Sorry"))


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
    word(page, "!present").click()
    choose(page, "Show it in the text")
    area = page.locator("textarea.code")
    assert area.evaluate("area => area.value.slice(area.selectionStart, area.selectionEnd)") == "!present"


TOOLS = {"tools": [{"name": "search_flights", "inputSchema": {"properties": {"city": {}}}}, {"name": "book flight"}]}


def test_tools_become_a_palette(builder):
    builder.locator("summary", has_text="Tools").click()
    builder.get_by_label("Or paste it").fill(json.dumps(TOOLS))
    builder.get_by_role("button", name="bring them in").click()
    builder.locator(".palette button", has_text="search_flights").click()
    text_is(builder, "protocol Main = !search_flights.end\n")
    builder.locator(".palette button", has_text="book flight").click()
    text_is(builder, 'protocol Main = !search_flights.!"book flight".end\n')
    builder.locator(".palette button", has_text="search_flights").drag_to(state(builder, 2))
    text_is(builder, 'protocol Main = !search_flights.!"book flight".!search_flights.end\n')
    builder.get_by_role("button", name="undo").click()
    text_is(builder, 'protocol Main = !search_flights.!"book flight".end\n')
    target = word(builder, '!"book flight"')
    expect(state(builder, 3)).to_have_count(0)
    box = target.bounding_box()
    ways = {
        3: '!search_flights.!search_flights.!"book flight"',
        box["height"] - 3: '!search_flights.!"book flight".!search_flights',
    }
    for y, expected in ways.items():
        position = {"x": box["width"] / 2, "y": y}
        builder.locator(".palette button", has_text="search_flights").drag_to(target, target_position=position)
        text_is(builder, f"protocol Main = {expected}.end\n")
        builder.get_by_role("button", name="undo").click()
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
    assert "`book` is not allowed yet" in run.stdout


def test_a_link_restores_the_contract(page, served, chromium):
    text = 'protocol Linked = !"grüße 😀".?b.end\n// a comment\n'
    write(page, served, text)
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
    page.get_by_role("button", name="save the file").click()
    expect(page.locator("#told")).to_contain_text("is saved")
    assert path.read_text() == before + "// saved here\n"
    path.write_text(before)
    page.locator("textarea.code").fill(before + "// again\n")
    page.get_by_role("button", name="save the file").click()
    expect(page.get_by_role("alert")).to_contain_text("was changed by somebody else")
    assert path.read_text() == before


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious_is_inaccessible(page, served, axe, theme):
    page.get_by_label("Theme").select_option(theme)
    open_template(page, served, "payment", "build")
    assert serious(page, axe) == []
    word(page, "!ask_quote").click()
    assert serious(page, axe) == []
    choose(page, "Conditions, person, deadline…")
    assert serious(page, axe) == []
    page.keyboard.press("Escape")
    for part in ("Tools", "Take it with you"):
        page.locator("summary", has_text=part).click()
    page.locator("textarea.code").fill("protocol P = !a.Nowhere")
    page.locator(".findings li.error").wait_for()
    assert serious(page, axe) == []


def test_the_token_is_not_left_in_the_address(page):
    assert TOKEN not in page.url
