"""One contract means one thing on every surface: random contracts and runs, and planted differences."""

from __future__ import annotations

import pytest

from accord.audit import judging, worker
from accord.integrations import middleware
from accord.integrations.guard import codec
from accord.integrations.guard.session import LiveSession
from accord.langchain import law
from accord.monitor import monitor as monitors
from accord.studio import runs as studio
from accord.trace import protocol as traces
from tests.surfaces.campaign import campaign, first_difference
from tests.surfaces.capabilities import can
from tests.surfaces.census import Seen
from tests.surfaces.surfaces import SURFACES

PARTS = 4
QUICK, SLOW = 3_000, 200
"""Pairs for each surface, in all parts together; those in which LangChain or a store runs have fewer."""
SOAK = 100
ENOUGH = 400
"""Pairs within which a planted difference is found."""


@pytest.mark.parametrize("part", range(PARTS))
def test_every_surface_says_what_the_reference_says(part, soak, health):
    times = SOAK if soak else 1
    seen = Seen()
    difference = campaign(str(part), QUICK * times // PARTS, SLOW * times // PARTS, seen)
    assert difference is None, difference
    health(seen.sentence())
    if part == 0:
        for table in seen.tables():
            health(table.table())
    seen.check(1)


# -- differences -------------------------------------------------------------------------------------------------------


def monitors_forget_data(monkeypatch):
    original = monitors.Monitor.send

    def send(self, label, _=None, **more):
        return original(self, label, {"x": 1, "k": 1}, **more)

    monkeypatch.setattr(monitors.Monitor, "send", send)


def failed_calls_count(monkeypatch):
    monkeypatch.setattr(LiveSession, "fail", lambda self, ticket, error: self.keep(ticket, str(error)))


def results_are_empty(monkeypatch):
    original = LiveSession.settle
    monkeypatch.setattr(LiveSession, "settle", lambda self, ticket, _=None: original(self, ticket, {}))


def stores_forget_arguments(monkeypatch):
    original = codec._write_event
    monkeypatch.setattr(codec, "_write_event", lambda event: original(event._replace(payload={})))


def agents_hear_nothing(monkeypatch):
    original = law.ending.settle

    def settle(policy, state, ticket, _, at):
        return original(policy, state, ticket, {}, at)

    monkeypatch.setattr(law.reserving, "settle", settle)


def tools_return_nothing(monkeypatch):
    monkeypatch.setattr(middleware.batch, "finished", lambda claim, _: claim.result({}))


def traces_forget_results(monkeypatch):
    monkeypatch.setattr(traces, "_answer", lambda _: {"error": None})


def the_studio_forgets_data(monkeypatch):
    original = studio.step
    monkeypatch.setattr(studio, "step", lambda here, event, mode: original(here, event._replace(payload={}), mode))


def audits_forget_data(monkeypatch):
    original = judging.step
    monkeypatch.setattr(judging, "step", lambda here, event, mode: original(here, event._replace(payload={}), mode))


def readers_lose_the_end(monkeypatch):
    original = worker._runs

    def runs(*args, **more):
        for run in original(*args, **more):
            run.messages = run.messages[:-1]
            yield run

    monkeypatch.setattr(worker, "_runs", runs)


PLANTED = {
    "monitor": monitors_forget_data,
    "guard run": failed_calls_count,
    "guard arun": failed_calls_count,
    "guard by hand": results_are_empty,
    "guard in memory store": stores_forget_arguments,
    "guard in sqlite": stores_forget_arguments,
    "langchain": agents_hear_nothing,
    "tool middleware": tools_return_nothing,
    "trace": traces_forget_results,
    "studio": the_studio_forgets_data,
    "audit openai-chat": readers_lose_the_end,
    "audit openai-responses": readers_lose_the_end,
    "audit anthropic": readers_lose_the_end,
    "audit session": audits_forget_data,
    "audit tau2-bench": readers_lose_the_end,
    "audit otlp": audits_forget_data,
    "audit mapping": audits_forget_data,
}
"""One small thing that is wrong in each surface."""


@pytest.mark.parametrize("name", SURFACES)
def test_a_planted_difference_is_found(name, monkeypatch):
    if can(name) is None:
        pytest.skip("not built yet")
    PLANTED[name](monkeypatch)
    assert first_difference(name, name, SURFACES[name], ENOUGH) is not None


def test_a_difference_is_planted_in_every_surface():
    assert set(PLANTED) == set(SURFACES)
