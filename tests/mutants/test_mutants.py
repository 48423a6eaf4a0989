"""Drawing, choosing tests, judging a mistake and the list of survivors; on the real source where that is quick."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from tests.mutants import kept, trying
from tests.mutants.__main__ import main
from tests.mutants.drawing import drawn, modules_of, named
from tests.mutants.nearest import Map, map_of
from tests.mutants.operators import OPERATORS
from tests.mutants.parts import NEVER, PARTS, ROOT, SOURCE, files_for
from tests.mutants.report import Tried, as_json, told
from tests.mutants.text import Edit, Module
from tests.mutants.trying import Copies, Verdict, tried

SESSIONS = "tests/unit/session/test_session.py"


def of_source(path):
    return Module(path, (SOURCE / path).read_bytes())


def replaced(module, old, new):
    """The edit of a text that stands once in a module."""
    start = module.text.index(old)
    assert module.text.count(old) == 1
    return (Edit(start, start + len(old), new),)


def first_test(file):
    """The name of the first test of a file that takes nothing."""
    return next(
        line.partition("(")[0].removeprefix("def ")
        for line in (ROOT / file).read_text().splitlines()
        if line.startswith("def test_") and line.partition("(")[2].startswith(")")
    )


def body_of_session(module):
    """Where the first line of the first `__init__` is."""
    first = module.text.index(b"    def __init__")
    return module.text.index(b"\n", module.text.index(b":\n", first)) + 1


@pytest.fixture(scope="module")
def modules():
    return modules_of(["projection", "stores"])


def test_the_same_seed_draws_the_same_and_a_larger_count_more(modules):
    some, again, more, others = (
        [each[2].id for each in drawn(where, seed, count)]
        for where, seed, count in [
            (modules, 1, 24),
            (modules_of(["projection", "stores"]), 1, 24),
            (modules, 1, 60),
            (modules, 2, 24),
        ]
    )
    assert some == again == more[:24]
    assert set(some) != set(others)


def test_mistakes_can_be_asked_for_by_name(modules):
    one, other = (mutant.id for _, _, mutant in drawn(modules, 1, 2))
    assert {mutant.id for _, _, mutant in named(modules, [other, one])} == {one, other}
    with pytest.raises(SystemExit, match="no mistake 0123456789 in projection, stores"):
        named(modules, [one, "0123456789"])


def test_a_draw_is_spread_over_parts_and_operators(modules):
    draw = drawn(modules, 1, 52)
    parts = [part for part, _, _ in draw]
    assert all(one != other for one, other in pairwise(parts))
    operators = {mutant.operator for part, _, mutant in draw if part == "stores"}
    assert len(operators) == len(OPERATORS) - 1  # nothing is awaited in stores
    assert len({mutant.id for _, _, mutant in draw}) == len(draw)


def test_every_part_has_sources_and_tests():
    for name, part in PARTS.items():
        assert all((SOURCE / source).exists() for source in part.sources)
        assert len(files_for([name])) > 3, name
        for pattern in part.tests:
            assert any((ROOT / "tests").glob(pattern.removesuffix("*") + "*")), pattern
        for test in part.last:
            file, _, function = test.partition("::")
            text = (ROOT / "tests" / file).read_text()
            assert not function or f"def {function.partition('[')[0]}(" in text, test
    for pattern in NEVER:
        assert any((ROOT / "tests").glob(pattern)), pattern


SMALL = b"""
MOST = 3

def keep(items):
    if items:
        return items[:MOST]
    return None

def other():
    return 1 < 2
"""


def small_map(lines, seconds=()):
    whole = Map(seconds={test: 0.1 for tests in lines.values() for test in tests} | dict(seconds))
    for line, tests in lines.items():
        for test in tests:
            whole.lines["small.py"][line].add(test)
            whole.breadth[test] += 1
    return whole


def asked(whole, old, new, seconds=60.0):
    module = Module("small.py", SMALL)
    edits = replaced(module, old, new)
    mutant = type("Planted", (), {"edits": edits})
    return list(whole.nearest(module, mutant, seconds))


def test_tests_that_execute_the_line_are_asked_the_specific_and_quick_first():
    whole = small_map({5: ["t.py::a", "t.py::b", "t.py::slow"], 6: ["t.py::b"], 10: ["u.py::c"]}, {"t.py::slow": 9.0})
    assert asked(whole, b"items[:MOST]", b"items") == ["t.py::b", "t.py::a", "t.py::slow"]  # neighbours last
    assert asked(whole, b"if items", b"if True") == ["t.py::a", "t.py::b", "t.py::slow"]
    assert asked(whole, b"if items", b"if True", seconds=1.0) == ["t.py::a", "t.py::b"]


def test_a_constant_belongs_to_those_who_use_it_and_a_line_that_nobody_executes_to_nobody():
    whole = small_map({2: ["t.py::importing"], 5: ["t.py::a"], 6: ["t.py::b"], 10: ["u.py::c"]})
    assert asked(whole, b"MOST = 3", b"MOST = 4")[0] == "t.py::b"
    assert asked(small_map({5: ["t.py::a"]}), b"1 < 2", b"1 > 2") == []


def test_a_constant_that_other_modules_use_belongs_to_their_tests(monkeypatch, tmp_path):
    monkeypatch.setattr("tests.mutants.nearest.SOURCE", tmp_path)
    (tmp_path / "small.py").write_text("LEAST = 1\n")
    (tmp_path / "other.py").write_text("from small import LEAST\n\nprint(1)\nprint(LEAST)\n")
    whole = small_map({}, {"u.py::using": 0.1, "u.py::not_using": 0.1})
    whole.lines["other.py"][3].add("u.py::not_using")
    whole.lines["other.py"][4].add("u.py::using")
    module = Module("small.py", b"LEAST = 1\n")
    mutant = type("Planted", (), {"edits": replaced(module, b"1", b"2")})
    assert next(iter(whole.nearest(module, mutant, 60.0))) == "u.py::using"


def test_a_mistake_is_found_an_equal_text_survives_and_an_endless_one_hangs(tmp_path):
    """The mistakes are planted in the real source, and the tree stays as it is."""
    module = of_source("session/session.py")
    before = module.text
    name = first_test(SESSIONS)
    tests = {f"{SESSIONS}::{name}": 3.0}
    body = body_of_session(module)
    with Copies(tmp_path, 1) as copies:
        crash, nothing, endless = (
            tried(copies, module, (Edit(body, body, text),), tests)
            for text in (b"        raise KeyError\n", b"        # nothing\n", b"        while True: pass\n")
        )
    assert (SOURCE / "session/session.py").read_bytes() == before
    assert crash.is_found
    assert name in crash.by
    assert nothing == Verdict("survived", "", 1)
    assert endless == Verdict("hung", f"{SESSIONS}::{name}", 0)
    assert not any(tmp_path.iterdir())


def test_what_the_nearest_tests_do_not_find_those_are_asked_that_come_last(tmp_path):
    module = of_source("session/session.py")
    body = body_of_session(module)
    crash = (Edit(body, body, b"        raise KeyError\n"),)
    elsewhere = "tests/unit/ledger/test_chain.py"
    tests = {f"{elsewhere}::{first_test(elsewhere)}": 30.0}
    last = [f"{SESSIONS}::{first_test(SESSIONS)}"]
    with Copies(tmp_path, 1) as copies:
        assert tried(copies, module, crash, tests) == Verdict("survived", "", 1)
        assert tried(copies, module, crash, tests, last) == Verdict("found", last[0], 1)
        assert tried(copies, module, crash, {}, [SESSIONS]).is_found
        assert tried(copies, module, (), tests, list(tests)) == Verdict("survived", "", 1)  # nothing is asked twice


def test_a_mistake_that_cannot_even_be_imported_is_found(tmp_path):
    module = of_source("session/session.py")
    with Copies(tmp_path, 1) as copies:
        assert tried(copies, module, (Edit(0, 0, b"raise KeyError\n"),), {f"{SESSIONS}::any": 3.0}).is_found
        assert tried(copies, module, (), {}) == Verdict("unreached")


def test_what_runs_when_it_is_stopped_has_no_verdict(tmp_path, monkeypatch):
    module = of_source("session/session.py")
    monkeypatch.setattr(trying.STOPPED, "is_set", lambda: True)
    with Copies(tmp_path, 1) as copies, pytest.raises(InterruptedError):
        tried(copies, module, (), {f"{SESSIONS}::any": 3.0})


LISTED = "# Title\n\nText.\n\n- `0123456789` `trace/values.py` in `f`, `a < b` → `a <= b`: never equal\n"


def test_the_list_is_read_and_what_cannot_be_read_is_an_error():
    assert kept.reasons(LISTED)["0123456789"] == kept.Reason("0123456789", "trace/values.py", "never equal")
    for wrong in (LISTED.replace(": never equal", ""), LISTED.replace("`0123456789`", "0123456789"), LISTED + LISTED):
        with pytest.raises(SystemExit, match=r"survivors.md:\d"):
            kept.reasons(wrong)


def test_what_is_listed_and_gone_is_told(modules):
    there = drawn(modules, 1, 1)[0][2]
    listed = [kept.Reason(there.id, there.path, "why"), kept.Reason("0123456789", there.path, "why")]
    listed.append(kept.Reason("9876543210", "no/such.py", "why"))
    assert [reason.id for reason in kept.gone(listed)] == ["0123456789", "9876543210"]


def test_the_real_list_can_be_read():
    assert all(reason.why for reason in kept.reasons(kept.LIST.read_text()).values())


def test_verdicts_hold_while_the_tests_that_they_rest_on_stay(tmp_path):
    verdicts = kept.Verdicts(tmp_path)
    digests = {"a.py": "1", "b.py": "1"}
    verdicts.keep("found", Verdict("found", "tests/a.py::test", 3), "all", digests)
    verdicts.keep("lived", Verdict("survived", "", 3), "all", digests)
    assert verdicts.known("found", "others", {"a.py": "1", "b.py": "2"}) == Verdict("found", "tests/a.py::test", 3)
    assert verdicts.known("found", "all", {"a.py": "2", "b.py": "1"}) is None
    assert verdicts.known("lived", "all", digests) == Verdict("survived", "", 3)
    assert verdicts.known("lived", "others", digests) is None
    assert verdicts.known("never tried", "all", digests) is None


def test_the_report_counts_and_tells_what_is_new(modules):
    draw = drawn(modules, 1, 4)
    outcome = [
        Verdict("found", "a.py::b", 1),
        Verdict("survived", "", 7),
        Verdict("unreached"),
        Verdict("hung", "a.py::c"),
    ]
    reason = kept.Reason(draw[1][2].id, draw[1][2].path, "only speed")
    some = [
        Tried(part, module, mutant, verdict, reason if mutant.id == reason.id else None)
        for (part, module, mutant), verdict in zip(draw, outcome, strict=True)
    ]
    assert [each.is_new for each in some] == [False, False, True, False]
    text = "\n".join(told(some, [reason], {"tests/x.py": "takes long"}))
    assert text.count("survived, ") == 1
    assert "no test executes it" in text
    assert text.rstrip().splitlines()[-1] == "  tests/x.py: takes long"
    assert "which is no mutant any more" in text
    counts = json.loads(as_json(some, [], {}, 1, "digest"))["counts"]
    assert counts == {"drawn": 4, "found": 1, "hung": 1, "survived": 2, "listed": 1, "new": 1}


def test_a_test_file_is_measured_and_its_map_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.mutants.nearest.KEPT", tmp_path)
    said = []
    whole = map_of(["unit/ledger/test_notes.py"], 1, said.append)
    assert len(said) == 1
    assert {test.partition("::")[0] for test in whole.seconds} == {"tests/unit/ledger/test_notes.py"}
    assert map_of(["unit/ledger/test_notes.py"], 1, said.append).seconds == whole.seconds
    assert len(said) == 1


def test_what_would_be_planted_is_shown(capsys):
    assert main(["--list", "--part", "projection", "--count", "3"]) == 0
    assert capsys.readouterr().out.count("src/accord/projection/") == 3
