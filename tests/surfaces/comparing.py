"""Whether a surface says what the reference says, and what is left of a pair when everything else is taken away."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from accord import compile
from accord.errors import ContractError, UsageError
from accord.machine.contract import Contract
from tests.surfaces.generate import Pair, pair_of
from tests.surfaces.happenings import ENDS, Outcome, Run, shown

__all__ = ["difference", "drive", "shrunk"]

Drive = Callable[..., Outcome]


def difference(expected: Outcome, found: Outcome) -> str | None:
    """In which way a surface differs from what must be said; `None` if it does not."""
    first, wanted = found.first, expected.first
    if (first is None) != (wanted is None) or (first is not None and not first.is_like(wanted)):
        return f"the first violation is {wanted} and was told as {first}"
    if found.complete is not None and found.complete != expected.complete:
        return f"the run {'may' if expected.complete else 'may not'} stop there, and the surface says otherwise"
    if found.only_first:
        count = len(expected.findings)
        return None if found.count in {None, count} else f"{count} are refused, told were {found.count}"
    if len(found.findings) != len(expected.findings):
        return f"refused are {expected.findings}, told were {found.findings}"
    for mine, theirs in zip(expected.findings, found.findings, strict=True):
        if not mine.is_like(theirs):
            return f"refused is {mine}, told was {theirs}"
    if found.waited is not None and expected.waited is not None and found.waited != expected.waited:
        return f"{expected.waited} calls have waited, told were {found.waited}"
    return None


def drive(pair: Pair, surface: Drive, contract: Contract | None = None) -> str | None:
    """Drive a pair through a surface; the difference, in words."""
    try:
        found = surface(contract or compile(pair.written.text), pair.run)
    except Exception as error:
        return f"it raised {error!r}"
    return difference(pair.outcome, found)


# -- shrinking ---------------------------------------------------------------------------------------------------------

PIECES = (r"\([a-z_][^()]*\)", r"\.[!?]\w+", r" by human", r"each k: ", r" within \d+s else [!?]\w+", r"[!?]\w+\.",
          r", [^{},]+(?=[,}])", r"\{[^{},]+, ", r"( and | or )[^}]+(?= \})", r" open", r"at (least|most) \d ", r"not ",
          r" where [^\n]*")  # fmt: skip


def shrunk(pair: Pair, surface: Drive, keep: frozenset[str] | None = None) -> Pair:
    """A pair as small as it gets with the same kind of difference; with `keep`, one that uses nothing else."""
    kind, used = _kind(drive(pair, surface)), pair.uses
    progress = True
    while progress:
        progress = False
        for text, run in candidates(pair):
            try:
                smaller = pair_of(text, run)
            except (ContractError, UsageError, KeyError, StopIteration, ValueError):
                continue
            if not smaller.uses <= used or (keep is not None and not smaller.uses <= keep):
                continue
            if not any(one.kind in ENDS for one in run):
                continue  # a run that does not speak of ends is another matter
            if _kind(drive(smaller, surface)) == kind:
                pair, progress = smaller, True
                break
    return pair


def _kind(difference: str | None) -> str | None:
    return None if difference is None else difference[:14]


def candidates(pair: Pair) -> Iterator[tuple[str, Run]]:
    """Everything that is a little less."""
    text, run = pair.written.text, pair.run
    for place, one in enumerate(run):
        if one.answers:
            continue  # it goes with its call
        if one.kind == "call":
            ends = [at for at in range(place, len(run)) if run[at].kind in ENDS and run[at].id == one.id][:1]
            ends += [place - 1] if place and run[place - 1].answers == one.id else []
            left = tuple(other for at, other in enumerate(run) if at != place and at not in ends)
        else:
            left = run[:place] + run[place + 1 :]
        if left:
            yield text, left
    lines = text.splitlines()
    for number in range(len(lines)):
        yield "\n".join(lines[:number] + lines[number + 1 :]) + "\n", run
    for piece in PIECES:
        for found in re.finditer(piece, text):
            yield text[: found.start()] + text[found.end() :], run
    for place, one in enumerate(run):
        if isinstance(one.body, dict) and not one.answers and one.asked is None:
            for key in one.body:
                body = {name: value for name, value in one.body.items() if name != key}
                yield text, (*run[:place], replace(one, body=body), *run[place + 1 :])
        if one.kind == "call" and place and one.message != run[place - 1].message:
            continue


def told(pair: Pair, why: str) -> str:
    """A difference as a person reads it."""
    return f"{why}\n{shown(pair.written.text, pair.run)}\nuses {', '.join(sorted(pair.uses)) or 'nothing special'}"
