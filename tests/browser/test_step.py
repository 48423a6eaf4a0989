"""Stepping through contracts on the page."""

from __future__ import annotations

import json
import re

from playwright.sync_api import expect

from tests.browser.conftest import context_of
from tests.browser.keys import tab_to
from tests.browser.resting import rest


def open_template(page, served, name, part="step"):
    page.goto(f"{served.base}/#{part}&template={name}")
    expect(page.get_by_label("Contract", exact=True)).to_have_value(f"template {name}")
    rest(page)


def write(page, served, text):
    """Write a contract that is fine, and wait until the page says so: of this text, and not of the one before."""
    page.goto(f"{served.base}/#build")
    page.locator("textarea.code").fill(text)
    rest(page)
    expect(page.locator("text=The contract is fine")).to_be_visible()


def verdicts(page):
    return page.locator("ol.turns > li").evaluate_all("rows => rows.map(row => row.className)")


def act(page, word):
    rest(page)
    page.locator(".actions.allowed button", has_text=re.compile(rf"^{re.escape(word)}$")).click()


def test_a_template_is_walked_to_its_end(page, served):
    open_template(page, served, "booking")
    for word in ("!search", "?results", "!present", "?accepted", "!book", "?confirmation"):
        act(page, word)
        page.locator("ol.turns > li code", has_text=word).last.wait_for()
    assert verdicts(page) == ["ok"] * 6
    page.locator(".status.complete").wait_for()
    assert page.locator("h2", has_text="When to use it").count() == 0
    assert page.locator(".about h3", has_text="When to use it").count() == 1


def test_a_wrong_one_is_explained_undone_and_reset(page, served):
    open_template(page, served, "booking")
    act(page, "!search")
    page.locator("summary", has_text="Not allowed now").click()
    page.locator(".actions.others button", has_text="!book").click()
    page.locator(".verdict.violation").wait_for()
    why = page.locator(".verdict .why").inner_text()
    assert "first wait for results, then call present" in why
    assert verdicts(page) == ["ok", "violation"]
    assert "refused" in page.locator("#said").inner_text()
    page.get_by_role("button", name="undo").click()
    expect(page.locator("ol.turns > li")).to_have_count(1)
    page.get_by_role("button", name="reset").click()
    page.locator("text=Nothing has happened yet").wait_for()


def test_fields_people_and_rules(page, served):
    open_template(page, served, "payment")
    act(page, "!ask_quote")
    act(page, "?quote(total as price, currency as unit)")
    page.get_by_role("textbox", name="total").fill("250")
    page.get_by_role("textbox", name="currency").fill("EUR")
    page.get_by_role("button", name="do it").click()
    page.locator("dd", has_text="250").wait_for()
    act(page, "!pay(amount <= price, currency == unit)")
    page.get_by_role("textbox", name="amount").fill("250")
    page.get_by_role("textbox", name="currency").fill("EUR")
    page.get_by_role("button", name="do it").click()
    assert "then a person must approve (Approval), then pay" in page.locator(".verdict.violation .why").inner_text()
    act(page, "!ask_approval")
    act(page, "?Approval by human")
    page.get_by_role("textbox", name="By whom").fill("ana")
    page.get_by_role("button", name="do it").click()
    page.locator("ol.turns code", has_text="?Approval by ana").wait_for()
    assert page.locator(".rules li").count() == 2


def test_time_is_asked_and_let_pass(page, served):
    open_template(page, served, "escalate-in-time")
    act(page, "?request")
    page.get_by_role("textbox", name="request_id").fill("7")
    page.get_by_role("textbox", name="When").fill("0")
    page.get_by_role("button", name="do it").click()
    page.locator(".clock", has_text="next due").wait_for()
    page.get_by_role("button", name="let time pass").click()
    page.get_by_role("textbox", name="When").fill("+20m")
    page.get_by_role("button", name="do it").click()
    page.locator(".verdict.violation").wait_for()
    assert "the owner is asked at once" in page.locator(".verdict.violation").inner_text()


def test_a_trace_is_replayed_pasted_and_dropped(page, served):
    open_template(page, served, "retry")
    page.locator("summary", has_text="Replay a trace").click()
    page.get_by_role("button", name="the bad run").click()
    page.locator("ol.turns > li.violation").wait_for()
    assert verdicts(page) == ["ok", "ok", "violation"]
    page.locator("details textarea").fill("!call_service ?success !report_success end")
    page.get_by_role("button", name="replay", exact=True).click()
    page.locator(".status.complete").wait_for()
    page.evaluate(
        """() => {
            const data = new DataTransfer();
            data.items.add(new File(['{"send": "call_service"}\\n?failure\\n'], "trace.jsonl"));
            const drop = new DragEvent("drop", {dataTransfer: data, cancelable: true});
            document.querySelector(".stage").dispatchEvent(drop);
        }"""
    )
    expect(page.locator("ol.turns > li")).to_have_count(2)
    page.get_by_role("button", name="back to here: !call_service").click()
    expect(page.locator("ol.turns > li")).to_have_count(1)
    page.locator("details textarea").fill("nonsense")
    page.get_by_role("button", name="replay", exact=True).click()
    assert "line 1" in page.get_by_role("alert").inner_text()


def test_the_picture_is_clicked(page, served):
    """Words in the picture do what buttons do."""
    open_template(page, served, "booking")
    box = page.locator(".canvas").bounding_box()
    page.get_by_text("The machine as a table").click()
    assert page.locator("tr.here th").inner_text() == "0 (here)"
    # The words stand between states; a scan over the middle of the drawing meets the one that may happen.
    for share in range(5, 96, 3):
        page.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * share / 100)
        rest(page)
        if page.locator("ol.turns > li").count():
            break
    page.locator("ol.turns > li").first.wait_for()


def test_a_conversation_between_roles_and_blame(page, served):
    open_template(page, served, "travel-desk")
    act(page, "Traveller -> Desk: Request")
    page.get_by_role("textbox", name="city").fill("Rome")
    page.get_by_role("textbox", name="day").fill("Friday")
    page.get_by_role("button", name="do it").click()
    act(page, "Desk -> Airline: Query")
    expect(page.locator("ol.turns > li")).to_have_count(2)
    page.locator("summary", has_text="Not allowed now").click()
    page.locator(".actions.others button", has_text="Desk -> Airline: Book").click()
    expect(page.locator(".card.blamed h2")).to_have_text("Deskto blame")
    assert "may not send Book to Airline" in page.locator(".now .verdict.violation").inner_text()
    assert page.locator(".sequence .message.refused").count() == 1
    assert page.locator(".side .canvas").count() == 3
    page.get_by_role("button", name="undo").click()
    expect(page.locator(".card.blamed")).to_have_count(0)
    page.locator("summary", has_text="Replay a conversation").click()
    page.get_by_role("button", name="the good run").click()
    page.locator(".status.complete").wait_for()


def test_typing_any_event_and_halting(page, served):
    open_template(page, served, "booking")
    page.get_by_label("Try any event").fill("!book")
    page.get_by_label("Try any event").press("Enter")
    page.locator("ol.turns > li.violation").wait_for()
    page.get_by_label("After a violation").select_option("halt")
    page.locator(".status.violated").wait_for()
    assert "the session is over" in page.locator(".moves").inner_text()


def test_hostile_text_stays_text(page, served):
    label = '<img src=x onerror="document.title=1">'
    write(page, served, f"protocol P = !{json.dumps(label)}.end")
    page.goto(f"{served.base}/#step")
    page.locator(".actions.allowed button").wait_for()
    assert "<img" in page.locator(".actions.allowed button").inner_text()
    page.locator(".actions.allowed button").click()
    page.locator("ol.turns > li.ok").wait_for()
    assert page.locator("main img").count() == 0
    assert page.title() != "1"


def test_a_large_machine_is_collapsed_and_drawn_at_once(page, served, health):
    number = next(n for n, path in enumerate(served.studio.files.paths) if path.name == "large.accord")
    page.get_by_label("Contract", exact=True).select_option(f"file {number}")
    page.locator("text=80 of 1001 states are drawn").wait_for()
    drawn = page.evaluate("performance.getEntriesByName('drawn').map(entry => Math.round(entry.duration)).at(-1)")
    act(page, "!s0")
    page.locator("ol.turns > li.ok").wait_for()
    health(f"studio: 80 of 1,001 states laid out and drawn in {drawn} ms")
    page.get_by_role("button", name="show all 1001 states").click()
    page.locator(".picture-foot", has_text="Large: 1001 states").wait_for()
    assert page.get_by_role("alert").count() == 0


def test_keyboard_alone(page, served):
    """Choose a template, take steps, try a wrong one, undo: nothing but keys."""
    rest(page)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "SELECT"
    chosen = page.get_by_label("Contract", exact=True)
    for _ in range(80):  # by arrows: letters that come too slowly begin another word
        if chosen.input_value() == "template payment":
            break
        page.keyboard.press("ArrowDown")
    expect(chosen).to_have_value("template payment")
    page.locator(".actions.allowed button", has_text="!ask_quote").wait_for()

    tab_to(page, ".actions.allowed button", "!ask_quote")
    page.keyboard.press("Enter")
    page.locator(".actions.allowed button", has_text="?quote").wait_for()
    expect(page.locator(":focus")).to_contain_text("?quote")
    page.keyboard.press("Enter")
    expect(page.locator("input:focus")).to_have_count(1)
    page.keyboard.type("80")
    page.keyboard.press("Tab")
    page.keyboard.type("EUR")
    page.keyboard.press("Enter")
    page.locator("ol.turns > li", has_text="?quote").wait_for()
    tab_to(page, "summary", "Not allowed now")
    page.keyboard.press("Enter")
    tab_to(page, ".actions.others button", "!ask_quote")
    page.keyboard.press("Enter")
    page.locator("ol.turns > li.violation").wait_for()
    tab_to(page, ".log button", "undo")
    page.keyboard.press("Enter")
    expect(page.locator("ol.turns > li")).to_have_count(2)


def test_without_the_token_nothing_is_shown(chromium, served):
    with context_of(chromium) as context:
        stranger = context.new_page()
        stranger.goto(served.base)
        expect(stranger.get_by_role("alert")).to_contain_text("open the address that the studio printed")
