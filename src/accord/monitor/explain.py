"""Refusals in words: what is wrong, what is allowed, and the shortest way to make the refused action legal.

The sentences are read by people and by models. Labels and payloads in them may come from anywhere, so they are clipped
and made visible before they are quoted; see `wording`. What was late and what is owed at the end is told in
`explain_time` and `explain_closing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import did_you_mean
from accord.machine.paths import NOT_DECIDED, Wait, shortest_way
from accord.machine.slices import NoKey
from accord.machine.standing import OpenStanding
from accord.machine.tables import Symbol
from accord.monitor.explain_closing import explain_closing
from accord.monitor.explain_time import explain_late, explain_overdue, until
from accord.monitor.wording import (
    MOST_LISTED,
    list_words,
    name_instance,
    name_rule,
    path_text,
    quote_text,
    span_text,
    time_text,
)

if TYPE_CHECKING:
    from accord.language.clauses import Path
    from accord.machine.clocks import Time
    from accord.machine.events import Event
    from accord.machine.paths import Way
    from accord.monitor.refusals import Refusal

__all__ = ["explain", "find_way", "list_words"]


def explain(refusal: Refusal) -> str:
    """A refusal in words."""
    if refusal.missed:
        return f"{explain_overdue(refusal)}{_now(refusal)}"
    if refusal.event is None:
        return f"Time cannot pass: {_reasons(refusal.reasons)}." if refusal.reasons else explain_closing(refusal)
    got = quote_text(refusal.event.word)
    return _by_protocol(refusal, refusal.event, got) if refusal.rule is None else _by_rule(refusal, got)


def _by_rule(refusal: Refusal, got: str) -> str:
    assert refusal.rule is not None  # noqa: S101 - it refused
    machine = refusal.rule.machine
    instance = ""
    book = refusal.stage.stages.book
    if machine.each is not None:
        key = refusal.belongs.rules[book.sliced.index(book.machines.index(machine))]
        instance = "" if isinstance(key, NoKey) else f" for {name_instance(machine.each, key)}"
    refused = f"{got} is refused by the rule {name_rule(machine)}{instance}"
    if refusal.reasons:
        return f"{refused}: whether it applies cannot be told, because {_reasons(refusal.reasons)}.{_now(refusal)}"
    return f"{refused}: {machine.describe(refusal.rule.state)}.{_way_out(refusal, got)}{_now(refusal)}"


def _by_protocol(refusal: Refusal, event: Event, got: str) -> str:
    standing = refusal.standing
    instance = _instance(refusal)
    about = f" for {instance}" if instance else ""
    if refusal.reasons:
        return f"{got} is refused{about}: {_reasons(refusal.reasons)}.{_now(refusal)}"
    if refusal.lapsed is not None:
        late = explain_late(refusal.lapsed, refusal.now)
        return f"{got} is too late{about}: {late}.{_way_out(refusal, got)}{_now(refusal)}"
    if not standing.symbols and not isinstance(standing, OpenStanding):
        if instance:
            return f"{got} is not allowed: {instance} is finished, and nothing more may happen with it.{_anew(refusal)}"
        return f"{got} is not allowed: the session is over and nothing more may happen."
    way_out = _way_out(refusal, got)
    if way_out:
        new = ", which is new" if refusal.is_new else ""
        return f"{got} is not allowed yet{about}{new}.{way_out}{_now(refusal)}"
    return f"{got} is not allowed{about}{_never(refusal, event)}.{_now(refusal)}"


def _instance(refusal: Refusal) -> str:
    """The event's instance of a sliced protocol."""
    sliced, key = refusal.stage.stages.sliced, refusal.belongs.protocol
    return "" if sliced is None or isinstance(key, NoKey) else name_instance(sliced.path, key)


def _now(refusal: Refusal) -> str:
    sliced = refusal.stage.stages.sliced
    if sliced is None and isinstance(refusal.stage.standing, OpenStanding):
        return ""
    words = refusal.expected
    instance = _instance(refusal)
    about = f" for {instance}" if instance else ""
    if refusal.is_full and sliced is not None and refusal.extent is not None and refusal.extent.course is not None:
        words = refusal.stage.allowed_of(sliced.under_way(refusal.extent.course))
        about = " for those that are known"
    options = [list_words(words)] if words else []
    options += ["ending the session"] if refusal.complete else []
    # An instance that has not begun has no clock yet.
    due = "" if refusal.is_new else until(refusal.standing, refusal.now, words)
    return f" Allowed now{about}: {' or '.join(options) or 'nothing'}{due}."


def _anew(refusal: Refusal) -> str:
    sliced = refusal.stage.stages.sliced
    if sliced is None:
        return ""
    words = refusal.stage.allowed_of(sliced.standings.start.symbols)
    return f" With a new {quote_text(path_text(sliced.path))}, allowed is {list_words(words)}." if words else ""


def _reasons(reasons: tuple[str, ...]) -> str:
    shown = list(reasons[:MOST_LISTED])
    if len(reasons) > len(shown):
        shown.append(f"{len(reasons) - len(shown)} more reasons")
    return "; or ".join(shown)


def _wanted(event: Event) -> Symbol:
    return Symbol(event.direction, event.label, event.partner, (), event.by is not None)


# -- the way out -------------------------------------------------------------------------------------------------------


def find_way(refusal: Refusal) -> Way:
    """The fewest steps after which the refused event is legal; none if that is not known, or never the case."""
    assert refusal.event is not None  # noqa: S101 - closing is explained elsewhere
    standing, begun = refusal.standing, not refusal.is_new
    sliced = refusal.stage.stages.sliced
    if sliced is not None and isinstance(refusal.belongs.protocol, NoKey):
        standing, begun = sliced.standings.begin(refusal.now), False  # whatever its key will be, it can be a new one
    way = shortest_way(standing, refusal.nodes, _wanted(refusal.event), refusal.fits, refusal.now, begun=begun)
    return () if way is None or way == NOT_DECIDED else way


def _way_out(refusal: Refusal, got: str) -> str:
    way = find_way(refusal)
    if not way:
        return ""
    return f" To make it legal, first {_steps(refusal, way)}; then {got} may follow."


def _do(refusal: Refusal, step: Symbol | Wait, now: Time | None) -> str:
    """One step of a way, as something to do: the agent sends, and waits for what it receives.

    Where it is known what time it is, so is the moment that has to pass. What a rule names without a direction, and no
    protocol tells it, may be either.
    """
    if isinstance(step, Wait):
        time = span_text(step.seconds) if now is None else f"the time until {time_text(now + step.seconds)}"
        return f"let {time} pass without {list_words(sorted(symbol.word for symbol in step.timed))}"
    if _is_either(refusal, step):
        return f"let {quote_text(step.word.removeprefix(step.direction))} happen"
    verb, preposition = ("send", "to") if step.direction == "!" else ("wait for", "from")
    return f"{verb} {quote_text(step.word)}" + (f" {preposition} {step.partner}" if step.partner else "")


def _is_either(refusal: Refusal, step: Symbol) -> bool:
    """Whether nothing says in which direction a step goes: neither the protocol nor any rule that names it."""
    sliced = refusal.stage.stages.sliced
    told = not isinstance(refusal.standing, OpenStanding) if sliced is None else not sliced.ignores(step.label)
    return not told and refusal.stage.stages.book.is_either(step.label)


def _steps(refusal: Refusal, way: Way) -> str:
    """The steps one after another, and which of them belong to the instances of the refused event."""
    steps = [_do(refusal, step, None if number else refusal.now) for number, step in enumerate(way)]
    fields = [_same(refusal, step) for step in way]
    behind = ""
    if len(set(fields)) == 1:
        behind = f"{', each' if len(way) > 1 and fields[0] else ''}{fields[0]}"
    else:
        steps = [f"{step}{same}" for step, same in zip(steps, fields, strict=True)]
    if len(steps) > MOST_LISTED + 1:  # to leave out a single one saves nothing
        half = MOST_LISTED // 2
        steps = [*steps[:half], f"{len(steps) - MOST_LISTED} more steps", *steps[-half:]]
    return ", then ".join(steps) + behind


def _same(refusal: Refusal, step: Symbol | Wait) -> str:
    """That a step belongs to the instances of the refused event, as far as it is looked at there."""
    if isinstance(step, Wait):
        return ""
    stages = refusal.stage.stages
    paths: dict[Path, None] = {}
    sliced = stages.sliced
    if sliced is not None and not sliced.ignores(step.label) and not isinstance(refusal.belongs.protocol, NoKey):
        paths[sliced.path] = None
    nodes = {node.machine: node for node in refusal.nodes}
    for rule, key in zip(stages.sliced_rules, refusal.belongs.rules, strict=False):
        looks = step.label in rule.machine.by_label or nodes[rule.machine].armed(step.direction)
        if looks and not isinstance(key, NoKey):
            paths[rule.path] = None
    fields = " and ".join(quote_text(path_text(path)) for path in list(paths)[:MOST_LISTED])
    return f" with the same {fields}" if fields else ""


def _never(refusal: Refusal, event: Event) -> str:
    standing = refusal.standing
    machine = standing.standings.machine
    if event.label not in machine.labels:
        meant = did_you_mean(event.label, machine.labels)
        hint = f" (did you mean {quote_text(meant)}?)" if meant else ""
        return f": this protocol has no message {quote_text(event.label)}{hint}"
    numbers = machine.by_event.get((event.direction, event.label), ())
    if not numbers:
        return ": in this protocol it goes the other way"
    partners = sorted({machine.symbols[number].partner or "" for number in numbers})
    if event.partner is not None and not {"", event.partner} & set(partners):
        return f": in this protocol it is with {list_words(partners)}, not with {quote_text(event.partner)}"
    way = shortest_way(standing, (), _wanted(event), None, refusal.now, begun=not refusal.is_new)
    if way == NOT_DECIDED:
        return " now"
    return ": it can no longer happen there" if _instance(refusal) else ": it can no longer happen in this session"
