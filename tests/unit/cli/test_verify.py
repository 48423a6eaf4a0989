from __future__ import annotations

import json
import os
import pty
import subprocess

import pytest
from tests.ledgers import check, fill, honest

from accord import FileSink, Ledger

KEY = b"secret"


@pytest.fixture
def keep(tmp_path):
    """Write a ledger file: `keep(lines)`."""

    def write(lines, name="a.ledger"):
        path = tmp_path / name
        path.write_bytes(b"".join(lines))
        return path

    return write


def test_a_whole_ledger(accord, keep):
    result = accord("verify", keep(honest(8)))
    assert result.exit_code == 0
    whole, warning, head = result.stdout.splitlines()
    assert whole == "the ledger is whole: 9 entries"
    assert "head kept elsewhere" in warning
    assert head == f"head {check(honest(8)).head}"
    result = accord("verify", keep(honest(8)), "--json")
    told = json.loads(result.stdout)
    assert told == {"ok": True, "entries": 9, "head": check(honest(8)).head, "finding": None}


def test_the_first_bad_entry_is_named(accord, keep):
    lines = honest(8)
    lines[4] = lines[4].replace(b"s1", b"s2")
    del lines[6]
    path = keep(lines)
    result = accord("verify", path)
    assert result.exit_code == 1
    assert result.stdout.startswith("entry 4 (line 5) is bad:\n")
    assert "the 4 entries before it are sound\n" in result.stdout
    told = json.loads(accord("verify", path, "--json").stdout)
    assert (told["ok"], told["entries"], told["finding"]["entry"], told["finding"]["line"]) == (False, 4, 4, 5)
    assert told["finding"]["fault"] == "changed"


def test_a_head(accord, keep):
    lines = honest(8)
    early, late = check(lines[:4]).head, check(lines).head
    result = accord("verify", keep(lines), "--head", early)
    assert result.exit_code == 0
    assert "the head given is its entry 3; 5 follow\n" in result.stdout
    assert "the head given is its last entry\n" in accord("verify", keep(lines), "--head", f" {late}\n").stdout
    cut = accord("verify", keep(lines[:6]), "--head", late)
    assert cut.exit_code == 1
    assert cut.stdout.startswith("entry 6 (line 7) is missing:\n")
    other = accord("verify", keep(honest(8, identity="other")), "--head", early)
    assert other.exit_code == 1
    assert "history was written anew" in other.stdout
    wrong = accord("verify", keep(lines), "--head", "12")
    assert wrong.exit_code == 2
    assert "a head is written" in wrong.stderr


def test_a_key_comes_from_a_file_or_the_environment(accord, keep, tmp_path, monkeypatch):
    path = keep(honest(3, KEY))
    (tmp_path / "key").write_bytes(KEY)
    assert accord("verify", path, "--key-file", tmp_path / "key").exit_code == 0
    monkeypatch.setenv("LEDGER_KEY", KEY.decode())
    assert accord("verify", path, "--key-env", "LEDGER_KEY").exit_code == 0
    assert accord("verify", path).exit_code == 1
    assert "does not verify without it" in accord("verify", path).stdout
    plain = keep(honest(3), "plain.ledger")
    refused = accord("verify", plain, "--key-env", "LEDGER_KEY")
    assert refused.exit_code == 1
    assert "could be forged" in refused.stdout
    (tmp_path / "key").write_bytes(KEY + b"\n")
    other = accord("verify", path, "--key-file", tmp_path / "key")
    assert other.exit_code == 1
    assert "the key ends with a line break" in other.stdout


def test_keys_that_are_none(accord, keep, tmp_path):
    path = keep(honest(3, KEY))
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "long").write_bytes(b"x" * 70_000)
    for options, reason in [
        (["--key-file", tmp_path / "nowhere"], "No such file"),
        (["--key-file", tmp_path / "empty"], "empty"),
        (["--key-file", tmp_path / "long"], "longer than 65,536 bytes"),
        (["--key-file", tmp_path], "directory"),
        (["--key-env", "NO_SUCH_VARIABLE"], "not set or empty"),
        (["--key-env", "A", "--key-file", "B"], "not in both"),
    ]:
        result = accord("verify", path, *options)
        assert result.exit_code == 2
        assert reason in result.stderr


def test_files_that_cannot_be_read(accord, tmp_path):
    for path, reason in [
        (tmp_path / "nowhere", "No such file"),
        (tmp_path, "directory"),
        ("", "empty argument"),
        ("\0", "null byte"),
    ]:
        for command in (["verify"], ["ledger", "show"]):
            result = accord(*command, path)
            assert result.exit_code == 2
            assert reason in result.stderr


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\x1b[31m\n", b"\0" * 1000, b"\xff" * 10])
def test_files_that_are_no_ledger(accord, keep, content):
    for command in (["verify"], ["verify", "--json"], ["ledger", "show"], ["ledger", "show", "--json"]):
        result = accord(*command, keep([content]))
        assert result.exit_code == 1
        assert "\x1b" not in result.output
        assert "entry 0" in result.output or '"entry": 0' in result.output


def test_standard_input(accord):
    lines = honest(8)
    assert accord("verify", "-", input=b"".join(lines)).exit_code == 0
    assert accord("verify", "-", input=b"".join(lines[:3] + lines[4:])).exit_code == 1


def on_a_terminal(prepared):
    """What a command shows on a terminal."""
    master, slave = pty.openpty()
    with subprocess.Popen(**prepared, stdin=slave, stdout=slave, stderr=slave) as process:
        os.close(slave)
        shown = b""
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:
                break
            if not piece:
                break
            shown += piece
    os.close(master)
    return shown.decode(), process.returncode


def test_a_long_verification_shows_how_far_it_is(command, tmp_path):
    path = tmp_path / "long.ledger"
    with Ledger(FileSink(path, fsync="never")) as ledger:
        from accord.ledger import Attempt

        attempt = Attempt(
            session="s", contract="sha256:" + "ab" * 32, event="!a", verdict="ok", payload={"x": "y" * 1_000_000}
        )
        for _ in range(20):
            ledger.append(attempt)
    shown, status = on_a_terminal(command("verify", path))
    assert status == 0
    assert "verifying" in shown
    assert "\x1b[32mthe ledger is whole" in shown
    piped = subprocess.run(**command("verify", path), capture_output=True, text=True, check=True)
    assert piped.stderr == ""
    assert "\x1b" not in piped.stdout
    shown, _ = on_a_terminal(command("verify", path, NO_COLOR="1"))
    assert "\x1b[32m" not in shown


def test_a_short_verification_shows_no_bar(command, keep):
    shown, status = on_a_terminal(command("verify", keep(honest(3))))
    assert status == 0
    assert "verifying" not in shown


def test_a_ledger_that_is_being_written_can_be_verified(accord, tmp_path):
    path = tmp_path / "live.ledger"
    with Ledger(FileSink(path)) as ledger:
        fill(ledger, 5)
        assert accord("verify", path, "--head", ledger.head).exit_code == 0
        assert accord("ledger", "show", path).exit_code == 0
        fill(ledger, 5)
