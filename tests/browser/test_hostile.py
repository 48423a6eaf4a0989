"""Text that would be markup, in every place that the page shows; and other pages that try to use the studio."""

from __future__ import annotations

import http.server
import json
import re
import threading
from pathlib import Path

import pytest
from playwright.sync_api import expect

from accord import Guard, SQLiteStore, ToolCall
from accord.studio.app import _page
from accord.studio.bounds import DEFAULT_BOUNDS
from accord.studio.files import Files
from accord.studio.opened import Studio
from tests.browser.conftest import TOKEN, Served, context_of
from tests.browser.resting import WATCHING, rest

MARKUP = "<img src=x onerror=hit()><svg onload=hit()><b>x</b>'\"`${hit()}\u202e\u2028"
QUOTED = json.dumps(MARKUP, ensure_ascii=False).replace("\u2028", "\\u2028").replace("\u202e", "\\u202e")
PATTERN = re.sub(r"[(){}$]", "", QUOTED)
CONTRACT = f"""
// {MARKUP.replace(chr(0x2028), "").replace(chr(0x202E), "")}
protocol P = !{QUOTED}(amount <= 5, note as seen).?Approval by human.!pay(amount <= 500).end
rule {QUOTED} {{ at most 9 {QUOTED} }}
events {{
  {QUOTED} when call {QUOTED}
  pay when call pay
  Approval when user says matches {PATTERN}
}}
"""
ROLES = "protocol Talk { A -> B: Ask; B -> A: Tell }\n"
# Run in the page before anything else: what would have run, been loaded or become an element is counted.
WATCH = """
window.hits = [];
window.hit = () => window.hits.push("ran");
addEventListener("securitypolicyviolation", (event) => window.hits.push(event.violatedDirective + event.blockedURI));
window.alert = window.hit;
"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "<img src=x onerror=hit()>.accord").write_text(CONTRACT)
    (folder / "roles.accord").write_text(ROLES)
    approval = folder / "z.accord"
    approval.write_text("protocol Q = ?Approval by human.!pay.end\n")
    paths = tuple(sorted(folder.glob("*.accord")))
    with SQLiteStore(folder / "sessions.db", fsync="never") as store:
        for key in (f"k {MARKUP[:40]}", "decided"):
            guard = Guard(approval, store=store, key=key, tools={"pay": lambda **_: "paid"})
            guard.run([ToolCall("pay", {"amount": 1, MARKUP: [MARKUP, {"x": MARKUP}]}, MARKUP)])
        guard.decide(guard.reviews()[0].id, "deny", by=MARKUP.replace("\u2028", ""), reason=MARKUP)
        server = Served(Studio(Files(paths, DEFAULT_BOUNDS.limits, folder, writable=True), store), folder)
        yield server
        server.close()


@pytest.fixture
def watched(chromium, hostile):
    with context_of(chromium, viewport={"width": 1400, "height": 900}, reduced_motion="reduce") as context:
        context.add_init_script(WATCHING)
        context.add_init_script(WATCH)
        page = context.new_page()
        page.goto(f"{hostile.base}/#token={TOKEN}")
        page.wait_for_selector(".moves h2")
        yield page
        rest(page)
        assert page.evaluate("window.hits") == []
        assert page.locator("img, svg[onload], main b, iframe, object").count() == 0


def test_stepping(watched):
    watched.locator(".actions.allowed button").first.wait_for()
    assert "<img src=x" in watched.locator(".actions.allowed button").first.inner_text()
    watched.get_by_label("Try any event").fill(f'!{QUOTED} {{"amount": 3, "note": {QUOTED}}}')
    watched.get_by_label("Try any event").press("Enter")
    watched.locator("ol.turns > li.ok").wait_for()
    watched.get_by_label("Try any event").fill(f'!{QUOTED[:-1]}!"')
    watched.get_by_label("Try any event").press("Enter")
    watched.locator("ol.turns > li.violation").wait_for()
    watched.get_by_label("Try any event").fill(f"?Approval by {QUOTED}")
    watched.get_by_label("Try any event").press("Enter")
    expect(watched.locator("ol.turns > li")).to_have_count(3)
    shown = watched.locator("body").inner_text()
    assert "<svg onload" in shown and "\u202e" not in shown


def test_building(watched, hostile):
    watched.goto(f"{hostile.base}/#build")
    watched.locator("textarea.code").wait_for()
    watched.locator(".findings li.warning").first.wait_for()  # that the text may not be what it seems
    tools = [{"name": MARKUP, "description": MARKUP, "inputSchema": {"properties": {MARKUP: {}}}}]
    watched.locator("summary", has_text="Tools").click()
    watched.locator("input[type=file]").first.set_input_files(
        {"name": f"{MARKUP[:30]}.json", "mimeType": "application/json", "buffer": json.dumps({"tools": tools}).encode()}
    )
    watched.locator("text=<svg onload").first.wait_for()
    watched.locator("textarea.code").fill(f"protocol P = !{QUOTED}.{MARKUP}")
    watched.locator(".findings li.error").first.wait_for()


def test_runs(watched, hostile):
    watched.get_by_role("link", name="Runs").click()
    call = {"id": MARKUP, "type": "function", "function": {"name": MARKUP, "arguments": json.dumps({"a": MARKUP})}}
    messages = [
        {"role": "user", "content": MARKUP},
        {"role": "assistant", "content": MARKUP, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": MARKUP, "content": MARKUP},
    ]
    run = {"id": MARKUP, "run_id": MARKUP, "messages": messages, "model": MARKUP, "metadata": {MARKUP: MARKUP}}
    content = (json.dumps(run) + "\n" + json.dumps({**run, "id": "2"}) + "\n{" + MARKUP + "\n").encode()
    watched.get_by_label("Recorded runs").set_input_files(
        {"name": "<img src=x onerror=hit()>.jsonl", "mimeType": "text/plain", "buffer": content}
    )
    watched.locator("table.runs button").first.wait_for()
    watched.locator("table.runs button").first.click()
    watched.locator(".one li").first.wait_for()
    assert "<svg onload" in watched.locator(".one").inner_text()


def test_reviews(watched, hostile):
    watched.get_by_role("link", name="Reviews").click()
    card = watched.locator("article.review").first
    card.wait_for()
    assert "<img src=x" in card.inner_text()
    for button in watched.locator("table button").all():
        with watched.expect_response("**/api/session"):
            button.click()
        watched.locator(".entries li").first.wait_for()
        watched.locator(".entries details").evaluate_all("all => all.forEach((one) => { one.open = true; })")
    assert "<svg onload" in watched.locator("main").inner_text()


EVIL = Path(__file__).with_name("another_site.html").read_text()


@pytest.fixture
def elsewhere():
    """Another server on this machine, whose pages are another site's."""
    pages: dict[str, str] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            content = pages["/"].encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield pages, server.server_address[1]
        server.shutdown()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "rebound.example"])
def test_a_page_of_another_site_gets_nothing(chromium, hostile, elsewhere, host):
    """Even one that knows the token: a leak of it alone opens nothing to other pages."""
    pages, port = elsewhere
    path = hostile.studio.files.paths[1]
    before = path.read_text()
    script = next(address for address in _page() if address.endswith(".js"))
    values = {"base": hostile.base, "token": TOKEN, "before": before, "path": str(path), "script": script}
    pages["/"] = EVIL.replace("VALUES", json.dumps(values))
    rebound = "http://rebound.example/"
    with context_of(chromium) as context:
        context.route(f"{rebound}**", lambda route: route.fulfill(body=pages["/"], content_type="text/html"))
        page = context.new_page()
        page.goto(f"http://{host}:{port}/" if host != "rebound.example" else rebound)
        results = page.wait_for_function("window.results").json_value()
    assert path.read_text() == before
    assert results == {
        "simple": "failed: TypeError",
        "plain": "failed: TypeError",
        "json": "failed: TypeError",
        "token": "failed: TypeError",
        "read": "failed: TypeError",
        "script": "failed",
        "image": "failed",
        "socket": "failed",
        "beacon": True,  # it is on its way, and refused there
        "frame": "closed",
    }


def test_a_link_with_another_token_does_not_lock_anybody_out(chromium, hostile):
    """Any page can open the studio's with a token of its own; the one that the studio has taken stays."""
    with context_of(chromium) as context:
        page = context.new_page()
        page.goto(f"{hostile.base}/#token={TOKEN}")
        page.wait_for_selector(".moves h2")
        other = context.new_page()
        other.goto(f"{hostile.base}/#token=wrong")
        other.wait_for_selector(".moves h2")
        assert page.evaluate("localStorage.getItem('accord-studio-token')") == TOKEN
        page.reload()
        page.wait_for_selector(".moves h2")


def test_a_wrong_token_alone_opens_nothing_and_is_not_kept(chromium, hostile):
    with context_of(chromium) as context:
        page = context.new_page()
        page.goto(f"{hostile.base}/#token=wrong")
        expect(page.get_by_role("alert")).to_contain_text("open the address that the studio printed")
        assert page.evaluate("localStorage.getItem('accord-studio-token')") is None
