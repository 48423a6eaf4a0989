"""Pairs driven through all surfaces that can be asked about them, until each has had its number."""

from __future__ import annotations

from random import Random

from accord import compile
from tests.surfaces.capabilities import can
from tests.surfaces.census import Seen, there
from tests.surfaces.comparing import Drive, difference, shrunk, told
from tests.surfaces.generate import Pair, random_pair
from tests.surfaces.happenings import Outcome
from tests.surfaces.surfaces import FORMATS, SLOW, SURFACES

__all__ = ["campaign", "first_difference"]


def campaign(seed: str, quick: int, slow: int, seen: Seen) -> str | None:
    """Drive so many pairs through each surface; the first difference, made small."""
    rng = Random(f"surfaces {seed}")
    left = {name: slow if name in SLOW else quick for name in there()}
    for source in FORMATS:  # formats share what is asked of audits, so that each run is written in one of them
        left[source] = -(-quick // len(FORMATS))
    while any(count > 0 for count in left.values()):
        wanted = max(left, key=left.get)
        pair = random_pair(rng, can(wanted))
        seen.pair(pair)
        contract, outcomes = compile(pair.written.text), {}
        for name in left:
            if left[name] > 0 and pair.uses <= can(name):
                left[name] -= 1
                try:
                    found = SURFACES[name](contract, pair.run)
                except Exception as error:  # noqa: BLE001 - whatever it raises is no verdict
                    return _told(pair, name, f"it raised {error!r}")
                why = difference(pair.outcome, found)
                if why is not None:
                    return _told(pair, name, why)
                outcomes[name] = found
                seen.add(name, pair)
        why = _sentences(outcomes)
        if why is not None:
            return told(pair, why)
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


def first_difference(seed: str, name: str, drive: Drive, most: int) -> str | None:
    """How a surface differs from the reference within so many pairs; sentences aside."""
    rng = Random(f"planted {seed}")
    for _ in range(most):
        pair = random_pair(rng, can(name))
        try:
            why = difference(pair.outcome, drive(compile(pair.written.text), pair.run))
        except Exception as error:  # noqa: BLE001 - the same
            why = f"it raised {error!r}"
        if why is not None:
            return why
    return None
