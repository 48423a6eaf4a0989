"""Whatever the text, the compiler answers with a tree or with diagnostics, and never with anything else."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from accord import ContractError, Limits, compile
from accord.diagnostics import Source
from accord.diagnostics.machine_readable import to_github, to_json, to_sarif
from accord.diagnostics.text import render_all
from accord.language import examine, print_document, print_protocol
from accord.language.tree import Document
from tests.properties.generate import random_protocol
from tests.properties.generate_events import random_events
from tests.properties.generate_time import random_contract_over_time

PIECES = [
    *'!?{}().,|=-: \n"\\/;#$',
    "!a", "?b", "rec X.", "X", "end", "each", "protocol P = ", "protocol", "B!", "C?{", "a-b", "T:u",
    '"q q"', '"\\u00e9"',
    " within 5s else ", "within", "else", " within 0s", "24h", "1.5h", "each id: ", "each id", 'rule "r" { ', " }",
    "within 5s after a require b", "each x.y: before a require b",
    "events { ", "A when call a", " where x == 1", "user says ", "matches ", "otherwise", "ignore when ", " in [a, b]",
    "// c\n", "->", "é", "\u202e", "\x00", "\ufeff", "９", "中", "e\u0301", "(", "(((", "}}", "{,}", "|", "...",
]  # fmt: skip


def check(text: str) -> bool:
    """Everything that must hold for any text; whether it was well-formed."""
    source = Source(text, "fuzz")
    document, findings = examine(source)
    spans = [finding.span for finding in findings]
    assert spans == sorted(spans)
    for finding in findings:
        assert 0 <= finding.span.start <= finding.span.end <= len(text)
        assert finding.message
    shown = render_all(findings)
    assert not any(c < " " and c != "\n" for c in shown)
    to_json(findings), to_sarif(findings, "0"), to_github(findings)
    if any(finding.severity == "error" for finding in findings):
        with pytest.raises(ContractError):
            compile(text)
        return False
    assert document.items
    compile(text)
    tidy = print_document(document)
    again, _ = examine(Source(tidy))
    assert again == document
    assert [c.text for c in again.comments] == [c.text for c in document.comments]
    assert print_document(again) == tidy
    return True


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
@settings(max_examples=1500, deadline=None)
@example("!a // x\n.?b")
@example("{!a//c\n}")
def test_any_mixture_of_pieces(text):
    check(text)


@given(st.text(max_size=60))
@settings(max_examples=500, deadline=None)
def test_any_text(text):
    check(text)


def mutated(rng: Random, text: str) -> str:
    for _ in range(rng.randint(1, 3)):
        at = rng.randint(0, len(text))
        kind = rng.random()
        if kind < 0.35:
            text = text[:at] + text[at + rng.randint(1, 4) :]
        elif kind < 0.8:
            text = text[:at] + rng.choice(PIECES) + text[at:]
        else:
            end = at + rng.randint(1, 8)
            text = text[:at] + text[at:end] * 2 + text[end:]
    return text


def test_mutated_protocols(soak, health):
    rng = Random(5)
    count = 200_000 if soak else 4_000
    good = sum(check(mutated(rng, print_protocol(random_protocol(rng)[0]))) for _ in range(count))
    assert count * 0.02 < good < count * 0.9
    health(f"fuzz: {count:,} mutated protocols, {good:,} of them still well-formed")


def test_mutated_contracts_over_time(soak, health):
    rng = Random(6)
    count = 50_000 if soak else 2_000
    good = 0
    for _ in range(count):
        document, _ = random_contract_over_time(rng, rng.choice(("time", "slices", "slices time")))
        good += check(mutated(rng, print_document(document)))
    assert count * 0.02 < good < count * 0.9
    health(f"fuzz: {count:,} mutated contracts with deadlines or slices, {good:,} of them still well-formed")


@pytest.mark.parametrize(
    "text",
    [
        "(" * 200_000,
        "!{a." * 60_000,
        ")" * 100_000,
        "}" * 100_000,
        "rec X." * 60_000,
        "!a." * 100_000,
        "|" * 100_000,
        "$" * 100_000,
        "".join(chr(0x4E00 + i % 2000) + "$" for i in range(50_000)),
        '"' * 100_001,
        "// c\n" * 200_000,
        "protocol P = !a\n" * 20_000,
        "{" * 90_000 + "}" * 90_000,
        "(!a|" * 30_000 + "!b" + ")" * 30_000,
        "rec X.(" * 30_000 + "!a" + ")" * 30_000,
        "?a within 1s else " * 40_000 + "end",
        "?a within 1s else " * 60_000,
        "(?a within 1s else " * 30_000 + "end" + ")" * 30_000,
        "rec L.!x.?{a." * 10_000 + "!z" + "} within 1s else L" * 10_000,
        "within " * 100_000,
        "else " * 100_000,
        "!a within " * 50_000,
        "!a within 5s " * 50_000,
        "each x: " * 50_000,
        "each " + "x." * 100_000,
        "?a within " + "9" * 100_000 + "s else end",
    ],
    ids=lambda text: f"{text[:8]!r}x{len(text)}",
)
def test_enormous_texts_end_quickly_in_a_diagnostic(text):
    document, findings = examine(Source(text), Limits(nesting=50_000))
    assert len(findings) <= Limits().diagnostics
    render_all(findings)
    assert findings or document.declarations


def test_mutated_events(soak, health):
    rng = Random(59)
    rounds = 20_000 if soak else 1_500
    fine = 0
    for _ in range(rounds):
        text = print_document(Document((random_events(rng),)), width=rng.choice([20, 88]))
        if rng.random() < 0.3:
            text = text.replace("\n", "  // c\n", 2)
        fine += check(mutated(rng, text + 'rule "r" { before A require B }'))
    assert fine > rounds / 50
    health(f"fuzz: {rounds:,} mutated contracts with events, {fine:,} of them still well-formed")
