"""Diagnostics for people: the carets stand under the place, whatever is on the line."""

import re

import pytest

from accord.diagnostics import Diagnostic, Note, Source, Span, did_you_mean
from accord.diagnostics.text import WINDOW, render, render_all
from accord.diagnostics.visible import clip, display_width, visible


def diagnostic(text, start, end, **more):
    return Diagnostic("E013", "something is wrong", Source(text, "a.accord"), Span(start, end), **more)


def lines(text, start, end, **more):
    return render(diagnostic(text, start, end, **more)).splitlines()


def marked(text, start, end):
    """What the carets of the rendered snippet stand under, by terminal cells."""
    snippet, carets = lines(text, start, end)[3:5]
    cells = []
    for character in snippet:
        cells += [character] + [""] * (display_width(character) - 1) if display_width(character) else []
    first, count = carets.index("^"), carets.count("^")
    return "".join(cells[first : first + count])


def test_the_whole_picture():
    text = "!Ask.\n?Answer.Loop\n"
    more = {"label": "no `rec Loop` around this", "help": "add one", "notes": (Note(Span(0, 4), "first step"),)}
    assert render(diagnostic(text, 14, 18, **more)) == (
        "error[E013]: something is wrong\n"
        " --> a.accord:2:9\n"
        "  |\n"
        "2 | ?Answer.Loop\n"
        "  |         ^^^^ no `rec Loop` around this\n"
        "1 | !Ask.\n"
        "  | ---- first step\n"
        "  = help: add one"
    )


def test_the_first_column():
    assert lines("!a", 0, 2)[3:] == ["1 | !a", "  | ^^"]


def test_an_empty_text():
    assert lines("", 0, 0)[1:] == [" --> a.accord:1:1", "  |", "1 |", "  | ^"]


def test_the_end_of_the_text():
    assert lines("!a.", 3, 3)[3:] == ["1 | !a.", "  |    ^"]
    assert lines("!a.\n", 4, 4)[3:] == ["2 |", "  | ^"]


def test_a_place_beyond_the_text_does_not_fail():
    assert lines("!a", 99, 120)[1] == " --> a.accord:1:3"


def test_a_span_over_several_lines_is_marked_on_the_first():
    assert lines("!a.\n?b.\n!c", 3, 9)[3:] == ["1 | !a.", "  |    ^"]
    assert lines("!abc.\n?b", 1, 8)[3:] == ["1 | !abc.", "  |  ^^^^"]


def test_the_gutter_is_as_wide_as_the_largest_line_number():
    text = "\n" * 11 + "!a"
    shown = lines(text, 11, 13, notes=(Note(Span(0, 0), "here"),))
    assert shown[1] == "  --> a.accord:12:1"
    assert shown[3:] == ["12 | !a", "   | ^^", " 1 |", "   | - here"]


def test_tabs_are_four_cells():
    assert lines("\t!a.\tX", 5, 6)[3:] == ["1 |     !a.    X", "  |            ^"]
    assert marked("\t!a.\tX", 5, 6) == "X"
    assert lines("!a\t\t!b", 2, 4)[4] == "  |   ^^^^^^^^"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("!名前.?答え.X", "X"),
        ("!名前.?答え.X", "名前"),
        ("!é.X", "X"),
        ("!ｆｕｌｌ.X", "X"),
        ("!😀.X", "X"),
        ("!안녕.X", "X"),
    ],
)
def test_wide_characters_take_two_cells(text, word):
    start = text.index(word)
    assert marked(text, start, start + len(word)) == word


def test_combining_marks_take_no_cell():
    text = "!e\u0301te\u0301.X"
    start = text.index("X")
    assert lines(text, start, start + 1)[4] == "  |      ^"


@pytest.mark.parametrize("hostile", ["\x1b[31m", "\x00", "\u202e", "\u200b", "\x07", "\r", "\u2028", "\ud800", "\x9b"])
def test_nothing_hostile_reaches_the_terminal(hostile):
    text = f"!a{hostile}b.X"
    start = text.index("X")
    finding = Diagnostic(
        "E013",
        f"message {hostile}",
        Source(text, f"file{hostile}.accord"),
        Span(start, start + 1),
        label=f"label {hostile}",
        help=f"help {hostile}",
        notes=(Note(Span(0, 2), f"note {hostile}"),),
    )
    shown = render(finding)
    assert hostile not in shown
    assert all(c.isprintable() or c == "\n" for c in shown)
    snippet, carets = shown.splitlines()[3:5]
    assert snippet[carets.index("^")] == "X"


def test_a_long_line_is_shown_as_a_window():
    text = ".".join(f"!step{i}" for i in range(5000))
    start = text.index("!step2500")
    shown = lines(text, start, start + 9)
    assert max(map(len, shown)) < WINDOW + 20
    assert shown[1] == f" --> a.accord:1:{start + 1}"
    assert shown[3].startswith("1 | …")
    assert shown[3].endswith("…")
    assert marked(text, start, start + 9) == "!step2500"


@pytest.mark.parametrize("start", [0, 1, 49, 50, 51, 99, 100, 101, 150, 198, 199])
def test_the_window_holds_the_place_wherever_it_is(start):
    text = "".join(chr(ord("a") + i % 26) for i in range(200))
    assert marked(text, start, start + 1) == text[start]
    assert len(lines(text, start, start + 1)[3]) <= WINDOW + len("1 | ……")


def test_a_long_span_on_a_long_line_is_cut_with_the_window():
    shown = lines("a" * 10_000, 10, 9_000)
    assert max(map(len, shown)) < WINDOW + 20


def test_a_long_line_of_wide_characters():
    text = "名" * 500
    assert marked(text, 250, 252) == "名名"


def test_colour_changes_nothing_but_colour():
    finding = diagnostic("!a.X", 3, 4, label="here", help="help", notes=(Note(Span(0, 2), "there"),))
    plain, coloured = render(finding), render(finding, colour=True)
    assert "\x1b[" not in plain
    assert coloured != plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_warnings_say_so():
    finding = Diagnostic("W015", "odd", Source("!a"), Span(0, 2))
    assert finding.severity == "warning"
    assert render(finding).startswith("warning[W015]: odd")


def test_several_diagnostics_are_a_blank_line_apart():
    finding = diagnostic("!a", 0, 1)
    assert render_all([finding, finding]) == f"{render(finding)}\n\n{render(finding)}"
    assert render_all([]) == ""


# -- pieces ----------------------------------------------------------------------------------------------------------


def test_visible():
    assert visible("plain é 名 😀") == "plain é 名 😀"
    assert visible("a\x1b\u202e\U000e0041\n") == "a\\x1b\\u202e\\U000e0041\\x0a"


@pytest.mark.parametrize("text", ["", "a", "a" * 80, "a" * 81, "\x00" * 50, "名" * 200, "a" * 79 + "\x00"])
def test_clip_never_passes_its_width(text):
    clipped = clip(text)
    assert len(clipped) <= 80
    assert (clipped == text) == (len(text) <= 80 and text.isprintable())


def test_display_width():
    assert [display_width(t) for t in ("", "abc", "名前", "e\u0301", "a名", "ｆ")] == [0, 3, 4, 1, 3, 2]


def test_lines_and_columns():
    source = Source("ab\ncd\r\n\nx")
    assert [source.line_and_column(i) for i in (0, 2, 3, 6, 7, 8, 9)] == [
        (1, 1),
        (1, 3),
        (2, 1),
        (2, 4),
        (3, 1),
        (4, 1),
        (4, 2),
    ]
    assert [source.line(n) for n in (1, 2, 3, 4)] == ["ab", "cd", "", "x"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [("Lop", "Loop"), ("loop", "Loop"), ("LOOP", "Loop"), ("Retr", "Retry"), ("Zebra", None), ("Loop", None)],
)
def test_did_you_mean(word, meant):
    assert did_you_mean(word, ["Loop", "Retry"]) == meant
