"""Refusals in words: what is wrong, and what to do now, in the names of the tools.

The sentences are read by models and by people, and are the same on every surface. Labels and payloads in them may come
from anywhere, so they are clipped and made visible before they are quoted; see `wording`. How labels are called is
decided in `vocabulary`, the way to make a refused action legal is told in `explain_way`, what may happen instead in
`explain_now`, what was late and what is owed at the end in `explain_time` and `explain_closing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import did_you_mean
from accord.language.rules import AfterForbid, AtMost, ForbidSequence
from accord.machine.paths import NOT_DECIDED, shortest_way
from accord.machine.slices import NoKey
from accord.machine.standing import OpenStanding
from accord.machine.tables import Symbol
from accord.monitor.explain_closing import explain_closing
from accord.monitor.explain_now import anew, explain_now, instance_of
from accord.monitor.explain_time import explain_late, explain_overdue
from accord.monitor.explain_way import tell_way
from accord.monitor.wording import MOST_LISTED, begin_sentence, list_words, name_instance, name_rule, quote_text

if TYPE_CHECKING:
    from accord.machine.events import Event
    from accord.machine.paths import Way
    from accord.machine.rules import RuleNode
    from accord.monitor.refusals import Refusal

__all__ = ["advise", "explain", "find_way", "list_words"]


def explain(refusal: Refusal) -> str:
    """A refusal in words."""
    if refusal.missed:
        return f"{explain_overdue(refusal)}{explain_now(refusal)}"
    event = refusal.event
    if event is None:
        return f"Time cannot pass: {_reasons(refusal.reasons)}." if refusal.reasons else explain_closing(refusal)
    got = refusal.vocabulary.name(event.direction, event.label, event.partner)
    said = _by_protocol(refusal, event, got) if refusal.rule is None else _by_rule(refusal, refusal.rule, got)
    return begin_sentence(said)


def advise(refusal: Refusal) -> str:
    """What may happen now, and not a word about what was refused; empty if there is nothing to say."""
    return explain_now(refusal).strip()


def _by_rule(refusal: Refusal, rule: RuleNode, got: str) -> str:
    machine = rule.machine
    instance = ""
    book = refusal.stage.stages.book
    if machine.each is not None:
        key = refusal.belongs.rules[book.sliced.index(book.machines.index(machine))]
        instance = "" if isinstance(key, NoKey) else f" for {name_instance(machine.each, key)}"
    refused = f"{got} is refused by the rule {name_rule(machine)}{instance}"
    if refusal.reasons:
        told = _reasons(refusal.reasons)
        return f"{refused}: whether it applies cannot be told, because {told}.{explain_now(refusal)}"
    final = _for_good(rule)
    if final:
        return f"{refused}: {final}.{explain_now(refusal)}"
    way = find_way(refusal)
    if not way:
        return f"{refused}: {machine.describe(rule.state)}.{explain_now(refusal)}"
    # That what the rule asks for has not happened is said by the rule and by the way.
    seen = "" if machine.form.is_untouched(rule.state) else f": {machine.describe(rule.state)}"
    return f"{refused}{seen}. {begin_sentence(tell_way(refusal, way, got))}.{explain_now(refusal, way)}"


def _for_good(rule: RuleNode) -> str:
    """What a rule says that forbids something for the rest of the session; empty if it is no such rule."""
    body, state = rule.machine.rule.body, rule.state
    if isinstance(body, AtMost):
        like_this = " like this" if body.pattern.guards else ""
        if not body.number:
            return f"it may not happen{like_this}"
        return f"{rule.machine.describe(state)} and may not happen again{like_this}"
    if (isinstance(body, AfterForbid) and state.extra) or (isinstance(body, ForbidSequence) and not body.adjacent[-1]):
        forbidden = body.forbidden if isinstance(body, AfterForbid) else body.patterns[-1]
        like_this = " like this" if forbidden.guards else ""
        return f"{rule.machine.describe(state)}, so it may not happen any more{like_this}"
    return ""


def _by_protocol(refusal: Refusal, event: Event, got: str) -> str:
    standing = refusal.standing
    instance = instance_of(refusal)
    about = f" for {instance}" if instance else ""
    if refusal.reasons:
        return f"{got} is refused{about}: {_reasons(refusal.reasons)}.{explain_now(refusal)}"
    if refusal.lapsed is not None:
        late = f"{got} is too late{about}: {explain_late(refusal.lapsed, refusal.now)}."
        way = find_way(refusal)
        first = f" {begin_sentence(tell_way(refusal, way, got))}." if way else ""
        return f"{late}{first}{explain_now(refusal, way)}"
    if instance and event.label not in refusal.stage.stages.machine.labels:
        return f"{got} is not allowed{_never(refusal, event)}.{explain_now(refusal)}"
    if not standing.symbols and not isinstance(standing, OpenStanding):
        if instance:
            return f"{got} is not allowed: {instance} is finished, and nothing more may happen with it.{anew(refusal)}"
        more = "nothing more of it" if refusal.stage.stages.machine.is_open else "nothing more"
        return f"{got} is not allowed: the protocol is over, and {more} may happen."
    way = find_way(refusal)
    if way:
        new = ", which is new" if refusal.is_new else ""
        return f"{got} is not allowed yet{about}{new}: {tell_way(refusal, way, got)}.{explain_now(refusal, way)}"
    return f"{got} is not allowed{about}{_never(refusal, event)}.{explain_now(refusal)}"


def _reasons(reasons: tuple[str, ...]) -> str:
    shown = list(reasons[:MOST_LISTED])
    if len(reasons) > len(shown):
        shown.append(f"{len(reasons) - len(shown)} more reasons")
    return "; or ".join(shown)


def _wanted(event: Event) -> Symbol:
    return Symbol(event.direction, event.label, event.partner, (), event.by is not None)


def find_way(refusal: Refusal) -> Way:
    """The fewest steps after which the refused event is legal; none if that is not known, or never the case."""
    assert refusal.event is not None  # noqa: S101 - closing is explained elsewhere
    standing, begun = refusal.standing, not refusal.is_new
    sliced = refusal.stage.stages.sliced
    if sliced is not None and isinstance(refusal.belongs.protocol, NoKey):
        standing, begun = sliced.standings.begin(refusal.now), False  # whatever its key will be, it can be a new one
    event, now = refusal.event, refusal.now
    way = shortest_way(standing, refusal.nodes, _wanted(event), refusal.fits, now, begun=begun, to_rules=event.to_rules)
    return () if way is None or way == NOT_DECIDED else way


def _never(refusal: Refusal, event: Event) -> str:
    standing, machine = refusal.standing, refusal.stage.stages.machine
    if event.label not in machine.labels:
        meant = did_you_mean(event.label, machine.labels)
        hint = f" (did you mean {quote_text(meant)}?)" if meant else ""
        return f": the protocol does not name it{hint}"
    numbers = machine.by_event.get((event.direction, event.label), ())
    if not numbers:
        return f": here it is {'received and never sent' if event.direction == '!' else 'sent and never received'}"
    partners = sorted({machine.symbols[number].partner or "" for number in numbers})
    if event.partner is not None and not {"", event.partner} & set(partners):
        return f": here it is with {list_words(partners)}, not with {quote_text(event.partner)}"
    way = shortest_way(standing, (), _wanted(event), None, refusal.now, begun=not refusal.is_new)
    if way == NOT_DECIDED:
        return " now"
    return ": it can no longer happen there" if instance_of(refusal) else ": it can no longer happen in this session"
