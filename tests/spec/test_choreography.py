"""The library of choreographies: expected projections, written by hand, and expected refusals."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from tests.properties import choreographing
from tests.properties.choreographing import unfolded

import accord
from accord import ContractError
from accord.choreography import compile_choreography, findings_in
from accord.diagnostics import Source
from accord.language import examine, parse, print_document
from accord.language.interchange import document_from_json, document_to_json
from accord.limits import DEFAULT_LIMITS
from accord.semantics.crew import explore
from accord.semantics.exchanges import agrees

HERE = Path(__file__).parent / "choreography"
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_BLOCK = re.compile(r"^```(\S+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def sections():
    for file in sorted(HERE.glob("*.md")):
        if file.name == "README.md":
            continue
        parts = _SECTION.split(file.read_text())[1:]
        titles = parts[::2]
        assert len(set(titles)) == len(titles), file.name
        for title, text in zip(titles, parts[1::2], strict=True):
            blocks = _BLOCK.findall(text)
            assert [kind for kind, _, _ in blocks] in (["accord", "projections"], ["accord", "refused"]), title
            (_, _, contract), (kind, name, lines) = blocks
            yield kind, f"{file.stem}:{title}", contract, name or None, lines.strip().splitlines()


SECTIONS = list(sections())
FOLLOWED = [pytest.param(*rest, id=title) for kind, title, *rest in SECTIONS if kind == "projections"]
REFUSED = [pytest.param(*rest, id=title) for kind, title, *rest in SECTIONS if kind == "refused"]


def test_there_are_enough():
    assert len(FOLLOWED) >= 40
    assert len(REFUSED) >= 25


@pytest.mark.parametrize(("text", "name", "lines"), FOLLOWED)
def test_projections(text, name, lines):
    contract = accord.compile(text)
    choreography = compile_choreography(contract, name)
    expected = dict(line.split(": ", 1) for line in lines)
    assert sorted(expected) == sorted(choreography.roles)
    for role, protocol in expected.items():
        meant = unfolded(accord.compile(protocol).machine())
        assert unfolded(choreography.machines[role]) == meant, role
        mine = accord.project(contract, role, name)
        assert unfolded(mine.machine()) == meant, role


@pytest.mark.parametrize(("text", "name", "lines"), FOLLOWED)
def test_the_roles_follow_the_protocol(text, name, lines):
    document = parse(text)
    protocols = {protocol.name: protocol for protocol in document.globals}
    protocol = protocols[name] if name else document.globals[0]
    choreography = compile_choreography(accord.compile(text), name)
    crew = {role: choreography.project(role) for role in choreography.roles}
    moments = 0
    for moment in explore(crew, 6):
        moments += 1
        assert agrees(protocol, protocols, moment.histories), moment
        assert not moment.stuck or (moment.all_may_stop and not any(moment.channels.values()))
    assert moments >= 3


@pytest.mark.parametrize(("text", "name", "lines"), FOLLOWED + REFUSED)
def test_printed_and_read_again_it_is_the_same(text, name, lines):
    document = parse(text)
    printed = print_document(document)
    assert parse(printed) == document
    assert print_document(parse(printed)) == printed
    assert document_from_json(document_to_json(document)).items == document.items


@pytest.mark.parametrize(("text", "name", "lines"), REFUSED)
def test_refusals(text, name, lines):
    document, findings = examine(Source(text))
    assert findings == ()
    found = findings_in(document, DEFAULT_LIMITS)
    codes = {line.split(" ", 1)[0] for line in lines}
    for line in lines:
        code, beginning = line.split(" ", 1)
        assert any(d.code == code and d.message.startswith(beginning) for d in found), [d.message for d in found]
    assert {d.code for d in found} <= codes | {"E037"}
    assert all(d.help for d in found)
    with pytest.raises(ContractError):
        accord.compile(text)
    if codes == {"E036"} and "do Q" not in text:
        seen = choreographing.Seen()
        assert choreographing.judge(document, Random(1), seen) is None
        assert sum(seen.refused.values()) == 1
