"""A change of a trace is drift exactly if it changes what a run did, and it is told at the event where it is."""

from __future__ import annotations

import copy
import io
import random

from accord.trace import compile_trace_config, load_trace_config
from accord.trace.drift import compare
from accord.trace.summaries import summarise
from tests.census import Census
from tests.fuzz.tracing import Seen, as_lines, random_trace

PLAN = compile_trace_config(load_trace_config({}))
PLACES = ("first event", "between", "last event", "only event")


def other_value(events, place):
    events[place]["payload"]["drift"] = {"new": [1]}


def other_kind(events, place):
    events[place]["kind"] += "'"


def gone(events, place):
    del events[place]


def twice(events, place):
    events.insert(place, {**copy.deepcopy(events[place]), "kind": "inserted"})


def noise(events, place):
    events[place]["payload"] |= {"latency_ms": 7, "timestamp": "now"}


def order_of_keys(events, place):
    events[place]["payload"] = dict(reversed(events[place]["payload"].items()))


DRIFT = {"another value": other_value, "another kind": other_kind, "an event less": gone, "an event more": twice}
NO_DRIFT = {"noise": noise, "another order of keys": order_of_keys}
CHANGES = {**DRIFT, **NO_DRIFT}


def summary(events):
    return summarise(io.BytesIO(as_lines(events)), PLAN)


def test_drift_is_told_where_it_is(soak, health):
    chance = random.Random(17)
    never = {("an event less", "only event"): "a run without events is gone"}
    table = Census("drift of a run", tuple(CHANGES), PLACES, never)
    count = 5_000 if soak else 500
    for _ in range(count):
        events = [{**event, "run_id": "r", "example_id": 1} for event in random_trace(chance, Seen())]
        change = chance.choice(list(CHANGES))
        if len(events) < 1 + (change == "an event less"):
            continue
        place = chance.choice((0, len(events) - 1, chance.randrange(len(events))))
        changed = copy.deepcopy(events)
        CHANGES[change](changed, place)
        (found,) = compare(summary(events), summary(changed))
        expected = ("drift", place) if change in DRIFT else ("same", None)
        assert (found.status, found.place) == expected, (change, place, events)
        where = {0: PLACES[0], len(events) - 1: PLACES[2]}.get(place, PLACES[1]) if len(events) > 1 else PLACES[3]
        table.add([(change, where)])
    table.check(count // 250)
    health(table.table())
