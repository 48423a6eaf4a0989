"""Every template compiles, is formatted, and does what its page says."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

import pytest

from accord import Ok, Session, UsageError, Violation
from accord.choreography.compiling import examine_contract
from accord.diagnostics import Source
from accord.language.formatting import formatted
from accord.monitor.step import begin, close, status
from accord.stepping.events import events_in_stream
from accord.stepping.exchanges import exchanges_in
from accord.stepping.happenings import Tick, happen
from accord.templates import Template, template, template_names, templates

FOLDER = Path(__file__).parents[2] / "src" / "accord" / "templates"
EXPLANATION = re.compile(r"(?<=^```explanation\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)
ALL = [pytest.param(one, id=one.name) for one in templates()]


def conversed(contract, run: str):
    """The same for a protocol between roles."""
    session = Session(contract, mode="refuse")
    found = []
    for said in exchanges_in(run):
        verdict = session.observe(said.sender, said.receiver, said.label, said.payload)
        found.append((said, verdict))
    return found, session


def verdicts(one: Template, run: str):
    """The verdict on every line of a run, and the session after it."""
    contract = examine_contract(Source(one.text, one.name))[1]
    if contract.document.globals:
        return conversed(contract, run)
    situation = begin(contract, None)
    found = []
    for position, told in enumerate(events_in_stream(io.StringIO(run))):
        situation, verdict = happen(situation, told.event, "refuse", position)
        found.append((told.event, verdict))
    return found, situation


def test_there_are_enough_and_each_has_both_files():
    assert len(template_names()) >= 20
    assert {path.stem for path in FOLDER.glob("*.md")} == set(template_names())


@pytest.mark.parametrize("one", ALL)
def test_a_template_is_fine_and_formatted(one):
    source = Source(one.text, one.name)
    assert examine_contract(source)[2] == ()
    assert formatted(source) == one.text


@pytest.mark.parametrize("one", ALL)
def test_the_good_run_is_accepted_and_may_end(one):
    found, situation = verdicts(one, one.runs[0])
    assert [(event, verdict) for event, verdict in found if not isinstance(verdict, Ok)] == []
    if isinstance(situation, Session):
        assert situation.close() == Ok() and situation.status == "complete"
        return
    last = found[-1][0].at
    assert isinstance(close(situation, None, last)[1], Ok)
    assert status(close(situation, None, last)[0]) == "complete"
    assert len([event for event, _ in found if not isinstance(event, Tick)]) >= 2


@pytest.mark.parametrize("one", ALL)
def test_the_bad_run_is_refused_at_its_last_event_with_the_explanation_of_the_page(one):
    found, _ = verdicts(one, one.runs[1])
    *before, (_, last) = found
    assert all(isinstance(verdict, Ok) for _, verdict in before)
    assert isinstance(last, Violation)
    if os.environ.get("ACCORD_UPDATE_GOLDEN"):
        page = EXPLANATION.sub(lambda _: f"{last.explain()}\n", one.page)
        (FOLDER / f"{one.name}.md").write_text(page, encoding="utf-8")
        one = template(one.name)
    assert EXPLANATION.findall(one.page) == [f"{last.explain()}\n"]


@pytest.mark.parametrize("one", ALL)
def test_a_page_has_its_parts(one):
    assert re.findall(r"^## (.*)$", one.page, re.MULTILINE) == [
        "When to use it",
        "How it works",
        "A run that keeps to it",
        "A run that does not",
        "Make it yours",
    ]
    assert 10 < len(one.summary) < 120 and one.summary.endswith(".")
    assert len(one.page.split()) > 150


def test_the_bad_run_of_a_weaker_contract_would_be_accepted():
    """Planted: without its rule the template stops nothing, and the check above sees that."""
    one = template("confirm-before-mutate")
    weak = Template(one.name, one.text.replace("before each", "before"), one.page)
    assert all(isinstance(verdict, Ok) for _, verdict in verdicts(weak, weak.runs[1])[0])


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("four-eyes", "?tests_passed\n?image_scanned\n!approved_by_lead\n!approved_by_security\n!deploy"),
        ("four-eyes", "?tests_passed\n?approved_by_lead by ana\n?image_scanned\n!change_config"),
        ("complete-the-form", "?name\n?summary_confirmed by ana\n!look_up\n!correct"),
        ("consent", '!consent\n!export {"scope": "basic"}'),
    ],
)
def test_what_a_page_promises_cannot_be_got_around(name, run):
    """An agent gives no approval or consent to itself, and changes nothing behind the back of who has approved."""
    *before, (_, last) = verdicts(template(name), run)[0]
    assert all(isinstance(verdict, Ok) for _, verdict in before)
    assert isinstance(last, Violation)


def test_an_unknown_template():
    with pytest.raises(UsageError, match="there is no template `bookin`; did you mean `booking`"):
        template("bookin")
    with pytest.raises(UsageError, match="lists all"):
        template("../secrets")
