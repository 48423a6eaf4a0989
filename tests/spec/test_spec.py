"""Runs the specification: every trace on every engine, every list of findings, every fact."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

import pytest
from tests.spec.cases import (
    SPEC_FILES,
    ErrorsCase,
    FactsCase,
    Line,
    MalformedSpecError,
    TraceCase,
    read_file,
    read_text,
)
from tests.spec.engines import ENGINES, Answer, Engine, ReferenceEngine, StudioEngine, subject_of

from accord import ContractError, Limits, Monitor
from accord.choreography.compiling import compile_contract
from accord.diagnostics import Source
from accord.language import examine, print_protocol
from accord.machine.codec import machine_digest

if TYPE_CHECKING:
    from accord.machine.standing import Standings

CASES_FLOOR = 1060
TRACES_FLOOR = 720

# A file that cannot be read adds no cases and fails `test_a_file_can_be_read`.
CASES = []
for path in SPEC_FILES:
    try:
        CASES += read_file(path)
    except MalformedSpecError:
        continue
TRACES = [case for case in CASES if isinstance(case, TraceCase)]
ERRORS = [case for case in CASES if isinstance(case, ErrorsCase)]
FACTS = [case for case in CASES if isinstance(case, FactsCase)]

Log = list[tuple[Answer | None, str, tuple[str, ...], float | None]]


def run(case: TraceCase, kind: type[Engine], *, printed: bool) -> Log:
    """What an engine said after each line; fails where a line says something else."""
    subject = subject_of(case.contract, case.limits, printed=printed)
    engine = kind(subject, case.protocol, case.mode, case.start)
    log: Log = []
    for line in case.lines:
        where = f"{case.file}:{line.number}: {line.text}"
        answer = None
        if line.what == "status":
            assert engine.status() == line.verdict, where
        elif line.what == "allowed":
            assert engine.allowed() == line.words, where
        elif line.what == "due":
            assert engine.next_due() == line.at, where
        else:
            answer = happens(engine, line)
            assert (answer.kind, answer.expected) == (line.verdict, line.words), where
            assert line.clause in {None, answer.clause}, where
        log.append((answer, engine.status(), engine.allowed(), engine.next_due()))
    engine.finish()
    return log


def happens(engine: Engine, line: Line) -> Answer:
    if line.event is not None:
        return engine.event(line.event, line.at)
    return engine.close(line.at) if line.what == "end" else engine.tick(line.at)


@cache
def reference_log(case: TraceCase) -> Log | None:
    """What the reference said; nothing where it is wrong, which its own run reports."""
    try:
        return run(case, ReferenceEngine, printed=False)
    except AssertionError:
        return None


# -- the format ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", SPEC_FILES, ids=lambda path: path.name)
def test_a_file_can_be_read(path):
    assert read_file(path)


def test_there_are_as_many_cases_as_there_should_be(capsys):
    counts = Counter(type(case).__name__ for case in CASES)
    lines = sum(len(case.lines) for case in TRACES)
    with capsys.disabled():
        summary = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
        print(f"\nspecification: {len(CASES)} cases ({summary}), {lines} trace lines, {len(ENGINES)} engines")  # noqa: T201
    assert len(CASES) >= CASES_FLOOR
    assert len(TRACES) >= TRACES_FLOOR


def test_no_two_cases_have_the_same_name():
    names = Counter(case.id for case in CASES)
    assert [name for name, count in names.items() if count > 1] == []


GOOD = "# T\n\n## s\n\n```accord\n!a.end\n```\n\n```trace\n!a  ok\nend  ok\n```\n"


def test_a_good_file_can_be_read():
    (case,) = read_text(GOOD, "good.md")
    assert [line.what for line in case.lines] == ["event", "end"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("!a  ok", "!a  okay", id="unknown verdict"),
        pytest.param("!a  ok", "!a", id="no verdict"),
        pytest.param("!a  ok", "a  ok", id="no direction"),
        pytest.param("!a  ok", "!a  ok !b", id="words behind ok"),
        pytest.param("!a  ok", "!a  violation b", id="expected is no word"),
        pytest.param("!a  ok", "!a  violation !b !a", id="expected is not sorted"),
        pytest.param("!a  ok", '!a {"x": 1  ok', id="open payload"),
        pytest.param("!a  ok", "!a [1]  ok", id="payload is no object"),
        pytest.param("!a  ok", '!a {"x": NaN}  ok', id="payload is no JSON"),
        pytest.param("!a  ok", "!a by ana  ok", id="a person sends"),
        pytest.param("!a  ok", "?a by  ok", id="by nobody"),
        pytest.param("!a  ok", "!a  ok [protocol]", id="clause behind ok"),
        pytest.param("!a  ok", "!a  violation [rule] !b", id="rule without a name"),
        pytest.param("!a  ok", "!a  violation [role] !b", id="unknown clause"),
        pytest.param("!a  ok", "!a  violation !b(x == 1", id="expected is not closed"),
        pytest.param("!a  ok", "!a  violation ?b by ana", id="expected names a person"),
        pytest.param("!a  ok", "status finished", id="unknown status"),
        pytest.param("!a  ok", "allowed a", id="allowed is no word"),
        pytest.param("!a  ok", "mode strict\n!a  ok", id="unknown mode"),
        pytest.param("!a  ok", "mode halt\nmode halt\n!a  ok", id="header twice"),
        pytest.param("!a  ok", "!a  ok\nmode refuse", id="header behind an event"),
        pytest.param("!a  ok", "@x !a  ok", id="no number as a time"),
        pytest.param("!a  ok", "@true !a  ok", id="no number of seconds"),
        pytest.param("!a  ok", "@NaN !a  ok", id="no time at all"),
        pytest.param("!a  ok", "@ !a  ok", id="an empty time"),
        pytest.param("!a  ok", "tick  ok", id="a tick without a time"),
        pytest.param("!a  ok", "@1 tick", id="a tick without a verdict"),
        pytest.param("!a  ok", "@1 status running", id="a status with a time"),
        pytest.param("!a  ok", "due soon", id="due at no time"),
        pytest.param("!a  ok", "at noon\n!a  ok", id="a session that begins at no time"),
        pytest.param("!a  ok\nend  ok", "", id="empty trace"),
        pytest.param("!a  ok\nend  ok", "// nothing", id="trace of comments"),
        pytest.param("```trace", "```traces", id="unknown block"),
        pytest.param("```trace", "```errors", id="no findings"),
        pytest.param("```trace", "```facts", id="no facts"),
        pytest.param("```trace\n!a  ok\nend  ok\n```", "", id="a contract alone"),
        pytest.param("end  ok\n```", "end  ok", id="open block"),
        pytest.param("```accord\n!a.end\n```\n", "", id="no contract"),
        pytest.param("```trace", "```accord\n!b\n```\n\n```trace", id="two contracts"),
        pytest.param("## s\n", "", id="no section"),
        pytest.param("```accord\n!a.end", "```accord-python\n__import__('os').name", id="expression with calls"),
        pytest.param("```accord\n!a.end", "```accord-python\n'a'.upper()", id="expression with methods"),
        pytest.param("```accord\n!a.end", "```accord-python\n7", id="expression without text"),
        pytest.param("## s\n", "## s\n\n### t\n", id="deeper heading"),
    ],
)
def test_a_malformed_file_is_refused(old, new):
    assert GOOD.count(old) == 1
    with pytest.raises(MalformedSpecError):
        read_text(GOOD.replace(old, new), "bad.md")


def test_a_section_may_not_come_twice():
    with pytest.raises(MalformedSpecError, match="second section"):
        read_text(GOOD + GOOD.removeprefix("# T\n"), "bad.md")


EVENTS = """
!a  ok
?a {"x": {"y": "}  ok"}}  ok
?a by ana  ok
?"2nd try" {"by": 1} by "ana m"  violation [rule "by \\"x\\""] !a ?a(x == ")", y as r) by human ?b
B?a {}  violation [protocol]
end  violation [rule "r"] !a
"""


def test_lines_carry_payload_approver_and_clause():
    (case,) = read_text(GOOD.replace("!a  ok\nend  ok\n", EVENTS), "good.md")
    events = [line.event for line in case.lines if line.event]
    assert [event.payload for event in events] == [None, {"x": {"y": "}  ok"}}, None, {"by": 1}, {}]
    assert [event.by for event in events] == [None, None, "ana", "ana m", None]
    assert events[1].payload is not events[1].payload
    assert [line.clause for line in case.lines] == [None, None, None, 'rule "by \\"x\\""', "protocol", 'rule "r"']
    assert case.lines[3].words == ("!a", '?a(x == ")", y as r) by human', "?b")


WRONG = "# T\n\n## s\n\n```accord\n!a.{?b, end}\n```\n\n```trace\n{}\n```\n"


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
@pytest.mark.parametrize(
    "lines",
    [
        "!a  violation !a",
        "!b  ok",
        "!b  violation",
        "!b  violation !a ?b",
        "!a  ok\nend  violation ?b",
        "end  ok",
        "status complete",
        "allowed",
        "allowed !a !b",
        "!b  violation !a\n!a  ok",
        "?Unrecognized  violation !a",
        "!a  ok\nallowed !b",
    ],
)
def test_a_wrong_expectation_fails_on_every_engine(engine, lines):
    (case,) = read_text(WRONG.replace("{}", lines), "wrong.md")
    with pytest.raises(AssertionError):
        run(case, engine, printed=False)


WATCHED = 'protocol P = {?b, ?c(x == 1) by human, end}\nrule "r" { at most 0 b }'


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
@pytest.mark.parametrize(
    "lines",
    [
        '?c {"x": 1}  ok',
        "?c by ana  ok",
        '?c {"x": 2} by ana  ok',
        '?c {"x": 1} by ana  violation ?c(x == 1) by human',
        "?b  ok",
        "?b  violation [protocol] ?c(x == 1) by human",
        '?b  violation [rule "s"] ?c(x == 1) by human',
        '?c  violation [rule "r"] ?c(x == 1) by human',
        "?c  violation ?c(x == 1)",
    ],
)
def test_a_wrong_expectation_of_data_gates_and_rules_fails_on_every_engine(engine, lines):
    (case,) = read_text(WRONG.replace("!a.{?b, end}", WATCHED).replace("{}", lines), "wrong.md")
    with pytest.raises(AssertionError):
        run(case, engine, printed=False)


TIMED = 'protocol P = !a.?b within 5s else !c\nrule "r" { within 9s after a require d }'
SLICED = 'protocol P = each k: !a.!b\nrule "r" { each k: at most 1 b }'


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
@pytest.mark.parametrize(
    ("contract", "lines"),
    [
        (TIMED, "!a  ok"),
        (TIMED, "@0 !a  misuse"),
        (TIMED, "@0 !a  ok\ndue none"),
        (TIMED, "@0 !a  ok\ndue 4"),
        (TIMED, "@0 !a  ok\n@5 tick  violation"),
        (TIMED, "@0 !a  ok\n@6 ?b  ok"),
        (TIMED, "@0 !a  ok\n@6 tick  ok\nallowed ?b"),
        (TIMED, "@0 !a  ok\n@10 tick  ok"),
        (TIMED, '@0 !a  ok\n@10 tick  violation [rule "s"] !c'),
        (TIMED, "at 7\n@3 !a  ok"),
        (SLICED, "!a  ok"),
        (SLICED, '!a {"k": 1}  ok\n!a {"k": 1}  ok'),
        (SLICED, '!a {"k": 1}  ok\nallowed !b'),
        (SLICED, '!a {"k": 1}  ok\n!c {"k": 2}  violation'),
    ],
)
def test_a_wrong_expectation_of_time_and_slices_fails_on_every_engine(engine, contract, lines):
    (case,) = read_text(WRONG.replace("!a.{?b, end}", contract).replace("{}", lines), "wrong.md")
    with pytest.raises(AssertionError):
        run(case, engine, printed=False)


# -- the specification -----------------------------------------------------------------------------------------------

# The printed contract differs in its text alone, so one engine of each family is enough for it.
ENGINES_FOR_PRINTED = {"reference", "machine", "monitor"}


RUNS = [
    pytest.param(case, engine, printed, id=f"{case.id}-{engine.name}-{'printed' if printed else 'written'}")
    for case in TRACES
    for engine in ENGINES
    for printed in (False, True)
    if engine.name not in case.without and (not printed or engine.name in ENGINES_FOR_PRINTED)
]


@pytest.mark.parametrize(("case", "engine", "printed"), RUNS)
def test_trace(case, engine, printed):
    log = run(case, engine, printed=printed)
    if ReferenceEngine.name not in case.without:
        assert log == (reference_log(case) or log)


# Asking the studio for each of thousands of events sends all of them thousands of times. So these are replayed there,
# which sends them once.
REPLAYED = [case for case in TRACES if StudioEngine.name in case.without]


@pytest.mark.parametrize("case", REPLAYED, ids=lambda case: case.id)
def test_a_long_trace_is_replayed_in_the_studio(case):
    assert all(line.what in {"event", "tick", "end"} for line in case.lines)
    log = StudioEngine.replay(subject_of(case.contract, case.limits, printed=False), case)
    assert log == [(line.verdict, line.words) for line in case.lines]


def test_no_trace_is_kept_from_the_studio():
    assert 0 < len(REPLAYED) <= 2


@pytest.mark.parametrize("case", ERRORS, ids=lambda case: case.id)
def test_errors(case):
    source = Source(case.contract)
    findings = examine(source, case.limits)[1]
    try:
        compile_contract(case.contract, limits=case.limits)
        raised = ()
    except ContractError as error:
        raised = error.diagnostics
    if any(d.code == "E028" for d in raised):  # found while compiling, when all else was right
        findings = (*findings, *raised)
    if raised:
        assert raised == findings
    places = [(d.code, source.line_and_column(d.span.start)) for d in findings]
    assert [f"{code} {line}:{column}" for code, (line, column) in places] == list(case.findings)
    assert bool(raised) == any(d.severity == "error" for d in findings)
    if raised and case.limits == Limits():
        with pytest.raises(ContractError):
            Monitor(case.contract)


def count_standings(standings: Standings) -> int:
    seen = {standings.start.configurations}
    todo = [standings.start]
    while todo:
        here = todo.pop()
        for symbol in here.after():
            there = here.follow(symbol.direction, symbol.label, symbol.partner)
            assert there is not None
            if there.configurations not in seen:
                seen.add(there.configurations)
                todo.append(there)
    return len(seen)


@pytest.mark.parametrize("case", FACTS, ids=lambda case: case.id)
def test_facts(case):
    for printed in (False, True):
        subject = subject_of(case.contract, case.limits, printed=printed)
        machine = subject.contract.machine(case.protocol)
        for fact in case.facts:
            where = f"{case.file}:{fact.number}"
            if fact.what in {"states", "standings"}:
                counted = (
                    len(machine.states)
                    if fact.what == "states"
                    else count_standings(subject.contract.standings(case.protocol))
                )
                assert counted <= int(fact.value) if fact.relation == "<=" else counted == int(fact.value), where
            elif fact.what == "prints":
                assert print_protocol(subject.declaration(case.protocol).body) == fact.value, where
            else:
                other = machine_digest(compile_contract(fact.value, limits=case.limits).machine())
                assert (machine_digest(machine) == other) == (fact.what == "means"), where
