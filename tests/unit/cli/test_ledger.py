from __future__ import annotations

import json

import pytest
from tests.ledgers import fill, honest
from tests.unit.cli.test_verify import on_a_terminal

from accord import FileSink, Ledger, Monitor, RecordedMonitor, UsageError

HOSTILE = "\x1b]0;boo\x07\x1b[31m\u202e\u200b\ud800[bold red]\r\n"


@pytest.fixture
def path(tmp_path):
    with Ledger(FileSink(tmp_path / "a.ledger")) as ledger:
        fill(ledger, 7, "one")
        fill(ledger, 7, "two")
    return tmp_path / "a.ledger"


def test_what_was_tried_and_answered(accord, path):
    result = accord("ledger", "show", path)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "14 attempts: 8 ok, 2 violation, 2 unrecognized, 2 misuse"
    for text in ("!Nonsense", "VIOLATION", "?No by ana", "at 12.25", 'meta {"shown": "Pay?", "to": "ana"}', "misuse"):
        assert text in result.stdout


def test_the_role_in_a_conversation_is_not_cut_off(accord, tmp_path):
    with Ledger(FileSink(tmp_path / "a.ledger")) as ledger:
        fill(ledger, 1, "0123456789abcdef/FrontDesk")
        fill(ledger, 1, f"0123456789abcdef/{HOSTILE * 9}")
    shown = accord("ledger", "show", tmp_path / "a.ledger").stdout
    assert " 0123456789abc…/FrontDesk  !" in shown
    assert "\x1b" not in shown


def test_one_session(accord, path):
    result = accord("ledger", "show", path, "--session", "two")
    assert " one " not in result.stdout
    assert result.stdout.splitlines()[-1].startswith("7 attempts")
    assert accord("ledger", "show", path, "--session", "three").stdout == "0 attempts\n"


def test_from_an_entry_on(accord, path):
    result = accord("ledger", "show", path, "--from", "14")
    assert result.stdout.splitlines()[-1] == "1 attempt: 1 misuse"
    assert accord("ledger", "show", path, "--from", "-1").exit_code == 2


def test_json_is_everything(accord, path):
    result = accord("ledger", "show", path, "--json")
    shown = [json.loads(line) for line in result.stdout.splitlines()]
    kept = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert shown == [{"hash": line["hash"], **line["entry"]} for line in kept]


def test_a_bad_entry_ends_it(accord, path):
    lines = path.read_bytes().splitlines(keepends=True)
    lines[5] = lines[5].replace(b"one", b"two")
    path.write_bytes(b"".join(lines))
    result = accord("ledger", "show", path)
    assert result.exit_code == 1
    assert "     4  one" in result.stdout
    assert "     5  " not in result.stdout
    assert "entry 5 (line 6) is bad" in result.stdout
    result = accord("ledger", "show", path, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout.splitlines()[-1])["finding"]["entry"] == 5


def test_a_torn_line_leaves_the_rest_readable(accord, path):
    path.write_bytes(path.read_bytes()[:-30])
    result = accord("ledger", "show", path)
    assert result.exit_code == 1
    assert "    13  two" in result.stdout
    assert "as after a crash" in result.stdout


def test_a_ledger_with_a_key(accord, tmp_path, monkeypatch):
    path = tmp_path / "keyed.ledger"
    path.write_bytes(b"".join(honest(3, b"secret")))
    result = accord("ledger", "show", path)
    assert result.exit_code == 0
    assert "the hashes were not checked" in result.stdout
    monkeypatch.setenv("KEY", "secret")
    result = accord("ledger", "show", path, "--key-env", "KEY")
    assert result.exit_code == 0
    assert "not checked" not in result.stdout
    monkeypatch.setenv("KEY", "other")
    assert accord("ledger", "show", path, "--key-env", "KEY").exit_code == 1


def test_hostile_text_stays_inert(accord, command, tmp_path):
    path = tmp_path / "hostile.ledger"
    with Ledger(FileSink(path), identity=HOSTILE.replace("\ud800", "")) as ledger:
        session = RecordedMonitor(Monitor("rec X.!a.X", mode="refuse"), ledger, session=HOSTILE)
        session.send("a", {HOSTILE: [HOSTILE]}, meta={HOSTILE: HOSTILE})
        session.send(HOSTILE)
        session.receive("b", by=HOSTILE)
        with pytest.raises(UsageError):
            session.send("a", to=HOSTILE)
    for flags in ([], ["--json"], ["--session", HOSTILE.replace("\ud800", "")]):
        result = accord("ledger", "show", path, *flags)
        assert result.exit_code == 0
        assert not any(c in result.output for c in "\x1b\x07\u202e\u200b\ud800\r")
    shown, status = on_a_terminal(command("ledger", "show", path, NO_COLOR="1"))
    assert status == 0
    assert not any(c in shown for c in "\x1b\x07\u202e\u200b")


@pytest.mark.parametrize("columns", [60, 100])
def test_lines_fit_the_terminal(command, path, columns):
    shown, status = on_a_terminal(command("ledger", "show", path, NO_COLOR="1", COLUMNS=str(columns)))
    assert status == 0
    assert max(map(len, shown.splitlines())) <= columns
    assert "VIOLATION" in shown


def test_help(accord):
    assert "show" in accord("ledger", "--help").stdout
    assert accord("ledger").exit_code in {0, 2}
    assert accord("ledger", "dance").exit_code == 2
