"""Whatever takes a contract takes the same ones, and refuses the others with the same findings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.studio.asking import Asker

import accord
from accord import ContractError, Guard, MemoryStore, Monitor, Session
from accord.agents.check.contracts import compile_text
from accord.audit import audit
from accord.choreography.compiling import examine_contract
from accord.cli.app import app
from accord.diagnostics import Source
from accord.session.conversations import Conversations
from accord.stores.session import StoredSession
from accord.trace.config import ProtocolConfig
from accord.trace.protocol import protocol_plan

LOCAL = "protocol L = !a.end\n"
NOBODY_CAN_FOLLOW = f"""{LOCAL}protocol P {{
    choice at A {{ A -> B: Left C -> B: x }} or {{ A -> B: Right C -> B: y }}
}}
"""
SHARED = "protocol P { par { A -> B: x B -> A: y } and { A -> B: x B -> A: z } }"
MANY = "(" + " | ".join(["({!a, end} | {!b, end}).{!c, end}"] * 20) + ")"
BROKEN = {
    "a choreography nobody can follow": NOBODY_CAN_FOLLOW,
    "a choreography that shares a channel": LOCAL + SHARED,
    "a loop without a name": "protocol L = !a.X",
    "no form": "protocol L = !a.!",
    "two of one name": f"{LOCAL}{LOCAL}",
    "guards that overlap": "protocol L = ?{a(x > 1).!b, a(x > 2).!c}.end",
    "a tool twice": f"{LOCAL}tools {{ a fails done a fails done }}",
    "warnings beside an error": f'{LOCAL}rule "r" {{ before a require Typo }}\nprotocol M = each k: !a.X',
    "too many possibilities": LOCAL + f"protocol T = {MANY}.?z within 5s else end",
}
FINE = {
    "a warning": f'{LOCAL}rule "r" {{ before a require Typo }}',
    "one that can be followed": LOCAL + "protocol P { A -> B: x }",
}


def found(error: ContractError) -> list[tuple[str, int, int, str]]:
    return [(d.code, d.span.start, d.span.end, d.message) for d in error.diagnostics]


def by_path(make):
    def take(text, folder):
        path = folder / "contract.accord"
        path.write_text(text, encoding="utf-8")
        return make(path)

    return take


def by_text(make):
    return lambda text, _: make(text)


def examined(text):
    _, contract, findings = examine_contract(Source(text))
    if contract is None:
        raise ContractError(findings)


def linted(text):
    compiled = compile_text(Source(text))
    if any(finding.severity == "error" for finding in compiled.findings):
        raise ContractError(compiled.findings)


def middleware(text):
    langchain = pytest.importorskip("accord.langchain")
    return langchain.AccordMiddleware(text, protocol="L")


def followed(text):
    from accord.agents import follows

    return follows(accord.compile(text), role="A")


ENTRANCES = {
    "compile": by_text(accord.compile),
    "compile a file": by_path(accord.compile),
    "load": by_path(accord.load),
    "examine": by_text(examined),
    "Monitor": by_text(lambda text: Monitor(text, protocol="L")),
    "Monitor of a file": by_path(lambda path: Monitor(path, protocol="L")),
    "Monitor.restore": by_text(lambda text: Monitor.restore(text, Monitor(LOCAL).snapshot())),
    "Guard": by_text(lambda text: Guard(text, protocol="L")),
    "AccordMiddleware": by_text(middleware),
    "StoredSession": by_text(lambda text: StoredSession(MemoryStore(), text, "k", protocol="L")),
    "Session": by_text(Session),
    "Conversations": by_text(Conversations),
    "trace validator": by_text(lambda text: protocol_plan(ProtocolConfig(contract=text, protocol="L"))),
    "trace validator of a file": by_path(lambda path: protocol_plan(ProtocolConfig(file=str(path), protocol="L"))),
    "audit": by_path(lambda path: audit(path, [], protocol="L")),
    "lint": by_text(linted),
    "follows": by_text(followed),
}


@pytest.mark.parametrize("entrance", ENTRANCES)
@pytest.mark.parametrize("which", BROKEN)
def test_every_entrance_refuses_it_with_the_same_findings(which, entrance, tmp_path):
    with pytest.raises(ContractError) as expected:
        accord.compile(BROKEN[which])
    with pytest.raises(ContractError) as told:
        ENTRANCES[entrance](BROKEN[which], tmp_path)
    assert found(told.value) == found(expected.value)


COMMANDS = {
    "check": ["check", "FILE"],
    "show": ["show", "FILE"],
    "replay": ["replay", "FILE", "RUN"],
    "step": ["step", "FILE"],
    "events": ["events", "FILE", "RUN"],
    "audit": ["audit", "FILE", "RUN"],
    "project": ["project", "FILE", "--role", "A"],
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("which", BROKEN)
def test_every_command_says_what_is_wrong(which, command, tmp_path):
    file, run = tmp_path / "contract.accord", tmp_path / "run.jsonl"
    file.write_text(BROKEN[which], encoding="utf-8")
    run.write_text(json.dumps({"role": "user", "content": "hi"}) + "\n", encoding="utf-8")
    names = {"FILE": str(file), "RUN": str(run)}
    result = CliRunner().invoke(app, [names.get(word, word) for word in COMMANDS[command]])
    with pytest.raises(ContractError) as expected:
        accord.compile(BROKEN[which])
    assert result.exit_code == 1, result.output
    for diagnostic in expected.value.diagnostics:
        assert f"[{diagnostic.code}]" in result.output


@pytest.mark.parametrize("which", BROKEN)
def test_the_studio_shows_the_same(which):
    with pytest.raises(ContractError) as expected:
        accord.compile(BROKEN[which])
    described = Asker().ask("contract", text=BROKEN[which])
    assert sorted(finding["code"] for finding in described["findings"]) == sorted(
        diagnostic.code for diagnostic in expected.value.diagnostics
    )


@pytest.mark.parametrize("which", FINE)
def test_what_only_warns_is_taken(which, tmp_path):
    for name in ("compile", "Monitor", "Guard", "trace validator", "lint"):
        ENTRANCES[name](FINE[which], tmp_path)


def test_nothing_else_compiles_contracts():
    """Contracts of users go through one function; what lies below it is for the layers that write texts themselves."""
    root = Path(accord.__file__).parent
    lower = {"machine/contract.py", "machine/__init__.py", "choreography/compiling.py", "choreography/choreography.py"}
    for file in root.rglob("*.py"):
        name = file.relative_to(root).as_posix()
        if name not in lower:
            text = file.read_text(encoding="utf-8")
            assert "compile_document" not in text and "compile_source" not in text, name
