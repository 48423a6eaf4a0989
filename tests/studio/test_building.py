"""What the page is told while a contract is built: findings, completion, tools, files."""

from __future__ import annotations

import json

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
        ("|", ["protocol", "rule", "events", "tools", "record", "enum"]),
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
os.system("touch never")
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
def test_tools_of_every_kind(asker, text, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = asker.ask("tools", text=text)["tools"]
    assert [(tool["name"], tool["about"], tool["fields"]) for tool in told] == expected
    assert list(tmp_path.iterdir()) == [], "Python is read and never run"


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
    assert reader.ask("about")["files"] == [{"number": 0, "name": str(path), "path": str(path)}]
    assert reader.ask("file", number=0)["text"] == "!a.end\n"
    edited = {"number": 0, "path": str(path), "text": "!b.end\n"}
    refused = reader.post("save", **edited, before="!a.end\n")
    assert (refused.status, path.read_text()) == (400, "!a.end\n")
    assert "--write" in refused.json["error"]
    for number in (-1, 1, 10**30):
        assert reader.post("file", number=number).status == 400
    writer = Asker(paths=[path], writable=True)
    stale = writer.post("save", **edited, before="!old.end\n")
    assert (stale.status, path.read_text()) == (409, "!a.end\n")
    assert writer.ask("save", **edited, before="!a.end\n") == {"name": str(path), "text": "!b.end\n"}
    assert path.read_text() == "!b.end\n"


@pytest.mark.parametrize("text", ["(end | end).!b", "(end | end)", "{end, !a.end}", "!a.{end, ?b}.!c", "(end | !a)"])
def test_parts_and_branches_without_a_step_are_drawn(text):
    (protocol,) = Asker().ask("contract", text=text)["protocols"]
    assert protocol["graph"]["nodes"]
