"""One mistake has one code: what an agent is told while it runs is what `accord lint` says of its text."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from tests.spec.agents.corpus import CASES
from tests.spec.agents.puppets import Stage
from tests.spec.agents.test_mutants import findings_in

import accord.agents
from accord.agents.declaring import declaration_of
from accord.diagnostics.agent_codes import AGENT_CODES
from accord.testing.schedules import FreshSchedules

# What cannot be run to its end, is no Python, or was not followed from the text.
NOT_RUN = {"E085", "E086", "W088"}
# Nobody is told while agents run: there is only a partner that waits, or a file. Warnings are of the text alone.
NEVER_TOLD = {"E085", "E086"} | {code.code for code in AGENT_CODES if code.code.startswith("W")}


@pytest.fixture(scope="module")
def loop():
    with asyncio.Runner() as runner, pytest.MonkeyPatch.context() as patch:
        patch.setattr("accord.agents.runtime.supervisor.declaration_of", cache(declaration_of))
        yield runner


def test_what_is_told_at_run_time_has_the_code_that_lint_gives(loop, soak, health):
    seen: Counter[str] = Counter()
    for case in CASES:
        codes = set(findings_in(case.text)) if case.expected else set()
        if not codes or codes & NOT_RUN:
            continue
        try:
            stage = Stage(case.text, loop)
        except (KeyError, NameError, TypeError, ImportError):
            continue  # Python itself refuses it
        for schedule in FreshSchedules(200 if soak else 12):
            for error in stage.run(schedule):
                if error.code is None:
                    assert "accord.load" in case.text, f"{case.id}: {error}"  # which is not asked as an agent's
                    continue
                assert error.code in codes, f"{case.id}: lint says {sorted(codes)}, and at run time it is {error}"
                assert error.code in str(error)
                seen[error.code] += 1
    health("codes told at run time, as lint tells them: " + ", ".join(f"{code} {seen[code]}" for code in sorted(seen)))
    missing = {code.code for code in AGENT_CODES} - set(seen) - NEVER_TOLD
    assert not missing, missing


def test_a_code_is_written_in_the_table_alone():
    """What finds a mistake calls it by its name, so that a text and its run cannot have different codes for it."""
    for path in Path(accord.agents.__file__).parent.rglob("*.py"):
        told = re.findall(r'^(?!""").*["\']([EW]0[789]\d)\b', path.read_text(), re.MULTILINE)
        assert not told, f"{path.name} writes {told[0]}; `diagnostics.agent_codes` has a name for it"
