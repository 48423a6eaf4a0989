"""Any text about roles gives a contract or diagnostics, in bounded time, and what is accepted can be used."""

from __future__ import annotations

import os
from random import Random

import accord
from accord import ContractError, Limits, Session
from accord.choreography.draw import draw_contract
from accord.diagnostics import Source
from accord.diagnostics.text import render_all
from accord.language import examine, parse, print_document

SOAK = bool(os.environ.get("ACCORD_SOAK"))
TEXTS = 60_000 if SOAK else 2_500
SEEDS = (
    """record R { a: Int, b: List<Option<R>>, c: Map<E, Float>, ... } enum E { x, "y z" }
protocol P { roles A, B, C; A -> B: R; rec X { choice at B { B -> A: go; B -> C: go; continue X } or { B -> A: stop;
B -> C: stop } or crash B { A -> C: sorry } } par { A -> B: x } and { C -> B: y } do Q(A = C, B = A) }
protocol Q { A -> B: m; B -> A: "2nd try" } rule "r" { at most 3 go }""",
    "protocol P { A -> B: x; C -> D: y; choice at A { A -> B: l } or { A -> B: r } }",
)
SIGNS = tuple("{ } ( ) ; : , . -> = < > ... // ! ?".split())  # noqa: SIM905 - a list of signs is hard to read
WORDS = tuple("or and at crash choice rec continue par do roles record enum protocol rule".split())  # noqa: SIM905
PIECES = (*SIGNS, *WORDS, *"ABCXPQm3", "List", "Int", "Option", '"q"', "\n", "é", "\u202e", "\x1b")


def mutated(rng: Random) -> str:
    words = rng.choice(SEEDS).replace("{", " { ").replace("}", " } ").replace(";", " ; ").split(" ")
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(words))
        kind = rng.random()
        if kind < 0.35:
            del words[at]
        elif kind < 0.7:
            words.insert(at, rng.choice(PIECES))
        elif kind < 0.85:
            words[at] = rng.choice(PIECES)
        else:
            other = rng.randrange(len(words))
            words[at], words[other] = words[other], words[at]
        if not words:
            break
    return " ".join(words)


def test_any_text_about_roles(health):
    rng = Random(5)
    limits = Limits(configurations=200, exchanges=200)
    fine = refused = 0
    codes = set()
    for _ in range(TEXTS):
        text = mutated(rng)
        document, findings = examine(Source(text), limits)
        codes |= {finding.code for finding in findings}
        rendered = render_all(findings)
        assert "\x1b" not in rendered and "\u202e" not in rendered
        if any(finding.severity == "error" for finding in findings):
            refused += 1
            continue
        printed = print_document(document)
        assert parse(printed).items == document.items
        try:
            contract = accord.compile(text, limits=limits)
        except ContractError as error:
            codes |= {finding.code for finding in error.diagnostics}
            refused += 1
            continue
        fine += 1
        for protocol in document.globals:
            session = Session(contract, protocol=protocol.name, mode="refuse")
            session.observe(*session.roles[:2], "m")
            session.close()
        for form in ("text", "mermaid", "dot", "json"):
            drawing = draw_contract(contract, form)
            assert "\x1b" not in drawing and "\u202e" not in drawing
    assert fine > TEXTS // 100
    assert refused > TEXTS // 10
    assert {"E013", "E016", "E021", "E031", "E033", "E034", "E036", "E039"} <= codes
    health(f"fuzz: {TEXTS:,} texts about roles, {fine:,} contracts and {refused:,} refused, with {len(codes)} codes")
