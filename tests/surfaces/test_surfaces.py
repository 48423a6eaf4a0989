"""One contract means one thing on every surface: random contracts and runs, and planted differences."""

from __future__ import annotations

import pytest

from accord.audit import judging, worker
from accord.calls.replay import Replay
from accord.integrations.conduct import Conduct
from accord.integrations.guard import codec
from accord.integrations.guard.session import LiveSession
from accord.langchain import law
from accord.monitor import monitor as monitors
from accord.studio import runs as studio
from accord.trace import following as traces
from tests.surfaces.campaign import campaign, first_difference
from tests.surfaces.capabilities import can
from tests.surfaces.census import Seen
from tests.surfaces.surfaces import SURFACES

pytestmark = pytest.mark.filterwarnings("ignore::accord.errors.LabelWarning")

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
    monkeypatch.setattr(LiveSession, "fail", lambda self, ticket, error, **_: self.keep(ticket, str(error)))


def results_are_empty(monkeypatch):
    original = LiveSession.settle
    monkeypatch.setattr(LiveSession, "settle", lambda self, ticket, _=None: original(self, ticket, {}))


def stores_forget_arguments(monkeypatch):
    original = codec._write_event
    monkeypatch.setattr(codec, "_write_event", lambda event: original(event._replace(payload={})))


def agents_hear_nothing(monkeypatch):
    original = law.ending.settle

    def settle(policy, state, ticket, _, at, **more):
        return original(policy, state, ticket, {}, at, **more)

    monkeypatch.setattr(law.ending, "settle", settle)


def tools_return_nothing(monkeypatch):
    original = Conduct._end_of
    monkeypatch.setattr(Conduct, "_end_of", lambda self, call, ended: original(self, call, ended._replace(value={})))


class _Blind:
    """A projection that loses what events carry."""

    def __init__(self, projection) -> None:
        self._projection = projection

    def __getattr__(self, name):
        return getattr(self._projection, name)

    def event(self, happened, *, skim=False):
        found = self._projection.event(happened, skim=skim)
        return found if found.event is None else found._replace(event=found.event._replace(payload={}))


class _BlindReplay(Replay):
    def __init__(self, *arguments, **more) -> None:
        super().__init__(*arguments, **more)
        self.projection = _Blind(self.projection)


def traces_forget_data(monkeypatch):
    monkeypatch.setattr(traces, "Replay", _BlindReplay)


def the_studio_forgets_data(monkeypatch):
    monkeypatch.setattr(studio, "Replay", _BlindReplay)


def audits_forget_data(monkeypatch):
    monkeypatch.setattr(judging, "Replay", _BlindReplay)


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
    "trace": traces_forget_data,
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
