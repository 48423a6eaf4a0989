"""What holds on every page: it fits from a phone to a wide screen, nothing in it is inaccessible, keys are enough."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import serious
from tests.browser.keys import tab_to
from tests.browser.resting import resize, rest
from tests.browser.test_pictures import PAGES, RUNS
from tests.browser.test_step import open_template, write

# What sticks out of the page and cannot be scrolled to; a canvas and a text field scroll by themselves.
CUT_OFF = """() => [...document.querySelectorAll("body *")].filter(element => {
    const box = element.getBoundingClientRect();
    const inside = element.closest(".scroller, pre, .canvas, .editor, .hidden, .skip, datalist, option, textarea");
    return box.width && box.height && !inside && (box.right > innerWidth + 1 || box.left < -1);
}).map(element => element.outerHTML.slice(0, 100))"""


def everything_opened(page):
    """Every part that can be unfolded."""
    page.evaluate("() => document.querySelectorAll('main details').forEach(part => { part.open = true; })")


@pytest.mark.parametrize("name", PAGES)
def test_every_page_fits_and_is_accessible(page, served, axe, name):
    PAGES[name](page, served)
    for opened in (False, True):
        if opened:
            page.keyboard.press("Escape")
            everything_opened(page)
        for theme in ("light", "dark"):
            page.get_by_label("Theme").select_option(theme)
            assert serious(page, axe) == []
        for width in (360, 1920):
            resize(page, width, 800)
            assert page.evaluate("() => document.documentElement.scrollWidth") <= width
            assert page.evaluate(CUT_OFF) == []


@pytest.mark.parametrize("name", ["build", "roles"])
def test_pages_fit_that_were_opened_on_a_phone(page, served, name):
    resize(page, 360, 780)
    PAGES[name](page, served)
    rest(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    assert page.evaluate(CUT_OFF) == []


def test_a_diagram_between_roles_is_accessible_while_it_is_built(page, served, axe):
    open_template(page, served, "travel-desk", "build")
    page.get_by_role("button", name="Desk sends Query to Airline").click()
    assert serious(page, axe) == []


# -- keys alone --------------------------------------------------------------------------------------------------------


def test_runs_by_keyboard(page, served):
    write(page, served, "protocol P = rec L.{!get_invoice.?get_invoice.L, !pay_invoice.?pay_invoice.L, end}")
    page.evaluate("() => document.activeElement.blur()")
    tab_to(page, 'a[href="#runs"]')
    page.keyboard.press("Enter")
    page.locator(".machine canvas").first.wait_for()
    tab_to(page, "input[type=file]")
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Space")
    chooser.value.set_files(RUNS)
    page.locator("h2", has_text="8 runs").wait_for()
    tab_to(page, "input[type=search]")
    page.keyboard.type("a-2")
    page.keyboard.press("Enter")
    expect(page.locator("table.runs tbody tr")).to_have_count(1)
    page.evaluate("() => document.activeElement.blur()")
    tab_to(page, "table.runs button")
    page.keyboard.press("Enter")
    expect(page.locator(".one h2")).to_be_focused()
    expect(page.locator(".one h2")).to_have_text("Run a-2")


def test_reviews_by_keyboard(page, served):
    PAGES["reviews"](page, served)
    page.locator("article.review", has_text="invoice-2026-17").wait_for()
    page.evaluate("() => document.activeElement.blur()")
    tab_to(page, 'a[href="#reviews"]')
    tab_to(page, "article.review input")
    page.keyboard.type("ana")
    page.keyboard.press("Tab")
    page.keyboard.type("not ordered")
    tab_to(page, "button.deny")
    label = page.evaluate("() => document.activeElement.closest('article').querySelector('h3').textContent")
    page.keyboard.press("Enter")
    expect(page.locator("#told")).to_contain_text("was denied by ana")
    session = label.split(" in ")[-1]
    expect(page.locator("article.review", has_text=session)).to_have_count(0)
