"""`accord studio` as somebody starts it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

ACCORD = Path(sys.executable).parent / "accord"
EXAMPLES = Path(__file__).parents[2] / "examples"


def started(*arguments):
    return subprocess.Popen(
        [ACCORD, "studio", "--no-browser", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_it_serves_until_it_is_interrupted():
    with started(EXAMPLES) as process:
        address = process.stdout.readline().split(" at ")[1].strip()
        assert address.startswith("http://127.0.0.1:")
        base, _, token = address.partition("/#token=")
        with urllib.request.urlopen(f"{base}/") as page:  # noqa: S310 - our own
            assert b"<title>" in page.read()
        request = urllib.request.Request(  # noqa: S310 - the same
            f"{base}/api/about",
            b"{}",
            {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:  # noqa: S310 - the same
            about = json.load(answer)
        assert len(about["files"]) >= 5 and not about["writable"]
        assert len(token) >= 32
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert process.stderr.read() == ""


def test_the_browser_is_started_without_the_token(tmp_path, monkeypatch):
    """What stands on a command line can be read by everybody on the machine."""
    from click.testing import CliRunner

    from accord.cli.app import app

    launched = []

    def launch(what):
        path = Path(what)
        launched.append((what, path.read_text(), path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777))

    monkeypatch.setattr("rich_click.launch", launch)
    monkeypatch.setattr("accord.studio.serving.serve", lambda *given: given[3]("http://127.0.0.1:1/#token=secret"))
    assert CliRunner().invoke(app, ["studio"]).exit_code == 0
    ((what, text, mode, folder),) = launched
    assert "secret" not in what and "url=http://127.0.0.1:1/#token=secret" in text
    assert (mode, folder) == (0o600, 0o700)
    assert not Path(what).exists()


def test_what_lies_in_the_folder_does_not_stop_it(tmp_path, monkeypatch):
    from click.testing import CliRunner

    from accord.cli.app import app

    (tmp_path / "fine.accord").write_text("!a.end\n")
    for suffix in ("accord", "ledger"):
        (tmp_path / f"gone.{suffix}").symlink_to(tmp_path / "nowhere")
        os.mkfifo(tmp_path / f"pipe.{suffix}")
        (tmp_path / f"folder.{suffix}").mkdir()
    served = []
    monkeypatch.setattr("accord.studio.serving.serve", lambda studio, *_: served.append(studio))
    result = CliRunner().invoke(app, ["studio", str(tmp_path), "--no-browser"])
    assert result.exit_code == 0, result.output
    assert [path.name for path in served[0].files.paths] == ["fine.accord", "gone.accord"]
    (ledger,) = served[0].ledgers.listed()
    assert (Path(ledger["name"]).name, ledger["ok"], ledger["finding"]) == (
        "gone.ledger",
        False,
        "it is no ordinary file",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["nowhere.accord"], "no such file or folder"), (["-"], "not standard input"), (["--port", "0"], "--port")],
)
def test_wrong_usage(arguments, message):
    with started(*arguments) as process:
        assert process.wait(20) == 2
        assert message in process.stderr.read()


def test_a_port_that_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with started("--port", port) as process:
            assert process.wait(20) == 2
            assert f"cannot listen on port {port}" in process.stderr.read()


def test_without_the_packages_it_says_what_to_install(monkeypatch):
    from click.testing import CliRunner

    from accord.cli.app import app

    for module in [name for name in sys.modules if name.startswith("accord.studio")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "starlette", None)
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    result = CliRunner().invoke(app, ["studio"])
    assert result.exit_code == 2
    assert "accord-contracts[studio]" in result.stderr
