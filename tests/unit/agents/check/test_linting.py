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
