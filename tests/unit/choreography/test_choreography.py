"""What compiling protocols between roles promises beyond the specification: limits, traces, sharing, drawings."""

import pickle

import pytest

import accord
from accord import ContractError, Limits, Monitor, UsageError
from accord.choreography import compile_choreography, findings_in
from accord.choreography.running import find_stuck
from accord.language import parse, print_protocol
from accord.limits import DEFAULT_LIMITS


def codes(text, **limits):
    try:
        accord.compile(text, limits=Limits(**limits))
    except ContractError as error:
        return [d.code for d in error.diagnostics]
    return []


SCATTER = "protocol P { par " + " and ".join(f"{{ M -> W{i}: t; W{i} -> M: r }}" for i in range(4)) + " }"
LONG = "protocol P { " + " ".join(f"A -> B: m{i}" for i in range(50)) + " }"


def test_limits_are_errors_and_never_passed():
    assert codes(LONG, exchanges=50) == []
    assert codes(LONG, exchanges=49) == ["E028"]
    assert codes(SCATTER, configurations=81) == []
    assert codes(SCATTER, configurations=80) == ["E038"]
    assert codes(LONG, states=50) == ["E038"]


def test_what_is_done_counts():
    text = "protocol P0 { A -> B: x }\n" + "\n".join(
        f"protocol P{n} {{ do P{n - 1}(A = A, B = B); do P{n - 1}(A = B, B = A) }}" for n in range(1, 60)
    )
    assert set(codes(text)) == {"E028"}


def test_a_refusal_says_where_the_runs_part():
    text = "protocol P { A -> B: hi; choice at A { A -> B: l; C -> D: x } or { A -> B: r; C -> D: y } }"
    (finding,) = findings_in(parse(text), DEFAULT_LIMITS)
    assert "which sees nothing in both" in finding.message
    shown = [text[note.span.start : note.span.end] for note in finding.notes]
    assert sorted(shown) == ["A -> B: l", "A -> B: r"]
    assert text[finding.span.start : finding.span.end] in {"C -> D: x", "C -> D: y"}
    assert "let somebody tell `C`" in finding.help


def test_what_the_role_has_seen_is_told():
    text = "protocol P { C -> A: go; choice at A { A -> B: l; C -> D: x } or { A -> B: r } }"
    (finding, *_) = findings_in(parse(text), DEFAULT_LIMITS)
    assert "which sees `A!go` in both" in finding.message
    assert "`C -> A: go; A -> B: l; C -> D: x` / `C -> A: go; A -> B: r`" in finding.message


def test_every_role_that_cannot_know_is_named():
    text = "protocol P { choice at A { A -> B: l; C -> B: x; D -> B: x } or { A -> B: r } }"
    found = [d.message for d in findings_in(parse(text), DEFAULT_LIMITS) if d.code == "E036"]
    assert [message.split(" ")[0] for message in found] == ["`C`", "`D`"]


def test_a_deadlock_is_shown_as_a_trace():
    text = "protocol P { par { A -> B: a; B -> C: b; D -> C: c } and { D -> C: d; C -> B: e; A -> B: f } }"
    (finding,) = findings_in(parse(text), DEFAULT_LIMITS)
    assert finding.code == "E037"
    assert finding.message.startswith("deadlock: ")
    assert "`B` waits for" in finding.message


def test_long_runs_are_cut():
    steps = " ".join(f"A -> B: m{i}" for i in range(100))
    text = f"protocol P {{ {steps} choice at A {{ A -> B: l; C -> D: x }} or {{ A -> B: r; C -> D: y }} }}"
    (finding,) = findings_in(parse(text), DEFAULT_LIMITS)
    assert len(finding.message) < 1_200


def test_roles_that_follow_are_never_stuck():
    contract = accord.compile("protocol P { rec X { A -> B: x; B -> C: y; continue X } }")
    assert find_stuck(dict(compile_choreography(contract).machines), 500) is None


def test_a_choreography_is_made_once():
    contract = accord.compile("protocol P { A -> B: x }")
    assert compile_choreography(contract) is compile_choreography(contract, "P")
    again = pickle.loads(pickle.dumps(contract))  # noqa: S301 - our own
    assert again == contract
    assert compile_choreography(again).roles == ("A", "B")


def test_wrong_names():
    contract = accord.compile("protocol P { A -> B: x }")
    with pytest.raises(UsageError, match="no role 'a'; did you mean `A`"):
        accord.project(contract, "a")
    with pytest.raises(UsageError, match="no role None"):
        accord.project(contract, None)
    with pytest.raises(UsageError, match="declares no protocol between roles 'Q'"):
        accord.project(contract, "A", "Q")


def test_contracts_with_both_kinds_of_protocols():
    contract = accord.compile("protocol P { A -> B: x } protocol L = !a.end")
    assert Monitor(contract, protocol="L").allowed() == ["!a"]
    with pytest.raises(UsageError, match="is between roles"):
        Monitor(contract, protocol="P")
    assert accord.compile(contract.to_json()) == contract


def test_the_digest_knows_roles_and_records():
    texts = ["protocol P { A -> B: x }", "protocol P { A -> C: x }", "record x {} protocol P { A -> B: x }"]
    assert len({accord.compile(text).digest for text in texts}) == 3
    assert accord.compile("protocol P{A->B:x;}") == accord.compile(texts[0])


def test_a_contract_of_records_alone_allows_nothing_new():
    assert accord.compile("record R { a: Int }").document.types[0].name == "R"


def test_unicode_roles():
    contract = accord.compile('protocol P { Ärztin -> Käufer: "Grüße 1"; Käufer -> Ärztin: ok }')
    assert print_protocol(compile_choreography(contract).project("Käufer")) == 'Ärztin?"Grüße 1".Ärztin!ok.end'


def test_a_projection_can_be_too_tangled_to_be_written(monkeypatch):
    from accord.choreography import writing

    monkeypatch.setattr(writing, "_WRITTEN_TWICE", -100)
    with pytest.raises(UsageError, match="too tangled"):
        accord.project(accord.compile("protocol P { A -> B: x; B -> A: y; A -> B: z; B -> A: w }"), "A")


def test_guards_take_projections():
    contract = accord.compile("protocol P { Agent -> Tool: search; Tool -> Agent: search; Agent -> Tool: book }")
    guard = accord.Guard(accord.project(contract, "Agent"), tools={"search": lambda: "AZ1", "book": lambda: "booked"})
    refused, fine = guard.run([accord.ToolCall("book", {})]), guard.run([accord.ToolCall("search", {})])
    assert (refused[0].ok, fine[0].content) == (False, "AZ1")
    assert guard.run([accord.ToolCall("book", {})])[0].content == "booked"
