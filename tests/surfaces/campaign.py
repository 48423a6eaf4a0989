"""Pairs driven through all surfaces that can be asked about them, until each has had its number."""

from __future__ import annotations

from itertools import cycle
from random import Random

from accord import compile
from tests.surfaces.capabilities import can
from tests.surfaces.census import Seen, there, wanted_for
from tests.surfaces.comparing import Drive, difference, drive, shrunk, told
from tests.surfaces.generate import Pair, random_pair
from tests.surfaces.happenings import Outcome
from tests.surfaces.once import compiled_once
from tests.surfaces.surfaces import FORMATS, SLOW, SURFACES

__all__ = ["campaign", "first_difference"]

MOST_MORE = 2_000
"""Pairs for what was never seen so far."""


@compiled_once()
def campaign(seed: str, quick: int, slow: int, seen: Seen) -> str | None:
    """Drive so many pairs through each surface; the first difference, made small."""
    rng = Random(f"surfaces {seed}")
    left = {name: slow if name in SLOW else quick for name in there()}
    for source in FORMATS:  # formats share what is asked of audits, so that each run is written in one of them
        left[source] = -(-quick // len(FORMATS))
    for wanted in cycle(left):  # each in turn, so that none is asked only about what all others can be asked about
        if not any(count > 0 for count in left.values()):
            break
        if left[wanted] <= 0:
            continue
        pair = random_pair(rng, can(wanted))
        seen.pair(pair, can(wanted))
        contract, outcomes = compile(pair.written.text), {}
        for name, count in list(left.items()):
            if count > 0 and pair.uses <= can(name):
                left[name] -= 1
                try:
                    found = SURFACES[name](contract, pair.run)
                except Exception as error:
                    return _told(pair, name, f"it raised {error!r}")
                why = difference(pair.outcome, found)
                if why is not None:
                    return _told(pair, name, why)
                outcomes[name] = found
                seen.add(name, pair)
        why = _sentences(outcomes)
        if why is not None:
            return told(pair, why)
    return _fill(rng, seen)


def _fill(rng: Random, seen: Seen) -> str | None:
    """Go on for a while with what was never seen so far at some surface."""
    for _ in range(MOST_MORE):
        lacking = seen.lacking(1)
        if not lacking:
            break
        row, place = lacking[0]
        pair = random_pair(rng, can(place), wanted_for(row))
        seen.pair(pair, can(place))
        contract = compile(pair.written.text)
        for name in {place: None} | {name: None for _, name in lacking if pair.uses <= can(name)}:
            why = drive(pair, SURFACES[name], contract)
            if why is not None:
                return _told(pair, name, why)
            seen.add(name, pair)
    return None


def _told(pair: Pair, name: str, why: str) -> str:
    small = shrunk(pair, SURFACES[name], can(name))
    return f"{name}: {told(small, why)}"


def _sentences(outcomes: dict[str, Outcome]) -> str | None:
    """All sentences about the first violation are one."""
    said: dict[str, str] = {}
    for name, outcome in outcomes.items():
        if outcome.first is not None and outcome.first.sentence is not None:
            said.setdefault(outcome.first.sentence, name)
    if len(said) < 2:
        return None
    return "the first violation is told in several ways: " + "; ".join(f"{by}: {text}" for text, by in said.items())


@compiled_once()
def first_difference(seed: str, name: str, surface: Drive, most: int) -> str | None:
    """How a surface differs from the reference within so many pairs; sentences aside."""
    rng = Random(f"planted {seed}")
    for _ in range(most):
        pair = random_pair(rng, can(name))
        try:
            why = difference(pair.outcome, surface(compile(pair.written.text), pair.run))
        except Exception as error:
            why = f"it raised {error!r}"
        if why is not None:
            return why
    return None
