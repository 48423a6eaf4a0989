"""What the page is told while a contract is built: findings, completion, changes by form, tools, files."""

from __future__ import annotations

import json
import os

import pytest

from accord.studio.places import Places
from tests.studio.asking import Asker


@pytest.fixture(scope="module")
def asker():
    return Asker()


def test_findings_have_places_as_a_browser_counts_them(asker):
    text = '// 😀😀\n!"😀".!a.X'
    (finding,) = asker.ask("contract", text=text)["findings"]
    units = text.encode("utf-16-le")
    start, end = finding["span"]
    assert units[start * 2 : end * 2].decode("utf-16-le") == "X"
    assert finding["code"] == "E021"
    assert "^" in finding["text"]


def test_places_there_and_back():
    text = "a😀b😀😀c"
    places = Places(text)
    units = [places.unit(offset) for offset in range(len(text) + 1)]
    assert units == [len(text[:offset].encode("utf-16-le")) // 2 for offset in range(len(text) + 1)]
    assert [places.offset(unit) for unit in units] == list(range(len(text) + 1))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("!search.?results.!|", ["results", "search"]),
        ("!search.?results.!se|", ["search"]),
        ("protocol P = !search.|", ["rec", "end", "each"]),
        ("|", ["protocol", "rule", "events", "record", "enum"]),
        ('!a.end\n\nrule "r" { bef|', ["before", "before each"]),
        ('protocol P = !pay.end\nrule "r" { before p|', ["pay"]),
        ("!a(x == 1) |", ["by human", "within"]),
    ],
)
def test_completion(asker, text, expected):
    at = text.index("|")
    answer = asker.ask("complete", text=text.replace("|", ""), at=at, palette=[])
    assert [option["text"] for option in answer["options"]] == expected


def test_completion_offers_the_palette_and_replaces_what_is_typed(asker):
    answer = asker.ask("complete", text='!"😀".!bo', at=9, palette=["book flight", "bookmark"])
    assert [option["text"] for option in answer["options"]] == ["bookmark"]
    assert (answer["from"], answer["to"]) == (7, 9)
    answer = asker.ask("complete", text="!", at=1, palette=["book flight"])
    assert answer["options"] == [{"text": '"book flight"', "kind": "label"}]


BOOK = "// first look\n!search.?{found, nothing.end}.!book.end"


@pytest.mark.parametrize(
    ("text", "change", "step", "what", "expected"),
    [
        (BOOK, "after", 0, "!wait", "// first look\n!search.!wait.?{found, nothing.end}.!book.end\n"),
        (BOOK, "before", 3, "!ask", "// first look\n!search.?{found, nothing.end}.!ask.!book.end\n"),
        (BOOK, "beside", 1, "?busy", "// first look\n!search.?{busy, found, nothing.end}.!book.end\n"),
        (BOOK, "beside", 0, "!skip", "// first look\n!{search, skip}.?{found, nothing.end}.!book.end\n"),
        (BOOK, "rename", 3, "reserve", "// first look\n!search.?{found, nothing.end}.!reserve.end\n"),
        (BOOK, "rename", 1, "2nd hit", '// first look\n!search.?{"2nd hit", nothing.end}.!book.end\n'),
        (BOOK, "loop", 0, "Again", "// first look\nrec Again.!search.?{found, nothing.end}.!book.end\n"),
        (BOOK, "remove", 0, "", "// first look\n?{found, nothing.end}.!book.end\n"),
        (BOOK, "remove", 2, "", "// first look\n!search.?{found}.!book.end\n"),
        ("!a", "remove", 0, "", "end\n"),
        ("", "after", 0, "!a", "protocol Main = !a.end\n"),
        ("protocol P = end", "after", 0, "!a", "protocol P = !a.end\n"),
        ("", "begin", 0, "Booking", "protocol Booking = end\n"),
        ("!a within 5s else !b.end", "after", 0, "?c", "!a within 5s else !b.?c.end\n"),
        ("!pay(x == 1) by human", "rename", 0, "y", None),
        (
            "!a.end", "rule", 0, 'rule "once" { at most 1 a }',
            'protocol Main = !a.end\n\nrule "once" { at most 1 a }\n',
        ),
    ],
)  # fmt: skip
def test_changes_by_form(asker, text, change, step, what, expected):
    answer = asker.ask("edit", text=text, change=change, step=step, what=what)
    if expected is None:
        assert not answer["formatted"]
    else:
        assert [line.strip() for line in answer["text"].splitlines()] == expected.splitlines()
        assert answer["formatted"] or "{found}" in expected


@pytest.mark.parametrize(
    ("change", "step", "what", "problem"),
    [
        ("after", 9, "!a", "there is no step 9; the text has 4"),
        ("after", 0, "  ", "there is nothing to put in"),
        ("before", 1, "!a", "`?found` begins a branch"),
        ("beside", 1, "!a", "all branches of this choice are `?`"),
        ("loop", 0, "2", "is no name for a loop"),
        ("loop", 1, "L", "begins a branch"),
        ("after", 0, "a" * 2001, "2000 characters at the most"),
    ],
)
def test_changes_that_cannot_be_made(asker, change, step, what, problem):
    answer = asker.post("edit", text=BOOK, change=change, step=step, what=what)
    assert answer.status == 400
    assert problem in answer.json["error"]


def test_a_change_that_makes_no_sense_is_kept_and_found(asker):
    answer = asker.ask("edit", text=BOOK, change="after", step=0, what="Nowhere")
    assert not answer["formatted"] and "search.Nowhere" in answer["text"]
    assert asker.ask("contract", text=answer["text"])["findings"]


def test_steps_and_edges_have_the_same_words(asker):
    text = "protocol P = ?q(total as t).{!pay(amount <= t).end, ?Approval by human.end}"
    told = asker.ask("contract", text=text)
    assert {step["word"] for step in told["steps"]} == {edge["word"] for edge in told["protocols"][0]["graph"]["edges"]}
    for step in told["steps"]:
        start, end = step["span"]
        assert text[start:end].lstrip("!?")[:1] == step["word"].lstrip("!?")[:1]


MCP = {"tools": [{"name": "search", "description": "Find.\nMore.", "inputSchema": {"properties": {"city": {}}}}]}
OPENAPI = {
    "openapi": "3.1.0",
    "paths": {
        "/pets": {
            "get": {"operationId": "listPets", "parameters": [{"name": "limit"}], "summary": "List"},
            "post": {"requestBody": {"content": {"application/json": {"schema": {"properties": {"name": {}}}}}}},
            "parameters": [],
        }
    },
}
PYTHON = '''
import os
os.system("touch /tmp/never")
def search(city: str, *, limit: int = 3):
    """Find flights."""
def _hidden(): ...
async def book(flight): ...
'''


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (json.dumps(MCP), [("search", "Find.", ["city"])]),
        (json.dumps({"jsonrpc": "2.0", "result": MCP}), [("search", "Find.", ["city"])]),
        (json.dumps(OPENAPI), [("listPets", "List", ["limit"]), ("post /pets", "", ["name"])]),
        ("openapi: 3.1.0\npaths:\n  /x:\n    get:\n      operationId: getX\n", [("getX", "", [])]),
        (
            json.dumps([{"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": {}}}}}]),
            [("f", "", ["a"])],
        ),
        (PYTHON, [("search", "Find flights.", ["city", "limit"]), ("book", "", ["flight"])]),
        (PYTHON + "tools = [book, imported]", [("book", "", ["flight"]), ("imported", "", [])]),
    ],
)
def test_tools_of_every_kind(asker, text, expected):
    told = asker.ask("tools", text=text)["tools"]
    assert [(tool["name"], tool["about"], tool["fields"]) for tool in told] == expected
    assert not os.path.exists("/tmp/never")  # noqa: PTH110, S108 - Python is read and never run


@pytest.mark.parametrize("text", ["", "{", "def", "[]", "null", "x = 1", "[" * 100_000, "a: &a [*a]", "\x00"])
def test_what_holds_no_tools(asker, text):
    answer = asker.post("tools", text=text)
    assert answer.status == 400
    assert "a tool list is an MCP manifest" in answer.json["error"]


def test_formatting_and_drawing(asker):
    assert asker.ask("format", text="!a . ?b")["text"] == "!a.?b\n"
    assert asker.post("format", text="!a . X").status == 422
    assert "stateDiagram" in asker.ask("mermaid", text="!a.?b")["text"]


def test_files_are_read_and_saved_only_if_allowed(tmp_path):
    path = tmp_path / "a.accord"
    path.write_text("!a.end\n")
    reader = Asker(paths=[path])
    assert reader.ask("about")["files"] == [{"number": 0, "name": str(path)}]
    assert reader.ask("file", number=0)["text"] == "!a.end\n"
    refused = reader.post("save", number=0, text="!b.end\n", before="!a.end\n")
    assert (refused.status, path.read_text()) == (400, "!a.end\n")
    assert "--write" in refused.json["error"]
    for number in (-1, 1, 10**30):
        assert reader.post("file", number=number).status == 400
    writer = Asker(paths=[path], writable=True)
    stale = writer.post("save", number=0, text="!b.end\n", before="!old.end\n")
    assert (stale.status, path.read_text()) == (400, "!a.end\n")
    assert writer.ask("save", number=0, text="!b.end\n", before="!a.end\n") == {"saved": str(path)}
    assert path.read_text() == "!b.end\n"
