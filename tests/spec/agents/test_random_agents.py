"""Random agents: what lint says of all paths is what running them shows."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from functools import cache
from types import SimpleNamespace

import pytest
from tests.spec.agents.corpus import CASES
from tests.spec.agents.generate import Writer
from tests.spec.agents.puppets import Stage
from tests.spec.agents.test_mutants import findings_in, front_of
from tests.spec.agents.written import cells, census

from accord.agents.declaring import declaration_of
from accord.language import parse
from accord.testing.schedules import FreshSchedules

CONTRACTS = sorted({case.contract for case in CASES})
# What is wrong and hurts nobody while it runs, and what was not looked at.
HARMLESS = {"E083", "E085", "W087", "W088"}


@pytest.fixture(scope="module")
def loop():
    with asyncio.Runner() as runner, pytest.MonkeyPatch.context() as patch:
        patch.setattr("accord.agents.runtime.supervisor.declaration_of", cache(declaration_of))
        yield runner


def test_random_agents(loop, soak, health):
    chance = random.Random(11)
    seen: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    written = census()
    for _ in range(5_000 if soak else 200):
        contract = chance.choice(CONTRACTS)
        protocols = parse(contract).globals
        if len(protocols) > 1:
            continue
        role = chance.choice(protocols[0].roles)
        writer = Writer(contract, protocols[0].name, role, chance, chance.choice([0.0, 0.0, 0.15]))
        text = front_of(SimpleNamespace(contract=contract)) + "\n" + writer.agent()
        written.add(cells(text))
        found = set(findings_in(text))
        codes.update(found)
        if "E085" in found:
            continue  # running it would not end
        fresh = FreshSchedules(100 if soak else 20)
        stage = Stage(text, loop)
        wrong = next((error for schedule in fresh for error in stage.run(schedule)), None)
        if wrong is not None:
            assert found - HARMLESS, f"{wrong}\n{text}"
            assert wrong.code in found | {None}, f"lint says {sorted(found)}: {wrong}\n{text}"
            seen["wrong and found"] += 1
        elif not found - HARMLESS:
            seen["right and clean"] += 1
        else:
            seen["found, and no run shows it" + (" of all" if fresh.complete else "")] += 1
    health(f"random agents: {dict(seen)}; codes {dict(sorted(codes.items()))}\n{written.table()}")
    written.check(1)
    assert seen["wrong and found"] >= 15
    assert seen["right and clean"] >= 60
    assert len(codes) >= 6
