"""What somebody has typed survives whatever happens around it, and what is red is shown as red."""

from __future__ import annotations

import json
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from accord.studio.bounds import DEFAULT_BOUNDS
from accord.studio.files import Files
from accord.studio.opened import Studio
from tests.browser.conftest import Served, context_of, serious
from tests.browser.resting import rest
from tests.browser.test_build import word

TEXT = "protocol P = !a.end\n"


def start(folder, port=0, token="first"):  # noqa: S107 - for tests
    paths = tuple(sorted(folder.glob("*.accord")))
    return Served(Studio(Files(paths, DEFAULT_BOUNDS.limits, folder, writable=True)), folder, port, token)


def write(folder):
    for name in ("one", "two"):
        (folder / f"{name}.accord").write_text(TEXT)


@contextmanager
def opened(chromium, studio):
    """A page that builds the first of two files."""
    with context_of(chromium, viewport={"width": 1200, "height": 800}, reduced_motion="reduce") as context:
        page = context.new_page()
        page.goto(f"{studio.address}&build")
        page.locator("text=The contract is fine").wait_for()
        yield page


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    folder = tmp_path_factory.mktemp("contracts")
    write(folder)
    studio = start(folder)
    yield studio
    studio.close()


@pytest.fixture
def folder(studio):
    write(studio.folder)
    return studio.folder


@pytest.fixture
def page(chromium, studio, folder):
    with opened(chromium, studio) as page:
        yield page


@pytest.fixture
def running(tmp_path):
    """A studio of which a test ends one after the other."""
    write(tmp_path)
    studios = [start(tmp_path)]
    yield studios
    for studio in studios:
        studio.close()


@pytest.fixture
def witness(chromium, running):
    """A page that sees them end."""
    with opened(chromium, running[0]) as page:
        yield page


def area(page):
    return page.locator("textarea.code")


def contract(page):
    return page.get_by_label("Contract", exact=True)


def is_marked(page):
    expect(page.locator(".mark")).to_contain_text("not saved")


# -- drafts ------------------------------------------------------------------------------------------------------------


def test_a_text_that_is_not_saved_survives_other_contracts_and_a_reload(page, folder):
    area(page).fill(TEXT + "// mine\n")
    is_marked(page)
    contract(page).select_option("file 1")
    expect(area(page)).to_have_value(TEXT)
    expect(page.locator(".mark")).to_be_hidden()
    page.get_by_role("button", name="new", exact=True).click()
    expect(area(page)).to_have_value("")
    area(page).fill("!new.end")
    page.reload()
    expect(area(page)).to_have_value("!new.end")
    contract(page).select_option("template booking")
    expect(area(page)).not_to_have_value("!new.end")
    area(page).fill("!changed.end")
    is_marked(page)
    page.reload()
    expect(area(page)).to_have_value("!changed.end")
    is_marked(page)
    kept = contract(page).locator("optgroup", has_text="contract,").locator("option")
    expect(kept).to_have_count(2)  # the new text, and the template that was changed
    contract(page).select_option(kept.filter(has_text="contract,").get_attribute("value"))
    expect(area(page)).to_have_value("!new.end")
    contract(page).select_option("file 0")
    expect(area(page)).to_have_value(TEXT + "// mine\n")
    page.reload()
    expect(area(page)).to_have_value(TEXT + "// mine\n")
    page.get_by_role("button", name="discard the draft…").click()
    page.get_by_role("dialog").get_by_role("button", name="call it off").click()
    expect(area(page)).to_have_value(TEXT + "// mine\n")
    page.get_by_role("button", name="discard the draft…").click()
    page.get_by_role("dialog").get_by_role("button", name="discard it").click()
    expect(area(page)).to_have_value(TEXT)
    expect(page.locator(".mark")).to_be_hidden()
    page.reload()
    expect(area(page)).to_have_value(TEXT)


def test_what_the_browser_cannot_keep_is_told_and_leaving_asks(page):
    page.evaluate("""() => {
        for (let size = 1 << 22; size >= 1; size >>= 1) {
            try { for (let at = 0; ; at += 1) localStorage.setItem(`${size} ${at}`, "x".repeat(size)); } catch {}
        }
    }""")
    area(page).fill(TEXT + "// mine\n")
    expect(page.get_by_role("alert")).to_contain_text("The text is not kept")
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    page.reload()
    assert asked == ["beforeunload"]


# -- a studio that ends ------------------------------------------------------------------------------------------------


def test_a_text_stays_when_the_studio_ends_and_goes_on_with_the_next(witness, running, axe):
    page, folder, port = witness, running[0].folder, running[0].port
    running.pop().close()
    area(page).fill(TEXT + "// typed while it was away\n")
    expect(page.get_by_role("alert")).to_contain_text("The studio does not answer")
    expect(area(page)).to_be_visible()
    is_marked(page)
    (folder / "a.accord").write_text(TEXT)  # numbers are others now
    running.append(start(folder, port, "second"))
    expect(page.get_by_role("alert")).to_contain_text("The studio was started anew")
    page.get_by_label("Address").fill("http://127.0.0.1:1/#token=x")
    page.get_by_role("button", name="go on").click()
    link = page.get_by_role("link", name="Go there with the text that is open")
    assert serious(page, axe) == []
    assert link.get_attribute("href").startswith("http://127.0.0.1:1/#build&token=x&c=")
    page.get_by_label("Address").fill(running[0].address)
    page.get_by_role("button", name="go on").click()
    expect(page.locator("#told")).to_contain_text("The studio answers again")
    expect(page.locator("#banner")).to_be_empty()
    expect(area(page)).to_have_value(TEXT + "// typed while it was away\n")
    page.get_by_role("button", name="save the file").click()
    expect(page.locator("#told")).to_contain_text("one.accord is saved")
    assert (folder / "one.accord").read_text().endswith("// typed while it was away\n")
    assert (folder / "a.accord").read_text() == TEXT


def test_the_new_address_may_be_opened_in_the_same_tab_or_in_another(witness, running):
    page, folder, port = witness, running[0].folder, running[0].port
    area(page).fill(TEXT + "// mine\n")
    running.pop().close()
    page.get_by_role("button", name="format").click()
    expect(page.get_by_role("alert")).to_contain_text("The studio does not answer")
    running.append(start(folder, port, "second"))
    page.goto(running[0].address)
    expect(page.locator("#banner")).to_be_empty()
    page.wait_for_timeout(1_200)  # as long as it would have waited to ask again
    rest(page)
    expect(page.locator("#told")).not_to_contain_text("answers again")
    running.pop().close()  # which this page does not see
    running.append(start(folder, port, "third"))
    other = page.context.new_page()
    other.goto(running[0].address)
    expect(other.locator("#told")).to_contain_text("A text that is not saved is kept from before")
    page.get_by_role("button", name="format").click()
    expect(page.locator("#told")).to_contain_text("The studio was started anew")
    expect(area(page)).to_have_value(TEXT + "// mine\n")


# -- files -------------------------------------------------------------------------------------------------------------


def test_a_file_keeps_the_ends_of_its_lines(page, folder):
    path = folder / "two.accord"
    path.write_bytes(b"protocol P = !a.end\r\n// old\r\n")
    contract(page).select_option("file 1")
    expect(area(page)).to_have_value("protocol P = !a.end\n// old\n")
    expect(page.locator(".mark")).to_be_hidden()
    area(page).press("Control+End")
    area(page).press_sequentially("// new\n")
    page.get_by_role("button", name="save the file").click()
    expect(page.locator("#told")).to_contain_text("is saved")
    expect(page.locator(".mark")).to_be_hidden()
    assert path.read_bytes() == b"protocol P = !a.end\r\n// old\r\n// new\r\n"


def test_a_conflict_offers_three_ways_and_loses_nothing(page, folder, axe):
    path = folder / "one.accord"
    mine, theirs = TEXT + "// mine\n", TEXT + "// theirs\n"
    save = page.get_by_role("button", name="save the file")
    panel = page.locator(".conflict")
    area(page).fill(mine)
    path.write_text(theirs)
    save.click()
    expect(panel).to_be_in_viewport()
    panel.get_by_role("button", name="show the difference").click()
    expect(panel.locator("del")).to_have_text("- // theirs\n")
    expect(panel.locator("ins")).to_have_text("+ // mine\n")
    assert serious(page, axe) == []
    panel.get_by_role("button", name="load the file").click()
    expect(area(page)).to_have_value(theirs)
    expect(contract(page).locator("option", has_text="one (yours)")).to_have_count(1)
    page.get_by_role("button", name="undo").click()
    expect(area(page)).to_have_value(mine)
    path.write_text(theirs + "// more\n")
    save.click()
    panel.get_by_role("button", name="overwrite the file").click()
    expect(page.locator("#told")).to_contain_text("one.accord is saved")
    assert path.read_text() == mine
    aside = contract(page).locator("option", has_text="one (theirs)").get_attribute("value")
    path.unlink()
    area(page).fill(mine + "// again\n")
    save.click()
    expect(panel).to_contain_text("one.accord is not there any more")
    panel.get_by_role("button", name="write it again").click()
    expect(page.locator("#told")).to_contain_text("one.accord is saved")
    assert path.read_text() == mine + "// again\n"
    contract(page).select_option(aside)
    expect(area(page)).to_have_value(theirs + "// more\n")


def test_a_file_that_cannot_be_read_is_told_and_the_page_is_there(page, studio, folder):
    (folder / "two.accord").unlink()
    contract(page).select_option("file 1")
    expect(page.get_by_role("alert")).to_contain_text("No such file")
    expect(area(page)).to_have_value(TEXT)
    expect(contract(page)).to_have_value("file 0")
    (folder / "one.accord").unlink()
    other = page.context.new_page()
    other.goto(studio.address)
    expect(other.get_by_role("alert")).to_contain_text("No such file")
    other.locator(".moves h2").wait_for()


# -- what is told ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_was_done_is_seen_however_far_one_has_scrolled(page, theme):
    page.set_viewport_size({"width": 360, "height": 640})
    page.get_by_label("Theme").select_option(theme)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("summary", has_text="Take it with you").click()
    page.get_by_role("button", name="mermaid").click()
    copy = page.get_by_role("button", name="copy", exact=True)
    copy.scroll_into_view_if_needed()
    copy.click()
    told = page.locator("#told")
    expect(told).to_have_text("The code is on the clipboard.close")
    expect(told).to_be_in_viewport(ratio=1)
    area(page).fill("protocol P = ")
    page.locator(".findings li.error").wait_for()
    page.evaluate("() => scrollTo(0, document.body.scrollHeight)")
    page.get_by_role("button", name="show the code").click()
    expect(page.get_by_role("alert")).to_contain_text("the contract has errors")
    expect(page.get_by_role("alert")).to_be_in_viewport()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360


def resize(page, width, height):
    """Give the page another size, and wait until it has been told."""
    page.evaluate("() => { window.told = new Promise(done => addEventListener('resize', done, { once: true })); }")
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate("async () => { await window.told; }")


def test_a_menu_closes_when_the_page_moves_and_a_form_does_not(page):
    resize(page, 1200, 500)
    for move in (lambda: page.mouse.wheel(0, 200), lambda: resize(page, 700, 500)):
        word(page, "!a").click()
        expect(page.get_by_role("menu")).to_have_count(1)
        move()
        expect(page.get_by_role("menu")).to_have_count(0)
    word(page, "!a").click()
    page.get_by_role("menuitem", name="Rename…").click()
    page.get_by_label("New name").fill("typed")
    resize(page, 360, 700)
    assert page.evaluate("() => document.querySelector('.popup').getBoundingClientRect().right") <= 360
    expect(page.get_by_label("New name")).to_have_value("typed")


# -- runs --------------------------------------------------------------------------------------------------------------


def test_all_runs_of_a_file_are_counted_and_every_one_can_be_reached(page, tmp_path):
    def run(name):
        call = {"id": "1", "type": "function", "function": {"name": name, "arguments": "{}"}}
        return json.dumps({"messages": [{"role": "assistant", "content": "", "tool_calls": [call]}]}) + "\n"

    file = tmp_path / "runs.jsonl"
    file.write_text(run("a") * 6_000 + run("b") * 1_000 + "{broken\n")
    (tmp_path / "nothing.txt").write_text("no runs {")
    page.get_by_role("link", name="Runs").click()
    page.get_by_label("Recorded runs").set_input_files([file, tmp_path / "nothing.txt"])
    page.locator("h2", has_text="7000 runs").wait_for()
    assert page.locator(".legend").inner_text().split("\n") == [
        "conforming 6000", "violating 1000", "incomplete 0", "unrecognised 0"
    ]  # fmt: skip
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("2 could not be read or judged")
    expect(alert).to_contain_text("runs.jsonl:7001")
    expect(alert).to_contain_text("nothing.txt")
    expect(page.locator("table.runs .badge").first).to_have_text("violating")
    expect(page.locator(".bars tr").first).to_contain_text("6000 conforming, 1000 violating")
    page.get_by_label("Status").select_option("conforming")
    expect(page.locator(".pages")).to_contain_text("1 to 200 of 6000")
    page.get_by_role("button", name="next").click()
    expect(page.locator(".pages")).to_contain_text("201 to 400 of 6000")
    expect(page.get_by_role("button", name="next")).to_be_focused()
    page.locator("table.runs button").last.click()
    page.locator(".one li.ok").wait_for()
