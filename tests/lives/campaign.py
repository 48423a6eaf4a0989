"""Long lives in a row: each scene in turn, kept in different ways, and what must hold at the end of each."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from random import Random
from typing import Any

from accord import MemoryStore, NotDone, compile
from accord.calls.entries import Passing
from accord.calls.worlds import parts, take
from tests.lives.desk import MOST_OPEN, MOST_OVER, MOST_UNUSED
from tests.lives.keeping import Replayed, written
from tests.lives.life import MOST_OUT, REMEMBERED, DifferenceError, Life
from tests.lives.scenes import SCENES
from tests.lives.tables import Seen

CONTRACTS = {name: compile(scene.contract) for name, scene in SCENES.items()}
YOUNG = 1_000
"""After so many steps a session is as large as it will ever be, and its steps cost what they will ever cost."""
GROWTH = 1.3
SLACK = {"where it stands": 40, "the log": 200}
"""Numbers get longer, and in one window a call stays out for longer than in another. What grows with every step would
be longer by thousands."""


@dataclass
class Kept:
    """How a session is kept: in the guard, or in a store."""

    store: Any = None
    key: str = "s"


def lived(
    scene: str, number: str, steps: int, seen: Seen, kept: Kept, *, patience: int | None = None, ever: bool = False
) -> Life:
    """A life of so many steps that has passed everything that can be looked at; `DifferenceError` if it has not."""
    rng = Random(f"life {scene} {number}")
    life = Life(
        SCENES[scene], CONTRACTS[scene], rng, seen, store=kept.store, key=kept.key, patience=patience,
        lost_for_ever=ever,
    )  # fmt: skip
    try:
        young = window(life, min(YOUNG, steps))
        if steps > 2 * YOUNG:
            life.live(steps - 2 * YOUNG)
            check_growth(young, window(life, YOUNG))
        if kept.store is not None:
            check_ledger(life)
    except DifferenceError as difference:
        raise DifferenceError(f"{scene} {number}, step {life.steps} at {life.now}: {difference}") from None
    seen.lived(life)
    return life


MOST_KEPT = {"reviews": MOST_OPEN + MOST_UNUSED + MOST_OVER + 2 * MOST_OUT + 2, "done": REMEMBERED}
"""What a desk holds at the most; reviews that calls under way have used are not forgotten."""


def window(life: Life, steps: int) -> dict[str, float]:
    """So many steps, and the largest that the session has been meanwhile."""
    largest, every = {"where it stands": 0.0, "the log": 0.0}, 25
    for place in range(0, steps, every):
        life.live(min(every, steps - place))
        state = life.guard._session.state()
        largest["where it stands"] = max(largest["where it stands"], float(len(written(life.guard)[0])))
        largest["the log"] = max(largest["the log"], float(len(state.log)))
        for what, most in MOST_KEPT.items():
            if len(getattr(state.desk, what)) > most:
                raise DifferenceError(f"the desk holds {len(getattr(state.desk, what))} {what}, more than {most}")
    return largest


def check_growth(young: dict[str, float], old: dict[str, float]) -> None:
    for what, size in young.items():
        if old[what] > size * GROWTH + SLACK[what]:
            raise DifferenceError(f"{what} has grown: {size} when young, {old[what]} when old")


def calls_per_step(life: Life, steps: int) -> float:
    """How many functions are called in a step, which is the same on every machine."""
    called = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal called
        called += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        life.live(steps)
    finally:
        sys.setprofile(before)
    return called / steps


def check_ledger(life: Life) -> None:
    """The ledger is whole, and what stands in it is what has happened: gone through again, it leads to where we are."""
    store, key = life.store, life.key
    if store.session(key) is None:
        return
    if not (verified := store.verify(key)).ok:
        raise DifferenceError(f"the ledger does not verify: {verified}")
    for call in [*life.account.out]:  # whatever is still under way did not happen
        life.both(lambda guard, ticket=call.ticket: guard.fail(ticket, NotDone("it is over")))
    entries = [json.loads(line)["entry"] for line in store.ledger(key)]
    replayed, state = Replayed(life.contract, entries).situation, life.guard._session.state()
    there, here = (set(parts(take(one, Passing(life.now))[0], None)) for one in (replayed, state.settled))
    if state.log or there != here:
        raise DifferenceError(f"the ledger leads to {there - here}, and the session stands at {here - there}")


def campaign(lives: list[tuple[str, str, int, int | None, str]], seen: Seen) -> str | None:
    """Lives by scene, number, steps, patience and how they are kept; the first difference."""
    for scene, number, steps, patience, how in lives:
        kept = Kept(MemoryStore()) if how == "store" else Kept()
        try:
            lived(scene, number, steps, seen, kept, patience=patience)
        except DifferenceError as difference:
            return str(difference)
    return None
