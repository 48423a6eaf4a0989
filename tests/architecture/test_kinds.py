"""Each test is of one kind, and a kind can be asked for by its name."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.conftest import pytest_ignore_collect
from tests.kinds import KINDS, QUICK, SLOW, TESTS, NoKindError, kind_of, markers_of
from tests.soaking import LONG, ROOT


def test_every_test_of_this_run_has_one_kind(request):
    for item in request.session.items:
        kinds = [marker.name for marker in item.iter_markers() if marker.name in KINDS]
        assert kinds == [item.path.relative_to(TESTS).parts[0]], item.nodeid


def test_every_folder_with_tests_is_of_a_kind_and_every_kind_has_tests():
    assert {path.relative_to(TESTS).parts[0] for path in TESTS.rglob("test_*.py")} == KINDS.keys()


def test_a_folder_that_nobody_has_thought_of_is_refused():
    for place in ("new/test_it.py", "test_it.py"):
        with pytest.raises(NoKindError, match=r"is of no kind; say in tests/kinds\.py"):
            kind_of(TESTS / place)


@pytest.mark.parametrize("slow", sorted(SLOW))
def test_what_is_slow_is_there(slow):
    file, name, group = re.fullmatch(r"([\w/]+\.py)::(\w+)(\[\w+:)?", slow).groups()
    assert re.search(rf"^(?:async )?def {name}\(", (TESTS / file).read_text(), re.MULTILINE)
    assert kind_of(TESTS / file) in QUICK and TESTS / file not in LONG
    assert markers_of(TESTS / file, f"{name}{group or '['}x]") == [kind_of(TESTS / file)]


def test_quick_is_what_a_change_needs_without_what_takes_long():
    deadlines = TESTS / "unit/language/test_deadlines.py"
    assert markers_of(deadlines, "test_depth_costs_no_recursion[9]") == ["unit"]
    assert markers_of(deadlines, "test_depth") == ["unit", "quick"]
    assert markers_of(TESTS / "spec/test_spec.py", "test_trace[rules:one-machine]") == ["spec", "quick"]
    assert markers_of(TESTS / "spec/test_spec.py", "test_trace[peers:one-machine]") == ["spec"]
    assert markers_of(TESTS / "fuzz/test_parser.py", "test_it") == ["fuzz"]
    assert {tuple(markers_of(path, "test_it")) for path in LONG} == {(kind_of(path),) for path in LONG}


def test_a_kind_is_asked_for_by_its_name():
    told = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", "-m", "golden"],
        cwd=ROOT, env=told, capture_output=True, text=True, check=False,
    )  # fmt: skip
    nodes = re.findall(r"^tests/(\w+)/.*::", run.stdout, re.MULTILINE)
    assert len(nodes) > 50 and set(nodes) == {"golden"}
    assert "deselected" not in run.stdout, "what is not asked for is not even read"


@pytest.mark.parametrize(("asked", "read"), [("quick", QUICK), ("fuzz", {"fuzz"}), ("", KINDS), ("not fuzz", KINDS)])
def test_folders_that_are_not_asked_for_are_not_read(asked, read):
    config = SimpleNamespace(option=SimpleNamespace(markexpr=asked))
    assert {kind for kind in KINDS if pytest_ignore_collect(TESTS / kind, config) is None} == set(read)
    assert pytest_ignore_collect(TESTS / "unit" / "fuzz", SimpleNamespace(option=config.option)) is None
