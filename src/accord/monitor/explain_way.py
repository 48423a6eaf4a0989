"""The way to make a refused action legal, in words: what to do first, and then.

That a call returns goes without saying, so the result of a call is told together with it, and only if it has to be
something.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from accord.machine.paths import Wait
from accord.machine.slices import NoKey
from accord.monitor.vocabulary import Phrase, join_steps
from accord.monitor.wording import MOST_LISTED, list_quoted, path_text, quote_text, span_text, time_text

if TYPE_CHECKING:
    from accord.language.clauses import Path
    from accord.machine.clocks import Time
    from accord.machine.paths import Way
    from accord.machine.tables import Symbol
    from accord.monitor.refusals import Refusal

__all__ = ["tell_way"]


class _Step(NamedTuple):
    phrase: Phrase
    same: str


def tell_way(refusal: Refusal, way: Way, got: str) -> str:
    """What to do first, and then; `got` is what was refused."""
    assert refusal.event is not None  # noqa: S101 - there is a way to something
    event = refusal.event
    then = f", then {_again(got)}" if refusal.vocabulary.is_mine(event.direction, event.label) else ""
    return f"first {_steps(refusal, way)}{then}"


def _again(got: str) -> str:
    return "this call" if got.startswith("this call") else got


def _steps(refusal: Refusal, way: Way) -> str:
    """The steps one after another, and which of them belong to the instances of the refused event."""
    steps = _without_repetitions(_told(refusal, way))
    behind = ""
    if len({step.same for step in steps}) == 1:
        behind = f"{', each' if len(steps) > 1 and steps[0].same else ''}{steps[0].same}"
        steps = [step._replace(same="") for step in steps]
    phrases = [Phrase(step.phrase.verb, f"{step.phrase.rest}{step.same}") for step in steps]
    if len(phrases) > MOST_LISTED + 1:  # to leave out a single one saves nothing
        half = MOST_LISTED // 2
        phrases = [*phrases[:half], Phrase("", f"{len(phrases) - MOST_LISTED} more steps"), *phrases[-half:]]
    return join_steps(phrases) + behind


def _told(refusal: Refusal, way: Way) -> list[_Step]:
    vocabulary = refusal.vocabulary
    steps: list[_Step] = []
    before: Symbol | None = None
    for number, step in enumerate(way):
        if isinstance(step, Wait):
            steps.append(_Step(_wait(refusal, step, None if number else refusal.now), ""))
            before = None
            continue
        if before is not None and vocabulary.is_result(before, step):
            call, same = steps[-1]
            steps[-1] = _Step(Phrase(call.verb, f"{call.rest}{vocabulary.must_be(step)}"), same)
            before = None
            continue
        phrase = vocabulary.do(step, either=_is_either(refusal, step))
        steps.append(_Step(phrase, _same(refusal, step)))
        before = step if phrase.verb == "call" else None
    return steps


def _wait(refusal: Refusal, step: Wait, now: Time | None) -> Phrase:
    """That time passes. Where it is known what time it is, so is the moment that has to pass."""
    names = sorted({refusal.vocabulary.name(one.direction, one.label, one.partner) for one in step.timed})
    time = span_text(step.seconds) if now is None else f"until {time_text(now + step.seconds)}"
    return Phrase("", f"wait {time} without {list_quoted(names, 'or')}")


def _without_repetitions(steps: list[_Step]) -> list[_Step]:
    """The same step several times over is one, with how often."""
    found: list[tuple[_Step, int]] = []
    for step in steps:
        if found and found[-1][0] == step:
            found[-1] = step, found[-1][1] + 1
        else:
            found.append((step, 1))
    return [
        step if times == 1 else _Step(Phrase(step.phrase.verb, f"{step.phrase.rest} {_times(times)}"), step.same)
        for step, times in found
    ]


def _times(number: int) -> str:
    return "twice" if number == 2 else f"{number} times"


def _is_either(refusal: Refusal, step: Symbol) -> bool:
    """Whether nothing says in which direction a step goes: neither the protocol nor any rule that names it."""
    passes = refusal.stage.stages.machine.passes
    told = not (passes("!", step.label) and passes("?", step.label))
    return not told and refusal.stage.stages.book.is_either(step.label)


def _same(refusal: Refusal, step: Symbol) -> str:
    """That a step belongs to the instances of the refused event, as far as it is looked at there."""
    stages = refusal.stage.stages
    paths: dict[Path, None] = {}
    sliced = stages.sliced
    about_it = not stages.machine.passes(step.direction, step.label)
    if sliced is not None and about_it and not isinstance(refusal.belongs.protocol, NoKey):
        paths[sliced.path] = None
    nodes = {node.machine: node for node in refusal.nodes}
    for rule, key in zip(stages.sliced_rules, refusal.belongs.rules, strict=False):
        looks = step.label in rule.machine.by_label or nodes[rule.machine].armed(step.direction)
        if looks and not isinstance(key, NoKey):
            paths[rule.path] = None
    fields = " and ".join(quote_text(path_text(path)) for path in list(paths)[:MOST_LISTED])
    return f" with the same {fields}" if fields else ""
