"""Any Python file gives a report: nothing crashes, hangs, or is lost in code that nobody wrote for it."""

from __future__ import annotations

import ast
import random
import sysconfig
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from accord.agents.check import lint, read
from accord.diagnostics import Source
from accord.diagnostics.machine_readable import to_github, to_json, to_sarif
from accord.diagnostics.text import render_all

FRONT = """
from dataclasses import dataclass
from accord.agents import Agent, follows
P = "protocol P { A -> B: Ask; choice at B { B -> A: Yes } or { B -> A: No; A -> B: Why; B -> A: So } }"
@dataclass
class Ask: ...
@dataclass
class Yes: ...
@dataclass
class No: ...
@dataclass
class Why: ...
@dataclass
class So: ...
"""
MESSAGES = ("Yes", "No", "So", "Ask", "Unknown")


def report_on(text: str):
    """The report, rendered in every way."""
    report = lint(read([Source(text, "any.py")]), {})
    render_all(report.findings)
    to_json(report.findings)
    to_sarif(report.findings, "1")
    to_github(report.findings)
    return report


class Agents(ast.NodeTransformer):
    """Makes an agent of every class, and lets it speak in odd places."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.agents = 0

    def visit_ClassDef(self, node):
        self.generic_visit(node)
        self.agents += 1
        node.bases, node.keywords = [ast.Name("Agent")], []
        node.decorator_list = [ast.parse('follows(P, as_="B")', mode="eval").body]
        node.body.append(ast.parse("async def on_ask(self, ask: Ask): await self.speak_first()").body[0])
        return node

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        if node.args.args and node.args.args[0].arg == "self":
            at = self.chance.randrange(len(node.body) + 1)
            message = self.chance.choice(MESSAGES)
            speech = self.chance.choice(
                [
                    f"await self.reply({message}())",
                    f"await self.send('A', {message}())",
                    f"await self.receive({message})",
                ]
            )
            node.body[at:at] = ast.parse(speech).body
            name = "speak_first" if self.chance.random() < 0.3 else node.name
            return ast.AsyncFunctionDef(name, node.args, node.body, [], node.returns)
        return node


def test_agents_made_of_the_standard_library(soak, health):
    chance = random.Random(3)
    root = Path(sysconfig.get_paths()["stdlib"])
    files = sorted(
        path for path in root.rglob("*.py") if "site-packages" not in path.parts and "test" not in path.parts
    )
    chance.shuffle(files)
    agents = findings = seen = 0
    for path in files[: 2_000 if soak else 60]:
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, ValueError):
            continue
        changing = Agents(chance)
        text = FRONT + ast.unparse(ast.fix_missing_locations(changing.visit(tree))).replace("from __future__", "# from")
        report = report_on(text)
        agents, findings = agents + report.agents, findings + len(report.findings)
        seen += 1
        assert report.agents == changing.agents or report.findings
    health(f"{agents} agents made of {seen} files of the standard library were linted: {findings} findings, no crash")
    assert agents >= 100
    assert findings >= 100


@given(st.text())
def test_any_text(text):
    report_on(text)


@given(st.text(alphabet="()[]{}:=.,@ \n\t'\"#aselfwitcond\x00\x1b\u202e\\"))
def test_almost_python(text):
    report_on(FRONT + text)


def test_hostile_files():
    for text in (
        "x = " + "(" * 5000,
        "x = " + "+".join(["1"] * 20_000),
        "\ufeffx = 1\r\ny = 2\r",
        "x = '\x00'",
        "class " + "A" * 10_000 + "(Agent): pass",
        FRONT + "@follows(P, as_='B')\nclass B(Agent):\n    async def on_ask(self, ask: Ask):\n" + deep_ifs(90),
        FRONT + "@follows(P, as_='B')\nclass B(Agent):\n    async def on_ask(self, ask: Ask):\n" + finally_tower(12),
    ):
        report_on(text)


def test_what_is_too_deep_is_not_called_fine():
    front = FRONT + "@follows(P, as_='B')\nclass B(Agent):\n    async def on_ask(self, ask: Ask):\n"
    for terms in (700, 950, 5_000):
        body = "        x = " + "+".join(["ask"] * terms) + "\n        await self.reply(Yes())\n"
        codes = {finding.code for finding in report_on(front + body).findings}
        assert codes <= {"W088", "E086"}
        assert codes or terms < 950
    many = " | ".join(["Ask"] * 900)
    assert report_on(front.replace("ask: Ask", f"ask: {many}") + "        print(ask)\n").findings
    nots = "not " * 900
    assert report_on(front + f"        if {nots}ask:\n            return\n        await self.reply(Yes())\n").findings


def test_too_many_worlds_are_not_called_fine():
    lines = [f"        flag{n} = bool(ask)\n        if flag{n}:\n            print({n})\n" for n in range(24)]
    last = (
        "".join(f"        if flag{n}:\n            print({n})\n" for n in range(24))
        + "        await self.reply(Yes())\n"
    )
    text = (
        FRONT + "@follows(P, as_='B')\nclass B(Agent):\n    async def on_ask(self, ask: Ask):\n" + "".join(lines) + last
    )
    codes = {finding.code for finding in report_on(text).findings}
    assert codes == {"W088"}


def test_terminal_escapes_are_inert():
    text = FRONT + '@follows("\x1b[31mNo", as_="B")\nclass B(Agent):\n    pass\n'
    assert "\x1b" not in render_all(report_on(text).findings)


def deep_ifs(depth: int) -> str:
    lines = [" " * (8 + at) + f"if ask.a{at}:\n" for at in range(depth)]
    return "".join(lines) + " " * (8 + depth) + "await self.reply(Yes())\n"


def finally_tower(depth: int) -> str:
    lines = [" " * (8 + at) + "try:\n" for at in range(depth)]
    lines.append(" " * (8 + depth) + "await self.reply(Yes())\n")
    lines += [" " * (8 + at) + "finally:\n" + " " * (9 + at) + "print(ask)\n" for at in reversed(range(depth))]
    return "".join(lines)
