from __future__ import annotations

from accord.templates import template, template_names


def test_without_a_name_all_are_listed(accord):
    result = accord("new")
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()] == list(template_names())
    assert "Search, show, ask, and only then book." in result.stdout


def test_a_template_is_written_once(accord, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = accord("new", "booking")
    assert result.exit_code == 0
    assert "accord step booking.accord" in result.stdout
    assert (tmp_path / "booking.accord").read_text() == template("booking").text
    (tmp_path / "booking.accord").write_text("mine")
    again = accord("new", "booking")
    assert again.exit_code == 2
    assert "is there already, and is left as it is" in again.stderr
    assert (tmp_path / "booking.accord").read_text() == "mine"


def test_to_a_file_and_to_standard_output(accord, tmp_path):
    assert accord("new", "retry", tmp_path / "mine.accord").exit_code == 0
    assert (tmp_path / "mine.accord").read_text() == template("retry").text
    assert accord("new", "retry", "-").stdout == template("retry").text
    nowhere = accord("new", "retry", tmp_path / "no" / "such.accord")
    assert nowhere.exit_code == 2
    assert "cannot write" in nowhere.stderr


def test_an_unknown_name(accord):
    result = accord("new", "bookin")
    assert result.exit_code == 2
    assert "did you mean `booking`?" in result.stderr


def test_into_a_folder(accord, tmp_path):
    result = accord("new", "retry", tmp_path)
    assert result.exit_code == 0
    assert (tmp_path / "retry.accord").read_text() == template("retry").text
    assert accord("new", "retry", tmp_path).exit_code == 2
