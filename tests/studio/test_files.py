"""Files that the studio was opened on: nothing is read that waits, cut or hidden; nothing of anybody is overwritten."""

from __future__ import annotations

import os
import threading

import pytest

from accord.cli.sources import find_contracts, look_around
from accord.errors import UsageError
from accord.limits import Limits
from accord.studio.files import Files
from accord.studio.opened import OPENED
from tests.studio.asking import Asker


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "p.accord"
    path.write_text("!a.end\n")
    return path


def save(asker, text, before, number=0):
    return asker.post("save", number=number, path=str(asker.studio.files.path(number)), text=text, before=before)


def test_what_is_no_file_is_not_waited_for(tmp_path, path):
    pipe, device = tmp_path / "pipe.accord", tmp_path / "zero.accord"
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    (tmp_path / "folder.accord").mkdir()
    assert find_contracts([tmp_path]) == [path]
    asker = Asker(paths=[pipe, device, tmp_path / "folder.accord", tmp_path / "gone.accord"], writable=True)
    for number, reason in enumerate(["no ordinary file", "no ordinary file", "no ordinary file", "No such file"]):
        for answer in (asker.post("file", number=number), save(asker, "!b.end", "!a.end", number)):
            assert reason in answer.json["error"] or (number, answer.status) == (3, 409)


def test_a_file_that_is_too_long_is_not_shown_in_part(tmp_path):
    """Whoever saved what they were shown would cut it off."""
    path = tmp_path / "long.accord"
    path.write_text("!a.end\n" + "// é\n" * 100)
    files = Files((path,), Limits(source_characters=50), writable=True)
    for ask in (lambda: files.text(0), lambda: files.save(0, "x", path.read_text()[:50])):
        with pytest.raises(UsageError, match="more than 50 characters"):
            ask()
    assert len(path.read_text()) > 50
    path.write_text("!a.end\n")
    with pytest.raises(UsageError, match="more than 50 characters"):
        files.save(0, "!b." * 50, "!a.end\n")
    assert path.read_text() == "!a.end\n"


def test_what_is_not_utf8_is_told_and_left(path):
    path.write_bytes(b"!a.end // \xff\n")
    asker = Asker(paths=[path], writable=True)
    answer = asker.post("file", number=0)
    assert answer.status == 422 and "E017" in answer.json["text"]
    assert save(asker, "!b.end", "!a.end // ").status == 422
    assert path.read_bytes() == b"!a.end // \xff\n"


@pytest.mark.parametrize("text", ["!a.end\r\n", "\ufeff!a.end\n", "!a.end", "// \u2028\u202e\n!a.end\n"])
def test_every_character_survives(path, text):
    path.write_bytes(text.encode())
    asker = Asker(paths=[path], writable=True)
    assert asker.ask("file", number=0)["text"] == text
    assert save(asker, f"{text}\r\n", text).status == 200
    assert path.read_bytes() == f"{text}\r\n".encode()


@pytest.mark.parametrize(
    ("before", "shown", "after"),
    [
        ("a\r\nb\r\n", "a\nnew\nb\n", "a\r\nnew\r\nb\r\n"),
        ("a\nb\r\nc\rd\n", "a\nb\nc\nd\n", "a\nb\r\nc\rd\n"),
        ("a\nb\r\nc\nd\r\n", "a\nb\nnew\nd\nlast", "a\nb\r\nnew\r\nd\r\nlast"),
        ("a\nb\r\nc", "b\nc\n", "b\r\nc\r\n"),
        ("a\nb", "a\nb\n", "a\nb\n"),
        ("a\r\n", "", ""),
    ],
)
def test_lines_keep_the_ends_that_they_have_in_the_file(path, before, shown, after):
    """A text field gives back `\\n` alone, whatever it was given."""
    path.write_bytes(before.encode())
    answer = save(Asker(paths=[path], writable=True), shown, before)
    assert answer.json["text"] == after
    assert path.read_bytes() == after.encode()


def test_a_file_that_was_deleted_is_told_and_made_again_if_that_is_asked_for(path):
    asker = Asker(paths=[path], writable=True)
    path.unlink()
    answer = save(asker, "!b.end\n", "!a.end\n")
    assert (answer.status, answer.json["theirs"]) == (409, None)
    assert not path.exists()
    assert save(asker, "!b.end\n", None).status == 200
    assert path.read_text() == "!b.end\n"
    answer = save(asker, "!c.end\n", None)  # somebody else has made it in the meantime
    assert (answer.status, answer.json["theirs"]) == (409, "!b.end\n")
    assert path.read_text() == "!b.end\n"


def test_nothing_is_saved_in_another_file_of_the_same_number(path):
    """A studio that was started anew has other files."""
    answer = Asker(paths=[path], writable=True).post("save", number=0, path="/x.accord", text="", before="!a.end\n")
    assert answer.status == 400 and "does not have /x.accord open" in answer.json["error"]
    assert path.read_text() == "!a.end\n"


def test_nothing_that_lies_in_the_folder_stops_the_start(tmp_path, path, monkeypatch):
    (tmp_path / "gone.accord").symlink_to(tmp_path / "nowhere")
    (tmp_path / "circle.accord").symlink_to(tmp_path / "circle.accord")
    (tmp_path / "again.accord").symlink_to(path)
    (tmp_path / "folder.accord").mkdir()
    os.mkfifo(tmp_path / "pipe.accord")
    (tmp_path / "closed.accord").write_text("!a.end\n")
    (tmp_path / "dark").mkdir()
    stat, scandir = type(path).stat, os.scandir

    def refused(here, **given):
        if here.name == "closed.accord":
            raise PermissionError(13, "Permission denied", str(here))
        return stat(here, **given)

    def dark(here):
        if str(here).endswith("dark"):
            raise PermissionError(13, "Permission denied", str(here))
        return scandir(here)

    monkeypatch.setattr(type(path), "stat", refused)  # whoever runs this may be allowed everything
    monkeypatch.setattr(os, "scandir", dark)
    troubles = []
    found = look_around(tmp_path, ".accord", troubles.append)
    assert [one.name for one in found] == ["again.accord", "circle.accord", "closed.accord", "gone.accord"]
    assert troubles == [f"cannot look into {tmp_path / 'dark'}: Permission denied"]
    asker = Asker(paths=found)
    assert asker.ask("file", number=0)["text"] == "!a.end\n"
    for number, reason in ((1, "symbolic links"), (2, "Permission denied"), (3, "No such file")):
        answer = asker.post("file", number=number)
        assert answer.status == 400 and reason in answer.json["error"]


def test_a_link_out_of_the_folder_is_read_and_not_written(tmp_path, path):
    outside = tmp_path / "outside.txt"
    outside.write_text("!a.end\n")
    folder = tmp_path / "folder"
    folder.mkdir()
    link, inside = folder / "link.accord", folder / "inside.accord"
    link.symlink_to(outside)
    (folder / "target.accord").write_text("!a.end\n")
    inside.symlink_to(folder / "target.accord")
    files = Files((link, inside), Limits(), folder, writable=True)
    assert files.text(0) == "!a.end\n"
    with pytest.raises(UsageError, match="leads out of the folder"):
        files.save(0, "!b.end\n", "!a.end\n")
    assert outside.read_text() == "!a.end\n"
    files.save(1, "!b.end\n", "!a.end\n")
    assert inside.is_symlink() and inside.read_text() == "!b.end\n"
    named = Files((link,), Limits(), writable=True)
    named.save(0, "!b.end\n", "!a.end\n")
    assert link.is_symlink() and outside.read_text() == "!b.end\n"


def test_of_many_who_save_one_wins_and_the_others_are_told(path):
    files = Files((path,), Limits(), writable=True)
    outcomes: list[str] = []
    refused: list[str] = []
    together = threading.Barrier(8)

    def save(name):
        together.wait()
        try:
            files.save(0, f"!{name}.end\n", "!a.end\n")
            outcomes.append(name)
        except UsageError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=save, args=(f"n{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 1
    assert len(refused) == 7 and all("changed by somebody else" in reason for reason in refused)
    assert path.read_text() == f"!{outcomes[0]}.end\n"


def test_what_an_editor_writes_at_the_last_moment_is_not_lost(path, monkeypatch):
    """The new text has been written next to the file already when somebody else saves."""
    fsync = os.fsync

    def meanwhile(descriptor):
        path.write_text("!theirs.end\n")
        fsync(descriptor)

    monkeypatch.setattr("accord.replacing.os.fsync", meanwhile)
    answer = save(Asker(paths=[path], writable=True), "!ours.end\n", "!a.end\n")
    assert answer.status == 409 and "changed by somebody else in the meantime" in answer.json["error"]
    assert answer.json["theirs"] == "!theirs.end\n"
    assert path.read_text() == "!theirs.end\n"
    assert [entry.name for entry in path.parent.iterdir()] == ["p.accord"]


def test_nothing_is_written_unless_it_was_allowed(path):
    """Every answer there is, asked for of a studio that only reads."""
    asker = Asker(paths=[path])
    before = path.read_bytes(), path.stat().st_mtime_ns
    for name in OPENED:
        edited = {"number": 0, "path": str(path), "text": "!b.end"}
        for request in ({**edited, "before": "!a.end\n"}, {**edited, "before": None}, {"number": 0}, {"key": "x"}, {}):
            asker.post(name, **request)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert [entry.name for entry in path.parent.iterdir()] == ["p.accord"]
