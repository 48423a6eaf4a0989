"""What lints clean runs without a violation, and what violates when it runs is found without running it."""

from __future__ import annotations

import asyncio
import random
import re
from functools import cache

import pytest
from tests.census import Census
from tests.spec.agents.corpus import CASES, prelude
from tests.spec.agents.mutants import KINDS, mutants
from tests.spec.agents.puppets import Stage, example

from accord.agents.check import lint, read
from accord.agents.declaring import declaration_of
from accord.diagnostics import Source
from accord.language import parse
from accord.language.global_tree import Record
from accord.testing.schedules import FreshSchedules

RIGHT = [case for case in CASES if case.runs]


# What is fine while it runs, and could be made better.
DESIGN = {"W090", "W091", "W092"}


def findings_in(text: str) -> list[str]:
    found = [d.code for d in lint(read([Source(text, "mutant.py")]), {}).findings]
    return [code for code in found if code not in DESIGN]


@pytest.fixture(scope="module")
def loop():
    """One event loop for all runs. What a class declares is looked up once: the runs are many and the classes few."""
    with asyncio.Runner() as runner, pytest.MonkeyPatch.context() as patch:
        patch.setattr("accord.agents.runtime.supervisor.declaration_of", cache(declaration_of))
        yield runner


def test_what_lints_clean_runs_without_a_violation(loop, soak, health):
    most = 10_000 if soak else 200
    runs = steps = whole = 0
    for case in RIGHT:
        stage = Stage(case.text, loop)
        fresh = FreshSchedules(most)
        for schedule in fresh:
            wrong = stage.run(schedule)
            runs, steps = runs + 1, steps + stage.choices.steps
            assert not wrong, f"{case.id}: {wrong[0]}"
        whole += fresh.complete
    health(
        f"{len(RIGHT)} agents that lint clean, {whole} of them under all schedules, the others under {most} at random: "
        f"{runs} runs of {steps} steps, no violation"
    )
    assert len(RIGHT) >= 60
    assert runs > most * 10


def front_of(case) -> str:
    """What stands before a case, with a function for each message that makes one of it."""
    document = parse(case.contract)
    records = {item.name: item for item in document.types if isinstance(item, Record)}
    front = prelude(case.contract)
    lines = []
    for label in labels_of(case):
        fields = records[label].fields if label in records else ()
        given = ", ".join(f"{field.name}={example(field.type, document)!r}" for field in fields)
        lines += [f"def make_{label}() -> {label}:", f"    return {label}({given})", ""]
    return front + "\n".join(lines)


def labels_of(case) -> list[str]:
    names = (line.split(":")[1].split()[0] for line in case.contract.splitlines() if "->" in line)
    return list(dict.fromkeys(names))


def roles_of(case) -> list[str]:
    return list(dict.fromkeys(role for protocol in parse(case.contract).globals for role in protocol.roles))


def violations(text: str, loop, most: int) -> list[BaseException]:
    stage = Stage(text, loop)
    wrong = [error for schedule in FreshSchedules(most) for error in stage.run(schedule)]
    return [error for error in wrong if not is_about_a_value(error)]


def is_about_a_value(error: BaseException) -> bool:
    """Whether a field held a value of another type than is declared: that is for a type checker to find."""
    return re.search(r"` is of type `|expected one of|cannot be written as JSON", str(error)) is not None


def test_mutants_that_violate_are_found(loop, soak, health):
    chance = random.Random(7)
    seen = Census("mutant of a correct agent", KINDS, ("found", "not found"))
    made = caught = harmless = checked = 0
    for case in RIGHT:
        if prelude(case.contract) not in case.text:
            continue  # it stands alone
        front = front_of(case)
        text = case.text.replace(prelude(case.contract), front, 1)
        assert findings_in(text) == []
        some = mutants(text, front, labels_of(case), roles_of(case), None if soak else 10, chance)
        assert len(some) >= 10, case.id
        for mutant in some:
            made += 1
            codes = findings_in(mutant.text)
            seen.add([(mutant.kind, "found" if codes else "not found")])
            if codes:
                caught += 1
                # That there is something to be found is looked at where running is certain to end.
                if (soak or made % 16 == 0) and not {"E085", "W088"} & set(codes):
                    wrong = violations(mutant.text, loop, 8)
                    checked += bool(wrong)
                    assert {error.code for error in wrong} <= set(codes), f"{mutant.what}: {wrong}\n{mutant.text}"
            else:
                harmless += 1
                wrong = violations(mutant.text, loop, 200 if soak else 12)
                assert not wrong, f"{case.id}: {mutant.what}\n{mutant.text}"
    health(
        f"{made} mutants of correct agents: {caught} found without running them (of those that were run as well, "
        f"{checked} violate), {harmless} not found, and none of these violates"
    )
    health(seen.table())
    assert not [kind for kind, place in seen.lacking(1) if place == "found"], seen.table()
    assert not seen.counts["another type", "not found"], "whatever else comes, the code cannot go on with it"
    assert checked >= 25
    assert harmless >= 20
