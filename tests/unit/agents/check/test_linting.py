"""Files that cannot be read are told, whatever the parser says of them."""

from __future__ import annotations

import pytest

from accord.agents.check import lint, linting, read
from accord.diagnostics import Source


@pytest.mark.parametrize("error", [RecursionError("deep"), MemoryError(), SystemError("AST depth mismatch")])
def test_a_file_that_breaks_the_parser_is_reported_and_others_are_read(error, monkeypatch):
    real = linting.read_module

    def parse(source, *rest):
        if source.name == "deep.py":
            raise error
        return real(source, *rest)

    monkeypatch.setattr(linting, "read_module", parse)
    files = read([Source("", "deep.py"), Source("x = 1", "fine.py")], around=[Source("", "deep.py")])
    (finding,) = lint(files, {}).findings
    assert (finding.code, finding.message) == ("E086", "the file is no Python: it is nested too deeply")
    assert [module.source.name for module in files.checked] == ["fine.py"]


AGENT = """
from accord.agents import Agent, follows
{above}
@follows({protocol}, as_={role})
class Server(Agent):
    async def on_start(self): ...
"""


@pytest.mark.parametrize(
    ("above", "protocol", "message", "help_"),
    [
        ('ASKING = "protocol Asking { A -> B: Ask }"', "ASKNG", "unknown protocol `ASKNG`", "did you mean `ASKING`?"),
        (
            'import accord\nBOTH = accord.compile("protocol Asking { A -> B: Ask }")',
            "Asking",
            "unknown protocol `Asking`",
            'did you mean protocol `Asking`? take it from its contract: `contract["Asking"]`',
        ),
        ("ASKING_LIMIT = 3", "ASKING", "unknown protocol `ASKING`", "import it, or give it the text of a contract"),
        ("import parts", "parts.ASKING", "unknown protocol `parts.ASKING`", "import it, or give it"),
    ],
)
def test_a_protocol_that_nothing_defines(above, protocol, message, help_):
    text = AGENT.format(above=above, protocol=protocol, role='"B"')
    files = read([Source(text, "server.py")], around=[Source("", "parts.py")])
    finding = next(found for found in lint(files, {}).findings if found.code == "E070")
    assert finding.message == f"{message}: nothing defines this name"
    assert finding.help.startswith(help_)
    assert finding.source.text[slice(finding.span.start, finding.span.end)] == protocol


def test_a_role_that_nothing_defines():
    text = AGENT.format(above="", protocol='"protocol Asking { A -> B: Ask }"', role="SERVER")
    finding = next(f for f in lint(read([Source(text, "server.py")]), {}).findings if f.code == "E071")
    assert finding.message == "unknown role `SERVER`: nothing defines this name"
