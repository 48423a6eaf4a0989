"""A studio that serves, and one Chromium for all tests of its page."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from accord import SQLiteStore
from accord.studio.bounds import DEFAULT_BOUNDS
from accord.studio.files import Files
from accord.studio.ledgers import Ledgers
from accord.studio.opened import Studio
from accord.studio.serving import listen, server_of
from accord.studio.workers import Workers
from tests.browser.resting import WATCHING, rest

ROOT = Path(__file__).parents[2]
TOKEN = "a-token-for-browsers"  # noqa: S105 - for tests
PATIENCE = 60_000  # milliseconds; machines that run tests may be busy
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Served:
    """An address, and the folder whose contracts the studio was opened on."""

    def __init__(self, studio: Studio, folder: Path, port: int = 0, token: str = TOKEN) -> None:
        self.studio = studio
        self.folder = folder
        self.listener = listen(port)
        self.port = port = self.listener.getsockname()[1]
        self.base = f"http://127.0.0.1:{port}"
        self.address = f"{self.base}/#token={token}"
        self.workers = Workers(DEFAULT_BOUNDS)
        self.server = server_of(studio, DEFAULT_BOUNDS, self.workers, token, port)
        self.thread = threading.Thread(target=self.server.run, args=([self.listener],))
        self.thread.start()

    def close(self) -> None:
        self.server.should_exit = True
        self.thread.join()
        self.workers.close()
        self.listener.close()


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("contracts")
    for path in sorted((ROOT / "examples").rglob("*.accord")):
        (folder / path.name).write_text(path.read_text())
    (folder / "large.accord").write_text("protocol Large = " + ".".join(f"!s{n}" for n in range(1000)) + ".end\n")
    paths = tuple(sorted(folder.glob("*.accord")))
    with SQLiteStore(folder / "sessions.db", fsync="never") as store:
        found = sorted((ROOT / "examples" / "payment").glob("*.ledger"))
        ledgers = Ledgers(tuple(Path(os.path.relpath(path)) for path in found))
        studio = Studio(Files(paths, DEFAULT_BOUNDS.limits, writable=True), store, ledgers)
        server = Served(studio, folder)
        yield server
        server.close()


# Not longer than the tests here: while Playwright is started, its thread counts as one with a running event loop.
@pytest.fixture(scope="package")
def chromium():
    if CHROMIUM is None:
        pytest.skip("NOT TESTED: the studio's page, because there is no Chromium (`apt install chromium`)")
    with sync_playwright() as started:
        expect.set_options(timeout=PATIENCE)
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@contextmanager
def context_of(chromium, **options):
    """Windows of somebody who has not been here before, and who waits for as long as it takes."""
    context = chromium.new_context(**options)
    context.set_default_timeout(PATIENCE)
    context.add_init_script(WATCHING)
    try:
        yield context
    finally:
        context.close()


@pytest.fixture
def page(chromium, served):
    """A page that has the token; whatever it complains about in its console fails the test."""
    complaints: list[str] = []
    # That a request was refused stands in the console whatever the page makes of it.
    refused = re.compile(r"Failed to load resource: .* status of 4\d\d")

    def complain(message):
        if message.type in {"error", "warning"} and not refused.match(message.text):
            complaints.append(message.text)

    size = {"width": 1400, "height": 900}
    with context_of(chromium, viewport=size, accept_downloads=True, reduced_motion="reduce") as context:
        opened = context.new_page()
        opened.on("console", complain)
        opened.on("pageerror", lambda error: complaints.append(str(error)))
        opened.goto(f"{served.base}/#token={TOKEN}")
        opened.wait_for_selector(".moves h2")
        yield opened
    assert complaints == []


@pytest.fixture(scope="session")
def axe():
    """The script that looks for what is not accessible."""
    source = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
    if not source.exists():
        pytest.skip("NOT TESTED: accessibility, because axe-core is not installed (`npm ci` in `web`)")
    return source.read_text()


def serious(page, axe) -> list[str]:
    """What axe finds that is serious or worse."""
    rest(page)
    page.evaluate(axe)
    found = page.evaluate(
        "async () => (await axe.run()).violations.map(v => [v.impact, v.id, v.nodes.map(n => n.html)])"
    )
    return [json.dumps(one) for one in found if one[0] in {"serious", "critical"}]
