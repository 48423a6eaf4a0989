"""Runs the `messages` of the specification: raw messages get labels and verdicts, by the reference and by accord."""

from __future__ import annotations

import json

import pytest
from tests.spec.cases import SPEC_FILES, MalformedSpecError, MessagesCase, read_file, read_text

from accord import Ok, Unrecognized, Violation
from accord.language import parse, print_document
from accord.language.labels import print_word
from accord.machine.contract import compile_contract
from accord.monitor.step import begin, close, step
from accord.projection.open_calls import OpenCalls
from accord.projection.projection import projection_of
from accord.semantics import Session
from accord.semantics.events import label_of
from accord.sources.model import Message

CASES = [case for path in SPEC_FILES for case in read_file(path) if isinstance(case, MessagesCase)]
FLOOR = 20


def messages_of(case):
    """The messages of a case, each with its line."""
    calls = OpenCalls()
    for index, line in enumerate(case.lines):
        if line.kind == "end":
            yield line, None
            continue
        message = Message(line.kind, index, line.body, line.name, "c1" if "call" in line.kind else None)
        if line.kind in {"call", "user call"}:
            calls.add(message)
        elif line.kind in {"result", "error"}:
            message.answers = calls.answer(None, line.name)
            message.call_id = message.answers and message.answers.call_id
        yield line, message


def told(direction, label, verdict):
    return print_word(direction, label), verdict


class Reference:
    def __init__(self, case):
        self.document = parse(case.contract, limits=case.limits)
        protocols = [d for d in self.document.declarations if case.protocol in {None, d.name}]
        each = protocols[0].each if protocols else None
        body = protocols[0].body if protocols else None
        self.session = Session(body, "refuse", rules=self.document.rules, each=each)

    def message(self, message):
        answers_user = message.answers is not None and message.answers.kind == "user call"
        events = self.document.events
        found = label_of(events, message.kind, message.name, message.payload, answers_user=answers_user)
        if found is None:
            refused = message.kind == "call" and self.document.declarations
            return ("refused" if refused else "unmatched"), ""
        direction, label, _ = found
        if label is None:
            return "ignored", ""
        if direction == "!":
            return told(direction, label, self.session.send(label, message.payload).kind)
        by = "user" if message.kind == "user" else None
        return told(direction, label, self.session.receive(label, message.payload, by=by).kind)

    def end(self):
        return self.session.close().kind


def kind_of(verdict):
    return {Ok: "ok", Violation: "violation", Unrecognized: "unrecognized"}[type(verdict)]


class Product:
    def __init__(self, case):
        self.contract = self.compiled(case)
        self.protocol = case.protocol
        self.situation = begin(self.contract, self.contract.protocol_name(case.protocol))

    def compiled(self, case):
        return compile_contract(case.contract, limits=case.limits)

    def message(self, message):
        outcome, event, _, _ = projection_of(self.contract, self.protocol).event(message)
        if event is None:
            return {"unknown call": "refused", "unnamed": "unmatched"}.get(outcome, outcome), ""
        self.situation, verdict = step(self.situation, event, "refuse")
        return told(event.direction, event.label, kind_of(verdict))

    def end(self):
        return kind_of(close(self.situation)[1])


class Printed(Product):
    def compiled(self, case):
        return compile_contract(print_document(parse(case.contract, limits=case.limits)), limits=case.limits)


class Interchanged(Product):
    def compiled(self, case):
        written = compile_contract(case.contract, limits=case.limits)
        read = compile_contract(json.loads(json.dumps(written.to_json())), limits=case.limits)
        assert read.digest == written.digest
        return read


ENGINES = (Reference, Product, Printed, Interchanged)


def run(case, kind):
    engine = kind(case)
    for line, message in messages_of(case):
        where = f"{case.file}:{line.number}: {line.text}"
        if message is None:
            assert engine.end() == line.verdict, where
        else:
            assert engine.message(message) == (line.outcome, line.verdict), where


def test_there_are_cases():
    assert len(CASES) >= FLOOR


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.__name__)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_messages(case, engine):
    run(case, engine)


CONTRACT = 'events { A when call a B when user says "b" }\nprotocol P = !A.?B'
WRONG = f"# T\n\n## s\n\n```accord\n{CONTRACT}\n```\n\n```messages\nLINES\n```\n"


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.__name__)
@pytest.mark.parametrize(
    "lines",
    [
        "call a  !A violation",
        "call a  !B ok",
        "call a  unmatched",
        "call c  unmatched",
        "call c  ignored",
        'user says "b"  ?B ok',
        'agent says "b"  !B ok',
        "end  ok",
        "call a  !A ok\nend  ok",
    ],
)
def test_a_wrong_expectation_fails_on_every_engine(engine, lines):
    (case,) = read_text(WRONG.replace("LINES", lines), "wrong.md")
    with pytest.raises(AssertionError):
        run(case, engine)


@pytest.mark.parametrize(
    "lines",
    ["", "call a", "call a  !A", "call a  !A fine", "call  unmatched", "calls a  !A ok", "call a  A ok",
     "call a  unmatched ok", "end", "end fine", 'user says "b  ?B ok', "call a {x}  !A ok"],
)  # fmt: skip
def test_a_malformed_block_is_refused(lines):
    with pytest.raises(MalformedSpecError):
        read_text(WRONG.replace("LINES", lines), "bad.md")
