from __future__ import annotations

import re
import stat

UNTIDY = "// why\nprotocol   P =!a  . ?{ b,c }.end // tail\n"
TIDY = "// why\nprotocol P = !a.?{b, c}.end  // tail\n"


def test_rewrites_what_differs(accord, write, tmp_path):
    path, fine = write(UNTIDY), write(TIDY, "fine.accord")
    before = fine.stat()
    result = accord("fmt", tmp_path)
    assert (result.exit_code, result.stdout) == (0, f"reformatted {path}\n")
    assert path.read_text() == TIDY
    assert (fine.stat().st_ino, fine.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["contract.accord", "fine.accord"]
    assert accord("fmt", tmp_path).stdout == ""


def test_check_writes_nothing(accord, write):
    path = write(UNTIDY)
    result = accord("fmt", "--check", path)
    assert (result.exit_code, result.stdout) == (1, f"would reformat {path}\n")
    assert path.read_text() == UNTIDY
    assert accord("fmt", "--check", write(TIDY)).exit_code == 0


def test_a_file_with_errors_is_left_alone_and_the_others_are_not(accord, write, tmp_path):
    broken, path = write("!a . X", "broken.accord"), write(UNTIDY)
    result = accord("fmt", tmp_path)
    assert result.exit_code == 1
    assert "E021" in result.stderr
    assert broken.read_text() == "!a . X"
    assert path.read_text() == TIDY


def test_standard_input_to_standard_output(accord):
    result = accord("fmt", "-", input=UNTIDY)
    assert (result.exit_code, result.stdout) == (0, TIDY)
    result = accord("fmt", "-", input="!a.X")
    assert (result.exit_code, result.stdout) == (1, "")
    result = accord("fmt", "--check", "-", input=UNTIDY)
    assert (result.exit_code, result.stdout) == (1, "would reformat <stdin>\n")


def test_standard_input_stands_alone(accord, write):
    result = accord("fmt", "-", write(UNTIDY), input=UNTIDY)
    assert result.exit_code == 2


def test_permissions_and_links_are_kept(accord, write, tmp_path):
    path = write(UNTIDY)
    path.chmod(0o640)
    link = tmp_path / "link.accord"
    link.symlink_to(path)
    assert accord("fmt", link).exit_code == 0
    assert link.is_symlink()
    assert path.read_text() == TIDY
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_failing_write_leaves_the_file_and_no_rubbish(accord, write, tmp_path, monkeypatch):
    path = write(UNTIDY)

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    result = accord("fmt", path)
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["contract.accord"]
    assert path.read_text() == UNTIDY


def test_a_printer_that_changes_the_meaning_is_caught(accord, write, monkeypatch):
    path = write(UNTIDY)
    for wrong in ("protocol P = !a.?{b, d}.end\n", TIDY.replace("// tail", "// other"), "!!"):
        monkeypatch.setattr("accord.language.formatting.print_document", lambda _, wrong=wrong: wrong)
        result = accord("fmt", path)
        assert result.exit_code == 70
        assert "please report" in result.stderr
        assert path.read_text() == UNTIDY


def test_line_ends_and_byte_order_mark_become_canonical(accord, write):
    path = write("\ufeff!a.end\r\n")
    assert accord("fmt", path).exit_code == 0
    assert path.read_bytes() == b"!a.end\n"


RULES = """protocol P = rec X.!{a(x as r, y.z into s, x <= 3).?b by human.X, "c d"(x in [1, 2])}.(!e | !f).end
rule "n" { before each a(x > 1) require 2 of [b, not "c d", (d and e or at least 2 f)] }
rule "m" { after a forbid b }
rule "o" { forbid a then b ... e }
"""


def test_comments_survive_wherever_they_stand(accord):
    """`fmt` itself refuses to lose a comment or to change a meaning, so it is enough that it succeeds and is stable."""
    tokens = re.findall(r'"[^"]*"|\w+|\.\.\.|[<>=]+|\S|\s+', RULES)
    for place in range(0, len(tokens) + 1, 3):
        for comment in (" // here\n", "\n// here\n"):
            text = "".join([*tokens[:place], comment, *tokens[place:]])
            result = accord("fmt", "-", input=text)
            assert (result.exit_code, result.stdout.count("// here")) == (0, 1), text
            assert accord("fmt", "-", input=result.stdout).stdout == result.stdout


def test_what_an_editor_saves_meanwhile_is_not_lost(accord, write, monkeypatch):
    path = write(UNTIDY)
    monkeypatch.setattr("accord.replacing.os.fsync", lambda _: path.write_text("!theirs.end\n"))
    result = accord("fmt", path)
    assert result.exit_code == 2
    assert "changed by somebody else in the meantime" in result.stderr
    assert path.read_text() == "!theirs.end\n"
