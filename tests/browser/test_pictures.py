"""Every page of the studio, and that of an audit, in light and dark: the pictures of the documentation.

`ACCORD_UPDATE_PICTURES=1`, which `make pictures` sets, writes them to `docs/pictures`. Pixels differ between machines,
so what is kept is not compared; what is checked is that each page shows what its picture is about, and that light and
dark differ.
"""

from __future__ import annotations

import os
from base64 import b64encode

import pytest
from playwright.sync_api import expect

from accord import Guard, ToolCall
from accord.audit import audit, make_report
from accord.audit.outputs.page import write_page
from tests.browser.conftest import ROOT, context_of
from tests.browser.resting import resize, rest
from tests.browser.test_step import open_template, write

PICTURES = ROOT / "docs" / "pictures"
RUNS = ROOT / "examples" / "recorded_payments" / "runs.jsonl"


def step_page(page, served):
    open_template(page, served, "payment")
    page.locator("summary", has_text="Replay a trace").click()
    page.get_by_role("button", name="the bad run").click()
    page.locator("ol.turns > li.violation").wait_for()
    page.locator("summary", has_text="Replay a trace").click()


def roles_page(page, served):
    open_template(page, served, "travel-desk")
    page.locator("summary", has_text="Replay a conversation").click()
    page.get_by_role("button", name="the bad run").click()
    page.locator(".card.blamed").wait_for()
    page.locator("summary", has_text="Replay a conversation").click()


def build_page(page, served):
    open_template(page, served, "booking", "build")
    page.get_by_role("button", name="?accepted, from state 3 to 5").click()
    page.get_by_role("menuitem", name="Insert a step after…").wait_for()


def runs_page(page, served):
    write(
        page,
        served,
        "protocol Paying = rec Next.{!get_invoice.?get_invoice.Next, !pay_invoice.?pay_invoice.Next, end}\n"
        'rule "look first" { before each !pay_invoice require !get_invoice }\n',
    )
    page.get_by_role("link", name="Runs").click()
    page.get_by_label("Recorded runs").set_input_files(RUNS)
    page.locator("table.runs button").nth(2).click()
    page.locator(".one li.ok").first.wait_for()


def reviews_page(page, served):
    path = next(path for path in served.studio.files.paths if path.name == "approval.accord")
    store = served.studio.desk.store
    if store.session("invoice-2026-17") is None:
        tools = {"read_invoice": lambda **_: {"total": 250}, "pay": lambda **_: "paid", "report": lambda **_: None}
        guard = Guard(path, store=store, key="invoice-2026-17", tools=tools)
        guard.run([ToolCall("read_invoice", {}, "c1")])
        guard.run([ToolCall("pay", {"amount": 250, "iban": "DE02 1203 0000 0000 2020 51"}, "c2")])
    page.get_by_role("link", name="Reviews").click()
    page.locator("table button", has_text="invoice-2026-17").click()
    page.locator(".entries li").first.wait_for()


PAGES = {"step": step_page, "roles": roles_page, "build": build_page, "runs": runs_page, "reviews": reviews_page}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_in_light_and_dark(page, served, name):
    resize(page, 1280, 860)
    PAGES[name](page, served)
    taken = {}
    for theme in ("light", "dark"):
        page.get_by_label("Theme").select_option(theme)
        expect(page.locator("html")).to_have_attribute("data-theme", theme)
        page.evaluate(CALM)
        rest(page)
        taken[theme] = kept(f"studio-{name}-{theme}", page.screenshot(type="jpeg", quality=72))
    differ(page, taken)


def test_the_page_of_an_audit_in_light_and_dark(chromium, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    path, runs = tmp_path / "audit.html", RUNS.relative_to(ROOT)
    with (
        audit(runs.with_name("payments.accord"), [str(runs)], jobs=1) as found,
        path.open("w", encoding="utf-8") as stream,
    ):
        write_page(make_report(found, by=["model"]), stream)
    taken = {}
    for theme in ("light", "dark"):
        with context_of(chromium, viewport={"width": 1100, "height": 900}, color_scheme=theme) as context:
            page = context.new_page()
            page.goto(path.as_uri())
            expect(page.get_by_text("passed but violated")).to_be_visible()
            expect(page.get_by_role("heading", name="What was violated")).to_be_visible()
            rest(page)
            taken[theme] = kept(f"audit-{theme}", page.screenshot(type="jpeg", quality=72))
            if theme == "dark":
                differ(page, taken)


def kept(name, image):
    """The picture that was taken, written if that is asked for; one of this name is there and not too large."""
    path = PICTURES / f"{name}.jpg"
    if os.environ.get("ACCORD_UPDATE_PICTURES"):
        path.write_bytes(image)
    assert path.stat().st_size < 150_000
    return image


def differ(page, taken):
    """Light is light and dark is dark."""
    brightness = {theme: page.evaluate(BRIGHTNESS, b64encode(image).decode()) for theme, image in taken.items()}
    assert brightness["light"] > 180
    assert brightness["dark"] < 80


# Where nothing is open, nothing has the focus.
CALM = """() => {
    scrollTo(0, 0);
    if (!document.activeElement.closest(".popup")) document.activeElement.blur();
}"""

BRIGHTNESS = """async text => {
    const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], {type: "image/jpeg"}));
    const canvas = new OffscreenCanvas(64, 64);
    const pen = canvas.getContext("2d");
    pen.drawImage(image, 0, 0, 64, 64);
    const { data } = pen.getImageData(0, 0, 64, 64);
    let sum = 0;
    for (let at = 0; at < data.length; at += 4) sum += data[at] + data[at + 1] + data[at + 2];
    return sum / (64 * 64 * 3);
}"""
